"""Compares the published rounds with those really dealt."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from typing import Final

import msgspec

from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.journal import Journal
from shoe_daemon.report.cards import received
from shoe_daemon.report.rounds import RoundCounts, RoundLine, TableFold, count_rounds
from shoe_daemon.table import Event, ResultRevised, RoundFinished, decode_event, is_staff

__all__ = ["ResultCheck", "check_folder"]

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
        same: Rounds published exactly as dealt.
        partial: Rounds published as partial.
        misread: Rounds in which the shoe misread a card, unnoticed.
        wrong: Rounds published but never dealt.
        missed: Rounds dealt to their end but never published.
        table: What the published events come to.
        joins_late: The first round may be missing: it began before the daemon was sure of it.
    """

    def __init__(self) -> None:
        self.joins_late = False
        self._waiting: deque[DealtRound] = deque()
        self._shown: dict[_Shown, RoundLine] = {}
        self.table = TableFold()
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
        """Add a round that is going to be dealt."""
        self._waiting.append(dealt)

    def show(self, event: Event) -> None:
        """Add a published event."""
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


def check_folder(
    folder: Path, *, joins_late: bool = False, interrupted: bool = False
) -> ResultCheck:
    """Compare the journal that a demo has kept with the cards that it has dealt."""
    check = ResultCheck()
    check.joins_late = joins_late
    for line in (folder / "dealt.jsonl").read_bytes().splitlines():
        check.deal(msgspec.json.decode(line, type=DealtRound))
    with Journal.open(folder / "journal.db", "demo", "table-1") as journal:
        for stored in journal.reader().events(0):
            check.show(decode_event(stored.body))
    check.finish(interrupted=interrupted)
    return check
