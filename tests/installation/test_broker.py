"""The broker's files of `shoe-daemon init`, with the real mosquitto."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from shoe_daemon.cli.init import command
from shoe_daemon.config.table import load_config
from shoe_daemon.doctor import check_table_broker
from shoe_daemon.install.mosquitto import add_accounts
from shoe_daemon.mqtt.settings import TlsSettings
from tests.brokers import Mosquitto, free_port

pytestmark = pytest.mark.mosquitto


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "computer"
    root.mkdir()
    arguments = ["--yes", "--reader", "simulated", "--root", str(root), "--tls", "127.0.0.1"]
    command.main(arguments, standalone_mode=False)
    return root


@pytest.fixture
def tls_port() -> int:
    return free_port()


@pytest.fixture
def broker(root: Path, tmp_path: Path, tls_port: int) -> Iterator[Mosquitto]:
    """A broker with the written configuration, at free ports and below the root folder."""
    conf = root / "etc/mosquitto/conf.d"
    lines = (conf / "shoe.conf").read_text() + (conf / "shoe-tls.conf").read_text()
    lines = lines.replace("/etc/", f"{root}/etc/").replace("listener 8883", f"listener {tls_port}")
    kept = (line for line in lines.splitlines() if not line.startswith("listener 1883"))
    with Mosquitto(tmp_path, "\n".join(kept)) as broker:
        yield broker


def test_the_table_has_its_rights(root: Path, broker: Mosquitto) -> None:
    setup = load_config(root / "etc/shoe-daemon/table-1.toml")
    assert setup.config.mqtt is not None
    mqtt = replace(setup.config.mqtt, port=broker.port)
    findings = check_table_broker(replace(setup, config=replace(setup.config, mqtt=mqtt)))
    assert {finding.verdict for finding in findings} == {"good"}


def test_the_certificate_is_trusted_by_its_authority(
    root: Path, broker: Mosquitto, tls_port: int
) -> None:
    assert broker.port
    setup = load_config(root / "etc/shoe-daemon/table-1.toml")
    assert setup.config.mqtt is not None
    ca_file = str(root / "etc/mosquitto/certs/ca.pem")
    mqtt = replace(setup.config.mqtt, port=tls_port, tls=TlsSettings(ca_file=ca_file))
    context = mqtt.tls_context()
    assert context is not None
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    findings = check_table_broker(replace(setup, config=replace(setup.config, mqtt=mqtt)))
    assert {finding.verdict for finding in findings} == {"good"}


def test_accounts_are_kept_unless_the_password_differs() -> None:
    first = add_accounts("other:$7$101$c2FsdA==$aGFzaA==\n", {"a": "1", "b": "2"})
    again = add_accounts(first, {"a": "1", "b": "3"})
    assert [line.partition(":")[0] for line in again.splitlines()] == ["other", "a", "b"]
    same = [old == new for old, new in zip(first.splitlines(), again.splitlines(), strict=True)]
    assert same == [True, True, False]
