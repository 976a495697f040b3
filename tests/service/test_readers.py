"""Readers: unplugged during a round, faster than the disk, without slots."""

from __future__ import annotations

import contextlib
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from drivers.simulators.angel_eye import Mode, Settings, scenario
from shoe_daemon.game.coup import Outcome
from tests.brokers import Listener, Mosquitto, free_port
from tests.chaos import journal_checks
from tests.service.conftest import Run
from tests.service.daemon_process import DaemonProcess, Shoe, configure, simulated_shoe
from tests.service.example_drivers import installed
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.mosquitto


def events(listener: Listener, kind: str) -> list[dict[str, Any]]:
    return [message.json["data"] for message in listener.of(f"event/{kind}")]


def state(listener: Listener) -> dict[str, Any]:
    last: dict[str, Any] = listener.of("/state")[-1].json
    return last


def device(listener: Listener) -> str:
    """Say how the reader was last; it may not have been told yet."""
    told = listener.of("device/shoe")
    return str(told[-1].json["state"]) if told else ""


def prove(daemon: DaemonProcess, listener: Listener) -> None:
    """End the daemon, and prove the journal and what was told."""
    assert daemon.stop() == 0
    wait_for(lambda: listener.of("/status")[-1].json["state"] == "offline", "offline")
    journal_checks.check_chain(daemon.journal)
    journal_checks.check_nothing_is_missing(
        listener.messages, len(journal_checks.stored_events(daemon.journal))
    )
    journal_checks.check_replay(daemon.journal, daemon.config.parent)
    journal_checks.check_state(daemon.journal, listener.of("/state")[-1].payload)


def test_unplugged_in_mid_round_and_plugged_in_again(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    daemon = run(configure(tmp_path / "table", port=mosquitto.port, line=shoe.link)).wait_ready()
    shoe.wait_heard().say("S")
    shoe.draw("P1:2S", "B1:KH")
    listener.wait("event/card_dealt", 2)
    shoe.unplug()
    # Documents of their own: neither waits for the other.
    wait_for(lambda: device(listener) == "no-signal", "no signal")
    wait_for(lambda: state(listener)["readers"][0]["link"] == "down", "the line is down")
    shoe.plug()
    shoe.wait_heard()
    wait_for(lambda: device(listener) == "connected", "the line again")
    wait_for(lambda: state(listener)["round"]["partial"], "what was missed")
    # The rest of that round, and a whole one.
    shoe.draw("B2:9C")
    shoe.call(Outcome.BANKER)
    shoe.draw("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    shoe.call(Outcome.PLAYER)
    first, second = listener.wait("event/round_finished", 2)
    assert (first.json["data"]["partial"], first.json["data"]["outcome"]) == (True, "banker")
    assert (second.json["data"]["partial"], second.json["data"]["outcome"]) == (False, "player")
    assert not listener.of("event/irregularity")
    prove(daemon, listener)


def listening(port: int) -> socket.socket:
    """Connect to the copy of a line, as soon as it can be had."""
    line = socket.socket()
    wait_for(lambda: line.connect_ex(("127.0.0.1", port)) == 0, "the copy of the line")
    return line


def test_a_copy_of_the_line_gets_every_byte_and_delays_no_card(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    port = free_port()
    file = configure(tmp_path / "table", port=mosquitto.port, line=shoe.link)
    with file.open("a", encoding="utf-8") as text:
        text.write(f'[reader.forward]\nto = "tcp://127.0.0.1:{port}"\n')
    daemon = run(file).wait_ready()
    shoe.wait_heard()
    with listening(port) as display, listening(port) as stalled:
        stalled.sendall(b"\x02OPLK02\x031B" * 1000)
        # A connection may be accepted after the first bytes: these are of no frame.
        display.settimeout(0.05)
        copied = b""
        while not copied.endswith(b"?"):
            shoe.send(b"?")
            with contextlib.suppress(TimeoutError):
                copied += display.recv(4096)
        display.settimeout(PATIENCE)
        data = scenario(Settings(mode=Mode.OPEN, rounds=20, seed=3)).stream(3)
        shoe.send(data)
        listener.wait("event/round_finished", 20)
        copied = b""
        while not copied.lstrip(b"?").startswith(data):
            copied += display.recv(4096)
        assert daemon.stop() == 0
        assert display.recv(1) == b""


RECOGNISER = """
[[reader]]
driver = "mqtt-camera"
port = "mqtt://127.0.0.1:{port}/studio/7"
[reader.options]
slots = ["P1", "B1", "P2", "B2", "P3", "B3"]
"""


def test_a_recogniser_on_the_broker_deals_and_a_restart_deals_nothing_twice(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    def show(*cards: str) -> None:
        texts = [*cards, *[""] * (6 - len(cards))]
        message = {"response": "result", "arg": {"res": texts}}
        listener.publish("studio/7", json.dumps(message).encode(), retain=True)

    show("2C", "3C", "4C", "5C")  # of yesterday
    file = configure(tmp_path / "table", port=mosquitto.port)
    with file.open("a", encoding="utf-8") as text:
        text.write(RECOGNISER.format(port=mosquitto.port))
    daemon = run(file).wait_ready()
    wait_for(lambda: device(listener) == "connected", "the recogniser's line")
    show()
    for count in range(1, 5):
        show(*("9S", "2H", "KD", "3C")[:count])
    listener.wait("event/round_finished", 1)
    show()
    show("2S", "5H")
    listener.wait("event/card_dealt", 6)
    daemon.kill()
    count = len(listener.of("device/shoe"))
    daemon.start().wait_ready()
    wait_for(lambda: len(listener.of("device/shoe")) > count, "the line after the restart")
    wait_for(lambda: device(listener) == "connected", "the line after the restart")
    show("2S", "5H", "4D")
    show("2S", "5H", "4D", "QC")
    show("2S", "5H", "4D", "QC", "", "4S")
    show()
    for count in range(1, 5):
        show(*("KS", "8H", "KD", "TC")[:count])
    show()
    # The round of the restart is complete on the table, but nobody knows what was missed.
    wait_for(lambda: not events(listener, "round_finished")[-1]["partial"], "a clean round")
    wait_for(lambda: events(listener, "round_finished")[-1]["outcome"] == "banker", "its winner")
    dealt = [message.json for message in listener.of("event/card_dealt")]
    cards = {each["seq"]: each["data"]["card"] for each in dealt}
    assert " ".join(cards.values()) == "9S 2H KD 3C 2S 5H 4D QC 4S KS 8H KD 10C"
    assert not listener.of("event/irregularity")
    prove(daemon, listener)


def test_without_places_a_quiet_gap_ends_the_round(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    text = f"""
    round_end = "quiet"
    quiet_gap = 0.5
    [[reader]]
    driver = "cards-only"
    port = "{shoe.link}"
    """
    config = configure(tmp_path / "table", text, port=mosquitto.port)
    daemon = run(config, PYTHONPATH=installed(tmp_path / "site")).wait_ready()
    shoe.wait_heard()
    wait_ticks(daemon, 1)
    for number, cards in enumerate(("9S 2H KD 3C", "2S 5H 4D QC 4S"), start=1):
        # In one piece, so that no busy machine makes a quiet gap between them.
        shoe.send("".join(f"{card}\n" for card in cards.split()).encode())
        listener.wait("event/round_finished", number)
        wait_ticks(daemon, 1 + number)
    outcomes = [(e["outcome"], e["partial"]) for e in events(listener, "round_finished")]
    assert outcomes == [("player", False), ("banker", False)]
    assert not listener.of("event/irregularity")
    prove(daemon, listener)


def wait_ticks(daemon: DaemonProcess, count: int) -> None:
    """Wait for so many ticks in the journal."""

    def ticks() -> int:
        return journal_checks.exported(daemon.journal, "--observations").count(b'"type":"tick"')

    wait_for(lambda: ticks() == count, f"tick {count}")


SLOW = """
import time
from shoe_daemon.journal import Journal
import shoe_daemon.service.daemon as daemon
daemon._MAX_INPUTS, daemon._MAX_BATCH = 20, 4
append = Journal.append
def slowly(self, entries):
    time.sleep(0.05)
    return append(self, entries)
Journal.append = slowly
"""
"""A disk that takes fifty milliseconds, and a small inbox."""


def test_a_reader_too_fast_for_the_disk_is_held_back_and_nothing_is_dropped(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener
) -> None:
    rounds = 30
    options = ("--mode", "open", "--seed", 3, "--rounds", rounds, "--speed", 0, "--once")
    with simulated_shoe(tmp_path / "shoe", *options) as shoe:
        config = configure(tmp_path / "table", port=mosquitto.port, line=tmp_path / "shoe")
        daemon = run(config, patch=SLOW).wait_ready()
        wait_for(lambda: "readers_blocked" in daemon.log.read_text(), "the alarm in the log")
        wait_for(lambda: any(alarms(listener)), "the alarm")
        assert "faster than they can be recorded" in next(filter(None, alarms(listener)))
        shoe.wait(PATIENCE)
        listener.wait("event/round_finished", rounds)
        wait_for(lambda: not alarms(listener)[-1], "the end of the alarm")
        prove(daemon, listener)
    truth = scenario(Settings(mode=Mode.OPEN, seed=3, rounds=rounds))
    journal_checks.check_nothing_is_doubled(daemon.journal, truth)
    figures = journal_checks.check_rounds(journal_checks.stored_events(daemon.journal), truth)
    assert (figures.rounds, figures.partial, figures.aborted) == (rounds, 0, 0)
    assert figures.irregularities == {}


def alarms(listener: Listener) -> list[str | None]:
    return [message.json["alarm"] for message in listener.of("/state")]
