"""The options of a table besides its house: when a round ends, and which results wait."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from shoe_daemon.game import Decks, LeadingTies, Tail

Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Severity = Annotated[int, Meta(ge=1, le=5)]


class RoundEnd(StrEnum):
    """What ends a round: see `Options.round_end`."""

    AUTO = "auto"
    DEVICE = "device"
    BUTTON = "button"
    QUIET = "quiet"
    RULES = "rules"


def automatic_round_end(*, slots: bool, results: bool) -> RoundEnd:
    """Return what ``auto`` means for equipment that reports slots, or results."""
    if slots:
        return RoundEnd.DEVICE
    return RoundEnd.BUTTON if results else RoundEnd.QUIET


class ResultOn(StrEnum):
    """When a round's result is published."""

    COMPLETE = "complete"
    CONFIRMED = "confirmed"


class Signal(StrEnum):
    """
    What the equipment of a table can tell, beside the cards themselves.

    ``slots``: the place of each card; ``results``: the winner and the pairs, or a
    dealer's button that ends the round;
    ``faults``: errors of its own, an overdraw among them; ``cut_card``: that it
    came out; ``betting``: when bets are open; ``cleared``: when the cards are
    taken off; ``placement``: a camera sees where each card lies.
    """

    SLOTS = "slots"
    RESULTS = "results"
    FAULTS = "faults"
    CUT_CARD = "cut_card"
    BETTING = "betting"
    CLEARED = "cleared"
    PLACEMENT = "placement"


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    The options of one table.

    Attributes:
        name: What people call the table.
        limits: What the board shows of them, by wager: ``{"player": "25-5000"}``.
        decks: Decks in the shoe, 1 to 12; None as the house says.
        round_end: What ends a round; ``systemd/example.toml`` explains each mode.
        quiet_gap: Seconds.
        draw_within: Where silence ends rounds, seconds within which a card that is due
            is drawn; one that comes later may begin the next round, so that neither
            round is published as complete. None is 60, or 300 where players squeeze
            the cards; the daemon writes 20 instead of 60.
        result_on: ``complete`` or ``confirmed`` (at the end of the round).
        reveal_after:
            Seconds from the fourth card until tucked cards count as seen; None
            where the table signals it.
        hold_from: The severity from which an open irregularity holds the
            result back until a person has acknowledged it; None never does.
        seats: The seats in play, where players draw the cards.
        checkers: Readers that only check what another one reads, and deal the
            cards themselves only while that one is away.
        least_gap: Seconds that at least lie between two cards; two that come
            closer are a double feed; None looks for none.
        suspect_run: Cards in a row of one suit, of one rank, or up or down in
            rank, from which a sequence is suspect; None looks for none. Ask
            for advice first: similar detectors are patented.
        signals: What the equipment can tell; None where nobody has said.
        simulated: No real cards are dealt: pages and reports show it.
        timeless: The log has no times: nothing may depend on them.
        leading_ties: Where the roads put ties that come before any win.
        tail: How the roads draw a streak that was turned to the right.
    """

    name: str | None = None
    limits: dict[str, str] = {}
    decks: Decks | None = None
    round_end: RoundEnd = RoundEnd.AUTO
    quiet_gap: Seconds = 10
    draw_within: Seconds | None = None
    result_on: ResultOn = ResultOn.COMPLETE
    reveal_after: Seconds | None = 3
    hold_from: Severity | None = None
    seats: tuple[int, ...] = ()
    checkers: tuple[str, ...] = ()
    least_gap: Seconds | None = None
    suspect_run: Annotated[int, Meta(ge=4)] | None = None
    signals: tuple[Signal, ...] | None = None
    simulated: bool = False
    timeless: bool = False
    leading_ties: LeadingTies = LeadingTies.MERGE
    tail: Tail = Tail.FLAT
