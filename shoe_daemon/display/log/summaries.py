"""
Summaries of a round, and of an irregularity or decision, from their events. Pure: the result
depends on the set of events alone, not on the order of their arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from typing import Any, Final, NamedTuple

from msgspec import Struct

from shoe_daemon.game import DECK
from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.rounds import Shoe, TableFold
from shoe_daemon.table import HandResult, Irregularity, to_microseconds

DECISIONS: Final = (
    "card_corrected",
    "result_revised",
    "round_held",
    "round_released",
    "round_voided",
    "ruling_given",
)
"""Types of events that are entries of the log by themselves."""

IRREGULARITY: Final = ("irregularity", "irregularity_closed")
"""Types of events that are part of the entry of an irregularity."""

CARD_NUMBERS: Final = {str(card): card.index for card in DECK}
"""A number from 0 to 51 for each card."""

_MAX_SEVERITY: Final = 5
_TOTALS: Final = range(10)
UNREAD: Final = "?"
"""An unread or hidden card, in the cards of a hand."""


class LoggedEvent(NamedTuple):
    """
    A public event.

    Attributes:
        at: Microseconds since 1970.
        shoe: The shoe; None before the first.
        round: The round; None outside a round.
    """

    seq: int
    at: int
    shoe: int | None
    round: int | None
    type: str
    data: dict[str, Any]


class RoundMark(IntFlag):
    """A mark of rounds that a search may ask for, besides the outcome."""

    VOID = 1
    HELD = 2
    PARTIAL = 4
    ABORTED = 8
    REVISED = 16
    CORRECTED = 32
    IRREGULAR = 64


class RoundSummary(Struct):
    """
    A round. The order of the fields is that of their columns in the database.

    Attributes:
        at: Time of its first event, microseconds since 1970.
        ended: Time of its first result, void or abortion; None while it runs.
        outcome: ``player``, ``banker``, ``tie``; None without a valid result.
        marks: What happened to it; `VOID` and `ABORTED` only if it still is.
        player: The Player's cards in dealing order, with a space between.
        banker: The Banker's.
        player_total: Total; None if unknown.
        banker_total: Total; None if unknown.
        kind: ``normal``, ``free`` or ``dummy``.
    """

    at: int
    ended: int | None = None
    outcome: str | None = None
    marks: RoundMark = RoundMark(0)
    player: str = ""
    banker: str = ""
    player_total: int | None = None
    banker_total: int | None = None
    kind: str = "normal"

    @property
    def cards(self) -> list[str]:
        """The known cards."""
        return [card for card in f"{self.player} {self.banker}".split() if card in CARD_NUMBERS]


class LogEntry(Struct):
    """
    An irregularity with its decision, or a decision by itself.

    Attributes:
        at: Time of the first event, microseconds since 1970.
        shoe: The shoe; None before the first.
        round: The round concerned; None outside a round.
        kind: Kind of the irregularity, or type of the decision's event.
        severity: 1 to 5; 0 of a decision by itself.
        source: `seq` of the event that describes it.
        closed: Time of the decision; None while open.
        action: What was decided; None while open.
        operator: Who decided; None where the equipment did.
        reason: In the operator's words.
        authority: Whose rule proposes that action; None where no proposal does.
        section: The section of that rule.
        verified: The rule was read in full in its text.
    """

    at: int
    shoe: int | None
    round: int | None
    kind: str
    severity: int
    source: int
    closed: int | None = None
    action: str | None = None
    operator: str | None = None
    reason: str | None = None
    authority: str | None = None
    section: str | None = None
    verified: bool | None = None


def card_mask(cards: Iterable[str]) -> int:
    """Return a number with one bit for each card."""
    return sum({1 << CARD_NUMBERS[card] for card in cards})


_MARKS: Final = {
    "card_corrected": RoundMark.CORRECTED,
    "irregularity": RoundMark.IRREGULAR,
    "result_revised": RoundMark.REVISED,
    "round_held": RoundMark.HELD,
}
"""Marks that stay when a round goes on."""

_ENDS: Final = {"void": RoundMark.VOID, "aborted": RoundMark.ABORTED}


def summarise_round(events: Iterable[CausedEvent]) -> RoundSummary | None:
    """Return the summary of a round from all its events; None without any."""
    ordered = sorted(events, key=_seq)
    if not ordered:
        return None
    shoe, found = Shoe(), RoundSummary(to_microseconds(ordered[0].event.at))
    for each in ordered:
        shoe.take(each)
        if each.event.type in _MARKS:
            found.marks |= _MARKS[each.event.type]
    for line in shoe.finish():
        found.ended = None if line.ended_at is None else to_microseconds(line.ended_at)
        found.marks |= _ENDS.get(line.status, RoundMark(0))
        found.marks |= RoundMark.PARTIAL if line.partial else RoundMark(0)
        if line.status == "finished" and line.outcome is not None:
            found.outcome = line.outcome.value
        found.player, found.banker = _cards(line.player), _cards(line.banker)
        found.player_total, found.banker_total = _total(line.player), _total(line.banker)
        found.kind = line.kind.value
    return found


def _seq(caused: CausedEvent) -> int:
    return caused.event.seq


def _cards(hand: HandResult) -> str:
    return " ".join(UNREAD if card is None else str(card) for card in hand.cards)


def _total(hand: HandResult) -> int | None:
    return hand.total if hand.total in _TOTALS else None


def summarise_irregularity(events: Iterable[CausedEvent]) -> LogEntry | None:
    """
    Return the entry of an irregularity from its `irregularity` and `irregularity_closed` events;
    None as long as only its end is known.
    """
    ordered = sorted(events, key=_seq)
    raised = [
        (each.event, each.event.data)
        for each in ordered
        if isinstance(each.event.data, Irregularity)
    ]
    if not raised:
        return None
    last, data = raised[-1]
    (incident,) = TableFold(ordered).incidents
    entry = LogEntry(
        at=to_microseconds(incident.at),
        shoe=last.shoe,
        round=last.round,
        kind=data.kind,
        severity=min(max(data.severity, 0), _MAX_SEVERITY),
        source=last.seq,
        closed=None if incident.closed_at is None else to_microseconds(incident.closed_at),
        action=incident.action,
        operator=None if incident.by is None else incident.by.operator,
        reason=incident.why,
    )
    for proposal in data.proposals:
        if proposal.action == entry.action:
            entry.authority, entry.section = proposal.authority, proposal.section
            entry.verified = proposal.verified
            break
    return entry


def summarise_decision(event: LoggedEvent) -> LogEntry:
    """Return the entry of an event that is a decision by itself."""
    return LogEntry(
        at=event.at,
        shoe=event.shoe,
        round=event.round,
        kind=event.type,
        severity=0,
        source=event.seq,
        closed=event.at,
        action=event.data.get("action"),
        operator=event.data.get("operator"),
        reason=event.data.get("reason"),
    )
