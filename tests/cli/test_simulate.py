"""
`shoe-daemon simulate` speaks a shoe's protocol, ends by itself or at a signal, and leaves no
files.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from drivers.angel_eye_ii import AngelEyeII
from drivers.registry import create_driver
from drivers.simulators.simulator import simulator_names
from drivers.transport import LineError, open_transport
from shoe_daemon.cli import main
from shoe_daemon.table.observations import Observation, Placed, Result
from tests.brokers import Listener, Mosquitto, mosquitto
from tests.volume import sample
from tests.waiting import PATIENCE, wait_for

__all__ = ["mosquitto"]

COMMAND = (sys.executable, "-m", "shoe_daemon", "simulate", "angel-eye-ii")


@contextmanager
def simulating(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start the simulator; yield it and its port."""
    with subprocess.Popen([*COMMAND, *arguments], stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        try:
            yield program, program.stdout.readline().removeprefix("port: ").strip()
        finally:
            program.kill()


def hear(
    port: str, enough: int, program: subprocess.Popen[str] | None = None
) -> list[Observation]:
    """Read a port until enough results have arrived, and on until the simulator ends."""
    line = open_transport(port, AngelEyeII.line)
    decoder = AngelEyeII().decoder()
    said: list[Observation] = []

    def heard() -> bool:
        for frame in decoder.feed(line.read(), 0):
            said.extend(frame.observations)
        return sum(isinstance(about, Result) for about in said) >= enough

    def ended() -> bool:
        # Copies of the last report follow it: the simulator waits for somebody to read them.
        with suppress(LineError):
            line.read()
        return program is None or program.poll() is not None

    wait_for(heard, f"{enough} results at {port}")
    wait_for(ended, "the end of the simulator")
    line.close()
    return said


def truth(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["simulate", "angel-eye-ii", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize("where", sample(["link", "tcp", "own path"], 2))
def test_rounds_are_dealt_over_a_line_and_it_ends_by_itself(where: str, tmp_path: Path) -> None:
    places = {
        "own path": [],
        "link": ["--link", f"{tmp_path}/shoe"],
        "tcp": ["--listen", "127.0.0.1:0"],
    }
    dealt = tmp_path / "truth"
    options = ["--speed", "0", "--rounds", "5", "--seed", "3", "--truth", str(dealt)]
    with simulating(*options, *places[where]) as (program, port):
        results = [said for said in hear(port, 5, program) if isinstance(said, Result)]
        output, _ = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0
    assert len(results) == len(truth(dealt)) == 5
    assert output.splitlines()[-1] == "5 rounds in 1 shoe; faults: none"
    assert [path.name for path in tmp_path.iterdir()] == ["truth"]


@pytest.mark.parametrize(
    ("number", "heard"),
    sample(product([signal.SIGINT, signal.SIGTERM], [True, False]), 3),
)
def test_a_signal_ends_it_cleanly(number: signal.Signals, tmp_path: Path, *, heard: bool) -> None:
    link = tmp_path / "shoe"
    with simulating("--link", str(link), "--speed", "20") as (program, port):
        if heard:
            hear(port, 1)
        program.send_signal(number)
        output, _ = program.communicate(timeout=PATIENCE)
        assert program.returncode == 0
    assert re.match(r"\d+ rounds? in \d+ shoes?; faults: ", output.splitlines()[-1])
    assert not link.is_symlink()
    with pytest.raises(LineError):
        open_transport(str(link), AngelEyeII.line)


IMPATIENT = """
import signal
from drivers.simulators.camera.live import RawSender
from drivers.simulators.lines import PtyLine
from shoe_daemon.cli import main

def impatient(close):
    def closed(end):
        signal.raise_signal(signal.SIGTERM)
        close(end)
    return closed

PtyLine.close, RawSender.close = impatient(PtyLine.close), impatient(RawSender.close)
main()
"""


@pytest.mark.parametrize(
    "which", [("angel-eye-ii", "--link", "{}"), ("camera", "--live", "raw:{}")]
)
def test_a_second_signal_leaves_nothing_behind_either(
    which: tuple[str, ...], tmp_path: Path
) -> None:
    place = tmp_path / "shoe"
    options = [each.format(place) for each in which]
    command = [sys.executable, "-c", IMPATIENT, "simulate", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout
        try:
            while "Ctrl-C ends it" not in program.stdout.readline():
                pass
            program.send_signal(signal.SIGTERM)
            program.communicate(timeout=PATIENCE)
        finally:
            program.kill()
    assert program.returncode == 0
    assert not list(tmp_path.iterdir())


def test_the_truth_tells_each_round_and_what_went_wrong(tmp_path: Path) -> None:
    dealt = tmp_path / "truth"
    faults = ["--fault", "overdraw", "--fault", "misread", "--fault-rate", "1"]
    options = ["--capture", f"{tmp_path}/x", "--rounds", "9", "--seed", "1", "--truth", str(dealt)]
    code, output = run(*options, *faults)
    assert code == 0
    rounds = truth(dealt)
    assert {told["fault"] for told in rounds} == {"overdraw", "misread"}
    assert rounds[0]["shoe"] == 1
    assert [told["number"] for told in rounds] == list(range(1, 10))
    assert rounds[0]["cards"][0][0] == "P1"
    assert re.fullmatch(r"9 rounds in 1 shoe; faults: \d misread, \d overdraw\n", output)


@pytest.mark.parametrize("name", simulator_names())
def test_each_reader_has_a_simulator_whose_capture_replays_to_what_was_dealt(
    name: str, tmp_path: Path
) -> None:
    capture, dealt = tmp_path / "shoe.cap", tmp_path / "truth"
    options = ["--rounds", "30", "--seed", "3", "--capture", str(capture), "--truth", str(dealt)]
    result = CliRunner().invoke(main, ["simulate", name, *options])
    assert (result.exit_code, result.output) == (0, "30 rounds in 1 shoe; faults: none\n")
    replayed = CliRunner().invoke(main, ["replay", "--json", str(capture)])
    assert replayed.exit_code == 0
    events = [msgspec.json.decode(line) for line in replayed.stdout.splitlines()]
    finished = [each["data"] for each in events if each["type"] == "round_finished"]
    hands = [each["player"]["cards"] + each["banker"]["cards"] for each in finished]
    assert hands == [
        [card for side in "PB" for slot, card in each["cards"] if slot.startswith(side)]
        for each in truth(dealt)
    ]


def test_the_options_of_a_driver_are_its_simulators_too(tmp_path: Path) -> None:
    capture = tmp_path / "scans.bin"
    options = '{preset = "olivetti", codes = "a01"}'
    arguments = ["--rounds", "2", "--seed", "1", "--once", "--capture", str(capture)]
    name = "line-scanner"
    result = CliRunner().invoke(main, ["simulate", name, "--options", options, *arguments])
    assert result.exit_code == 0
    assert re.fullmatch(rb"(\x02[AHCD](0[1-9]|1[0-3])\x03)+", capture.read_bytes())
    replay = ["replay", str(capture), "--protocol", name, "--options", options]
    assert "2  Player" in CliRunner().invoke(main, replay).output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["line-scanner", "--options", 'preset = "x"'], "Invalid enum value 'x'"),
        (["line-scanner", "--options", "preset"], "--options preset: "),
        (["line-scanner", "--mode", "hidden"], "No such option '--mode'"),
        (["bee-tek", "--fault", "lost-frame"], "'lost-frame' is not one of"),
        (["bee-tek", "--options", "speed = 1"], "unknown field `speed`"),
        (["angel-eye"], "No such command 'angel-eye'"),
        (["mqtt-camera"], "expected either --port URL or --capture FILE"),
        (["mqtt-camera", "--port", "mqtt://127.0.0.1/t"], "options.slots: missing; expected"),
        (["mqtt-camera", "--link", "x"], "No such option '--link'"),
        (["bee-tek", "--port", "mqtt://127.0.0.1/t"], "No such option '--port'"),
    ],
)
def test_what_a_reader_cannot_do_is_said(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["simulate", *arguments, "--rounds", "1"])
    assert result.exit_code == 2
    assert told in f"{result.output}{result.exception}"


@pytest.mark.mosquitto
def test_a_recogniser_publishes_to_a_broker(mosquitto: Mosquitto, tmp_path: Path) -> None:
    dealt, url = tmp_path / "truth", f"mqtt://127.0.0.1:{mosquitto.port}/studio/cards"
    slots = {"slots": ["P1", "P2", "P3", "B1", "B2", "B3"]}
    decoder = create_driver("mqtt-camera", slots).decoder()
    options = ["--options", f"slots = {json.dumps(slots['slots'])}", "--port", url]
    with Listener(mosquitto.port, "studio/cards") as studio:
        arguments = [*options, "--rounds", "3", "--speed", "0", "--once", "--truth", str(dealt)]
        result = CliRunner().invoke(main, ["simulate", "mqtt-camera", *arguments])
        assert result.exit_code == 0, result.output
        assert result.output.startswith(f"port: {url}\n")
        cards = [card for each in truth(dealt) for _, card in each["cards"]]
        # A first snapshot, and each round's cards and cleared table.
        wait_for(lambda: len(studio.messages) == 1 + len(cards) + 3, "all messages")
    heard = [
        str(each.card)
        for number, message in enumerate(studio.messages)
        for frame in decoder.feed(message.payload + b"\n", number)
        for each in frame.observations
        if isinstance(each, Placed)
    ]
    assert heard == cards


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--link", "x", "--listen", "127.0.0.1:0"], "exclude one another"),
        (["--capture", "x", "--listen", "127.0.0.1:0"], "exclude one another"),
        (["--capture", "x"], "--capture needs an end: --rounds or --shoes"),
        (["--fault", "unplug"], "--fault unplug needs --link"),
        (["--listen", "4001"], "expected HOST:PORT"),
        (["--listen", "127.0.0.1:70000"], "expected HOST:PORT"),
        (["--capture", "/none/x", "--rounds", "1"], "/none/x: No such file or directory"),
        (["--truth", "/none/x"], "/none/x: No such file or directory"),
        (["--link", "/none/x"], "/none/x: No such file or directory"),
        (["--fault", "fire"], "'fire' is not one of"),
        (["--decks", "13"], "13 is not in the range"),
    ],
)
def test_bad_usage_is_said_and_ends_with_2(arguments: list[str], told: str) -> None:
    code, output = run(*arguments)
    assert code == 2
    assert told in output
