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
    CommandedRun,
    consumer_differences,
    late_undo_differences,
    make_commanded_run,
    replay_differences,
    smallest_failing_run,
    undo_differences,
)
from tests.table.mistake_logs import LOGS, SEED

SEEDS = range(SEED, SEED + LOGS // 2)


def check(wrong: Callable[[CommandedRun], list[str]]) -> None:
    """Check logs; print the first that is wrong, made as short as it can be."""
    found = [seed for seed in SEEDS if wrong(make_commanded_run(seed))]
    if found:
        run = smallest_failing_run(make_commanded_run(found[0]), wrong)
        lines = [f"! {each}" for each in wrong(run)[:8]]
        pytest.fail("\n".join([f"{len(found)} logs: seeds {found[:5]}", run.lines(), *lines]))


def test_an_outside_consumer_knows_what_the_table_shows() -> None:
    check(consumer_differences)


def test_a_replay_and_a_restored_checkpoint_give_the_same_bytes() -> None:
    check(replay_differences)


def test_an_undone_command_leaves_no_trace() -> None:
    check(undo_differences)


def test_a_command_undone_later_is_as_if_never_given() -> None:
    check(late_undo_differences)
