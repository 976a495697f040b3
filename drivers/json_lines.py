"""
Readers built by hand that send one JSON object a line: microcontrollers, RFID antennas.

    {"type":"card","card":"AS"}                               a card left the shoe, by its name
    {"type":"card","card_uid":"04A2B3C4","seq":17}            the same, by a tag in your table
    {"type":"card","card_uid":"04A2B3C4","card":"AS"}         the same, by a tag and its name
    {"type":"burn","card":"4S"}   {"type":"first","card":"KD"}   a burned card, the first of a shoe
    {"type":"unreadable"}                                     a card that could not be read
    {"type":"removed","card_uid":"04A2B3C4"}                  a tag left the antenna
    {"type":"boot"}                                           the reader started
    {"type":"cut_card"}                                       the cut card came
    {"type":"result","outcome":"banker"}                      a button; without outcome: the end
    # a comment                                               and anything before the first {

115200 bit/s, 8N1; a line ends in LF, or CR LF. The names of the fields can be set. Other types
and fields are ignored; without a type, a line with a card is a card.

A tag that lies at the antenna is reported again and again, with numbers that count on, and
flickers: the same card within `resend_cooldown` after its last report, or within
`removal_debounce` after its removal, is a repeat. Later the table
recognises it by its tag. A jump of `seq` is a gap, and so is a line with a part of an object in
it. Without `seq` a line that was lost whole cannot be noticed.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cached_property
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import UNSET, Meta, Struct, defstruct

from drivers.capture import blank
from drivers.driver import Decoder, Frame, FrameKind, LineSettings, Maturity
from drivers.text import (
    LOST,
    CardTableDriver,
    CardTableOptions,
    LineDecoder,
    card_named,
    lost,
    noise,
    other_name,
    tag_of,
)
from shoe_daemon.game import Card, Outcome
from shoe_daemon.table.observations import (
    Booted,
    CardDrawn,
    CutCardSeen,
    Observation,
    Result,
    Role,
    Signal,
    Unreadable,
)

MAX_LINE_BYTES: Final = 1024

_MAX_CARDS_PRESENT: Final = 64
_SAME_LINE_S: Final = 60.0
"""So soon, a line with the number of the one before is that line again."""

_FIRST_AFTER_LAST: Final = {2**bits - 1: {0, 1, -(2**bits)} for bits in (7, 8, 15, 16, 31, 32)}
"""After these a counter begins again: at 0, at 1, or, where it is signed, at its lowest number."""

_PART: Final = re.compile(rb'[{}]|":')
"""A part of an object: a line that has one and is none was damaged."""

_SEPARATORS: Final = str.maketrans("", "", " :-.")
_Name = Annotated[str, Meta(min_length=1, max_length=40)]
_Seconds = Annotated[float, Meta(ge=0, le=60)]


class JsonLinesOptions(CardTableOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``json-lines``.

    Attributes:
        type_field, card_field, uid_field, seq_field: Names of the fields.
        resend_cooldown: Seconds after a report within which the same card is a repeat.
        removal_debounce: Seconds after a removal within which the same card is a repeat.
        buttons: Whether ``result`` ends a round; the table then waits for it.
        cut_card: Whether ``cut_card`` is sent.
        unique_codes: Every card has a tag of its own: the same tag again is the same card.
    """

    type_field: _Name = "type"
    card_field: _Name = "card"
    uid_field: _Name = "card_uid"
    seq_field: _Name = "seq"
    resend_cooldown: _Seconds = 0.5
    removal_debounce: _Seconds = 1.0
    buttons: bool = False
    cut_card: bool = False
    unique_codes: bool = True

    def __post_init__(self) -> None:
        """Reject a name that two fields have."""
        super().__post_init__()
        names = (self.type_field, self.card_field, self.uid_field, self.seq_field, "outcome")
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name}: named twice; expected a name of its own for each field")


def _key(line: Any) -> str | None:  # noqa: ANN401 - made by defstruct
    key = line.uid if isinstance(line.uid, str) else line.card
    return key if isinstance(key, str) else None


def _follows(seq: int, last: int) -> bool:
    return seq - last in {0, 1} or seq in _FIRST_AFTER_LAST.get(last, ())


def _plain_uid(uid: str) -> str:
    """Return a tag's number however it is written: ``04:a2`` and ``04A2`` are one."""
    return uid.translate(_SEPARATORS).upper()


class JsonLinesDecoder(LineDecoder):
    """Decodes the stream of one reader; keeps at most one line and 64 cards."""

    def __init__(self, options: JsonLinesOptions, cards: Mapping[str, Card]) -> None:
        super().__init__(b"\n", MAX_LINE_BYTES)
        self._options = options
        self._cards = {_plain_uid(uid): card for uid, card in cards.items()}
        fields = {
            "kind": options.type_field,
            "card": options.card_field,
            "uid": options.uid_field,
            "seq": options.seq_field,
            "outcome": "outcome",
        }
        line = defstruct("Line", [(name, Any, UNSET) for name in fields], rename=fields)
        self.parse: Callable[[bytes], Any] = msgspec.json.Decoder(line).decode
        self._last_seq: int | None = None
        self._last_numbered, self._numbered_at = b"", 0.0
        # The time of the last report or removal of a card, and for how long a report repeats it.
        self._present: dict[str, tuple[float, float]] = {}

    def reset(self) -> None:
        """Forget a half-received line and the last number: the reader reports the gap."""
        super().reset()
        self._last_seq = None

    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        parse = self.parse
        for piece in pieces:
            try:
                line = parse(piece)
            except (msgspec.DecodeError, ValueError, RecursionError):
                self._not_parsed(piece, now, frames)
            else:
                self._numbered(line, piece + b"\n", now, frames)

    def _numbered(self, line: Any, raw: bytes, now: float, frames: list[Frame]) -> None:  # noqa: ANN401 - made by defstruct
        """Take an object: a gap if numbers are missing before it, and its frame."""
        seq = line.seq
        if type(seq) is int:
            before, self._numbered_at = self._numbered_at, now
            if raw == self._last_numbered and now - before < _SAME_LINE_S:
                frames.append(Frame(raw, FrameKind.REPEAT, (), now))
                return
            last, self._last_seq, self._last_numbered = self._last_seq, seq, raw
            if last is not None and line.kind != "boot" and not _follows(seq, last):
                frames.append(lost(now))
        frames.append(self._frame(line, raw, now, frames))

    def find_object(self, piece: bytes) -> tuple[Any, int, int]:
        """Return the object with noise around it, None if there is none, and where it lies."""
        start, last = piece.find(b"{"), piece.rfind(b"}") + 1
        try:
            return (self.parse(piece[start:last]) if 0 <= start < last else None), start, last
        except (msgspec.DecodeError, ValueError, RecursionError):
            return None, start, last

    def _not_parsed(self, piece: bytes, now: float, frames: list[Frame]) -> None:
        """Take a comment, noise, or an object with noise around it."""
        text, raw = piece.strip(), piece + b"\n"
        if text[:1] == b"#" or not text:
            frames.append(Frame(raw, FrameKind.REPEAT, (), now, "a comment" if text else ""))
            return
        line, start, last = self.find_object(piece)
        if line is not None:
            if _PART.search(piece[:start]) or _PART.search(piece[last:]):
                # The line ends of other objects were destroyed.
                frames.append(lost(now))
                start = 0
            if start:
                frames.append(noise(piece[:start], now, "no object"))
            self._numbered(line, raw[start:], now, frames)
        elif _PART.search(piece):
            frames.append(Frame(raw, FrameKind.FRAME, LOST, now, "part of an object"))
        else:
            frames.append(noise(raw, now, "no object"))

    def _frame(self, line: Any, raw: bytes, now: float, frames: list[Frame]) -> Frame:  # noqa: ANN401 - made by defstruct
        """Return the frame of an object; a gap before it goes to `frames`."""
        kind = line.kind
        if kind == "card" or (kind is UNSET and (line.card, line.uid) != (UNSET, UNSET)):
            return self._card(line, raw, now, frames)
        if kind == "removed":
            self._note_presence(_key(line), now, self._options.removal_debounce)
            return Frame(raw, FrameKind.REPEAT, (), now, "a card was removed")
        if kind == "boot":
            self._last_seq = line.seq if type(line.seq) is int else None
            self._present.clear()
        observations = self._meaning(line)
        if observations is None:
            # Stored nowhere: a reader may send such lines all day.
            return Frame(raw, FrameKind.REPEAT, (), now, f"type {str(kind)[:40]!a} is not read")
        return Frame(raw, FrameKind.FRAME, observations, now)

    def _card(self, line: Any, raw: bytes, now: float, frames: list[Frame]) -> Frame:  # noqa: ANN401 - as above
        key = _key(line)
        before = self._note_presence(key, now, self._options.resend_cooldown)
        if before is not None and now - before[0] < before[1]:
            # Of one name there are several cards, and these had no time between them.
            if now > before[0] or (isinstance(line.uid, str) and self._options.unique_codes):
                return Frame(raw, FrameKind.REPEAT, (), now)
            # Without bytes: what it means depends on repeats, which no journal has.
            frames.append(lost(now))
            return Frame(raw, FrameKind.REPEAT, (), now, "one card or two: no time between")
        card, tag = self._face(line), self._tag(line)
        if card is not None:
            return Frame(raw, FrameKind.FRAME, (CardDrawn(card=card, tag=tag),), now)
        note = "a card that was not read" if key is None else f"no card is {str(key)[:40]!a}"
        return Frame(raw, FrameKind.FRAME, (Unreadable(tag=tag),), now, note)

    def _note_presence(
        self, key: str | None, now: float, seconds: float
    ) -> tuple[float, float] | None:
        """Note a report or a removal of a card; return the one before."""
        if key is None:
            return None
        before = self._present.pop(key, None)
        if len(self._present) >= _MAX_CARDS_PRESENT:
            del self._present[next(iter(self._present))]
        self._present[key] = now, seconds
        return before

    def _face(self, line: Any) -> Card | None:  # noqa: ANN401 - as above
        if isinstance(line.uid, str) and (card := self._cards.get(_plain_uid(line.uid))):
            return card
        return card_named(line.card.strip().upper()) if isinstance(line.card, str) else None

    def _tag(self, line: Any) -> str | None:  # noqa: ANN401 - as above
        is_unique = isinstance(line.uid, str) and self._options.unique_codes
        return tag_of(_plain_uid(line.uid)) if is_unique else None

    def _meaning(self, line: Any) -> tuple[Observation, ...] | None:  # noqa: ANN401 - as above
        match line.kind:
            case "burn" | "first":
                role, tag = Role(line.kind), self._tag(line)
                return (CardDrawn(card=self._face(line), role=role, tag=tag),)
            case "unreadable":
                return (Unreadable(),)
            case "boot":
                return (Booted(),)
            case "cut_card" if self._options.cut_card:
                return (CutCardSeen(),)
            case "result" if self._options.buttons:
                said = line.outcome
                return (Result(outcome=said if said in tuple(Outcome) else None),)
        return None


class JsonLines(CardTableDriver):
    """The driver ``json-lines``."""

    name: ClassVar[str] = "json-lines"
    line: ClassVar[LineSettings] = LineSettings(baudrate=115200)
    frame_bytes: ClassVar[int] = 100
    maturity: ClassVar[Maturity] = Maturity.ASSUMED
    simulator: ClassVar[str] = "drivers.simulators.text_readers:SimulatedJsonLines"
    options_type: ClassVar[type[Struct]] = JsonLinesOptions
    options: JsonLinesOptions
    code_options: ClassVar[tuple[str, ...]] = ("uid_field", "unique_codes")

    @property
    def signals(self) -> tuple[Signal, ...]:
        """Failed reads, and what the options say that it has."""
        options = self.options
        buttons = (Signal.RESULTS,) if options.buttons else ()
        return (Signal.FAULTS, *buttons, *((Signal.CUT_CARD,) if options.cut_card else ()))

    @property
    def unique_codes(self) -> bool:
        """True if every card has a tag of its own."""
        return self.options.unique_codes

    def decoder(self) -> Decoder:
        """Return a new decoder; raises as `cards`."""
        return JsonLinesDecoder(self.options, self.cards())

    def codes(self) -> dict[str, Card]:
        """Return the table, with the numbers of tags as they are in frames; raises as `cards`."""
        return self._tags

    def code_in(self, raw: bytes) -> str | None:
        """Return the tag in a line, as a table has it; None for a line without one."""
        line, *_ = self._for_captures.find_object(raw)
        if line is None or not isinstance(line.uid, str) or line.kind not in _OF_A_CARD:
            return None
        uid = _plain_uid(line.uid)
        return uid if uid and uid.isascii() and uid.isprintable() else None

    def recognises(self, raw: bytes) -> bool:
        """Return whether a line has a card, by its name or its tag, or a type that is known."""
        line, *_ = self._for_captures.find_object(raw)
        if line is None or line.kind not in (UNSET, *_TYPES):
            return False
        is_named = isinstance(line.card, str) and card_named(line.card.strip().upper())
        has_face = bool(is_named) or isinstance(line.uid, str)
        return has_face if line.kind in _OF_A_CARD else True

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """
        Return a line with another card, by its name. Of all other fields only the type, the
        number and the outcome stay.

        A tag that is in no table becomes another text, the same one each time.
        """
        found, start, last = self._for_captures.find_object(raw)
        line = None
        if found is not None and raw.lstrip()[:1] != b"#":
            # Text of other fields need not be valid.
            with suppress(msgspec.DecodeError, ValueError, RecursionError):
                line = msgspec.json.decode(raw[start:last].decode("utf-8", "replace"))
        if line is None:
            return blank(raw, _MARKS)
        other = msgspec.json.encode(self._other_fields(line, permutation))
        return blank(raw[:start], _MARKS) + other + blank(raw[last:], _MARKS)

    def _other_fields(
        self, line: dict[str, Any], permutation: Mapping[Card, Card]
    ) -> dict[str, Any]:
        options, shown = self.options, dict[str, Any]()
        uid = line.get(options.uid_field)
        tag = uid if isinstance(uid, str) else ""
        card = self._tags.get(_plain_uid(tag))
        for number, (key, value) in enumerate(line.items()):
            if key == options.type_field:
                shown[key] = value if value in _TYPES else _veiled(value)
            elif key == options.seq_field and type(value) is int:
                shown[key] = value
            elif key == "outcome":
                shown[key] = value if value in tuple(Outcome) else _veiled(value)
            elif key == options.uid_field and card is not None:
                shown[options.card_field] = str(permutation[card])
                if options.unique_codes:
                    shown[key] = self._other_tag(tag)
            elif key == options.uid_field and isinstance(value, str):
                shown[key] = self._other_tag(value)
            elif key == options.card_field:
                shown.setdefault(key, self._other_card(value, permutation))
            elif key in {options.uid_field, options.seq_field}:
                shown[key] = _veiled(value)
            else:
                shown[f"?{number}"] = _veiled(value)
        return shown

    @cached_property
    def _for_captures(self) -> JsonLinesDecoder:
        return JsonLinesDecoder(self.options, {})

    @cached_property
    def _tags(self) -> dict[str, Card]:
        return {_plain_uid(uid): card for uid, card in self.cards().items()}

    @cached_property
    def _secret(self) -> bytes:
        return secrets.token_bytes(16)

    def _other_card(self, value: Any, permutation: Mapping[Card, Card]) -> Any:  # noqa: ANN401 - any value of JSON
        if not isinstance(value, str):
            return _veiled(value)
        return other_name(value.strip().upper(), permutation) or self._other_tag(value)

    def _other_tag(self, uid: str) -> str:
        tag = _plain_uid(uid).encode("utf-8", "replace")
        return blake2b(tag, key=self._secret, digest_size=7).hexdigest().upper()


_MARKS: Final = b'{}[]":,#\\ \t\r\n'
"""Bytes that no card has in its name."""

_OF_A_CARD: Final = (UNSET, "card", "burn", "first")
_TYPES: Final = ("card", "burn", "first", "unreadable", "removed", "boot", "cut_card", "result")


def _veiled(value: Any) -> Any:  # noqa: ANN401 - any value of JSON
    """Return a value of the same type that shows nothing."""
    match value:
        case None | bool():
            return value
        case int() | float():
            return 0
        case str():
            return "?"
    return None
