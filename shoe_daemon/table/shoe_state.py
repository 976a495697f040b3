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
        face: None while nobody could tell it.
        declared: The place the reader named.
        slot: The place it is held to be on.
        public: The players have seen the face.
        unread: It passed the reader unread: its face will not come by itself.
        alert: The id of the irregularity that it is, as a card too many or with the
            wrong hand.
        order: How many cards had left the shoe before it.
        checked: The face that a checking reader read before this one was known.
        unsaid: The ids of irregularities that are for staff alone until its face is public.
        number: Of `Recent`, where the order of the cards is watched.
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


class RoundState(Struct):
    """
    The round in progress, and after its end the one still on the table.

    Attributes:
        number: From 1 within the shoe.
        spots: The cards by place, in dealing order; None where none lies.
        cards: The same cards, and those without a known place, as they came.
        excess: Cards that belong to neither hand.
        excess_decided: A person has said what becomes of a card too many before
            it was seen.
        hidden: How many cards in `spots` are not public.
        partial: Something of it is known to be missing.
        torn: So much may be missing that its cards may be those of two rounds.
        restarted: What is missing was lost in a restart.
        interrupted: The reader started in mid-round, and its coup may go on.
        finished: Its result is published, or held back.
        unread_result: It is partial only because of a card that was not read.
        over: Its end has come, and waits for a card or for faces; once it is
            complete, the next card belongs to another round.
        ended: The next card belongs to another round.
        unchecked: Third cards were taken at the reader's word, their draws
            still to be checked when the faces come.
        missing: A draw was found missing and has not been made good.
        draw_ordered: A person has ordered that the missing card be drawn now.
        relaid: A card was corrected, and its cards laid anew.
        unread_pending: The reader has said that a card passed unread; no card tells where.
        misplaced: A card was found on the wrong hand; the order governs.
        declared: A result has been declared for it.
        cleared: Its cards have been taken off the table.
        conflict: That two readers differ has been raised.
        short: That the shoe has no card for it has been raised.
        holder: The seat that draws its cards; None where the dealer does.
        seeded: Its first card was carried from the round before.
        out_before: Cards that had left the shoe when it began.
        card_at: When its latest card was drawn, microseconds since 1970.
        owns_rest: It ended before its coup did: cards that follow are of that coup.
        rest: Those cards.
        bets_closed: Betting for it was closed before its first card.
        next_closed: Betting for the round after it is closed already.
        due: What was last said about the next card.
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
        seq: Of its event; 0 where it was held back and never published.
        voided: It is void: on no road, in no count.
        lost: By a correction it has no result any more.
        entered: A person entered its result.
        dealt: Its cards in the order out of the shoe, once one was corrected
            when they were on the table no more.
        excess: Its cards too many of which nothing had been decided at its end.
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
    A result that waits for a person.

    Attributes:
        lost: By a correction the round has no result any more.
        at: When it was held back.
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
        cause: Why it was aborted; None where a person made it void.
    """

    number: int
    at: str
    cause: AbortCause | None


class DeclaredResult(Struct):
    """
    What the device, or the dealer's button, declared for a round; None where nothing.

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
        index: Its `Card.index`, -1 for one that is not known.
        seen: The players have seen it.
        alert: The id of the suspect sequence that it is part of.
        told: The players have been told of one that it is part of.
    """

    number: int
    index: int
    seen: bool
    alert: int | None = None
    told: bool = False


class ShoeState(Struct):
    """
    The shoe on the table.

    Attributes:
        number: From 1 per table, for ever.
        started_at: When.
        announced: Its start was signalled, so that its burn can be checked.
        overrun: It started by a bare card after the last permitted round.
        seen: Copies read of each card, by `Card.index`.
        unseen: How many of these copies the players have not seen.
        out: Cards that left it since it was shuffled.
        burn_left: Burn cards still due; None where unknown.
        burned: How many were burned.
        burn_checked: Its burn was checked, at the first card of a round.
        burn_wrong: A burn error has been raised.
        cut_card: It has appeared.
        cut_missed: That it is missing has been raised.
        recent: The latest cards, where their order is watched.
        rounds_left: Rounds permitted after the one in progress; None: no limit.
        last_announced: ``last_round`` has been said.
        finished: The last permitted round has ended.
        unwatched: The reader or the daemon has been away since it was begun: another
            shoe may be on the table.
        mixed: That has been said, because its cards are more than it holds.
        begun: The number of the latest round.
        played: Its rounds that have, or had, a result.
        declared: What was declared, by the number of the round.
        unfinished: The rounds that ended without a result, oldest first.
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
