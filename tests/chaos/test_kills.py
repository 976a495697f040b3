"""
kill -9 of daemon, broker or both at random times of simulated shoes.

No journaled data is lost or duplicated, every complete round was dealt like that, and the retained
`state` is what the journal folds to. The shoe runs in its own process and keeps dealing.

`make chaos` runs it at full length and prints the figures.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from drivers.simulators.angel_eye_dealing import Mode, Scenario, Settings, scenario
from shoe_daemon.journal import JournalReader
from tests.brokers import PATIENCE, Listener, Mosquitto, wait_for
from tests.chaos import journal_checks
from tests.service.daemon_process import (
    PATIENT_BROKER,
    ROOT,
    SITE,
    TABLE,
    DaemonProcess,
    configure,
    simulated_shoe,
)
from tests.volume import volume

KILLS = int(os.environ.get("CHAOS_KILLS", volume(4, 40)))
BROKER_KILLS = int(os.environ.get("CHAOS_BROKER_KILLS", volume(2, 10)))
SEED = int(os.environ.get("CHAOS_SEED", "7"))
SPEED = 150
"""Multiple of a real table's speed: a restart of the daemon costs two rounds."""

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(300 + 2 * KILLS + 6 * BROKER_KILLS)]


class Recorder(Listener):
    """A listener that reconnects at once, to miss few republished messages."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._client.reconnect_delay_set(0.05, 0.05)  # type: ignore[arg-type]  # paho takes it


class Hall:
    """A shoe, a broker, a daemon, and a subscriber that keeps all messages."""

    def __init__(self, folder: Path, broker: Mosquitto, listener: Recorder, mode: Mode) -> None:
        self.broker = broker
        self.listener = listener
        self.mode = mode
        self.chance = random.Random(f"{SEED} {mode}")
        self.link = folder / "shoe"
        self.folder = folder / "table"
        # No operator is there to acknowledge a held result.
        config = configure(self.folder, "hold_from = 0", port=broker.port, line=self.link)
        self.daemon = DaemonProcess(config)
        self.journal = self.daemon.journal
        self.retained = b""

    @contextmanager
    def dealing(self) -> Iterator[None]:
        """Deal within the block, then wait for the end; starts the daemon."""
        options = ("--mode", self.mode, "--seed", SEED, "--speed", SPEED)
        with simulated_shoe(self.link, *options) as shoe, self.daemon:
            self.daemon.start().wait_ready()
            yield
            self.wait(0.5)
            self.daemon.wait_ready()
            # On a slow machine no daemon may have lived long enough to see a round.
            wait_for(self._has_seen_a_round, "a whole round")
            shoe.send_signal(signal.SIGTERM)
            shoe.wait(PATIENCE)
            self._settle()

    def wait(self, most: float) -> None:
        """Wait for a random time up to `most` seconds."""
        time.sleep(self.chance.uniform(0, most))

    def kill_daemon(self) -> None:
        """Kill the daemon, restart it, and usually wait until it is ready."""
        self.daemon.kill()
        self.daemon.start()
        if self.chance.random() < 0.8:
            self.daemon.wait_ready()

    def kill_broker(self) -> None:
        """Kill the broker, restart it, and wait for all clients."""
        self.broker.kill()
        before = self.broker.log.stat().st_size
        self.wait(0.2)
        self.broker.start()
        wait_for(lambda: self._are_back(before), "daemon and subscriber")

    def _are_back(self, before: int) -> bool:
        said = self.broker.log.read_bytes()[before:]
        return f" as shoe-{SITE}-{TABLE}-".encode() in said and b" as listener " in said

    def _settle(self) -> None:
        """Wait for the last messages, and stop the daemon."""
        self.daemon.wait_ready()
        wait_for(self._has_told_the_end, "the end of the line")
        assert self.daemon.stop() == 0
        wait_for(self._is_offline, "offline")
        # Before the checks: the message expires, and they may take longer on a slow machine.
        self.retained = self._retained_state()

    def _has_seen_a_round(self) -> bool:
        finished = (
            e for e in journal_checks.stored_events(self.journal) if e["type"] == "round_finished"
        )
        return not all(each["data"]["partial"] for each in finished)

    def _has_told_the_end(self) -> bool:
        states = self.listener.of("/state")
        if not states:
            return False
        state = states[-1].json
        with JournalReader(self.journal) as reader:
            head = reader.head().seq
        return state["seq"] == head and [each["link"] for each in state["readers"]] == ["down"]

    def _is_offline(self) -> bool:
        return bool(self.listener.of("/status")[-1].json["state"] == "offline")

    def dealt(self) -> Scenario:
        """Return what the simulator has dealt, and one round more."""
        rounds = self.link.with_suffix(".sim").read_text().count(" round ")
        return scenario(Settings(mode=self.mode, seed=SEED, rounds=rounds + 1))

    def prove(self, what: str, began: float) -> None:
        """Run all checks, and print their figures."""
        dealt = self.dealt()
        journal_checks.check_chain(self.journal)
        journal_checks.check_nothing_is_doubled(self.journal, dealt)
        figures = journal_checks.check_rounds(journal_checks.stored_events(self.journal), dealt)
        received = journal_checks.check_received(self.journal, self.listener.messages)
        journal_checks.check_replay(self.journal, self.folder)
        journal_checks.check_state(self.journal, self.retained)
        print(  # noqa: T201 - `make chaos` shows it
            f"\n{self.mode.value} mode, {what} in {time.monotonic() - began:.0f} s: "
            f"{figures.dealt} rounds dealt, {figures.rounds} finished and right, "
            f"{figures.partial} partial, {figures.aborted} aborted, the rest not seen; "
            f"{figures.events} events, {len(received)} of them at the subscriber; "
            f"irregularities: {figures.irregularities or 'none'}"
        )
        assert figures.rounds

    def _retained_state(self) -> bytes:
        with Listener(self.broker.port, f"{ROOT}state", name="late") as late:
            return late.wait("/state")[-1].payload


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Callable[[Mode], Hall]]:
    """Create a hall with a shoe of the given mode."""
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    with Mosquitto(folder, PATIENT_BROKER) as broker, Recorder(broker.port) as listener:
        yield lambda mode: Hall(tmp_path, broker, listener, mode)


@pytest.mark.parametrize("mode", list(Mode))
def test_the_daemon_is_killed(hall: Callable[[Mode], Hall], mode: Mode) -> None:
    place, began = hall(mode), time.monotonic()
    with place.dealing():
        for _ in range(KILLS):
            place.wait(0.6)
            place.kill_daemon()
    place.prove(f"{KILLS} kills of the daemon", began)
    # The broker was not killed, so its subscriber received all events.
    events = journal_checks.stored_events(place.journal)
    journal_checks.check_nothing_is_missing(place.listener.messages, len(events))


def test_the_broker_is_killed(hall: Callable[[Mode], Hall]) -> None:
    place, began = hall(Mode.HIDDEN), time.monotonic()
    with place.dealing():
        for _ in range(BROKER_KILLS):
            place.wait(0.5)
            place.kill_broker()
    place.prove(f"{BROKER_KILLS} kills of the broker", began)


def test_both_are_killed(hall: Callable[[Mode], Hall]) -> None:
    place, began = hall(Mode.OPEN), time.monotonic()
    with place.dealing():
        for _ in range(BROKER_KILLS // 2):
            place.wait(0.5)
            place.kill_daemon()
            place.wait(0.5)
            place.kill_broker()
    place.prove(f"{BROKER_KILLS // 2} kills of each", began)
