"""Summary of a demo, and the check that the published rounds are those really dealt."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.demo.view_model import Health
from shoe_daemon.event_text import action_text, kind_text
from shoe_daemon.game import Outcome
from shoe_daemon.report.cards import received
from shoe_daemon.report.odds import odds_of
from shoe_daemon.report.rounds import RoundCounts, RoundLine, TableFold, count_rounds
from shoe_daemon.table import (
    Event,
    ResultRevised,
    RoundFinished,
    is_staff,
)

_DECISIONS: Final = {
    "round_held": "results held",
    "round_released": "released",
    "result_revised": "revised",
    "round_voided": "void",
    "card_corrected": "cards put right",
}
"""Words for the results of decisions."""

_MISSING_REPORTS: Final = frozenset({Fault.LOST_FRAME, Fault.UNPLUG, Fault.UNREADABLE})
"""Faults that hide part of a round, unless a person enters it."""

_COMPLETE: Final = frozenset({None, Fault.OVERDRAW, Fault.NOISE})
"""Faults with which a round is still dealt and published to its end."""

_CORRECTABLE_ROUNDS: Final = 3
"""Number of latest rounds that a person may still correct."""

_Shown = tuple[int | None, int | None]


class ResultCheck:
    """
    Compares each published round with the rounds dealt, once it can no longer be corrected.

    Attributes:
        dealt: Rounds started.
        shoes: Shoes that they came from.
        same: Rounds published exactly as dealt.
        partial: Rounds published as partial.
        misread: Rounds in which the shoe misread a card, unnoticed.
        wrong: Rounds published but never dealt.
        missed: Rounds dealt to their end but never published.
        table: What the published events come to.
        happened: Published events by type.
        joins_late: The first round may be missing: it began before the daemon was sure of it.
    """

    def __init__(self) -> None:
        self.joins_late = False
        self._waiting: deque[DealtRound] = deque()
        self._shown: dict[_Shown, RoundLine] = {}
        self.table = TableFold()
        self.happened: Counter[str] = Counter()
        self.dealt = self.shoes = 0
        self._blind = False
        self.same = self.partial = self.misread = 0
        self.wrong = self.missed = 0

    @property
    def passed(self) -> bool:
        """True when the published rounds are those that were dealt."""
        return not self.wrong and not self.missed

    @property
    def rounds(self) -> list[RoundLine]:
        """All published rounds."""
        return [line for shoe in self.table.shoes.values() for line in shoe.rounds.values()]

    @property
    def counts(self) -> RoundCounts:
        """The published rounds by how they ended."""
        return count_rounds(self.rounds)

    def deal(self, dealt: DealtRound) -> None:
        """Add a round that is going to be dealt; from any one thread."""
        self.dealt, self.shoes = self.dealt + 1, dealt.shoe
        self._waiting.append(dealt)

    def show(self, event: Event) -> None:
        """Add a published event."""
        self.happened[event.type] += 1
        if is_staff(event.type):
            return
        self.table.take(received(event))
        if event.round is None:
            return
        number = (event.shoe, event.round)
        self.wrong += isinstance(event.data, RoundFinished) and number in self._shown
        line = self.table.shoes[event.shoe].rounds.get(event.round)
        if line is None or line.status != "finished":
            self._shown.pop(number, None)
        elif isinstance(event.data, RoundFinished | ResultRevised):
            self._shown[number] = line
        while len(self._shown) > _CORRECTABLE_ROUNDS:
            self._compare_oldest()

    def finish(self, *, interrupted: bool) -> None:
        """Count the rounds that were never published; an interrupted last round may be missing."""
        while self._shown:
            self._compare_oldest()
        while self._waiting:
            self._pass_over(self._waiting.popleft(), last=interrupted and not self._waiting)

    def _compare_oldest(self) -> None:
        oldest = min(self._shown, key=lambda number: (number[0] or 0, number[1] or 0))
        self._compare(oldest[0], self._shown.pop(oldest))

    def _compare(self, shoe: int | None, finished: RoundLine) -> None:
        if finished.partial:
            self.partial += 1
            return
        if not any(_equal(dealt, shoe, finished) for dealt in tuple(self._waiting)):
            misread = any(_is_misread(dealt, shoe, finished) for dealt in tuple(self._waiting))
            self.misread += misread
            self.wrong += not misread
            return
        while not _equal(dealt := self._waiting.popleft(), shoe, finished):
            self._pass_over(dealt)
        self._blind = dealt.fault in _MISSING_REPORTS
        self.same += 1

    def _pass_over(self, dealt: DealtRound, *, last: bool = False) -> None:
        self._blind = self._blind or dealt.fault in _MISSING_REPORTS
        whole = dealt.fault in _COMPLETE or dealt.made_good
        shown = self.table.shoes[dealt.shoe].rounds.get(dealt.number)
        whole = whole and (shown is None or shown.status != "void")
        is_first = self.joins_late and (dealt.shoe, dealt.number) == (1, 1)
        self.missed += whole and not self._blind and not last and not is_first


def _equal(dealt: DealtRound, shoe: int | None, finished: RoundLine) -> bool:
    if dealt.shoe != shoe or dealt.aborted:
        return False
    hands = tuple(
        tuple(card for slot, card in dealt.cards if slot.startswith(side)) for side in "PB"
    )
    return hands == (finished.player.cards, finished.banker.cards)


def _is_misread(dealt: DealtRound, shoe: int | None, finished: RoundLine) -> bool:
    """
    Tell whether a published round may be a dealt round with one misread card.

    Round numbers do not help: they differ after rounds that were not received.
    """
    if dealt.fault is not Fault.MISREAD or dealt.shoe != shoe:
        return False
    strange = Counter((*finished.player.cards, *finished.banker.cards))
    strange.subtract(card for _, card in dealt.cards)
    return sum(count for count in strange.values() if count > 0) <= 1


def summary(check: ResultCheck, decks: int, health: Health, documents: int) -> Iterator[str]:
    """Write the summary."""
    outcomes = [each.outcome for each in check.rounds if each.status == "finished"]
    yield (
        f"{_many(check.dealt, 'round')} dealt from {_many(check.shoes, 'shoe')}, "
        f"{len(outcomes)} of them shown with a result"
    )
    if outcomes:
        yield from _compared(outcomes, decks)
    yield from _irregular(check)
    yield (
        f"events: {health.published + health.queued} published, "
        f"{health.published} acknowledged by the broker; "
        f"a subscriber saw {health.seen}, and {documents} other messages"
    )
    yield _judgement(check)


def _irregular(check: ResultCheck) -> Iterator[str]:
    """Write irregularities, their closing actions, and how long they were open."""
    caught = check.table.incidents
    still_open = Counter(each.kind for each in caught if each.action is None)
    closed: dict[tuple[str, str], list[float]] = {}
    for each in caught:
        if each.action is not None and each.seconds is not None:
            who = each.by.operator if each.by else "by itself"
            how = f"{action_text(each.action)}, {who}"
            closed.setdefault((each.kind, how), []).append(each.seconds)
    still = f", {still_open.total()} still open" if still_open else ", all dealt with"
    yield f"irregularities caught: {len(caught)}{still if caught else ''}"
    for (kind, how), seconds in sorted(closed.items()):
        mean = sum(seconds) / len(seconds)
        often = f" on average, {max(seconds):.1f} s at most" if len(seconds) > 1 else ""
        yield f"  {len(seconds)} {kind_text(kind)}: {how}, after {mean:.1f} s{often}"
    for kind, count in sorted(still_open.items()):
        yield f"  {count} {kind_text(kind)}: still open"
    did = ", ".join(
        f"{words} {check.happened[kind]}"
        for kind, words in _DECISIONS.items()
        if check.happened[kind]
    )
    if did:
        yield f"decisions: {did}"


def _compared(outcomes: Sequence[Outcome | None], decks: int) -> Iterator[str]:
    odds, shown = odds_of(decks), Counter(outcomes)
    rows: list[tuple[str, Iterable[str]]] = [
        ("", (outcome.value for outcome in Outcome)),
        ("shown", (str(shown[outcome]) for outcome in Outcome)),
        ("expected", (f"{float(len(outcomes) * odds[each.value]):.1f}" for each in Outcome)),
    ]
    for name, figures in rows:
        yield f"  {name:<9}{''.join(f'{figure:>9}' for figure in figures)}".rstrip()


def _judgement(check: ResultCheck) -> str:
    apart = ", ".join(
        f"{count} {what}"
        for count, what in (
            (check.counts.aborted, "came to nothing"),
            (check.partial, "shown as partial"),
            (check.counts.void, "void"),
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
