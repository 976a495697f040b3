"""
The shoe on the table, its rounds and their cards, as plain data.

The field names are part of every checkpoint.
"""

from __future__ import annotations

from msgspec import Struct, field

from shoe_daemon.game import Card, Kind, Outcome, Slot
from shoe_daemon.table.events import AbortCause, DrawDue, RoundFinished


class DrawnCard(Struct):
    """
    One physical card of the round in progress.

    Attributes:
        face: None while unknown.
        declared: The slot that the reader reported, or on which a person entered the card.
        slot: The slot on which the table places it.
        public: The players have seen the face.
        unread: The reader could not read it: its face does not come by itself.
        alert: The id of its irregularity, as an excess card or with the wrong hand.
        order: How many cards had left the shoe before it.
        checked: The face that a checking reader read while this one was unknown.
        unsaid: The ids of irregularities that are for staff only until its face is public.
        number: `RecentCard.number`, if `suspect_run` is set.
        tag: The key of its tag; None without one.
    """

    face: Card | None = None
    declared: Slot | None = None
    slot: Slot | None = None
    public: bool = False
    unread: bool = False
    alert: int | None = None
    order: int = 0
    checked: Card | None = None
    unsaid: list[int] = []
    number: int | None = None
    tag: str | None = None


class RoundState(Struct):
    """
    The round in progress, and after its end the one still on the table.

    Attributes:
        number: From 1 within the shoe.
        spots: The cards by slot, in dealing order; None for an empty slot.
        cards: The same cards, and those without a known slot, in the order drawn.
        excess: Cards that belong to neither hand.
        excess_decided: A person has ruled on an excess card before it was seen.
        hidden: How many cards in `spots` are not public.
        partial: Cards or signals of it were missed.
        torn: Its cards may belong to two rounds.
        restarted: They were missed in a restart.
        interrupted: The reader booted in mid-round, and its coup may go on.
        finished: Its result is published, or held back.
        unread_result: It is partial only because of an unread card.
        over: Its end was declared, and waits for a card or for faces; once it is
            complete, the next card belongs to another round.
        ended: The next card belongs to another round.
        unchecked: Third cards lie on the reported slots, their draws not yet checked.
        draw_ordered: A person has ordered that the missing card be drawn now.
        relaid: A card was corrected, and its cards were placed again.
        unread_pending: The reader has reported an unread card; its slot is unknown.
        misplaced: A card was laid to the wrong hand; the order out of the shoe governs.
        declared: A result has been declared for it.
        cleared: Its cards have been taken off the table.
        conflict: A `source_conflict` has been raised.
        short: An `insufficient_cards` has been raised.
        holder: The seat that draws its cards; None if the dealer draws them.
        seeded: Its first card was carried from the round before.
        out_before: Cards that had left the shoe when it began.
        card_at: The time of its latest card, microseconds since 1970.
        owns_rest: It ended before its coup: further cards belong to that coup.
        rest: Those cards.
        bets_closed: Betting for it was closed before its first card.
        next_closed: Betting for the round after it is closed already.
        due: The last published `draw_due`.
    """

    number: int
    kind: Kind = Kind.NORMAL
    spots: list[DrawnCard | None] = field(default_factory=lambda: [None] * 6)
    cards: list[DrawnCard] = []
    excess: list[DrawnCard] = []
    excess_decided: bool = False
    hidden: int = 0
    partial: bool = False
    unread_result: bool = False
    torn: bool = False
    restarted: bool = False
    interrupted: bool = False
    finished: bool = False
    over: bool = False
    ended: bool = False
    unchecked: bool = False
    missing: bool = False
    draw_ordered: bool = False
    relaid: bool = False
    misplaced: bool = False
    declared: bool = False
    unread_pending: bool = False
    cleared: bool = False
    conflict: bool = False
    short: bool = False
    holder: int | None = None
    seeded: bool = False
    out_before: int = 0
    card_at: int | None = None
    owns_rest: bool = False
    rest: list[DrawnCard] = []
    bets_closed: bool = False
    next_closed: bool = False
    due: DrawDue | None = None


class PlayedRound(Struct):
    """
    A round of this shoe that has a result.

    Attributes:
        seq: The `seq` of its event; 0 if it was never published.
        voided: It is void: not on the roads, not counted.
        lost: By a correction it has no result any more.
        dealt: Its cards in the order out of the shoe, after a later correction.
        excess: Its excess cards that were undecided at its end.
    """

    number: int
    at: str
    seq: int
    data: RoundFinished
    voided: bool = False
    lost: bool = False
    entered: bool = False
    dealt: tuple[Card, ...] = ()
    excess: tuple[Card, ...] = ()


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
    dealt: tuple[Card, ...] = ()
    excess: tuple[Card, ...] = ()
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
