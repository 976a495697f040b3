"""
A table with lamps: lit while an irregularity is open, dark once it is decided, lit while nothing
can be recorded, and never a reason to wait.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.game.coup import Outcome
from tests.brokers import Listener, Mosquitto
from tests.fakes.relay_board import RelayBoard
from tests.service.conftest import Run
from tests.service.daemon_process import QUICK, DaemonProcess, Shoe, cli, configure
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:TC")
EXCESS = "P3:5H"
RULES = """
[[lamp.rule]]
severity = 3
blink = [0.2, 0.2]
channel = 1
[[lamp.rule]]
fault = true
channel = 2
"""
TOPIC = "lamps/table-7"


@pytest.fixture
def board(tmp_path: Path) -> Iterator[RelayBoard]:
    with RelayBoard(tmp_path / "lamp") as board:
        yield board


def with_relay(board: RelayBoard, more: str = "") -> str:
    return f'[[lamp]]\nid = "tower"\nrelay = "{board.link}"\n{more}\n{RULES}'


def ready(daemon: DaemonProcess, board: RelayBoard, shoe: Shoe) -> None:
    daemon.wait_ready()
    shoe.wait_heard()
    wait_for(lambda: board.states == {1: False, 2: False}, "a table without a fault")


def misdeal(shoe: Shoe) -> None:
    """Deal a card too many."""
    shoe.say("S")
    shoe.draw(*NATURAL, EXCESS)


def decide(daemon: DaemonProcess, verb: str = "acknowledge") -> None:
    answer = cli("cmd", verb, "--config", daemon.config, "--operator", "Kim")
    assert answer.exit_code == 0, answer.output


def test_an_irregularity_lights_the_lamp_until_it_is_decided(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe, board: RelayBoard
) -> None:
    text = with_relay(board, 'at_stop = "off"')
    daemon = run(configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link))
    ready(daemon, board, shoe)
    misdeal(shoe)
    wait_for(lambda: sum(each.channel == 1 for each in board.switched) >= 4, "a blinking lamp")
    decide(daemon)
    count = len(board.switched)
    wait_for(lambda: not board.states[1], "darkness")
    time.sleep(0.5)  # longer than a blink
    assert len(board.switched) <= count + 1
    decide(daemon, "hold")
    wait_for(lambda: len(board.switched) >= count + 4, "a blinking lamp")
    decide(daemon, "resume")
    wait_for(lambda: not board.states[1], "darkness")
    assert daemon.stop() == 0
    assert not board.wrong


def test_a_restart_shows_what_is_still_open(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe, board: RelayBoard
) -> None:
    config = configure(tmp_path / "t", with_relay(board), port=mosquitto.port, line=shoe.link)
    daemon = run(config)
    ready(daemon, board, shoe)
    misdeal(shoe)
    wait_for(lambda: board.states[1], "the lamp")
    assert daemon.stop() == 0
    # By default a table that nobody watches is lit.
    wait_for(lambda: board.states == {1: True, 2: True}, "all lit")
    daemon.start().wait_ready()
    wait_for(lambda: board.states == {1: True, 2: False}, "the same irregularity")
    decide(daemon)
    wait_for(lambda: not board.states[1], "darkness")


def test_a_reader_without_a_line_is_a_fault_and_all_is_lit_while_nothing_can_be_recorded(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe, board: RelayBoard
) -> None:
    full = tmp_path / "full"
    patch = (
        f"{QUICK}from pathlib import Path\n"
        "from shoe_daemon.journal import JournalUnwritable\n"
        "from shoe_daemon.service.core import Core\n"
        "write = Core._write\n"
        "def guarded(self, *given):\n"
        f"    if Path('{full}').exists():\n"
        "        raise JournalUnwritable('no room')\n"
        "    return write(self, *given)\n"
        "Core._write = guarded\n"
    )
    text = with_relay(board)
    daemon = run(configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link), patch=patch)
    ready(daemon, board, shoe)
    shoe.unplug()
    wait_for(lambda: board.states == {1: False, 2: True}, "the fault")
    shoe.plug()
    wait_for(lambda: board.states == {1: False, 2: False}, "its end")
    shoe.wait_heard()
    full.touch()
    shoe.say("S")
    wait_for(lambda: board.states == {1: True, 2: True}, "all lit")
    full.unlink()
    wait_for(lambda: board.states == {1: False, 2: False}, "dark again")
    assert daemon.stop() == 0


def test_a_missing_lamp_is_in_the_log_and_the_status_and_the_table_goes_on(
    run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe, board: RelayBoard
) -> None:
    board.unplug()
    health = board.link.parent / "health.json"
    text = f'{with_relay(board)}[metrics]\nhealth_file = "{health}"\n'
    daemon = run(
        configure(board.link.parent / "t", text, port=mosquitto.port, line=shoe.link), patch=QUICK
    ).wait_ready()
    shoe.wait_heard()
    missing = f"lamp tower: {board.link}: No such file or directory"
    wait_for(lambda: missing in daemon.manager.status, "the status")
    wait_for(lambda: facts(health).get("lamps") == {"tower": False}, "the health file")
    assert not facts(health)["ok"]
    shoe.say("S")
    shoe.draw(*NATURAL)
    shoe.call(Outcome.PLAYER)
    listener.wait("event/round_finished")
    board.plug()
    wait_for(lambda: board.states == {1: False, 2: False}, "the lamp")
    wait_for(lambda: "lamp" not in daemon.manager.status, "the status")
    assert daemon.stop() == 0
    log = daemon.log.read_text()
    assert log.count("lamp_lost") == 1
    assert log.count("lamp_up") == 1


def test_a_line_that_takes_no_bytes_delays_neither_cards_nor_the_end(
    run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe, board: RelayBoard
) -> None:
    board.stall()
    text = with_relay(board)
    daemon = run(
        configure(board.link.parent / "t", text, port=mosquitto.port, line=shoe.link), patch=QUICK
    ).wait_ready()
    shoe.wait_heard()
    wait_for(lambda: "takes no byte for 1 s" in daemon.manager.status, "a full line")
    for number in range(1, 4):
        shoe.say("S")
        shoe.draw(*NATURAL)
        shoe.call(Outcome.PLAYER)
        listener.wait("event/round_finished", number)
    began = time.monotonic()
    assert daemon.stop() == 0
    assert time.monotonic() - began < 10.0


def test_a_lamp_on_mqtt_is_retained_and_left_as_configured(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe
) -> None:
    text = (
        f'[[lamp]]\ntopic = "{TOPIC}"\npayload_on = "on"\npayload_off = "off"\n'
        "rule = [{ severity = 3 }]\n"
    )
    daemon = run(configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link)).wait_ready()
    with Listener(mosquitto.port, TOPIC) as lamp:
        shoe.wait_heard()
        wait_for(lambda: last(lamp) == b"off", "darkness")
        misdeal(shoe)
        wait_for(lambda: last(lamp) == b"on", "light")
        decide(daemon)
        wait_for(lambda: last(lamp) == b"off", "darkness again")
        assert daemon.stop() == 0
        wait_for(lambda: last(lamp) == b"on", "at_stop")
        with Listener(mosquitto.port, TOPIC, name="late") as late:
            assert late.wait(TOPIC)[-1].payload == b"on"
        daemon.start().wait_ready()
        wait_for(lambda: last(lamp) == b"off", "darkness")
        daemon.kill()
        wait_for(lambda: last(lamp) == b"on", "the last will")


def test_a_topic_that_the_broker_refuses_is_in_the_status(
    tmp_path: Path, run: Run, shoe: Shoe
) -> None:
    folder = tmp_path / "strict"
    folder.mkdir()
    (folder / "acl").write_text("topic readwrite shoe/#\n", encoding="utf-8")
    with Mosquitto(folder, f"allow_anonymous true\nacl_file {folder}/acl") as broker:
        text = f'[[lamp]]\ntopic = "{TOPIC}"\nrule = [{{ severity = 3 }}]\n'
        daemon = run(
            configure(tmp_path / "t", text, port=broker.port, line=shoe.link), patch=QUICK
        ).wait_ready()
        refused = f"lamp lamp: the broker at 127.0.0.1:{broker.port}: refuses topic {TOPIC}: "
        wait_for(lambda: refused in daemon.manager.status, "the status")


def test_a_broker_that_was_away_gets_the_newest_state(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, shoe: Shoe
) -> None:
    text = f'[[lamp]]\ntopic = "{TOPIC}"\nrule = [{{ severity = 3 }}]\n'
    daemon = run(configure(tmp_path / "t", text, port=mosquitto.port, line=shoe.link)).wait_ready()
    shoe.wait_heard()
    mosquitto.kill()
    misdeal(shoe)
    shoe.drain()
    mosquitto.start()
    with Listener(mosquitto.port, TOPIC) as lamp:
        wait_for(lambda: last(lamp) == b'{"state":"ON"}', "the lamp")
    assert daemon.stop() == 0


def facts(health: Path) -> dict[str, Any]:
    """Return the health file; empty before it is written."""
    return dict(json.loads(health.read_text())) if health.exists() else {}


def last(lamp: Listener) -> bytes:
    """Return the last message to the lamp; empty before the first."""
    said = lamp.of(TOPIC)
    return said[-1].payload if said else b""
