"""
Everything that a table remembers, as plain data: it can be written down whole
and read back.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from shoe_daemon.game import DEALING_ORDER, Card, Kind, Rotation
from shoe_daemon.table.events import Irregularity
from shoe_daemon.table.observations import AnyObservation, Session
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.public_types import LastResult, PastShoe
from shoe_daemon.table.shoe_state import DrawnCard, HeldResult, RoundState, ShoeState


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
    """Write a table down, without the changes that can be undone."""
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
