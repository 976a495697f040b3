"""
Everything that a table remembers, as plain data: it can be written down whole
and read back.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, Card, Kind, Outcome, Rotation, Slot
from shoe_daemon.table.events import AbortCause, DrawDue, Irregularity, RoundFinished
from shoe_daemon.table.observations import AnyObservation, Session
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.public_types import LastResult, PastShoe


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


class UndoableCommand(Struct):
    """
    A command that changed something, so that it can be undone.

    Attributes:
        verb: The command.
        round: The round that it was about.
        before: The table before it, encoded, without changes and observations.
        seq: Of the last event before it.
        begun: Rounds that it began.
        since: Where in `TableState.since` the observations after it begin.
    """

    verb: str
    round: int
    before: bytes
    seq: int
    begun: int
    since: int


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


class OpenAlert(Struct):
    """
    An open irregularity, and what has spoken for it so far.

    Attributes:
        after: The latest round that had begun in this shoe when it arose.
        evidence: ``card``, ``device``: each speaks once, so that a second
            card or a second error is a second irregularity; of a fault of the
            device, the error.
        staff_only: It follows from faces that the players have not seen.
    """

    at: str
    shoe: int | None
    round: int | None
    after: int
    data: Irregularity
    evidence: list[str] = []
    chosen: str | None = None
    operator: str | None = None
    staff_only: bool = False


class ReaderState(Struct):
    """
    One reader, as the table knows it; `errors` are the causes it has reported
    and that have not ended; `places` tells a camera, which sees where cards lie;
    `unread_at` is how many cards had left the shoe before the one of which it
    reported that it passed unread.
    """

    link: str = "unknown"
    partial: bool = False
    errors: list[str] = []
    locked: bool = False
    places: bool = False
    unread_at: int | None = None


class CheckerState(Struct):
    """
    How far a checking reader has read the same cards as the main reader.

    In step, one of the two lists is empty. Out of step, each holds the latest
    cards that its reader has read since.

    Attributes:
        ahead: Cards that the checking reader has read, and the main reader has not.
        behind: Cards that the main reader has read, and the checking reader has not.
        optional: How many of `behind`, from the first, the checking reader may
            never read: they were burned, or their round has ended.
        late_until: Until when those may still come, microseconds since 1970.
        in_step: Both readers agree which card is next.
        unproven: A difference is none that is new: cards were missed, or a boundary
            put the readers in step, and no card has matched since.
        hidden: The latest round with or after which a card was compared that the players
            never saw. Its effect may last until the boundary after the next round: until then
            a difference is for staff alone.
    """

    ahead: list[Card | None] = []
    behind: list[Card | None] = []
    optional: int = 0
    late_until: int = 0
    in_step: bool = True
    unproven: bool = False
    hidden: int | None = None


class TableState(Struct):
    """
    The whole table.

    Attributes:
        seq: Of the last event.
        now: Of the last observation.
        session: The configuration in force.
        next_session: One that waits for the next round.
        shoes: Shoes started so far.
        mode: How rounds end here, once known.
        cut_card: One has appeared and no shoe is known that it belongs to.
        unsynced: Cards may have been missed since the last clean boundary.
        unread_pending: The reader has said between two rounds that a card passed unread.
        betting: ``open``, ``closed``, or ``unknown`` on a table that gives no
            such signals.
        placing: Only a camera has shown cards so far.
        held: Results that wait for a person, oldest first.
        on_hold: A person has put the table on hold.
        changes: The commands of this shoe that can be undone, the latest last.
        since: The observations after the first of them.
        past: The latest shoes before this one, oldest first.
        seed: An excess card that begins the next round.
        next_kind: Of the next round.
        burn_due: Cards that a ruling wants burned before the next round.
        rotation: Who draws the cards, where players do.
        drawn_at: When the latest card was drawn, where that matters.
        checks: Each checking reader, compared with the main reader.
        quiet_at, reveal_at: Deadlines, microseconds since 1970.
    """

    session: Session = field(default_factory=Session)
    next_session: Session | None = None
    seq: int = 0
    now: str = ""
    shoes: int = 0
    shoe: ShoeState | None = None
    round: RoundState | None = None
    mode: RoundEnd | None = None
    cut_card: bool = False
    unsynced: bool = False
    unread_pending: bool = False
    betting: str = "unknown"
    placing: bool = True
    alerts: list[OpenAlert] = []
    readers: dict[str, ReaderState] = {}
    last_result: LastResult | None = None
    held: list[HeldResult] = []
    on_hold: bool = False
    changes: list[UndoableCommand] = []
    since: list[AnyObservation] = []
    past: list[PastShoe] = []
    seed: DrawnCard | None = None
    next_kind: Kind = Kind.NORMAL
    burn_due: int = 0
    rotation: Rotation = Rotation()
    drawn_at: int | None = None
    checks: dict[str, CheckerState] = {}
    quiet_at: int | None = None
    reveal_at: int | None = None


def encode_state(state: TableState) -> bytes:
    """
    Write a table down, without the changes that can be undone.
    """
    return msgspec.msgpack.encode(replace(state, changes=[], since=[]))


def decode_state(body: bytes) -> TableState:
    """
    Read a table back.

    Raises:
        msgspec.DecodeError: It is no table of this version.
    """
    state = msgspec.msgpack.decode(body, type=TableState)
    if state.round is not None:
        # A card stands twice in a round: in dealing order and on its spot.
        state.round.spots = [None] * len(DEALING_ORDER)
        for card in state.round.cards:
            if card.slot is not None:
                state.round.spots[DEALING_ORDER.index(card.slot)] = card
    return state
