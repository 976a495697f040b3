"""Summary of a demo in a few lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.demo.result_check import ResultCheck
from shoe_daemon.demo.view_model import Health, name_of, seconds_between
from shoe_daemon.event_text import action_text
from shoe_daemon.game import Outcome
from shoe_daemon.game.exact_odds import count_odds
from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    ResultRevised,
    RoundFinished,
    RoundVoided,
)

__all__ = ["Summary"]

_DECISIONS: Final = {
    "round_held": "results held",
    "round_released": "released",
    "result_revised": "revised",
    "round_voided": "void",
    "card_corrected": "cards put right",
}
"""Words for the results of decisions."""


class Summary:
    """Counts of the published events."""

    def __init__(self) -> None:
        self._outcomes: dict[tuple[int | None, int | None], Outcome | None] = {}
        self._open: dict[int, tuple[str, str]] = {}
        self._closed: dict[tuple[str, str], list[float]] = {}
        self._happened: Counter[str] = Counter()

    def note(self, event: Event) -> None:
        """Count an event."""
        number = (event.shoe, event.round)
        self._happened[event.type] += 1
        match event.data:
            case RoundFinished() as finished:
                self._outcomes[number] = finished.outcome
            case ResultRevised(after=after) | RoundVoided(after=after):
                self._outcomes.pop(number, None)
                if after is not None:
                    self._outcomes[number] = after.outcome
            case Irregularity() as found:
                self._open[found.id] = (found.kind, event.at)
            case IrregularityClosed() as closed if closed.id in self._open:
                kind, since = self._open.pop(closed.id)
                how = f"{action_text(closed.action)}, {closed.operator or 'by itself'}"
                seconds = seconds_between(since, event.at)
                self._closed.setdefault((kind, how), []).append(seconds)

    def lines(
        self, decks: int, health: Health, documents: int, check: ResultCheck
    ) -> Iterator[str]:
        """Write the summary."""
        yield (
            f"{_many(check.dealt, 'round')} dealt from {_many(check.shoes, 'shoe')}, "
            f"{len(self._outcomes)} of them shown with a result"
        )
        if self._outcomes:
            yield from self._compared(decks)
        yield from self._irregular()
        yield (
            f"events: {health.published + health.queued} published, "
            f"{health.published} acknowledged by the broker; "
            f"a subscriber saw {health.seen}, and {documents} other messages"
        )
        yield _judgement(check)

    def _irregular(self) -> Iterator[str]:
        """Write irregularities, their closing actions, and how long they were open."""
        closed = sum(len(each) for each in self._closed.values())
        still = f", {len(self._open)} still open" if self._open else ", all dealt with"
        caught = closed + len(self._open)
        yield f"irregularities caught: {caught}{still if caught else ''}"
        for (kind, how), seconds in sorted(self._closed.items()):
            mean = sum(seconds) / len(seconds)
            often = f" on average, {max(seconds):.1f} s at most" if len(seconds) > 1 else ""
            yield f"  {len(seconds)} {name_of(kind)}: {how}, after {mean:.1f} s{often}"
        for kind, count in sorted(Counter(kind for kind, _ in self._open.values()).items()):
            yield f"  {count} {name_of(kind)}: still open"
        did = ", ".join(
            f"{words} {self._happened[kind]}"
            for kind, words in _DECISIONS.items()
            if self._happened[kind]
        )
        if did:
            yield f"decisions: {did}"

    def _compared(self, decks: int) -> Iterator[str]:
        odds = count_odds((), decks)
        shown = Counter(self._outcomes.values())
        ways = {
            Outcome.PLAYER: odds.player,
            Outcome.BANKER: odds.banker,
            Outcome.TIE: odds.tie,
        }
        rounds = len(self._outcomes)
        rows: list[tuple[str, Iterable[str]]] = [
            ("", (outcome.value for outcome in ways)),
            ("shown", (str(shown[outcome]) for outcome in ways)),
            ("expected", (f"{rounds * way / odds.total:.1f}" for way in ways.values())),
        ]
        for name, figures in rows:
            yield f"  {name:<9}{''.join(f'{figure:>9}' for figure in figures)}".rstrip()


def _judgement(check: ResultCheck) -> str:
    apart = ", ".join(
        f"{count} {what}"
        for count, what in (
            (check.aborted, "came to nothing"),
            (check.partial, "shown as partial"),
            (check.voided, "void"),
            (check.misread, "misread by the shoe and unnoticed"),
            (check.wrong, "SHOWN BUT NEVER DEALT"),
            (check.missed, "DEALT BUT NEVER SHOWN"),
        )
        if count
    )
    verdict = "yes" if check.passed else "NO"
    more = f"; {apart}" if apart else ""
    return f"shown as really dealt: {verdict}, {_many(check.same, 'round')} card by card{more}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
