"""
kill -9 at random moments of simulated shoes: of the daemon, of the broker, of both.

Nothing that is journaled is lost, nothing comes twice, every round that is not
partial is as it was dealt, and the retained `state` is what the journal says.
The shoe runs in a process of its own and deals on, whoever dies.

`make chaos` does it at full length and prints the figures.
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

from drivers.simulators.angel_eye_scenario import Mode, Scenario, Settings, scenario
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
"""Times as fast as a real table: a restart of the daemon costs two rounds."""

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(300 + 2 * KILLS + 6 * BROKER_KILLS)]


class Recorder(Listener):
    """A listener that is back at once, so that it misses little of what is said anew."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self._client.reconnect_delay_set(0.05, 0.05)  # type: ignore[arg-type]  # paho takes it


class Hall:
    """A shoe, a broker, a daemon, and a subscriber that remembers everything."""

    def __init__(self, folder: Path, broker: Mosquitto, listener: Recorder, mode: Mode) -> None:
        self.broker = broker
        self.listener = listener
        self.mode = mode
        self.chance = random.Random(f"{SEED} {mode}")
        self.link = folder / "shoe"
        self.folder = folder / "table"
        # Nobody is there to acknowledge what would hold a result back.
        config = configure(self.folder, "hold_from = 0", port=broker.port, line=self.link)
        self.daemon = DaemonProcess(config)
        self.journal = self.daemon.journal
        self.retained = b""

    @contextmanager
    def dealing(self) -> Iterator[None]:
        """Let the shoe deal, and afterwards come to rest; the daemon is started here."""
        options = ("--mode", self.mode, "--seed", SEED, "--speed", SPEED)
        with simulated_shoe(self.link, *options) as shoe, self.daemon:
            self.daemon.start().wait_ready()
            yield
            self.wait(0.5)
            self.daemon.wait_ready()
            # On a slow machine nobody may have lived for long enough to see one.
            wait_for(self._has_seen_a_round, "a whole round")
            shoe.send_signal(signal.SIGTERM)
            shoe.wait(PATIENCE)
            self._settle()

    def wait(self, most: float) -> None:
        """Let any time up to `most` seconds pass."""
        time.sleep(self.chance.uniform(0, most))

    def kill_daemon(self) -> None:
        """Kill the daemon, start it again, and let it mostly come to its work."""
        self.daemon.kill()
        self.daemon.start()
        if self.chance.random() < 0.8:
            self.daemon.wait_ready()

    def kill_broker(self) -> None:
        """Kill the broker, start it again, and wait until everybody is back."""
        self.broker.kill()
        before = self.broker.log.stat().st_size
        self.wait(0.2)
        self.broker.start()
        wait_for(lambda: self._are_back(before), "daemon and subscriber")

    def _are_back(self, before: int) -> bool:
        said = self.broker.log.read_bytes()[before:]
        return f" as shoe-{SITE}-{TABLE}-".encode() in said and b" as listener " in said

    def _settle(self) -> None:
        """Wait until the last words are told, and end the daemon properly."""
        self.daemon.wait_ready()
        wait_for(self._has_told_the_end, "the end of the line")
        assert self.daemon.stop() == 0
        wait_for(self._is_offline, "offline")
        # Now: it expires, and on a slow machine the proofs take longer than that.
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
        """Prove all that must hold, and print what it was about."""
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
    """Make a hall with a shoe of one mode."""
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
    # The broker lived, so its subscriber has got every event.
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
