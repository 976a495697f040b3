"""
PINs travel only over TLS or within one computer: where others could read them, the table, the
display and the command line refuse them, cards are read on, and `doctor` says what to do.

``127.1`` reaches the broker on this computer, and the programs do not know it as this computer.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.config.table import load_config
from shoe_daemon.display.config import load_display
from shoe_daemon.doctor import examinations
from shoe_daemon.doctor.finding import Finding
from shoe_daemon.mqtt.settings import MqttSettings, TlsSettings
from tests.brokers import Listener, Mosquitto
from tests.commands.command_table import SITE, Pit
from tests.commands.conftest import OpenPit
from tests.commands.test_command_line import cmd
from tests.commands.test_operators_file import FILE, PIN
from tests.display.display_process import Display
from tests.display.test_order_routes import OPERATORS, Desk, told
from tests.floor.table_messages import payload
from tests.waiting import wait_for

REFUSED = "no PIN is taken here: the connection to the broker is not encrypted"
PLAIN = 'host = "127.1"\n'


@pytest.mark.parametrize(
    ("host", "tls", "plain"),
    [
        ("127.0.0.1", None, False),
        ("127.8.8.8", None, False),
        ("localhost", None, False),
        ("::1", None, False),
        ("192.168.1.5", None, True),
        ("localhost.casino.example", None, True),
        ("broker.casino.example", None, True),
        ("broker.casino.example", TlsSettings(), False),
    ],
)
def test_only_tls_and_this_computer_keep_a_pin(
    host: str, tls: TlsSettings | None, *, plain: bool
) -> None:
    assert MqttSettings(host=host, tls=tls).is_plain is plain


def opened(tables: OpenPit, folder: Path, more: str = "") -> Pit:
    (folder / "operators.toml").write_text(FILE)
    return tables(f'[orders]\noperators_file = "operators.toml"\n{more}')


@pytest.fixture
def far(tables: OpenPit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OpenPit:
    """Open tables whose broker is another computer, as far as they know."""
    monkeypatch.setattr("shoe_daemon.mqtt.settings.is_loopback", lambda host: host == "::1")
    return lambda text="": opened(tables, tmp_path, text)


@pytest.mark.mosquitto
def test_a_table_refuses_pins_and_reads_on(
    far: OpenPit, capfd: pytest.CaptureFixture[str]
) -> None:
    pit = far()
    for pin in (PIN, "0000"):
        answer = pit.order("new-shoe", pin=pin)
        assert (answer["refused"], answer["detail_code"]) == (REFUSED, "refused_plain_pin")
        assert pit.order("hold", pin=pin, dry_run=True)["refused"] == REFUSED
    assert pit.order("new-shoe")["refused"] == "this order takes the operator's PIN"
    assert pit.order("hold")["ok"]
    pit.draw("P1:9S")
    assert [each.refused for each in pit.journaled()][:2] == [REFUSED] * 2
    pit.stop()
    assert "wrong PIN" not in "".join(capfd.readouterr())


@pytest.mark.mosquitto
def test_a_laboratory_may_allow_them(far: OpenPit) -> None:
    assert far("allow_plain_pins = true").order("new-shoe", pin=PIN)["ok"]


DISPLAY = f"[mqtt]\n{PLAIN}[display.orders]\noperators_file = 'operators.toml'\n"


@pytest.mark.mosquitto
def test_a_display_sends_none(tmp_path: Path) -> None:
    (tmp_path / "operators.toml").write_text(OPERATORS)
    text = DISPLAY.removeprefix("[mqtt]\n")
    with (
        Mosquitto(tmp_path) as broker,
        Listener(broker.port) as listener,
        Display(tmp_path, broker.port, text) as display,
    ):
        root = f"shoe/v1/{SITE}/table-1"
        state = payload("state", site=SITE, table="table-1")
        listener.publish(f"{root}/state", state, retain=True)
        wait_for(lambda: display.health()["tables"] > 0, "the table on the display")
        desk = Desk(display, f"{SITE}.table-1")
        assert desk.log_in().status == 200
        for verb in ("new-shoe", "acknowledge"):
            answer = desk.order(verb, pin="4711-geheim")
            assert (answer.status, told(answer)["detail_code"]) == (403, "refused_plain_pin")
        assert [each for each in listener.messages if "/cmd/" in each.topic] == []


def test_the_command_line_sends_none(tmp_path: Path) -> None:
    where = ("--host", "192.0.2.1", "--site", "hall", "--table", "table-1")
    answer = cmd("new-shoe", *where, "--ask-pin")
    assert (answer.exit_code, answer.output.count("\n")) == (2, 1)
    assert "the connection to 192.0.2.1:1883 is not encrypted" in answer.output


def found(findings: Iterator[Finding]) -> list[str]:
    return [each.text for each in findings if (each.about, each.verdict) == ("orders", "bad")]


def test_doctor_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("check_table_broker", "check_display_broker"):
        monkeypatch.setattr(examinations, name, lambda _setup: iter(()))
    file = tmp_path / "operators.toml"
    file.write_text(OPERATORS)
    file.chmod(0o600)
    table = f"site = 'hall'\n[mqtt]\n{PLAIN}[orders]\noperators_file = 'operators.toml'\n"
    path = tmp_path / "config.toml"

    def of_table(text: str) -> list[str]:
        path.write_text(text)
        return found(examinations.examine(load_config(path)))

    def of_display(text: str) -> list[str]:
        path.write_text(text)
        return found(examinations.examine_display(load_display(path)))

    allowed = "allow_plain_pins = true\n"
    for find, text, section in (
        (of_table, table, "[orders]"),
        (of_display, DISPLAY, "[display.orders]"),
    ):
        (fault,) = find(text)
        assert "the connection to 127.1:1883 is not encrypted; set up [mqtt.tls]" in fault
        assert f"allow_plain_pins = true in {section}" in fault
        (fault,) = find(text + allowed)
        assert fault.startswith("others on the network can read the PINs")
        assert find(text.replace("127.1", "127.0.0.1")) == []
        assert find(text.replace(PLAIN, f"{PLAIN}[mqtt.tls]\n")) == []
    pages = DISPLAY.replace("127.1", "localhost").replace(
        "[display.orders]", "[display]\nlisten = '0.0.0.0:0'\n[display.orders]"
    )
    (fault,) = of_display(pages)
    assert "set up [display.tls], or a proxy with TLS" in fault
    (fault,) = of_display(pages + allowed)
    assert fault.startswith("others on the network can read the PINs")
