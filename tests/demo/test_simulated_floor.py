"""
`shoe-daemon simulate floor` publishes what displays accept, and leaves no message at the broker.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.cli import main
from shoe_daemon.demo.floor import BETTING_S, DealtTable, Point, Step, device
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Message
from shoe_daemon.mqtt.documents import State
from shoe_daemon.mqtt.topics import RETAINED, TableIdentity, Topics
from shoe_daemon.table import is_staff
from tests.brokers import Listener, Mosquitto, mosquitto
from tests.floor.table_messages import BEGIN, PATIENT, at
from tests.service.daemon_process import SHOE_DAEMON
from tests.waiting import PATIENCE, wait_for

__all__ = ["mosquitto"]

TABLES = [f"table-000{number}" for number in (1, 2, 3)]


def dealt(table: DealtTable, begin: float, floor: Floor, steps: int) -> tuple[float, Point]:
    """Deal into a display's model; return the time, and the last point between two rounds."""
    identity, now = table.identity, begin
    topics = Topics(identity.site, identity.table)

    def tell(topic: str, payload: bytes, *, retained: bool) -> None:
        floor.receive(Message(topic, payload, retained), at(now))

    point = table.point()
    step = Step([], table.documents(), 0)
    tell(topics.retained("device/shoe"), device(table), retained=True)
    for _ in range(steps):
        for event in step.events:
            if not is_staff(event.type):
                tell(topics.event(event.type), event.body, retained=False)
        for suffix, document in step.documents:
            payload = document if isinstance(document, bytes) else document(at(now).wall)
            tell(topics.retained(suffix), payload, retained=True)
        if step.pause_s == BETTING_S:
            point = table.point()
        now += step.pause_s
        step = table.step(BEGIN + int(1e6 * now))
    return now, point


@given(seed=st.integers(0, 2**32))
@PATIENT
def test_a_display_accepts_each_message(seed: int) -> None:
    chance, floor = Random(seed), Floor(staff_alerts=True)
    first = DealtTable(TableIdentity("hall", "table-1", "s1", "One"), 10, chance)
    now, point = dealt(first, 0.0, floor, 60)
    second = DealtTable(TableIdentity("hall", "table-2", "s2", "Two"), 10, chance, point)
    dealt(second, now, floor, 60)
    assert floor.faults.total == 0
    for name in ("table-1", "table-2"):
        table = floor.get(f"hall.{name}")
        assert table is not None
        state = table.body("state")
        assert isinstance(state, State)
        assert (state.table, state.simulated) == (name, True)
        assert state.last_result is not None


@contextmanager
def simulating(*options: str) -> Iterator[subprocess.Popen[str]]:
    command = [*SHOE_DAEMON, "simulate", "floor", "--processes", "2", *options]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command, stdout=pipe, stderr=pipe, text=True, start_new_session=True
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def tables_with(listener: Listener, end: str, text: bytes) -> set[str]:
    """Return the tables with a message of this topic with a text, or with an empty one."""
    return {
        each.topic.split("/")[3]
        for each in listener.of(end)
        if (text in each.payload if text else not each.payload)
    }


def wait_for_tables(listener: Listener) -> None:
    wait_for(lambda: tables_with(listener, "/status", b'"online"') == {*TABLES}, "all tables")


def left_at(broker: Mosquitto) -> list[str]:
    """Return the topics of all retained messages."""
    with Listener(broker.port, name="later") as listener:
        listener.publish("the/end", b"")
        listener.wait("the/end")
        return [each.topic for each in listener.messages if each.retain]


@pytest.mark.parametrize("end", ["time", "Ctrl-C", "SIGTERM", "killed"])
def test_the_messages_of_a_real_table_are_published_and_removed_at_the_end(
    end: str, mosquitto: Mosquitto, tmp_path: Path
) -> None:
    file = tmp_path / "floor.toml"
    file.write_text(f"[mqtt]\nport = {mosquitto.port}\n", encoding="utf-8")
    options = ["--tables", "3", "--minutes", "0.15" if end == "time" else "60"]
    with (
        Listener(mosquitto.port) as listener,
        simulating(*options, "--config", str(file)) as program,
    ):
        wait_for_tables(listener)
        listener.wait("/device/shoe", 3)
        match end:
            case "Ctrl-C":  # a terminal sends it to all processes
                os.killpg(program.pid, signal.SIGINT)
            case "SIGTERM":
                program.terminate()
            case "killed":
                program.kill()
        # It is the last of each table to be cleared.
        wait_for(lambda: tables_with(listener, "/device/shoe", b"") == {*TABLES}, "the end")
        if end != "killed":
            output, errors = program.communicate(timeout=PATIENCE)
            assert (program.returncode, errors) == (0, "")
            assert output.splitlines()[-1].endswith("events; retained messages removed")
        published = {each.topic.partition("table-0001/")[2] for each in listener.messages}
        expected = {*RETAINED, "device/shoe"} - {"signature"}
        assert {each for each in published if "event/" not in each} - {"", "signature"} == expected
    assert left_at(mosquitto) == []


def test_without_its_broker_at_the_end_it_reports_what_is_left(mosquitto: Mosquitto) -> None:
    with (
        Listener(mosquitto.port) as listener,
        simulating("--tables", "3", "--broker", f"127.0.0.1:{mosquitto.port}") as program,
    ):
        wait_for_tables(listener)
        mosquitto.kill()
        program.terminate()
        _, errors = program.communicate(timeout=PATIENCE)
        assert program.returncode == 2
        assert errors.startswith("shoe-daemon: messages are left at the broker: 127.0.0.1:")
        assert len(errors.splitlines()) == 1


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--tables", "0"], "Invalid value for '--tables': 0 is not in the range 1<=x<=2000."),
        (["--tables", "2001"], "2001 is not in the range 1<=x<=2000."),
        (["--tables", "3", "--minutes", "0"], "0.0 is not in the range 0.01<=x<=1440."),
        (["--tables", "3", "--site", "A/b"], "site 'A/b': expected an id of a-z, 0-9 and -"),
        (["--tables", "3", "--broker", "here"], "--broker: 'here'; expected HOST:PORT"),
        (["--tables", "3", "--broker", "127.0.0.1:9"], "the broker at 127.0.0.1:9 cannot be re"),
    ],
)
def test_a_wrong_option_is_reported_on_one_line(options: list[str], expected: str) -> None:
    result = CliRunner().invoke(main, ["simulate", "floor", *options])
    assert result.exit_code != 0
    assert expected in result.output.splitlines()[-1]
