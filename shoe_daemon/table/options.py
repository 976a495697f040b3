"""
What a table is told beside its house: when a round ends, what waits for whom.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

from shoe_daemon.game.house import Decks

Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Severity = Annotated[int, Meta(ge=1, le=5)]


class RoundEnd(StrEnum):
    """
    What ends a round: see `Options.round_end`.
    """

    AUTO = "auto"
    DEVICE = "device"
    BUTTON = "button"
    QUIET = "quiet"
    RULES = "rules"


class ResultOn(StrEnum):
    """
    When a round's result is published.
    """

    COMPLETE = "complete"
    CONFIRMED = "confirmed"


class Options(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    The options of one table.

    Attributes:
        name: What people call the table.
        limits: What the board shows of them, by wager: ``{"player": "25-5000"}``.
        decks: Decks in the shoe, 1 to 12; None as the house says.
        round_end:
            ``device``: the reader's result ends it, a card in P1 begins the
            next; ``button``: a dealer's button; ``quiet``: `quiet_gap` seconds
            without a card; ``rules``: at once when complete; ``auto``: device
            where the reader tells slots or results, else quiet.
        quiet_gap: Seconds.
        result_on: ``complete`` or ``confirmed`` (at the end of the round).
        reveal_after:
            Seconds from the fourth card until tucked cards count as seen; None
            where the table signals it.
        hold_from: The severity from which an open irregularity holds the
            result back until a person has acknowledged it; None never does.
        seats: The seats in play, where players draw the cards.
        timeless: The log has no times: nothing may depend on them.
    """

    name: str | None = None
    limits: dict[str, str] = {}
    decks: Decks | None = None
    round_end: RoundEnd = RoundEnd.AUTO
    quiet_gap: Seconds = 10
    result_on: ResultOn = ResultOn.COMPLETE
    reveal_after: Seconds | None = 3
    hold_from: Severity | None = None
    seats: tuple[int, ...] = ()
    timeless: bool = False
