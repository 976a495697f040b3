"""
Summaries of a round, and of an irregularity or decision, from their events. Pure: the result
depends on the set of events alone, not on the order of their arrival.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntFlag
from operator import attrgetter
from typing import Any, Final, NamedTuple

from msgspec import Struct

from shoe_daemon.game import DECK

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

_SLOTS: Final = ("P1", "P2", "P3", "B1", "B2", "B3")
CARD_NUMBERS: Final = {str(card): card.index for card in DECK}
"""A number from 0 to 51 for each card."""

MODULUS: Final = 10
MAX_SEVERITY: Final = 5
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
    "round_aborted": RoundMark.ABORTED,
    "round_held": RoundMark.HELD,
    "round_voided": RoundMark.VOID,
}
_WITHOUT_RESULT: Final = RoundMark.VOID | RoundMark.ABORTED
_ENDS: Final = ("round_finished", "round_voided", "round_aborted")


class _RoundFold:
    def __init__(self, at: int) -> None:
        self.summary = RoundSummary(at)
        self._dealt: dict[str, str] = {}
        self._corrected: dict[str, str] = {}
        self._result: dict[str, Any] | None = None

    def apply(self, event: LoggedEvent) -> None:
        data = event.data
        self.summary.marks |= _MARKS.get(event.type, RoundMark(0))
        if event.type in _ENDS and self.summary.ended is None:
            self.summary.ended = event.at
        match event.type:
            case "card_dealt":
                # A void or an abortion is over as soon as the round goes on: an undo took it back.
                self.summary.marks &= ~_WITHOUT_RESULT
                self._set_card(data.get("slot"), data.get("card"))
            case "card_disclosed":
                self._set_card(data.get("slot"), data.get("card"))
            case "card_corrected":
                self._set_card(data.get("slot"), data.get("after"))
                if data.get("slot") in _SLOTS and data.get("after"):
                    self._corrected[data["slot"]] = data["after"]
            case "round_finished":
                self._set_result(data)
            case "result_revised":
                self._set_result(data.get("after"))
            case "round_voided":
                self._result = data.get("before") or self._result
            case "round_held":
                # What was published is taken back; the result follows again.
                self.summary.marks &= ~_WITHOUT_RESULT
                self._result = None

    def finish(self) -> RoundSummary:
        found, result = self.summary, self._result
        found.player, found.banker = self._hand("P", result), self._hand("B", result)
        if result is not None:
            if not found.marks & _WITHOUT_RESULT:
                found.outcome = result.get("outcome")
            found.player_total = _total(result.get("player"))
            found.banker_total = _total(result.get("banker"))
            found.kind = str(result.get("kind") or "normal")
            if result.get("partial"):
                found.marks |= RoundMark.PARTIAL
        return found

    def _set_card(self, slot: str | None, card: str | None) -> None:
        if slot in _SLOTS:
            self._dealt[slot] = card or self._dealt.get(slot, UNREAD)

    def _set_result(self, result: dict[str, Any] | None) -> None:
        # A result after a void or an abortion is the undo of what led to it.
        if result is not None:
            self.summary.marks &= ~_WITHOUT_RESULT
        self._result = result
        self._corrected.clear()

    def _hand(self, letter: str, result: dict[str, Any] | None) -> str:
        hand = None if result is None else result.get("player" if letter == "P" else "banker")
        slots = [slot for slot in _SLOTS if slot.startswith(letter)]
        if isinstance(hand, dict) and hand.get("cards"):
            cards = [card or UNREAD for card in hand["cards"]]
            for slot, card in zip(slots, cards, strict=False):
                cards[slots.index(slot)] = self._corrected.get(slot, card)
            return " ".join(cards)
        return " ".join(self._dealt[slot] for slot in slots if slot in self._dealt)


def _total(hand: object) -> int | None:
    total = hand.get("total") if isinstance(hand, dict) else None
    return total if isinstance(total, int) and 0 <= total < MODULUS else None


def summarise_round(events: Iterable[LoggedEvent]) -> RoundSummary | None:
    """Return the summary of a round from all its events; None without any."""
    ordered = sorted(events, key=attrgetter("seq"))
    if not ordered:
        return None
    fold = _RoundFold(ordered[0].at)
    for event in ordered:
        fold.apply(event)
    return fold.finish()


def summarise_irregularity(events: Iterable[LoggedEvent]) -> LogEntry | None:
    """
    Return the entry of an irregularity from its `irregularity` and `irregularity_closed` events;
    None as long as only its end is known.
    """
    ordered = sorted(events, key=attrgetter("seq"))
    opened = [event for event in ordered if event.type == "irregularity"]
    if not opened:
        return None
    first, last = opened[0], opened[-1]
    entry = LogEntry(
        at=first.at,
        shoe=last.shoe,
        round=last.round,
        kind=last.data["kind"],
        severity=min(max(last.data["severity"], 0), MAX_SEVERITY),
        source=last.seq,
    )
    # An undo raises an irregularity again: only an end after that counts.
    closing = [each for each in ordered if each.type != "irregularity" and each.seq > last.seq]
    if closing:
        end = closing[-1]
        entry.closed, entry.action = end.at, end.data["action"]
        entry.operator, entry.reason = end.data.get("operator"), end.data.get("reason")
        for proposal in last.data.get("proposals") or []:
            if proposal["action"] == entry.action:
                entry.authority, entry.section = proposal["authority"], proposal["section"]
                entry.verified = proposal["verified"]
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
