"""
The events of a table, the only output of the fold: the data of each type.

The fields of every struct stand in alphabetical order, so that the encoder writes sorted keys
without sorting; a test checks this.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Struct, UnsetType

from shoe_daemon.game import Card, Hand, Kind, Outcome, Slot

AbortCause = Literal["reset", "restart", "forced", "new_round"]


class EventData(Struct, frozen=True):
    """The `data` of one type of event."""

    type: ClassVar[str]
    """The event's name on the wire."""


class ShoeStarted(EventData, frozen=True):
    """
    A new shoe; `house` is None where none is configured.

    `simulated`: no real cards are dealt; it is absent at a real table.
    """

    type = "shoe_started"
    decks: int
    house: str | None
    policy: str
    simulated: bool | UnsetType = UNSET


class CardBurned(EventData, frozen=True):
    """
    A card was burned; `remaining` is how many must follow, None where unknown.

    `card` is None where it was burned face down.
    """

    type = "card_burned"
    card: Card | None
    remaining: int | None


class BettingClosed(EventData, frozen=True):
    """No more bets for the round that begins."""

    type = "betting_closed"
    cause: Literal["no_more_bets", "first_card"]


class RoundStarted(EventData, frozen=True):
    """The first card of a round is out."""

    type = "round_started"


class CardDealt(EventData, frozen=True):
    """
    A card lies on its place; faces and totals are None while not public.

    `slot` is None where neither the reader nor the rules can tell it yet.
    """

    type = "card_dealt"
    banker_total: int | None
    card: Card | None
    player_total: int | None
    slot: Slot | None


class CardDisclosed(EventData, frozen=True):
    """The table has seen a card that was dealt face down."""

    type = "card_disclosed"
    banker_total: int | None
    card: Card
    player_total: int | None
    slot: Slot | None


class DrawDue(EventData, frozen=True, kw_only=True):
    """
    Whose card is next, and why, in a code and in a sentence.

    `detail_code` and `detail_values` are what the sentence is made of.
    """

    type = "draw_due"
    code: Literal[
        "dealing",
        "natural",
        "player_draws",
        "player_stands",  # never emitted: see `next_card`
        "banker_draws",
        "banker_stands",
        "complete",
        "faces_hidden",
    ]
    detail_code: str = ""
    detail_values: dict[str, str | int | None] = {}
    hand: Hand
    text: str


class HandResult(Struct, frozen=True):
    """
    One hand at the end; `cards` holds None for a card that nobody could read,
    and what depends on it is None.
    """

    cards: tuple[Card | None, ...]
    natural: bool | None
    pair: bool | None
    total: int | None


class WagerResult(Struct, frozen=True):
    """What became of a wager; `pays` is ``to:for``, None unless it wins."""

    pays: str | None
    result: Literal["win", "lose", "push"]
    wager: str


class RoundFinished(EventData, frozen=True):
    """
    The result of a round.

    Where something is missing, `partial` is true, and `outcome` is what the
    device declared.
    """

    type = "round_finished"
    banker: HandResult
    kind: Kind
    outcome: Outcome | None
    partial: bool
    player: HandResult
    wagers: tuple[WagerResult, ...]


class RoundAborted(EventData, frozen=True):
    """A round came to nothing: its number is used up, its cards stay counted."""

    type = "round_aborted"
    cause: AbortCause


class Proposal(Struct, frozen=True, kw_only=True):
    """
    What an authority says about an irregularity.

    `detail_code` identifies the text: policy, situation and action, with dots between. `needs`
    names the fields of `rule` that a person has to give besides the action; it is absent if
    there are none, and in events.
    """

    action: str
    authority: str
    detail_code: str = ""
    detail_values: dict[str, str | int | None] = {}
    needs: tuple[Literal["card"], ...] | UnsetType = UNSET
    section: str
    text: str
    verified: bool


class IrregularityData(Struct, frozen=True, kw_only=True):
    """
    What is said of an irregularity.

    Attributes:
        card: The card concerned; None where there is none or it is not public.
        detail: One sentence for the people at the table.
        detail_code: Which sentence it is, for displays in other languages.
        detail_values: What stands in it, by name.
        id: The `seq` of the event that told it first, perhaps to staff alone.
        kind: One of the closed list.
        proposals: What the house's policy says, most binding first.
        severity: 1 info, 2 warning, 3 hold, 4 void candidate, 5 stop.
        slot: The place concerned, if any.
    """

    card: Card | None
    detail: str
    detail_code: str = ""
    detail_values: dict[str, str | int | None] = {}
    id: int
    kind: str
    proposals: tuple[Proposal, ...]
    severity: int
    slot: Slot | None


class Irregularity(EventData, IrregularityData, frozen=True, kw_only=True):
    """Something happened that the rules do not allow, or that cannot be known."""

    type = "irregularity"


class StaffIrregularity(EventData, IrregularityData, frozen=True, kw_only=True):
    """
    An irregularity that follows from faces that the players have not seen.

    An `irregularity` with the same `id` follows when they have seen them.
    """

    type = "staff_irregularity"


class ClosedData(Struct, frozen=True):
    """How an irregularity was dealt with; `operator` is None where the equipment did it."""

    action: str
    id: int
    operator: str | None
    reason: str | None


class IrregularityClosed(EventData, ClosedData, frozen=True):
    """An irregularity is dealt with; `operator` is None where the equipment did it."""

    type = "irregularity_closed"


class StaffIrregularityClosed(EventData, ClosedData, frozen=True):
    """An irregularity is dealt with that the players had not been told of."""

    type = "staff_irregularity_closed"


class RulingGiven(EventData, frozen=True):
    """
    A person gave a ruling that waits until it is carried out: the irregularity stays open.

    `action` is `draw_now`, `rescan` or `manual_entry`.
    """

    type = "ruling_given"
    action: str
    id: int
    operator: str | None


class StaffRulingGiven(EventData, frozen=True):
    """
    The reason of a `ruling_given`, or a ruling on an irregularity that is for staff only.
    """

    type = "staff_ruling_given"
    action: str
    id: int
    operator: str | None
    reason: str | None


class RoundHeld(EventData, frozen=True):
    """
    A result is ready and waits for a person; `irregularities` are the ids of
    what it waits for, none where the table is on hold.
    """

    type = "round_held"
    irregularities: tuple[int, ...]
    operator: str | None
    reason: str | None


class RoundReleased(EventData, frozen=True):
    """A result that was held may be published: it follows."""

    type = "round_released"
    operator: str | None
    reason: str | None


class RoundVoided(EventData, frozen=True):
    """
    A round is void: no wager of it is settled, its cards stay counted.

    `before` is its result, None where it had none yet; `after` is always None.
    """

    type = "round_voided"
    after: RoundFinished | None
    before: RoundFinished | None
    operator: str | None
    reason: str | None


class CardCorrected(EventData, frozen=True):
    """
    A person says what card it was; `before` is None where it had not been read.

    A face that the players have not seen is None here too.
    """

    type = "card_corrected"
    after: Card | None
    before: Card | None
    operator: str | None
    reason: str | None
    slot: Slot | None


class ResultRevised(EventData, frozen=True):
    """
    A round has another result than was published, or one that a person entered.

    `before` is None where there was none, `after` where there is none any more.
    """

    type = "result_revised"
    after: RoundFinished | None
    before: RoundFinished | None
    operator: str | None
    reason: str | None


class ShoePassed(EventData, frozen=True):
    """The shoe is with another curator; `seat` is None where the dealer draws."""

    type = "shoe_passed"
    seat: int | None


class DealerChanged(EventData, frozen=True):
    """
    Another dealer stands at the table; `dealer` is None after a dealer has signed off, `before`
    where nobody had signed on.
    """

    type = "dealer_changed"
    before: str | None
    dealer: str | None
    operator: str | None
    reason: str | None


class ShoeCounts(Struct, frozen=True):
    """Rounds and outcomes of a shoe (never cards)."""

    banker: int
    player: int
    rounds: int
    tie: int


class CutCard(EventData, ShoeCounts, frozen=True):
    """The cut card appeared."""

    type = "cut_card"


class LastRound(EventData, ShoeCounts, frozen=True):
    """The round that is under way, or else the next one, is the shoe's last."""

    type = "last_round"


class ShoeFinished(EventData, frozen=True, kw_only=True):
    """
    The last permitted round of a shoe has ended.

    Attributes:
        head: The hash of the journal's chain, in hex, before the observation that ended the
            shoe; None in a bare log.
    """

    type = "shoe_finished"
    banker: int
    head: str | None = None
    player: int
    rounds: int
    tie: int


class ReaderStatus(EventData, frozen=True):
    """
    What the table may expect of a reader.

    `state` is ``ok``, ``partial`` until the next clean boundary, ``fault`` or
    ``locked``.
    """

    type = "reader_status"
    link: Literal["up", "down", "unknown"]
    source: str | None
    state: Literal["ok", "partial", "fault", "locked"]


class StaffCardDealt(EventData, frozen=True):
    """The face of a card that the players have not seen."""

    type = "staff_card_dealt"
    card: Card
    slot: Slot | None


class StaffComposition(EventData, frozen=True):
    """What came out of a shoe that is finished: copies read of each card."""

    type = "staff_composition"
    read: dict[str, int]
    unread: int


SCHEMA: Final = "1.0"


class Event(Struct, frozen=True):
    """
    The envelope.

    Attributes:
        at: The moment of the observation, or of the deadline, that caused it.
        data: What happened.
        round: From 1 within a shoe; None outside a round.
        schema: The version of this form.
        seq: Gapless, from 1, per table, for ever.
        shoe: From 1 per table, for ever; None before the first.
        site: Where.
        table: Which table.
        type: The name of `data`.
    """

    at: str
    data: EventData
    round: int | None
    schema: str
    seq: int
    shoe: int | None
    site: str
    table: str
    type: str


EVENT_TYPES: Final = {kind.type: kind for kind in EventData.__subclasses__()}
"""Every type of event by its name on the wire."""

EVENT_DECODERS: Final = {name: msgspec.json.Decoder(kind) for name, kind in EVENT_TYPES.items()}
"""
The JSON decoder of each type.

They are made here, on the thread that imports: two threads that decode into the same type for the
first time, at the same moment, crash msgspec 0.22. `msgspec.convert` is safe with them too.
"""

_encoder = msgspec.json.Encoder()


def encode_event(event: Event) -> bytes:
    """Return the event's one and only JSON: sorted keys, no spaces, UTF-8."""
    return _encoder.encode(event)


def decode_event(line: bytes) -> Event:
    """
    Read an event back from its JSON.

    Raises:
        msgspec.DecodeError: It is no event of this version.
    """
    envelope = _envelope_decoder.decode(line)
    decoder = EVENT_DECODERS.get(envelope.type)
    if decoder is None:
        raise msgspec.ValidationError(f"Unknown type of event `{envelope.type}`")
    data: Any = decoder.decode(envelope.data)
    return Event(**(msgspec.structs.asdict(envelope) | {"data": data}))


class _Envelope(Event, frozen=True):
    data: msgspec.Raw  # type: ignore[assignment]  # decoded by its type


_envelope_decoder = msgspec.json.Decoder(_Envelope)


def is_staff(event_type: str) -> bool:
    """Return whether events of this type are for staff only."""
    return event_type.startswith("staff_")
