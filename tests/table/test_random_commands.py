"""
Random commands at random moments of lawful and faulty logs: an outside consumer of the
events knows what the table shows, an undone command leaves no trace, and neither a
replay nor a restored checkpoint changes anything.

``MISTAKE_LOGS`` and ``MISTAKE_SEED`` as in `test_one_mistake`.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.table.command_model import (
    Commanded,
    commanded,
    compare,
    replays,
    smallest,
    undone_at_once,
    undone_later,
)
from tests.table.mistake_logs import LOGS, SEED

SEEDS = range(SEED, SEED + LOGS // 2)


def check(wrong: Callable[[Commanded], list[str]]) -> None:
    """Check logs; print the first that is wrong, made as short as it can be."""
    found = [seed for seed in SEEDS if wrong(commanded(seed))]
    if found:
        run = smallest(commanded(found[0]), wrong)
        lines = [f"! {each}" for each in wrong(run)[:8]]
        pytest.fail("\n".join([f"{len(found)} logs: seeds {found[:5]}", run.lines(), *lines]))


def test_an_outside_consumer_knows_what_the_table_shows() -> None:
    check(compare)


def test_a_replay_and_a_restored_checkpoint_give_the_same_bytes() -> None:
    check(replays)


def test_an_undone_command_leaves_no_trace() -> None:
    check(undone_at_once)


def test_a_command_undone_later_is_as_if_never_given() -> None:
    check(undone_later)
