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
from shoe_daemon.errors import UserError
from shoe_daemon.install.mosquitto import add_accounts
from shoe_daemon.install.services import clear_topics
from shoe_daemon.mqtt.client import BrokerProbe
from shoe_daemon.mqtt.settings import MqttSettings, TlsSettings
from shoe_daemon.mqtt.topics import RETAINED, Topics
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


def test_a_removed_table_leaves_no_retained_message(root: Path, broker: Mosquitto) -> None:
    setup = load_config(root / "etc/shoe-daemon/table-1.toml")
    assert setup.config.mqtt is not None
    mqtt = replace(setup.config.mqtt, port=broker.port)
    setup = replace(setup, config=replace(setup.config, mqtt=mqtt))
    topics = Topics("casino", "table-1")
    # The last is that of a reader which the table had before.
    suffixes = [*RETAINED, "device/shoe", "device/camera"]
    with BrokerProbe(mqtt, "table") as table:
        for suffix in suffixes:
            assert table.publish(topics.retained(suffix), b"{}", retain=True) is None
    assert retained(mqtt, topics, suffixes) == len(suffixes)
    assert clear_topics(setup) == len(suffixes)
    assert retained(mqtt, topics, suffixes) == 0
    broker.kill()
    with pytest.raises(UserError, match="the broker cannot be reached: Connection refused"):
        clear_topics(setup)


def retained(mqtt: MqttSettings, topics: Topics, suffixes: list[str]) -> int:
    """Return how many of these topics have a retained message."""
    with BrokerProbe(mqtt, "reader") as reader:
        for suffix in suffixes:
            assert reader.subscribe(topics.retained(suffix)) is None
        # The broker answers in order: all that it has retained comes before this.
        reader.subscribe(topics.event("round_finished"))
        reader.publish(topics.event("round_finished"))
        assert reader.receives(topics.event("round_finished"))
        return len(reader.received) - 1


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
