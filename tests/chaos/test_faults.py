"""
All faults of `faults`, singly and in random combinations, while a shoe deals.

After them no journaled data is lost or duplicated, every complete round was dealt like that, and
the retained `state` is what the journal folds to. Each fault waits for the alarm that a person
needs. `make chaos` runs twenty seeds; `CHAOS_SEED=17` repeats one.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drivers.simulators.angel_eye import Mode
from tests.brokers import Mosquitto
from tests.chaos import journal_checks
from tests.chaos.faults import ALL_RIGHTS, BROKER, PATCH, Faults, Network, damage
from tests.chaos.hall import Hall, Recorder
from tests.service.daemon_process import cli
from tests.volume import volume

SEEDS = int(os.environ.get("CHAOS_SEEDS", volume(0, 1)))
FIRST_SEED = int(os.environ.get("CHAOS_SEED", "7"))
COMBINATIONS = volume(2, 3)
DAMAGES = volume(6, 12)

EXCLUSIVE = (
    {
        "broker killed",
        "broker hung",
        "broker refuses connections",
        "broker refuses messages",
        "connection reset",
        "connection silent",
    },
    {"clock set back", "clock set forward"},
    {"disk full", "disk read-only", "100 ms a commit"},
)
"""
Of each group, one fault at a time, in this order: while the disk is full no event follows, and its
alarm hides that the broker is down.
"""

pytestmark = [pytest.mark.mosquitto, pytest.mark.timeout(900)]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB for the table."""
    disk = tmp_path / "table"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a small disk, and not in every container")
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


@pytest.mark.parametrize("seed", range(FIRST_SEED, FIRST_SEED + SEEDS))
def test_every_fault_and_their_combinations(tmp_path: Path, disk: Path, seed: int) -> None:
    chance, began = random.Random(seed), time.monotonic()
    folder, flags, rights = tmp_path / "mosquitto", tmp_path / "flags", tmp_path / "rights"
    folder.mkdir()
    flags.mkdir()
    rights.write_text(ALL_RIGHTS)
    with (
        Mosquitto(folder, BROKER.format(acl=rights)) as broker,
        Recorder(broker.port) as listener,
        Network(broker.port) as network,
    ):
        hall = Hall(
            tmp_path,
            broker,
            listener,
            chance.choice(list(Mode)),
            seed=seed,
            patch=PATCH,
            relay=network,
            keepalive=1,
            environment={"CHAOS_FLAGS": str(flags)},
        )
        faults = Faults(hall, network, flags, rights, disk).by_name()
        plan = _plan(chance, list(faults))
        with hall.dealing():
            for names in plan:
                with contextlib.ExitStack() as stack:
                    for name in names:
                        stack.enter_context(faults[name]())
                    hall.wait(0.3)
                hall.wait(0.5)
        hall.prove(f"seed {seed}: {'; '.join(' + '.join(names) for names in plan)}", began)
        _check_times(hall)
    _check_damaged_copies(hall.journal, tmp_path / "copies", chance)


def _plan(chance: random.Random, names: list[str]) -> list[list[str]]:
    """Return every fault singly, then combinations, in random order."""
    chance.shuffle(names)
    plan = [[name] for name in names]
    for _ in range(COMBINATIONS):
        chosen = chance.sample(range(len(EXCLUSIVE)), chance.randint(2, len(EXCLUSIVE)))
        plan.append([chance.choice(sorted(EXCLUSIVE[number])) for number in sorted(chosen)])
    return plan


def _check_times(hall: Hall) -> None:
    times = [event["at"] for event in journal_checks.stored_events(hall.journal)]
    assert times == sorted(times), "a time stamp goes back"


def _check_damaged_copies(journal: Path, folder: Path, chance: random.Random) -> None:
    """A damaged journal is reported, or its events are still the same."""
    folder.mkdir()
    intact = journal_checks.exported(journal, "--events")
    for number in range(DAMAGES):
        copy = folder / f"{number}.db"
        damage(journal, copy, chance.random(), truncate=number % 3 == 0)
        verified = cli("journal", "verify", "--refold", copy)
        if verified.exit_code == 0:
            assert journal_checks.exported(copy, "--events") == intact
        else:
            assert verified.exit_code in {1, 2}
