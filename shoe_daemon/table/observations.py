"""
The observations of a table: the only input of the fold.

A log holds one JSON object a line. Unknown fields are ignored, an unknown type is an error.
`at` is empty until the writer stamps it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    DEFAULT_HOUSE,
    Card,
    House,
    Outcome,
    Policy,
    Slot,
    house_from_mapping,
    load_house,
    load_policy,
    policy_from_mapping,
)
from shoe_daemon.table.options import Options
from shoe_daemon.table.options import Signal as Signal  # noqa: PLC0414 - for the drivers
from shoe_daemon.table.times import to_microseconds


class Role(StrEnum):
    """The reason for which a card left the shoe."""

    PLAY = "play"
    BURN = "burn"
    FIRST = "first"
    OUTSIDE = "outside"


class Cause(StrEnum):
    """The subject of a device's error."""

    UNREADABLE = "unreadable"
    OVERDRAW = "overdraw"
    BUTTON = "button"
    CARD_RETURNED = "card_returned"
    CARD_CODE = "card_code"
    TIMEOUT = "timeout"
    OTHER = "other"


class GapDetail(StrEnum):
    """The reason for which something is known to be missing."""

    LOST_FRAMES = "lost_frames"
    RECONNECT = "reconnect"
    RESTART = "restart"
    RESTORED = "restored"
    FLOOD = "flood"
    NOT_APPLIED = "not_applied"


MAX_TAG_CHARACTERS: Final = 128

CardTag = Annotated[str, Meta(min_length=1, max_length=MAX_TAG_CHARACTERS)]
"""A code that is unique per physical card. It stays in the journal and is never published."""


class Observation(Struct, frozen=True, kw_only=True, tag_field="type", omit_defaults=True):
    """
    The fields of every observation.

    Attributes:
        at: RFC 3339 in UTC, never earlier than the observation before.
        chain_head: The hash of the journal's chain before this observation, in hex, where
            the observation may finish a shoe; None elsewhere, and in a bare log.
        source: The reader's id; None where there is only one.
    """

    at: str = ""
    chain_head: str | None = None
    source: str | None = None


class ReaderRecord(Struct, frozen=True, omit_defaults=True):
    """
    A reader of a session: enough to decode its raw bytes again.

    Attributes:
        id: The `source` of its observations.
        driver: The driver's name.
        version: The version of the package that provides the driver; None if unknown.
        options: The driver's options, as in the configuration.
    """

    id: str
    driver: str
    version: str | None = None
    options: dict[str, Any] = {}


class Session(Observation, frozen=True, tag="session"):
    """
    A start of the daemon, or a change of its configuration.

    Attributes:
        program: The version of the program that wrote the session; None in journals of
            versions that did not record it, and in bare logs.
        readers: The readers and their drivers; empty likewise.
        rulings: The policy in full, likewise.
        rules:
            The house's rules in full, as `House` writes them, so that the log
            replays to the same bytes after a house has changed; None looks
            `house` up among those that come with the project.
        options: Whatever else decides what the table says.
    """

    site: str = "site"
    table: str = "table"
    house: str | None = None
    policy: str = "management"
    program: str | None = None
    readers: tuple[ReaderRecord, ...] = ()
    rules: dict[str, Any] | None = None
    rulings: dict[str, Any] | None = None
    options: Options = Options()


class Tick(Observation, frozen=True, tag="tick"):
    """A deadline passed. Its moment is what counts; `deadline` is for people."""

    deadline: str | int | float | None = None


class CardDrawn(Observation, frozen=True, tag="card"):
    """
    A card left the shoe.

    Attributes:
        card: None while its face is not known.
        slot: None where the reader cannot tell.
        tag: None where codes are not unique.
    """

    card: Card | None = None
    slot: Slot | None = None
    role: Role = Role.PLAY
    tag: CardTag | None = None

    def __post_init__(self) -> None:
        """Refuse a tag that no log may have."""
        _check_tag(self.tag)


def _check_tag(tag: str | None) -> None:
    # A driver makes observations without the check of a decoded log.
    if tag is not None and not 1 <= len(tag) <= MAX_TAG_CHARACTERS:
        msg = f"Expected a tag of 1 to {MAX_TAG_CHARACTERS} characters, got {len(tag)}"
        raise ValueError(msg)


class Disclosed(Observation, frozen=True, tag="disclosed"):
    """The face of a card that was drawn before."""

    slot: Slot
    card: Card


class Withdrawn(Observation, frozen=True, tag="withdrawn"):
    """An excess card was taken out of play."""

    card: Card | None = None


class Carried(Observation, frozen=True, tag="carried"):
    """An excess card became this card of the next round."""

    slot: Slot = Slot.P1
    card: Card | None = None


class Unreadable(Observation, frozen=True, tag="unreadable"):
    """A card passed and could not be read; `tag` as for a card, where it stands for no face."""

    slot: Slot | None = None
    tag: CardTag | None = None

    def __post_init__(self) -> None:
        """Refuse a tag that no log may have."""
        _check_tag(self.tag)


class Placed(Observation, frozen=True, tag="placed"):
    """A camera sees this card on this place."""

    slot: Slot
    card: Card


class CutCardSeen(Observation, frozen=True, tag="cut_card"):
    """The cut card came out of the shoe."""


class Booted(Observation, frozen=True, tag="booted"):
    """The reader started: switched on, or reset."""


class Standby(Observation, frozen=True, tag="standby"):
    """The reader waits for a round."""


class TableCleared(Observation, frozen=True, tag="table_cleared"):
    """The cards were taken off the table."""


class Result(Observation, frozen=True, tag="result"):
    """
    The end of a round as the reader, or the dealer's button, reports it.

    A round that was ended by force has `forced`, or that word as its outcome.
    """

    outcome: str | None = None
    forced: bool = False
    player_pair: bool | None = None
    banker_pair: bool | None = None

    def __post_init__(self) -> None:
        """Refuse an outcome that is none."""
        if self.outcome not in {None, "forced", *Outcome}:
            msg = f"Expected `player`, `banker`, `tie` or `forced`, got `{self.outcome}`"
            raise ValueError(msg)


class DeviceError(Observation, frozen=True, tag="device_error"):
    """The reader reports an error of its own."""

    cause: Cause = Cause.OTHER
    code: str | int | None = None
    text: str | None = None


class DeviceErrorCleared(Observation, frozen=True, tag="device_error_cleared"):
    """The reader's error is over."""

    cause: Cause | None = None
    code: str | int | None = None
    text: str | None = None


class Lock(Observation, frozen=True, tag="lock"):
    """The reader's key was turned."""

    locked: bool


class Link(Observation, frozen=True, tag="link"):
    """The connection to the reader came up, or went."""

    up: bool
    detail: str | None = None


class Gap(Observation, frozen=True, tag="gap"):
    """
    Something is known to be missing before this.

    With ``not_applied`` it is the observation just before it, which ended in an error of the
    program: no fold of the log applies that observation.

    Attributes:
        next_seq: After ``restored``: the number of the next event. Lower ones may have been
            published by the journal that was lost.
        count: With ``flood``: the number of frames without a card that were not stored.
        sha256: With ``flood``: the hash of their bytes one after another, in hex.
        published: After ``restored`` during a start: the last event that was published. Those
            after it, up to this gap, are never published: the lost journal may have published
            others under their numbers.
    """

    detail: GapDetail = GapDetail.LOST_FRAMES
    next_seq: int | None = None
    count: int | None = None
    sha256: str | None = None
    published: int | None = None


class ClockSet(Observation, frozen=True, tag="clock_set"):
    """
    The daemon's clock was corrected before this, by more than 5 s.

    Attributes:
        by: Milliseconds. Negative: the computer's clock was set back, and the times of the next
            observations advance slowly until it has caught up.
    """

    by: int


class NoMoreBets(Observation, frozen=True, tag="no_more_bets"):
    """Betting closed."""


class BettingOpen(Observation, frozen=True, tag="betting_open"):
    """Betting opened."""


class Command(Observation, frozen=True, tag="command"):
    """
    An order of an operator or of a button; a refused one says why, and changes nothing.

    Attributes:
        name: The verb, with underscores: ``new_shoe``, ``confirm_result`` ...
        id: The order's own, by which it is answered.
        operator: Who gives it; None for a button.
        claimed: Nobody vouches for `operator`.
        expects_seq: The last event that the sender knew, where the order was to be refused after
            any other.
        reason: Why, in the operator's words.
        refused: Why it was refused; None where it was carried out.
        irregularity: The id of the one that ``acknowledge`` and ``rule`` are about.
        action: What ``rule`` chooses.
        round: The round that a correction is about; None for the latest.
        slot: The place of a card.
        card: What it is.
        outcome: Of a result entered by hand.
        player_pair, banker_pair: Likewise.
        seat: Of the curator; None for the next in turn.
        from_seq: Where ``replay`` begins.
        kind: What a person has seen that no reader can, with ``hold``.
        left: Cards that a person counted in the shoe, with ``new_shoe``.
        dealer: Who signs on, with ``dealer``; None for who signs off.
    """

    name: str
    id: str | None = None
    operator: str | None = None
    claimed: bool = False
    expects_seq: int | None = None
    reason: str | None = None
    refused: str | None = None
    irregularity: int | None = None
    action: str | None = None
    round: int | None = None
    slot: Slot | None = None
    card: Card | None = None
    outcome: Outcome | None = None
    player_pair: bool | None = None
    banker_pair: bool | None = None
    seat: int | None = None
    from_seq: int | None = None
    kind: str | None = None
    left: int | None = None
    dealer: str | None = None


BUTTON_COMMANDS: Final = frozenset({"reveal", "hold"})
"""The commands that a button at the table may give, without an operator."""


AnyObservation = (
    Session
    | Tick
    | CardDrawn
    | Disclosed
    | Withdrawn
    | Carried
    | Unreadable
    | Placed
    | CutCardSeen
    | Booted
    | Standby
    | TableCleared
    | Result
    | DeviceError
    | DeviceErrorCleared
    | Lock
    | Link
    | Gap
    | ClockSet
    | NoMoreBets
    | BettingOpen
    | Command
)

_decoder = msgspec.json.Decoder(AnyObservation)
_encoder = msgspec.json.Encoder(order="sorted")


def encode_observation(observation: Observation) -> bytes:
    """Return one line of an observation log, without its line end."""
    return _encoder.encode(observation)


def decode_observation(line: bytes | str) -> AnyObservation:
    """
    Decode one line of an observation log.

    Raises:
        UserError: The line is invalid; the message states the reason.
    """
    try:
        observation: AnyObservation = _decoder.decode(line)
        to_microseconds(observation.at)
        if isinstance(observation, Session) and observation.options == Options():
            # Logs written by hand may give the options beside the names.
            flat = msgspec.json.decode(line, type=Options)
            if flat != observation.options:
                observation = msgspec.structs.replace(observation, options=flat)
        if isinstance(observation, Session):
            house_of(observation)
            policy_of(observation)
    except UserError as error:
        # All errors of a house or a policy: a log's line is one line of a report.
        raise UserError(str(error).replace("\n", "; ")) from error
    except (msgspec.DecodeError, ValueError) as error:
        raise UserError(_error_text(error)) from error
    except RecursionError as error:
        raise UserError("This line is nested too deeply to be read.") from error
    return observation


def house_of(session: Session) -> House:
    """
    Return the house of a session.

    Raises:
        UserError: The house is unknown, or its rules are invalid.
    """
    if session.rules is not None:
        return house_from_mapping(session.rules, "rules")
    return DEFAULT_HOUSE if session.house is None else load_house(session.house)


def policy_of(session: Session) -> Policy:
    """
    Return the policy of a session.

    Raises:
        UserError: The policy is unknown, or its rulings are invalid.
    """
    if session.rulings is not None:
        return policy_from_mapping(session.rulings, "rulings")
    return load_policy(session.policy)


def _error_text(error: Exception) -> str:
    text = str(error)
    if text.startswith("''"):
        return "`at` is missing: every observation needs its moment"
    return text
