"""
Random commands at random moments of lawful and faulty logs: an outside consumer of the
events knows what the table shows, an undone command leaves no trace, and neither a
replay nor a restored checkpoint changes anything.

``MISTAKE_LOGS`` and ``MISTAKE_SEED`` as in `test_one_mistake`.
"""

from __future__ import annotations

import pytest

from tests.table.command_model import commanded, compare, replays, undone_at_once, undone_later
from tests.table.mistake_logs import LOGS, SEED

LOGS_EACH = LOGS // 2
SEEDS = range(SEED, SEED + LOGS_EACH)


def fail(seed: int, wrong: list[str], lines: str) -> None:
    """
    Print the log and what is wrong with it.
    """
    pytest.fail("\n".join([f"seed {seed}", lines, *(f"! {each}" for each in wrong[:8])]))


def test_an_outside_consumer_knows_what_the_table_shows() -> None:
    for seed in SEEDS:
        run = commanded(seed)
        if wrong := compare(run):
            fail(seed, wrong, run.lines())


def test_a_replay_and_a_restored_checkpoint_give_the_same_bytes() -> None:
    for seed in SEEDS:
        run = commanded(seed)
        if wrong := replays(run, seed):
            fail(seed, wrong, run.lines())


def test_an_undone_command_leaves_no_trace() -> None:
    for seed in SEEDS:
        run = commanded(seed)
        if wrong := undone_at_once(run):
            fail(seed, wrong, run.lines())


def test_a_command_undone_later_is_as_if_never_given() -> None:
    for seed in SEEDS:
        run = commanded(seed)
        if wrong := undone_later(run, seed):
            fail(seed, wrong, run.lines())
