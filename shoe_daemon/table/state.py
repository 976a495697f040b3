"""The complete state of a table as plain data, which a checkpoint stores."""

from __future__ import annotations

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from shoe_daemon.game import Card, Kind, Rotation
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import Irregularity
from shoe_daemon.table.facts import PastRound, Round
from shoe_daemon.table.observations import AnyObservation, Session
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.public_document_types import LastResult, Ordered, PastShoe
from shoe_daemon.table.shoe_state import HeldResult, ShoeState


class UndoableCommand(Struct):
    """
    A command that can be undone.

    Attributes:
        before: The table before it, encoded, without changes and observations.
        seq: The `seq` of the last event before it.
        begun: The number of rounds that it began.
        since: The index in `TableState.since` of the first observation after it.
    """

    verb: str
    round: int
    before: bytes
    seq: int
    begun: int
    since: int


class OpenAlert(Struct):
    """
    An open irregularity and its evidence so far.

    Attributes:
        after: The latest round of this shoe when it was raised.
        evidence: ``card``, ``device``: each is accepted once, so that a second
            card or a second error is a second irregularity; for a device
            fault, the error.
        chosen: The action by which it ends.
        ordered_at: When a person chose it, if it waits to be carried out.
        staff_only: It follows from faces that the players have not seen.
        key: The key of its finding; "" if it is not derived from the cards of a round.
    """

    at: str
    shoe: int | None
    round: int | None
    after: int
    data: Irregularity
    evidence: list[str] = []
    chosen: str | None = None
    operator: str | None = None
    ordered_at: str | None = None
    staff_only: bool = False
    key: str = ""

    @property
    def ordered(self) -> Ordered | None:
        """The ruling that waits to be carried out."""
        if self.chosen is None or self.ordered_at is None:
            return None
        return Ordered(self.chosen, self.ordered_at, self.operator)


class ReaderState(Struct):
    """
    The state of one reader.

    Attributes:
        errors: The causes that it has reported and that have not ended.
        places: It is a camera, which sees where cards lie.
        sees_cards: It is a camera that has seen a card since it last reported a cleared table.
        unread_at: The number of cards out of the shoe before the card that it reported as
            unread.
    """

    link: str = "unknown"
    partial: bool = False
    errors: list[str] = []
    locked: bool = False
    places: bool = False
    sees_cards: bool = False
    unread_at: int | None = None


class CheckerState(Struct):
    """
    The comparison of one checking reader with the main reader.

    In step, one of the two lists is empty. Out of step, each holds the latest cards of its
    reader.

    Attributes:
        ahead: Cards that only the checking reader has read so far.
        behind: Cards that only the main reader has read so far.
        optional: How many of `behind`, from the first, the checking reader may
            never read: they were burned, or their round has ended.
        late_until: Until when those may still come, microseconds since 1970.
        in_step: Both readers agree which card is next.
        unproven: A difference is not raised: cards were missed, or a boundary put the
            readers in step, and no card has matched since.
        hidden: The latest round with or after which a never public card was compared. Until
            the boundary after the next round a difference is for staff only.
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
        seq: The `seq` of the last event.
        now: The time of the last observation.
        next_session: The configuration from the next round on.
        mode: The effective `round_end`, once known.
        cut_card: It has appeared before the first shoe.
        unsynced: Cards may have been missed since the last clean boundary.
        unread_pending: The reader has reported an unread card between two rounds.
        betting: ``open``, ``closed``, or ``unknown`` on a table that gives no
            such signals.
        placing: Only a camera has reported cards so far.
        held: Results that wait for a person, oldest first.
        alerts_omitted: How many public irregularities were raised above the limit of `alerts`
            since the table was last resumed.
        on_hold: A person has put the table on hold.
        on_hold_by: Who has; None if that is not known, or if several persons have.
        dealer: Who has signed on as the dealer; None if nobody has.
        changes: The commands of this shoe that can be undone, the latest last.
        since: The observations after the first of them.
        past: The latest shoes before this one, oldest first.
        past_rounds: The rounds of this shoe that were taken off the table, oldest first.
        seed: An excess card that begins the next round.
        next_kind: The kind of the next round.
        burn_due: Cards that a ruling expects to be burned before the next round.
        rotation: The holder of the shoe, if players draw the cards.
        drawn_at: The time of the latest card, if `least_gap` is set.
        checks: Each checking reader, compared with the main reader.
        quiet_at, reveal_at: Deadlines, microseconds since 1970.
        withheld: The first and last number of events that are never published.
    """

    session: Session = field(default_factory=Session)
    next_session: Session | None = None
    seq: int = 0
    now: str = ""
    shoes: int = 0
    shoe: ShoeState | None = None
    round: Round | None = None
    past_rounds: list[PastRound] = []
    mode: RoundEnd | None = None
    cut_card: bool = False
    unsynced: bool = False
    unread_pending: bool = False
    betting: str = "unknown"
    placing: bool = True
    alerts: list[OpenAlert] = []
    alerts_omitted: int = 0
    readers: dict[str, ReaderState] = {}
    last_result: LastResult | None = None
    held: list[HeldResult] = []
    on_hold: bool = False
    on_hold_by: str | None = None
    dealer: str | None = None
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
    withheld: list[tuple[int, int]] = []


def encode_state(state: TableState) -> bytes:
    """Encode a state, without the commands that can be undone."""
    return msgspec.msgpack.encode(replace(state, changes=[], since=[]))


def decode_state(body: bytes) -> TableState:
    """
    Decode a state.

    Raises:
        msgspec.DecodeError: The bytes are not a state of this version.
    """
    return msgspec.msgpack.decode(body, type=TableState)
