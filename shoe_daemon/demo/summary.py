"""
What a demo came to, in a few lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from shoe_daemon.demo.result_check import Referee
from shoe_daemon.demo.view_model import Health, name_of, seconds_between
from shoe_daemon.event_text import action_text
from shoe_daemon.game import Outcome
from shoe_daemon.game.odds import count_odds
from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    ResultRevised,
    RoundFinished,
    RoundVoided,
)

__all__ = ["Tally"]

_DECIDED: Final = {
    "round_held": "results held",
    "round_released": "released",
    "result_revised": "revised",
    "round_voided": "void",
    "card_corrected": "cards put right",
}
"""What a person's decisions led to, in words."""


class Tally:
    """
    Counts what was shown.
    """

    def __init__(self) -> None:
        self._outcomes: dict[tuple[int | None, int | None], Outcome | None] = {}
        self._open: dict[int, tuple[str, str]] = {}
        self._closed: dict[tuple[str, str], list[float]] = {}
        self._happened: Counter[str] = Counter()

    def note(self, event: Event) -> None:
        """
        Take the next event.
        """
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

    def lines(self, decks: int, health: Health, documents: int, referee: Referee) -> Iterator[str]:
        """
        Sum up.
        """
        yield (
            f"{_many(referee.dealt, 'round')} dealt from {_many(referee.shoes, 'shoe')}, "
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
        yield _judgement(referee)

    def _irregular(self) -> Iterator[str]:
        """
        Tell what was irregular, how each was dealt with, and how fast.
        """
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
            for kind, words in _DECIDED.items()
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


def _judgement(referee: Referee) -> str:
    apart = ", ".join(
        f"{count} {what}"
        for count, what in (
            (referee.aborted, "came to nothing"),
            (referee.partial, "shown as partial"),
            (referee.voided, "void"),
            (referee.misread, "misread by the shoe and unnoticed"),
            (referee.wrong, "SHOWN BUT NEVER DEALT"),
            (referee.missed, "DEALT BUT NEVER SHOWN"),
        )
        if count
    )
    verdict = "yes" if referee.content else "NO"
    more = f"; {apart}" if apart else ""
    return f"shown as really dealt: {verdict}, {_many(referee.same, 'round')} card by card{more}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
