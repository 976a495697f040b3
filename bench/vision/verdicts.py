"""Comparison of the rounds dealt with the events received."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from drivers.simulators.shoe import DealtRound, coup_of
from shoe_daemon.table import (
    Event,
    HandResult,
    Irregularity,
    ReaderStatus,
    RoundAborted,
    RoundFinished,
    RoundHeld,
    to_microseconds,
)

__all__ = ["HOLDS", "Dealt", "Verdict", "judge"]

HOLDS: Final = 3
"""Results are held from this severity on."""

_FOUR: Final = 4


class Dealt(Struct):
    """
    One round dealt, and its events.

    Attributes:
        round: The round.
        trouble: The scene's fault.
        since: Start in seconds.
        shown: Published results.
        told: Alerts.
        severity: The highest severity.
    """

    round: DealtRound
    trouble: str | None
    since: float
    shown: list[RoundFinished] = []
    told: list[str] = []
    severity: int = 0

    @property
    def is_exact(self) -> bool:
        """True if the only published result is that of the round dealt."""
        whole = [each for each in self.shown if not each.partial]
        return len(whole) == 1 and is_same(self.round, whole[0])

    @property
    def is_shown_wrong(self) -> bool:
        """True if a wrong result was published as complete."""
        return any(not each.partial and not is_same(self.round, each) for each in self.shown)


class Verdict(Struct):
    """
    One shoe.

    Attributes:
        station, seed, wishes: The settings; they reproduce the shoe.
        rounds: Rounds dealt.
        exact: Rounds whose result was published as dealt.
        held: Other rounds without a wrong result: held, partial or aborted, with an alert.
        told: Rounds with a wrong result and an alert.
        silent: Rounds with a wrong result or none, without an alert.
        reasons: Alerts of held and told rounds.
        troubles: For each fault: rounds, exact, held, told, silent.
        why: Explanation of each round that is not exact.
        cards, events, pictures: Counts.
        seconds: Processor time.
        failed: The error that ended the shoe early.
    """

    station: str
    seed: int
    wishes: str = ""
    rounds: int = 0
    exact: int = 0
    held: int = 0
    told: int = 0
    silent: int = 0
    reasons: dict[str, int] = {}
    troubles: dict[str, list[int]] = {}
    why: list[str] = []
    cards: int = 0
    events: int = 0
    pictures: int = 0
    seconds: float = 0.0
    failed: str = ""


def judge(verdict: Verdict, rounds: list[Dealt], events: Sequence[Event], begin: int) -> None:
    """
    Judge all rounds of a shoe.

    Args:
        verdict: Receives the result.
        rounds: In dealing order.
        events: All events received.
        begin: Time of second 0, in microseconds since 1970.
    """
    verdict.events = len(events)
    _note_all(rounds, events, begin)
    reasons: Counter[str] = Counter()
    for dealt in rounds:
        became = _became(dealt)
        verdict.rounds += 1
        verdict.cards += len(dealt.round.cards) + (dealt.round.excess is not None)
        setattr(verdict, became, getattr(verdict, became) + 1)
        counts = verdict.troubles.setdefault(dealt.trouble or "none", [0, 0, 0, 0, 0])
        counts[0] += 1
        counts[1 + ("exact", "held", "told", "silent").index(became)] += 1
        if became != "exact":
            reasons.update(set(dealt.told) or {"nothing"})
            verdict.why.append(f"{became}: {_in_words(dealt)}")
    verdict.reasons = dict(reasons)


def _note_all(rounds: list[Dealt], events: Iterable[Event], begin: int) -> None:
    lost: float | None = None
    for event in events:
        at = (to_microseconds(event.at) - begin) / 1_000_000
        _note(rounds, at, event)
        if isinstance(event.data, ReaderStatus):
            if event.data.link == "down":
                lost = at if lost is None else lost
            elif lost is not None:
                _lose(rounds, lost, at)
                lost = None
    if lost is not None:
        _lose(rounds, lost, float("inf"))


def _lose(rounds: list[Dealt], since: float, until: float) -> None:
    """Mark the rounds of a time in which the camera was reported lost."""
    ends = [each.since for each in rounds[1:]] + [float("inf")]
    for dealt, end in zip(rounds, ends, strict=True):
        if dealt.since <= until and end >= since:
            _publish(dealt, "camera lost", HOLDS)


def _became(dealt: Dealt) -> str:
    if dealt.is_exact:
        return "exact"
    if not dealt.told:
        nothing_to_show = dealt.round.aborted and not dealt.shown
        return "exact" if nothing_to_show else "silent"
    return "told" if dealt.is_shown_wrong else "held"


def _note(rounds: list[Dealt], at: float, event: Event) -> None:
    about = next((each for each in reversed(rounds) if each.since <= at), None)
    if about is None:
        return
    match event.data:
        case RoundFinished() as finished:
            # A late result, with its alert, may arrive after the start of the next round.
            before = rounds[: rounds.index(about)][-1:]
            if before and not before[0].shown and is_same(before[0].round, finished):
                about = before[0]
            about.shown.append(finished)
            if finished.partial:
                _publish(about, "partial", HOLDS)
        case RoundHeld():
            _publish(about, "held", HOLDS)
        case RoundAborted(cause=cause):
            _publish(about, f"aborted: {cause}", HOLDS)
        case Irregularity() as found:
            _publish(about, str(found.kind), found.severity)


def _publish(dealt: Dealt, what: str, severity: int) -> None:
    dealt.told.append(what)
    dealt.severity = max(dealt.severity, severity)


def _in_words(dealt: Dealt) -> str:
    cards = " ".join(f"{slot}:{card}" for slot, card in dealt.round.cards)
    if dealt.round.excess is not None:
        cards += f" +{dealt.round.excess}"
    results = [
        " ".join(f"{hand}={','.join(map(str, each.cards))}" for hand, each in _hands(one))
        + (" partial" if one.partial else "")
        for one in dealt.shown
    ]
    return (
        f"round {dealt.round.number} at {dealt.since:.1f} [{dealt.trouble}] dealt {cards}: "
        f"shown {results or 'nothing'}; told {sorted(set(dealt.told)) or 'NOTHING'}"
    )


def _hands(finished: RoundFinished) -> tuple[tuple[str, HandResult], ...]:
    return ("P", finished.player), ("B", finished.banker)


def is_same(dealt: DealtRound, finished: RoundFinished) -> bool:
    """Return whether a result has the same cards as the round dealt."""
    if dealt.aborted or len(dealt.cards) < _FOUR:
        return False
    coup = coup_of(dealt.cards)
    return (tuple(coup.player.cards), tuple(coup.banker.cards), coup.outcome) == (
        tuple(finished.player.cards),
        tuple(finished.banker.cards),
        finished.outcome,
    )
