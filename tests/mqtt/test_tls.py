"""TLS against a real mosquitto, with a test authority."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.mqtt.settings import TlsSettings
from tests.brokers import Mosquitto
from tests.mqtt.memory_journal import Journal, publishing
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


class Papers:
    """An authority, and certificates that it signs."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self.ca = folder / "ca.pem"
        key = folder / "ca.key"
        # Python 3.13 trusts no authority whose certificate does not say what it is for.
        usage = ("-addext", "keyUsage=critical,keyCertSign,cRLSign")
        self._openssl(
            "req -x509 -nodes -days 1 -subj /CN=authority", *usage, "-keyout", key, out=self.ca
        )

    def _openssl(self, words: str, *more: str | Path, out: Path) -> None:
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        subprocess.run(
            ["openssl", *words.split(), *key, *more, "-out", out],
            check=True,
            capture_output=True,
        )

    def sign(self, name: str) -> tuple[Path, Path]:
        """Return certificate and key of somebody at 127.0.0.1."""
        certificate, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        self._openssl(
            f"req -x509 -nodes -days 1 -subj /CN={name} -addext subjectAltName=IP:127.0.0.1",
            *("-addext", "basicConstraints=critical,CA:FALSE"),
            *("-CA", self.ca, "-CAkey", self._folder / "ca.key", "-keyout", key),
            out=certificate,
        )
        return certificate, key


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Papers:
    return Papers(tmp_path_factory.mktemp("tls") / "ours")


@pytest.fixture
def guarded(tmp_path: Path, papers: Papers) -> Iterator[Mosquitto]:
    """A broker that speaks TLS and asks for a certificate."""
    certificate, key = papers.sign("broker")
    lines = (
        f"cafile {papers.ca}\ncertfile {certificate}\nkeyfile {key}\n"
        "require_certificate true\nuse_identity_as_username true\nallow_anonymous false"
    )
    with Mosquitto(tmp_path, lines) as broker:
        yield broker


@pytest.fixture
def public(tmp_path: Path, papers: Papers) -> Iterator[Mosquitto]:
    """A broker that speaks TLS with everybody."""
    certificate, key = papers.sign("broker")
    lines = f"certfile {certificate}\nkeyfile {key}\nallow_anonymous true"
    with Mosquitto(tmp_path, lines) as broker:
        yield broker


def let_system_trust(
    monkeypatch: pytest.MonkeyPatch, authority: Path, folder: Path | None = None
) -> None:
    """Make an authority all that the system trusts, in one file or in a folder of files."""
    if folder is None:
        monkeypatch.setenv("SSL_CERT_FILE", str(authority))
        monkeypatch.setenv("SSL_CERT_DIR", "/nowhere")
        return
    command = ["openssl", "x509", "-noout", "-hash", "-in", str(authority)]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    (folder / f"{name}.0").write_bytes(authority.read_bytes())
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere")
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))


@pytest.mark.parametrize("protocol", ["5", "3.1.1"])
def test_a_table_with_a_certificate_gets_everything_through(
    guarded: Mosquitto, papers: Papers, protocol: str
) -> None:
    certificate, key = papers.sign("table-7")
    tls = TlsSettings(ca_file=str(papers.ca), cert_file=str(certificate), key_file=str(key))
    journal = Journal(200)
    with publishing(guarded.port, journal, tls=tls, protocol=protocol) as publisher:
        wait_for(lambda: journal.cursor == 200, "the cursor")
        for _ in range(200):
            publisher.notify(journal.add())
        wait_for(lambda: journal.cursor == 400, "the cursor")


def test_without_a_certificate_nothing_is_sent(guarded: Mosquitto, papers: Papers) -> None:
    journal = Journal(3)
    with publishing(guarded.port, journal, tls=TlsSettings(ca_file=str(papers.ca))) as publisher:
        wait_for(lambda: publisher.health.last_error, "a refusal")
        assert not publisher.health.connected
    assert journal.cursors == []


def test_a_broker_of_another_name_is_not_spoken_with(guarded: Mosquitto, papers: Papers) -> None:
    tls = TlsSettings(ca_file=str(papers.ca))
    with publishing(guarded.port, Journal(3), tls=tls, host="localhost") as publisher:
        wait_for(lambda: publisher.health.last_error, "a refusal")
        assert "localhost" in (publisher.health.last_error or "")


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_without_a_ca_file_the_authorities_of_the_system_are_trusted(
    monkeypatch: pytest.MonkeyPatch, public: Mosquitto, papers: Papers, tmp_path: Path, kind: str
) -> None:
    let_system_trust(monkeypatch, papers.ca, tmp_path if kind == "folder" else None)
    journal = Journal(20)
    with publishing(public.port, journal, tls=TlsSettings()):
        wait_for(lambda: journal.cursor == 20, "the cursor")


def test_with_a_ca_file_the_authorities_of_the_system_are_not_trusted(
    monkeypatch: pytest.MonkeyPatch, public: Mosquitto, papers: Papers, tmp_path: Path
) -> None:
    let_system_trust(monkeypatch, papers.ca)
    others = Papers(tmp_path / "theirs")
    with publishing(public.port, Journal(3), tls=TlsSettings(ca_file=str(others.ca))) as publisher:
        wait_for(lambda: publisher.health.last_error, "a refusal")
        assert "not to be trusted" in (publisher.health.last_error or "")


@pytest.mark.parametrize("kind", ["another authority", "no authority"])
def test_a_broker_that_the_system_does_not_know_is_not_spoken_with(
    monkeypatch: pytest.MonkeyPatch, public: Mosquitto, tmp_path: Path, kind: str
) -> None:
    others = Papers(tmp_path / "theirs")
    let_system_trust(monkeypatch, others.ca if kind == "another authority" else Path("/nowhere"))
    fault = (
        "its certificate is not to be trusted: unable to get local issuer certificate; no "
        "authority of the system has signed it: name its authority in mqtt.tls.ca_file"
    )
    journal = Journal(3)
    with publishing(public.port, journal, tls=TlsSettings()) as publisher:
        wait_for(lambda: publisher.health.last_error, "a refusal")
        assert publisher.health.last_error == fault
    assert journal.cursors == []
    # The doctor, and a person who gives an order, are told the same in one line.
    file = tmp_path / "table.toml"
    file.write_text(f'site = "a"\n[mqtt]\nport = {public.port}\n[mqtt.tls]\n')
    checked = CliRunner().invoke(main, ["doctor", "--config", str(file), "--json"])
    (broker,) = [each for each in json.loads(checked.stdout) if each["about"] == "broker"]
    assert (broker["verdict"], broker["text"].endswith(f"cannot be reached: {fault}")) == (
        "bad",
        True,
    )
    ordered = CliRunner().invoke(main, ["cmd", "hold", "--config", str(file)])
    assert ordered.exit_code == 2
    (line,) = ordered.stderr.splitlines()
    assert line == f"shoe-daemon: the broker at 127.0.0.1:{public.port}: {fault}"


def test_the_doctor_logs_in_with_the_tables_certificate(
    guarded: Mosquitto, papers: Papers, tmp_path: Path
) -> None:
    certificate, key = papers.sign("table-7")
    file = tmp_path / "table.toml"
    own = f'cert_file = "{certificate}"\nkey_file = "{key}"\n'
    plain = f'site = "a"\n[mqtt]\nport = {guarded.port}\n'
    whole = f'{plain}[mqtt.tls]\nca_file = "{papers.ca}"\n{own}'
    for text, said in (
        (whole, "accepts the login of nobody"),
        (whole.replace(own, ""), "login of nobody"),
        (whole.replace(str(papers.ca), str(certificate)), "cannot be reached: "),
        (plain, "login of nobody"),
    ):
        file.write_text(text)
        result = CliRunner().invoke(main, ["doctor", "--config", str(file), "--json"])
        broker = [each for each in json.loads(result.stdout) if each["about"] == "broker"]
        assert [each["verdict"] for each in broker] == ["good" if text is whole else "bad"]
        assert said in broker[0]["text"]
