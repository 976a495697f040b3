"""
The shoe on the table and the results of its rounds, as plain data.

The field names are part of every checkpoint.
"""

from __future__ import annotations

from msgspec import Struct, field

from shoe_daemon.game import Outcome
from shoe_daemon.table.events import AbortCause, RoundFinished


class PlayedRound(Struct):
    """
    A round of this shoe that has a result.

    Attributes:
        seq: The `seq` of its event; 0 if it was never published.
        voided: It is void: not on the roads, not counted.
        lost: By a correction it has no result any more.
    """

    number: int
    at: str
    seq: int
    data: RoundFinished
    voided: bool = False
    lost: bool = False
    entered: bool = False


class HeldResult(Struct):
    """
    A result that waits for a decision of a person.

    Attributes:
        lost: By a correction the round has no result any more.
        at: The time at which it was held.
    """

    number: int
    data: RoundFinished
    entered: bool = False
    lost: bool = False
    at: str = ""


class UnfinishedRound(Struct):
    """
    A round of this shoe that ended without a result.

    Attributes:
        cause: The cause of the abort; None if a person voided it.
    """

    number: int
    at: str
    cause: AbortCause | None


class DeclaredResult(Struct):
    """
    The result that the device, or the dealer's button, declared for a round; None where
    nothing.

    Attributes:
        differing: The values in which the cards differed when they were last compared.
    """

    outcome: Outcome | None
    player_pair: bool | None
    banker_pair: bool | None
    differing: dict[str, str | None] = {}


class RecentCard(Struct):
    """
    One of the latest cards out of the shoe.

    Attributes:
        number: Counted from the first that was watched.
        index: Its `Card.index`, -1 if unknown.
        alert: The id of the suspect sequence that it is part of.
        told: A suspect sequence that it is part of was published.
    """

    number: int
    index: int
    seen: bool
    alert: int | None = None
    told: bool = False


class Tag(Struct, array_like=True):
    """
    The tag of a card of this shoe.

    Attributes:
        round: The round of the card; 0 for a burned card.
        seen: The round in which the tag was last reported.
        at: When it was last reported, microseconds since 1970.
        withdrawn: The reader saw the card withdrawn: it may be drawn again.
    """

    round: int
    seen: int
    at: int
    withdrawn: bool = False


class ShoeState(Struct):
    """
    The shoe on the table.

    Attributes:
        number: From 1 per table, for ever.
        announced: Its start was signalled, so that its burn can be checked.
        overrun: A bare card after the last permitted round started it.
        seen: Copies read of each card, by `Card.index`.
        unseen: How many of these copies are not public.
        out: Cards that left it since it was shuffled.
        burn_left: Burn cards still due; None if unknown.
        burn_checked: Its burn was checked, at the first card of a round.
        burn_wrong: A burn error has been raised.
        cut_missed: A `cut_card_missing` has been raised.
        recent: The latest cards, if `suspect_run` is set.
        rounds_left: Rounds permitted after the one in progress; None: no limit.
        last_announced: ``last_round`` was published.
        finished: The last permitted round has ended.
        unwatched: The reader or the daemon was down since it began: another shoe may be on
            the table.
        mixed: That was published, because more cards came than it holds.
        begun: The number of the latest round.
        played: Its rounds that have or had a result.
        declared: The declared results, by the number of the round.
        unfinished: The rounds that ended without a result, oldest first.
        tags: The tags reported so far, by source and tag.
        in_play_before: Cards in a row whose tags were reported in earlier rounds.
    """

    number: int
    decks: int
    started_at: str
    announced: bool = True
    overrun: bool = False
    seen: list[int] = field(default_factory=lambda: [0] * 52)
    unseen: list[int] = field(default_factory=lambda: [0] * 52)
    out: int = 0
    burn_left: int | None = None
    burned: int = 0
    burn_checked: bool = False
    burn_wrong: bool = False
    cut_card: bool = False
    cut_missed: bool = False
    recent: list[RecentCard] = []
    rounds_left: int | None = None
    last_announced: bool = False
    finished: bool = False
    unwatched: bool = False
    mixed: bool = False
    begun: int = 0
    rounds: int = 0
    player: int = 0
    banker: int = 0
    tie: int = 0
    player_pair: int = 0
    banker_pair: int = 0
    natural: int = 0
    played: list[PlayedRound] = []
    declared: dict[int, DeclaredResult] = {}
    unfinished: list[UnfinishedRound] = []
    tags: dict[str, Tag] = {}
    in_play_before: int = 0
