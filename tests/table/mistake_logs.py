"""Logs of true coups with exactly one mistake, made from a seed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.table.mistakes_of_people import (
    change_then_undo,
    corrected_wrongly,
    drawn_after_ruling,
    excess_card,
    forgotten_burn,
    late_card,
    lost_signal,
    miscounted,
    misread_then_corrected,
    missed_draw,
    missed_then_ruled,
    premature_draw,
    result_entered,
    shoe_changed,
    signal_twice,
    unread_then_entered,
    void_in_between,
    wrong_winner,
)
from tests.table.mistakes_of_readers import (
    checker_misreads,
    checker_without_burn,
    error_without_end,
    lost_frame,
    lost_frame_between,
    main_drops_out,
    main_goes_between,
    main_misreads,
    misread,
    power_cycle,
    read_again,
    repeated,
    swapped,
    unread,
    unread_as_error,
    unseen,
)
from tests.table.table_judge import Verdict, judge
from tests.table.table_model import Dealing, Run, make_setup, play
from tests.volume import volume

Mistake = Callable[[Dealing, int], Verdict | None]

MISTAKES: Final[tuple[Mistake, ...]] = (
    missed_draw,
    missed_then_ruled,
    drawn_after_ruling,
    excess_card,
    wrong_winner,
    misread,
    unread,
    unread_as_error,
    unread_then_entered,
    corrected_wrongly,
    unseen,
    lost_frame,
    lost_frame_between,
    repeated,
    swapped,
    power_cycle,
    void_in_between,
    forgotten_burn,
    late_card,
    error_without_end,
    checker_misreads,
    checker_without_burn,
    main_misreads,
    main_drops_out,
    lost_signal,
    signal_twice,
    premature_draw,
    read_again,
    result_entered,
    shoe_changed,
    miscounted,
    main_goes_between,
    misread_then_corrected,
    change_then_undo,
)

WITH_BURN: Final = (forgotten_burn, checker_without_burn)


def make_log(
    seed: int,
    mistake: Mistake | None = None,
    rounds: int = 5,
    **fixed: Any,  # noqa: ANN401
) -> tuple[Dealing, Verdict]:
    """Make one log with one mistake out of a seed."""
    random = Random(seed)
    while True:
        setup = make_setup(random, **fixed)
        if mistake in WITH_BURN:
            setup = make_setup(random, **(fixed | {"house": "chickasaw"}))
        dealing = Dealing(setup, random, rounds)
        at = random.randrange(len(dealing.coups))
        verdict = (mistake or random.choice(MISTAKES))(dealing, at)
        if verdict is not None:
            return dealing, verdict
        rounds = max(rounds, 2)


LOGS: Final = int(os.environ.get("MISTAKE_LOGS", volume(120, 1000)))
"""Number of logs that a test plays."""

SEED: Final = int(os.environ.get("MISTAKE_SEED", "0"))


def shortest(seed: int, mistake: Mistake, tries: int = 300) -> tuple[int, Dealing, Verdict]:
    """Look for a shorter log in which the same mistake leads to a disagreement."""
    dealing, verdict = make_log(seed, mistake)
    best = (seed, dealing, verdict)
    wanted = _complaints(dealing, verdict)
    for other in range(tries):
        for rounds in (1, 2, 3):
            dealing, verdict = make_log(other, mistake, rounds, house=None, cleared=False)
            if len(dealing.steps()) < len(best[1].steps()) and wanted & _complaints(
                dealing, verdict
            ):
                best = (other, dealing, verdict)
    return best


def _complaints(dealing: Dealing, verdict: Verdict) -> set[str]:
    wrong = judge(dealing, verdict, play(dealing.steps()))
    return {re.sub(r"\d+.*", "", each) for each in wrong}


def report(dealing: Dealing, verdict: Verdict, run: Run, wrong: list[str], seed: int) -> str:
    """Write down a disagreement: the truth, the log and what differs."""
    coups = "\n".join(
        f"  coup {at}: {' '.join(c.truth.player)} | {' '.join(c.truth.banker)} {c.truth.outcome}"
        for at, c in enumerate(dealing.coups)
    )
    lines = [f"seed {seed}: {verdict.mistake}", coups, run.lines(), *(f"! {w}" for w in wrong)]
    return "\n".join(lines)
