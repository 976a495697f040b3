"""
kill -9 of daemon, broker or both at random times of simulated shoes.

No journaled data is lost or duplicated, every complete round was dealt like that, and the retained
`state` is what the journal folds to. The shoe runs in its own process and keeps dealing.

`make chaos` runs it at full length and prints the figures.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from drivers.simulators.angel_eye import Mode
from tests.brokers import Mosquitto
from tests.chaos import journal_checks
from tests.chaos.hall import Hall, Recorder
from tests.service.daemon_process import PATIENT_BROKER
from tests.volume import volume

KILLS = int(os.environ.get("CHAOS_KILLS", volume(2, 15)))
BROKER_KILLS = int(os.environ.get("CHAOS_BROKER_KILLS", volume(2, 4)))
SEED = int(os.environ.get("CHAOS_SEED", "7"))
pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(300 + 2 * KILLS + 6 * BROKER_KILLS)]


@pytest.fixture
def hall(tmp_path: Path) -> Iterator[Callable[[Mode], Hall]]:
    """Create a hall with a shoe of the given mode."""
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    with Mosquitto(folder, PATIENT_BROKER) as broker, Recorder(broker.port) as listener:
        yield lambda mode: Hall(tmp_path, broker, listener, mode, seed=SEED)


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
