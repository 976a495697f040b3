"""
A table with a wrong login, certificate, key or operators file: one clear line in the log and in
the status, and the shoe is still read and journaled.
"""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, cast

import pytest
import structlog
from click.testing import CliRunner
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from shoe_daemon.cli import main
from shoe_daemon.install import certificates
from shoe_daemon.install.certificates import KeyPair, make_authority, make_server_certificate
from shoe_daemon.mqtt.certificates import certificate_alerts, not_after
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings, TlsSettings
from shoe_daemon.service.parts.certificates import CertificateWatch
from tests.brokers import Mosquitto
from tests.chaos import journal_checks
from tests.journal.signing_keys import write_key
from tests.mqtt.sample_broker import SampleBroker
from tests.service.conftest import Run
from tests.service.daemon_process import QUICK, Shoe, configure
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto


def certificate(authority: KeyPair, days: int, name: str = "table-7") -> KeyPair:
    """Return a certificate of 127.0.0.1 that ends in so many days."""
    issuer = x509.load_pem_x509_certificate(authority.certificate.encode())
    signer = serialization.load_pem_private_key(authority.key.encode(), None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    now = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=100))
        .not_valid_after(now + dt.timedelta(days=days, hours=1))
        .add_extension(
            x509.SubjectAlternativeName([certificates._general_name("127.0.0.1")]),  # noqa: SLF001
            critical=False,
        )
        .sign(signer, hashes.SHA256())
    )
    return KeyPair(
        made.public_bytes(serialization.Encoding.PEM).decode(),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode(),
    )


class Papers(NamedTuple):
    """The certificates of a site, and those of another one."""

    ours: KeyPair
    theirs: KeyPair


@pytest.fixture(scope="module")
def papers() -> Papers:
    return Papers(make_authority("casino"), make_authority("elsewhere"))


def write(folder: Path, name: str, pair: KeyPair) -> None:
    (folder / f"{name}.pem").write_text(pair.certificate)
    (folder / f"{name}.key").write_text(pair.key)
    (folder / f"{name}.key").chmod(0o600)


def tls_broker(folder: Path, papers: Papers, pair: KeyPair) -> Mosquitto:
    """A broker that shows a certificate and asks for one of our site."""
    folder.mkdir()
    write(folder, "broker", pair)
    (folder / "ca.pem").write_text(papers.ours.certificate)
    return Mosquitto(
        folder,
        f"cafile {folder}/ca.pem\ncertfile {folder}/broker.pem\nkeyfile {folder}/broker.key\n"
        "require_certificate true\nallow_anonymous true",
    )


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, papers: Papers) -> Iterator[Mosquitto]:
    folder = tmp_path_factory.mktemp("broker") / "mosquitto"
    pair = make_server_certificate(papers.ours, ["127.0.0.1"])
    with tls_broker(folder, papers, pair) as broker:
        yield broker


def config_with_tls(folder: Path, port: int, papers: Papers, own: KeyPair, line: Path) -> Path:
    config = configure(
        folder,
        f"[mqtt]\nport = {port}\n[mqtt.tls]\n"
        'ca_file = "ca.pem"\ncert_file = "own.pem"\nkey_file = "own.key"\n',
        line=line,
    )
    (folder / "ca.pem").write_text(papers.ours.certificate)
    write(folder, "own", own)
    return config


def still_reads(run: Run, config: Path, shoe: Shoe, *said: str, **environment: str) -> None:
    """See that the fault is in the log, on one line, and in the status; and that a card counts."""
    daemon = run(config, patch=QUICK, **environment).wait_ready()
    shoe.wait_heard()
    shoe.draw("P1:9S")
    wait_for(lambda: _dealt(daemon.journal), "the card in the journal")
    for text in said:
        wait_for(lambda text=text: _lines(daemon.log, text), f"{text!r} in {daemon.log}")  # type: ignore[misc]
        assert "Traceback" not in daemon.log.read_text()
    wait_for(lambda: said[0] in daemon.manager.status, f"{said[0]!r} in the status")
    assert daemon.stop() == 0
    journal_checks.check_chain(daemon.journal)


def _dealt(journal: Path) -> bool:
    return any(e["type"] == "card_dealt" for e in journal_checks.stored_events(journal))


def _lines(log: Path, text: str) -> list[str]:
    return [line for line in log.read_text().splitlines() if text in line]


def _expire(folder: Path, papers: Papers) -> str:
    write(folder, "own", certificate(papers.ours, -1))
    return "mqtt.tls.cert_file: "


def _foreign_certificate(folder: Path, papers: Papers) -> str:
    write(folder, "own", certificate(papers.theirs, 90))
    return "the broker does not accept this client's certificate"


def _foreign_authority(folder: Path, papers: Papers) -> str:
    (folder / "ca.pem").write_text(papers.theirs.certificate)
    return "its certificate is not to be trusted: "


def _no_authority(folder: Path, _: Papers) -> str:
    (folder / "ca.pem").unlink()
    return "mqtt.tls.ca_file: "


def _no_certificate(folder: Path, _: Papers) -> str:
    (folder / "own.pem").write_text("not a certificate")
    return "no certificate or key in it that can be used"


def _another_key(folder: Path, papers: Papers) -> str:
    shutil.copy(folder / "own.pem", folder / "kept.pem")
    write(folder, "own", certificate(papers.ours, 90))
    (folder / "kept.pem").replace(folder / "own.pem")
    return "no certificate or key in it that can be used"


def _open_key(folder: Path, _: Papers) -> str:
    (folder / "own.key").chmod(0o644)
    return "own.key: every user can read it; expected mode 0600"


@pytest.mark.parametrize(
    "spoil",
    [
        _expire,
        _foreign_certificate,
        _foreign_authority,
        _no_authority,
        _no_certificate,
        _another_key,
        _open_key,
    ],
)
def test_wrong_certificates(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path,
    run: Run,
    shoe: Shoe,
    broker: Mosquitto,
    papers: Papers,
    spoil: Callable[[Path, Papers], str],
) -> None:
    folder = tmp_path / "table"
    own = certificate(papers.ours, 90)
    config = config_with_tls(folder, broker.port, papers, own, shoe.link)
    still_reads(run, config, shoe, spoil(folder, papers))


def test_an_expired_certificate_of_the_broker(
    tmp_path: Path, run: Run, shoe: Shoe, papers: Papers
) -> None:
    with tls_broker(tmp_path / "mosquitto", papers, certificate(papers.ours, -1)) as broker:
        own = certificate(papers.ours, 90)
        config = config_with_tls(tmp_path / "table", broker.port, papers, own, shoe.link)
        still_reads(run, config, shoe, "its certificate is not to be trusted: certificate has exp")


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_a_broker_of_an_authority_of_the_system(
    tmp_path: Path, run: Run, shoe: Shoe, papers: Papers, kind: str
) -> None:
    """Without `ca_file`, the daemon trusts the authorities of the system, and no other."""
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    write(folder, "broker", make_server_certificate(papers.ours, ["127.0.0.1"]))
    trusted = folder / "trusted.pem"
    trusted.write_text(getattr(papers, kind).certificate)
    files = f"certfile {folder}/broker.pem\nkeyfile {folder}/broker.key"
    with Mosquitto(folder, f"{files}\nallow_anonymous true") as broker:
        text = f"[mqtt]\nport = {broker.port}\n[mqtt.tls]\n"
        config = configure(tmp_path / "table", text, line=shoe.link)
        system = {"SSL_CERT_FILE": str(trusted), "SSL_CERT_DIR": "/nowhere"}
        if kind == "theirs":
            still_reads(run, config, shoe, "no authority of the system has signed it", **system)
            assert len(_lines(config.with_suffix(".log"), "broker_unreachable")) == 1
        else:
            daemon = run(config, patch=QUICK, **system).wait_ready()
            wait_for(lambda: _lines(daemon.log, "broker_connected"), "the connection")
            assert daemon.stop() == 0


def test_certificates_that_end_soon(tmp_path: Path, run: Run, shoe: Shoe, papers: Papers) -> None:
    with tls_broker(tmp_path / "mosquitto", papers, certificate(papers.ours, 12)) as broker:
        own = certificate(papers.ours, 20)
        config = config_with_tls(tmp_path / "table", broker.port, papers, own, shoe.link)
        theirs = f"the certificate of the broker 127.0.0.1:{broker.port} expires on "
        still_reads(run, config, shoe, theirs, "own.pem expires on ")
        assert len(_lines(config.with_suffix(".log"), "certificate_alert")) == 2
        checked = CliRunner().invoke(main, ["doctor", "--config", str(config), "--json"])
        found = [f for f in json.loads(checked.stdout) if f["about"] == "certificate"]
        assert [each["verdict"] for each in found] == ["bad", "bad"]
        assert found[0]["text"].endswith(", in 20 days")
        assert found[1]["text"].endswith(", in 12 days")


@pytest.fixture(scope="module")
def sample_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SampleBroker]:
    with SampleBroker(tmp_path_factory.mktemp("sample")) as broker:
        yield broker


def with_password(folder: Path, broker: SampleBroker, line: Path) -> Path:
    text = f'[mqtt]\nport = {broker.port}\nusername = "table-7"\npassword_file = "password"\n'
    return configure(folder, text, line=line)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("guessed\n", 0o600, "Not authorized"),
        ("\n", 0o600, "its first line is empty"),
        ("table-7\n", 0o644, "password: every user can read it; expected mode 0600"),
    ],
    ids=["wrong", "empty", "open"],
)
def test_wrong_passwords(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path,
    run: Run,
    shoe: Shoe,
    sample_broker: SampleBroker,
    text: str,
    mode: int,
    said: str,
) -> None:
    config = with_password(tmp_path / "table", sample_broker, shoe.link)
    password = config.with_name("password")
    password.write_text(text)
    password.chmod(mode)
    still_reads(run, config, shoe, said)


def test_a_missing_password_that_is_put_right_is_used_without_a_restart(
    tmp_path: Path, run: Run, shoe: Shoe, sample_broker: SampleBroker
) -> None:
    config = with_password(tmp_path / "table", sample_broker, shoe.link)
    daemon = run(config, patch=QUICK).wait_ready()
    wait_for(lambda: "broker down" in daemon.manager.status, "the fault")
    assert _lines(daemon.log, "mqtt.password_file: ")
    config.with_name("password").write_text("table-7\n")
    wait_for(lambda: "broker down" not in daemon.manager.status, "the connection")


@pytest.mark.parametrize("kind", ["missing", "open", "none"])
def test_wrong_signing_keys(tmp_path: Path, run: Run, shoe: Shoe, kind: str) -> None:
    config = configure(tmp_path / "table", '[journal]\nkey_file = "journal.key"\n', line=shoe.link)
    said = "journal.key_file: "
    key = config.with_name("journal.key")
    if kind == "open":
        write_key(key, mode=0o644)
        said = "every user can read it; make a new key, of mode 0600"
    elif kind == "none":
        key.write_text("no key")
        key.chmod(0o600)
        said = "no private key in it; `journal keygen` makes one"
    daemon = run(config).wait_ready()
    shoe.wait_heard()
    shoe.draw("P1:9S")
    wait_for(lambda: _dealt(daemon.journal), "the card in the journal")
    assert len(_lines(daemon.log, said)) == 1
    assert daemon.stop() == 0
    checked = CliRunner().invoke(main, ["check-config", str(config)])
    assert (checked.exit_code, kind) != (0, "open")


OPERATORS = '[[operator]]\nname = "Maria"\n'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "operators.toml: no such file or directory"),
        ("a folder", "operators.toml: cannot be read: Is a directory"),
        ("what?", "expected operators in TOML"),
        (OPERATORS, "operators.toml: every user can read it; expected mode 0600"),
    ],
)
def test_wrong_operators_files(
    tmp_path: Path, run: Run, shoe: Shoe, text: str | None, said: str
) -> None:
    config = configure(
        tmp_path / "table", '[orders]\noperators_file = "operators.toml"\n', line=shoe.link
    )
    file = config.with_name("operators.toml")
    if text == "a folder":
        file.mkdir()
    elif text is not None:
        file.write_text(text)
        file.chmod(0o644 if text == OPERATORS else 0o600)
    still_reads(run, config, shoe, said, "orders.operators_file: ")
    assert len(_lines(config.with_suffix(".log"), said)) == 1
    checked = CliRunner().invoke(main, ["doctor", "--config", str(config), "--json"])
    assert said in checked.output


def test_a_credential_that_the_unit_lacks(tmp_path: Path, run: Run, shoe: Shoe) -> None:
    """In its place systemd hands over an empty file (`SetCredential=`)."""
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    text = (
        '[orders]\noperators_file = "operators.toml"\n'
        '[journal]\nkey_file = "journal.key"\n[mqtt]\n'
        'username = "table-7"\npassword_file = "table-7.password"\n'
    )
    config = configure(tmp_path / "table", text, line=shoe.link)
    for name in ("operators.toml", "journal.key", "table-7.password"):
        (credentials / name).write_text("\n")
        (credentials / name).chmod(0o400)
    said = "the file of LoadCredential= in the unit is empty, or it is missing"
    still_reads(run, config, shoe, said, CREDENTIALS_DIRECTORY=str(credentials))
    for key in ("mqtt.password_file", "orders.operators_file", "journal.key_file"):
        assert any(key in line for line in _lines(config.with_suffix(".log"), said))


def test_two_instances_of_one_table(
    tmp_path: Path, run: Run, shoe: Shoe, mosquitto: Mosquitto
) -> None:
    """On two computers: on one, the second is refused. The broker lets in one at a time."""
    ours = configure(tmp_path / "ours", port=mosquitto.port, line=shoe.link)
    daemon = run(ours, patch=QUICK).wait_ready()
    wait_for(lambda: _lines(daemon.log, "broker_connected"), "the connection")
    run(configure(tmp_path / "theirs", port=mosquitto.port)).wait_ready()
    wait_for(lambda: _lines(daemon.log, "client_id_conflict"), "the other instance")
    said = "another client may use this client id"
    assert said in _lines(daemon.log, "client_id_conflict")[0]
    shoe.wait_heard()
    shoe.draw("P1:9S")
    wait_for(lambda: _dealt(daemon.journal), "the card in the journal")
    wait_for(lambda: said in daemon.manager.status, "the status")
    assert daemon.stop() == 0


def test_the_end_of_a_certificate_is_read_as_openssl_reads_it(papers: Papers) -> None:
    for days in (-1, 0, 30, 20_000):
        made = certificate(papers.ours, days)
        parsed = x509.load_pem_x509_certificate(made.certificate.encode())
        assert not_after(parsed.public_bytes(serialization.Encoding.DER)) == (
            parsed.not_valid_after_utc
        )
    assert not_after(b"") is None
    assert not_after(b"\x30\x03abc") is None


def test_an_alert_begins_thirty_days_before_the_end(tmp_path: Path, papers: Papers) -> None:
    write(tmp_path, "own", certificate(papers.ours, 40))
    settings = MqttSettings(
        tls=TlsSettings(cert_file=str(tmp_path / "own.pem"), key_file=str(tmp_path / "own.key"))
    )
    now = dt.datetime.now(dt.UTC)
    assert certificate_alerts(settings, None, now) == []
    assert certificate_alerts(settings, None, now + dt.timedelta(days=9)) == []
    (soon,) = certificate_alerts(settings, None, now + dt.timedelta(days=11))
    assert soon.endswith(", in 29 days")
    (late,) = certificate_alerts(settings, None, now + dt.timedelta(days=41))
    assert " expired on " in late


def test_an_alert_ends_when_the_certificate_is_replaced(
    tmp_path: Path, papers: Papers, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, "own", certificate(papers.ours, 20))
    settings = MqttSettings(
        tls=TlsSettings(cert_file=str(tmp_path / "own.pem"), key_file=str(tmp_path / "own.key"))
    )
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    publisher = cast("Publisher", SimpleNamespace(broker=settings, broker_certificate=None))
    watch = CertificateWatch(publisher)
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            watch.check()
            now += 61
            assert [each.endswith(", in 20 days") for each in watch.alerts] == [True]
        write(tmp_path, "own", certificate(papers.ours, 400))
        watch.check()
    assert watch.alerts == []
    assert len(logs) == 1
