"""
True coups and exactly one mistake: no wrong result, no flood of irregularities, no
face too early, and the table is in step again after the next boundary.

``make mistakes LOGS=100000`` plays so many logs and prints figures; ``MISTAKE_SEED``
begins elsewhere. A log that fails is printed as JSON lines, as short as it could be made.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tests.table.mistake_logs import LOGS, MISTAKES, SEED, Mistake, make_log, report, shortest
from tests.table.table_judge import judge
from tests.table.table_model import play

SHARE = LOGS // len(MISTAKES) + 1


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda each: each.__name__)
def test_one_mistake(mistake: Mistake) -> None:
    figures: Counter[str] = Counter()
    first: int | None = None
    for seed in range(SEED, SEED + SHARE):
        dealing, verdict = make_log(seed, mistake)
        wrong = judge(dealing, verdict, play(dealing.steps()))
        figures["logs"] += 1
        figures["rounds"] += len(dealing.coups)
        if wrong:
            figures["disagreements"] += 1
            first = seed if first is None else first
    print(f"\n{mistake.__name__}: {dict(figures)}")  # noqa: T201 - `make mistakes` shows it
    if first is not None:
        seed, dealing, verdict = shortest(first, mistake)
        run = play(dealing.steps())
        text = report(dealing, verdict, run, judge(dealing, verdict, run), seed)
        pytest.fail(f"{figures['disagreements']} of {figures['logs']} logs\n{text}")
