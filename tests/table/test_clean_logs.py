"""
Lawful play in all modes, houses, dealing styles and kinds of equipment: nothing is
raised, every result is exact and none is partial.

``MISTAKE_LOGS=10000`` plays so many logs; ``MISTAKE_SEED`` begins elsewhere.
"""

from __future__ import annotations

from random import Random

import pytest

from shoe_daemon.table import RoundFinished
from tests.table.mistake_logs import LOGS, SEED, report
from tests.table.table_judge import Verdict, as_result, judge, published_result
from tests.table.table_model import READERS, Dealing, make_setup, play
from tests.table.whole_shoes import whole_shoes

SHARE = LOGS // len(READERS) + 1


@pytest.mark.parametrize("reader", READERS)
def test_lawful_play_raises_nothing(reader: str) -> None:
    for seed in range(SEED, SEED + SHARE):
        random = Random(f"{seed} {reader}")
        dealing = Dealing(make_setup(random, reader=reader), random, rounds=random.randint(1, 7))
        verdict = Verdict("none", most=0, aborts=0)
        run = play(dealing.steps())
        wrong = judge(dealing, verdict, run)
        assert not wrong, report(dealing, verdict, run, wrong, seed)


def test_whole_shoes_raise_nothing() -> None:
    for seed in range(SEED, SEED + LOGS // 20 + 1):
        dealing, coups = whole_shoes(Random(seed))
        run = play(dealing.steps(), hides=False)
        told = [each.data for each in run.events if isinstance(each.data, RoundFinished)]
        raised = [str(each.data) for each in run.events if each.type == "irregularity"]
        lines = f"seed {seed}\n{run.lines()}"
        assert not raised, f"{lines}\n{raised}"
        assert [published_result(data) for data in told] == list(map(as_result, coups)), lines
        assert not any(data.partial for data in told), lines
