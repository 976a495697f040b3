"""
The scoreboards of docs/mqtt.md and examples/ show the cards, report stale data after any loss,
recover by themselves, and survive every message.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from shoe_daemon.game.coup import Outcome
from shoe_daemon.mqtt.schemas import load_examples
from tests.brokers import Listener
from tests.mqtt.example_boards import (
    EXAMPLES,
    PROJECT,
    ROOT,
    SITE,
    TABLE,
    Board,
    TerminalBoard,
    showing,
)
from tests.mqtt.sample_broker import SampleBroker
from tests.service.daemon_process import DaemonProcess, Shoe
from tests.volume import sample, volume
from tests.waiting import wait_for

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(300)]

every_example = pytest.mark.parametrize("name", sample(EXAMPLES, 3))


class Hall(NamedTuple):
    broker: SampleBroker
    daemon: DaemonProcess
    shoe: Shoe


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[SampleBroker]:
    (tmp_path / "mosquitto").mkdir()
    with SampleBroker(tmp_path / "mosquitto") as broker:
        yield broker


@pytest.fixture
def hall(tmp_path: Path, broker: SampleBroker) -> Iterator[Hall]:
    """A broker, and a table that has not started yet."""
    with ExitStack() as stack:
        shoe = stack.enter_context(Shoe(tmp_path / "line"))
        config = tmp_path / "table.toml"
        config.write_text(
            f'site = "{SITE}"\n[table]\nid = "{TABLE}"\n'
            f"[mqtt]\nport = {broker.port}\nheartbeat = 1\n"
            f'username = "{TABLE}"\npassword_file = "{broker.password_file(TABLE)}"\n'
            f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{shoe.link}"\n',
            encoding="utf-8",
        )
        daemon = stack.enter_context(DaemonProcess(config))
        yield Hall(broker, daemon, shoe)


@pytest.mark.parametrize("name", sample([*EXAMPLES, ""], 4))
def test_it_shows_the_table_and_what_is_stale(hall: Hall, name: str, tmp_path: Path) -> None:
    """An example over TLS."""
    ca = hall.broker.ca if name else None
    with showing(name, hall.broker, tmp_path, ca=ca) as board:  # it is there before the table
        board.wait_stale("")
        hall.daemon.start().wait_ready()
        board.wait_fresh("")
        hall.shoe.wait_heard().draw("P1:9S", "B1:2H")
        board.wait_fresh("P1:9S B1:2H")
        board.wait_fresh("banker")
        _halt(hall, board)
        _kill_the_broker(hall, board)
        if name:
            _show_rounds(hall, board)
        hall.daemon.kill()
        board.wait_stale("P1:")
        hall.daemon.start().wait_ready()
        board.wait_fresh("")
        assert hall.daemon.stop() == 0
        board.wait_stale("offline" if name else "")


def _show_rounds(hall: Hall, board: Board) -> None:
    """Finish the first round, and deal a second one."""
    hall.shoe.draw("P2:KD", "B2:3C")
    hall.shoe.call(Outcome.PLAYER)
    board.wait_fresh("round 1: player")
    board.wait_fresh("player 1")
    hall.shoe.draw("P1:4S", "B1:2H", "P2:3D", "B2:4C")  # and no third card for the Banker
    hall.shoe.call(Outcome.PLAYER)
    board.wait_fresh("P1:4S B1:2H P2:3D B2:4C")
    if isinstance(board, TerminalBoard):
        board.wait(lambda shown: "\nP" in shown.text, "the big road")


def _halt(hall: Hall, board: Board) -> None:
    """Halt the daemon and let it go on; only missing heartbeats show that it stands still."""
    hall.daemon.process.send_signal(signal.SIGSTOP)
    board.wait_stale("P1:9S B1:2H")
    hall.daemon.process.send_signal(signal.SIGCONT)
    board.wait_fresh("P1:9S B1:2H")


def _kill_the_broker(hall: Hall, board: Board) -> None:
    hall.broker.kill()
    board.wait_stale("P1:9S B1:2H")
    hall.broker.start()
    board.wait_fresh("P1:9S B1:2H")


@every_example
def test_an_example_gives_no_password_to_a_broker_that_it_cannot_verify(
    broker: SampleBroker, name: str, tmp_path: Path
) -> None:
    with showing(name, broker, tmp_path, ca="") as board:
        # It hangs up before it has named itself; mosquitto has several words for that.
        wait_for(lambda: b"lient <unknown>" in broker.log.read_bytes(), "a refusal")
        board.wait_stale("no broker")
        assert b"u'board'" not in broker.log.read_bytes()


@every_example
def test_what_an_example_cannot_use_ends_nothing(
    broker: SampleBroker, name: str, tmp_path: Path
) -> None:
    """Documents of the page, one after another changed; each is retained, as a table's are."""
    state, status = _document("state", 1), _document("status")
    with broker.listen(TABLE) as table, showing(name, broker, tmp_path) as board:

        def publish(topic: str, payload: object) -> None:
            content = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
            table.publish(f"{ROOT}/{topic}", content, retain="event" not in topic)

        def say(**fields: object) -> None:
            publish("status", status | {"from_a_later_version": {"a": 1}})
            publish("state", state | {"from_a_later_version": [1]} | fields)

        say()
        board.wait_fresh("the Banker is to draw")  # an open alert, in its own words
        for payload in UNUSABLE:
            publish("state", payload)
            publish("alert/active", payload)
            publish("event/round_finished", payload)
        say(session="of another start")
        board.wait_stale("started again")
        say(alarm="The journal cannot be written.")
        board.wait_stale("The journal cannot be written.")
        say()
        board.wait_fresh("the Banker is to draw")
        say(name="<b>Table\x1b[31m")
        board.wait_fresh("<b>Table")
        publish("status", status | {"state": "offline"})
        board.wait_stale("offline")
        publish("status", status)
        board.wait_fresh("")
        publish("status", b"")  # a person has cleared the topic
        board.wait_stale("unknown")


UNUSABLE: Final = (
    *(b"null", b"[1]", b"7", b'"online"', b"{", b"\xff\xfe", b"[" * 60_000),
    b'{"a":"' + b"x" * 60_000 + b'"}',
    *(b"{}", b'{"session":"9f2c41d0"}', b'{"session":"9f2c41d0","heartbeat":"often"}'),
    b'{"alerts":7,"data":null,"session":"9f2c41d0","heartbeat":10,"round":5}',
)


def _document(topic: str, number: int = 0) -> dict[str, Any]:
    """Return an example of docs/mqtt.md."""
    found: dict[str, Any] = load_examples()[topic][number]["payload"]
    return found


def test_the_terminal_shows_what_its_page_says(broker: SampleBroker, tmp_path: Path) -> None:
    page = (PROJECT / "examples/python-scoreboard/README.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"^```text\n(.*?)\n```", page, re.DOTALL | re.MULTILINE)
    with broker.listen(TABLE) as table:
        _publish_a_live_table(table)
        with showing("python-scoreboard", broker, tmp_path) as board:
            board.wait(lambda shown: shown.text == picture, picture)


def _publish_a_live_table(table: Listener) -> None:
    for topic in ("status", "state", "roads"):
        table.publish(f"{ROOT}/{topic}", json.dumps(_document(topic)).encode(), retain=True)


FULL_ONLY = pytest.mark.skipif(not volume(0, 1), reason="installs packages of npm: make test-all")


@FULL_ONLY
def test_an_event_that_arrives_again_is_dropped_by_its_number(
    broker: SampleBroker, tmp_path: Path
) -> None:
    event = _document("event/round_finished")
    with broker.listen(TABLE) as table, showing("node-scoreboard", broker, tmp_path) as board:
        _publish_a_live_table(table)
        board.wait_fresh("")  # it has subscribed
        for seq, number in ((21, 1), (21, 1), (40, 2), (21, 1), (61, 3)):
            again = event | {"seq": seq, "round": number}
            table.publish(f"{ROOT}/event/round_finished", json.dumps(again).encode())
        wait_for(lambda: "round 3" in board.output, "the last round")
    assert re.findall(r"^round (\d)", board.output, re.MULTILINE) == ["1", "2", "3"]


@FULL_ONLY
def test_a_page_goes_grey_when_its_program_ends(broker: SampleBroker, tmp_path: Path) -> None:
    with broker.listen(TABLE) as table, showing("node-scoreboard", broker, tmp_path) as board:
        _publish_a_live_table(table)
        board.wait_fresh("P1:6S")
        board.process.kill()
        wait_for(lambda: (shown := board.shown()) and shown.stale, "a grey page")


@FULL_ONLY
def test_an_alert_is_announced_once_while_it_is_open(broker: SampleBroker, tmp_path: Path) -> None:
    document = _document("alert/active", 1)
    (alert,) = document["alerts"]

    def of(number: int) -> dict[str, Any]:
        data = alert["data"] | {"id": number, "detail": f"alert {number}"}
        return {**alert, "data": data}

    with broker.listen(TABLE) as table, showing("node-red", broker, tmp_path) as board:
        _publish_a_live_table(table)
        board.wait_fresh("")  # it has subscribed
        for numbers in ([1], [1], [1, 2], [2], [], [3]):
            changed = document | {"alerts": [of(number) for number in numbers]}
            table.publish(f"{ROOT}/alert/active", json.dumps(changed).encode(), retain=True)
        wait_for(lambda: "alert 3" in board.output, "the last alert")
        broker.kill()
        board.wait_stale("no broker")
        broker.start()
        changed = document | {"alerts": [of(3), of(4)]}
        table.publish(f"{ROOT}/alert/active", json.dumps(changed).encode(), retain=True)
        wait_for(lambda: "alert 4" in board.output, "the alert after the loss")
    assert re.findall(r"\] alert (\d)", board.output) == ["1", "2", "3", "4"]


@pytest.mark.parametrize("name", sample(["", *EXAMPLES], 4))
def test_a_table_that_died_with_its_broker_looks_live_for_a_heartbeat_and_no_longer(
    broker: SampleBroker, name: str, tmp_path: Path
) -> None:
    """Retained documents remain without a daemon, and nothing publishes its last will."""
    heartbeat = 2
    state = _document("state") | {"session": "s", "heartbeat": heartbeat, "name": "kept"}
    with broker.listen(TABLE) as table:
        table.publish(f"{ROOT}/status", b'{"session":"s","state":"online"}', retain=True)
        table.publish(f"{ROOT}/state", json.dumps(state).encode(), retain=True)
    with showing(name, broker, tmp_path) as board:
        board.wait_fresh("6S")
        began = time.monotonic()
        board.wait_stale("6S")
        assert time.monotonic() - began < 2.5 * heartbeat  # three are for what was published


def test_a_setting_that_is_missing_is_one_line(tmp_path: Path) -> None:
    program = PROJECT / "examples/python-scoreboard/scoreboard.py"
    done = subprocess.run(
        [sys.executable, program], env={}, capture_output=True, text=True, check=False
    )
    assert done.returncode
    (line,) = done.stderr.splitlines()
    assert "SHOE_TABLE" in line
    assert "table.env" in line


@pytest.mark.parametrize(
    "lock", sorted((PROJECT / "examples").glob("*/package-lock.json")), ids=str
)
def test_a_lock_names_no_registry_of_a_machine(lock: Path) -> None:
    packages = json.loads(lock.read_text(encoding="utf-8"))["packages"]
    assert packages.pop("")["dependencies"]
    for package in packages.values():
        assert "integrity" in package or package["inBundle"]
        assert "resolved" not in package
