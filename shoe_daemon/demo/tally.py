"""
What a demo came to, in a few lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from shoe_daemon.demo.board import Health, name_of
from shoe_daemon.demo.referee import Referee
from shoe_daemon.game.odds import count_odds
from shoe_daemon.game.round import Outcome
from shoe_daemon.table.events import Event, Irregularity, RoundFinished

__all__ = ["Tally"]


class Tally:
    """
    Counts what was shown.
    """

    def __init__(self) -> None:
        self.outcomes: Counter[Outcome] = Counter()
        self.kinds: Counter[str] = Counter()
        self.rounds = 0

    def note(self, event: Event) -> None:
        """
        Take the next event.
        """
        match event.data:
            case RoundFinished() as finished:
                self.rounds += 1
                if finished.outcome is not None:
                    self.outcomes[finished.outcome] += 1
            case Irregularity() as found:
                self.kinds[found.kind] += 1

    def lines(self, decks: int, health: Health, documents: int, referee: Referee) -> Iterator[str]:
        """
        Sum up.
        """
        yield (
            f"{_many(referee.dealt, 'round')} dealt from {_many(referee.shoes, 'shoe')}, "
            f"{self.rounds} of them shown with a result"
        )
        if self.rounds:
            yield from self._outcomes(decks)
        kinds = ", ".join(f"{count} {name_of(kind)}" for kind, count in sorted(self.kinds.items()))
        yield f"irregularities caught: {self.kinds.total()}{f' ({kinds})' if kinds else ''}"
        yield (
            f"events: {health.published + health.queued} published, "
            f"{health.published} acknowledged by the broker; "
            f"a subscriber saw {health.seen}, and {documents} other messages"
        )
        yield _judgement(referee)

    def _outcomes(self, decks: int) -> Iterator[str]:
        odds = count_odds((), decks)
        ways = {
            Outcome.PLAYER: odds.player,
            Outcome.BANKER: odds.banker,
            Outcome.TIE: odds.tie,
        }
        rows: list[tuple[str, Iterable[str]]] = [
            ("", (outcome.value for outcome in ways)),
            ("shown", (str(self.outcomes[outcome]) for outcome in ways)),
            ("expected", (f"{self.rounds * way / odds.total:.1f}" for way in ways.values())),
        ]
        for name, figures in rows:
            yield f"  {name:<9}{''.join(f'{figure:>9}' for figure in figures)}".rstrip()


def _judgement(referee: Referee) -> str:
    apart = ", ".join(
        f"{count} {what}"
        for count, what in (
            (referee.aborted, "came to nothing"),
            (referee.partial, "shown as partial"),
            (referee.misread, "misread by the shoe"),
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
