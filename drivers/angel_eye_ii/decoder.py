"""
Angel Eye reports to frames with observations; repeats, lost reports, and the driver's options.

    D d R I i   b1 b2      b1 = 1 TTT IIII   T target, I card index
                           b2 = 1 SSS RRRR   S suit, R rank; 80 = not disclosed
    G           r          r  = 1 WWW 00BP   W winner, B Banker pair, P Player pair
    E e         e          e  = 1 M CCCCCC   M already in error mode, C code
    L           l          l  = 1000 000K    K locked

    T  000 Player, 001 Banker, 010 burn, 100 first card, 101 burn countdown
    S  1 diamonds, 2 clubs, 3 spades, 4 hearts       R  1 ace, 2 to 10, 11 J, 12 Q, 13 K
    W  001 Player, 010 tie, 100 Banker, 101 Banker with six, 111 ended by force

Invalid data is never guessed and never loses a card: an impossible place becomes
no place, an impossible face on a place becomes `Unreadable`.

Every report is sent three times where the host does not answer. The first copy
that is received whole is the frame, byte-identical ones right after it are repeats;
when all three are lost, the next sequence number shows it. Not detected: nine reports
lost in a row, or eighteen ..., because the numbers wrap; and reports lost right before
a boot, which restarts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Final, NamedTuple

from msgspec import Meta, Struct

from drivers.angel_eye_ii.codec import (
    MAX_FRAME,
    Piece,
    Report,
    Shape,
    parse_report,
    split,
    text_of_nak,
)
from drivers.driver import Frame, FrameKind
from shoe_daemon.game import RANKS, Card, Outcome, Slot
from shoe_daemon.table.observations import (
    Booted,
    CardDrawn,
    Carried,
    Cause,
    CutCardSeen,
    DeviceError,
    DeviceErrorCleared,
    Disclosed,
    Gap,
    GapDetail,
    Lock,
    Observation,
    Result,
    Role,
    Standby,
    Unreadable,
    Withdrawn,
)


class AngelOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``angel-eye-ii``.

    Attributes:
        repeat_interval:
            Seconds within which a second boot is a copy of the first. Two real
            boots that close, with nothing between them, mean the same as one.
        allow_commands:
            Whether commands may be sent to the shoe. Off: it is only listened to.
        bcc_with_start:
            Whether a command's BCC covers its STX. The specification's example
            has it in, its text leaves it out.
    """

    repeat_interval: Annotated[float, Meta(ge=0)] = 5.0
    allow_commands: bool = False
    bcc_with_start: bool = True


NOT_DISCLOSED: Final = 0x80
IN_ERROR_MODE: Final = 0x40

BURN: Final = 0b010
FIRST_CARD: Final = 0b100
BURN_COUNTDOWN: Final = 0b101
FORCED: Final = 0b111

_TARGETS: Final = {"P": 0b000, "B": 0b001}
_SUITS: Final = {"D": 1, "C": 2, "S": 3, "H": 4}
_WINNERS: Final = {Outcome.PLAYER: 0b001, Outcome.TIE: 0b010, Outcome.BANKER: 0b100}

_SLOTS: Final = {(_TARGETS[slot[0]], int(slot[1])): slot for slot in Slot}
_ROLES: Final = {BURN: Role.BURN, FIRST_CARD: Role.FIRST, BURN_COUNTDOWN: Role.BURN}
_FACES: Final = {(_SUITS[card.suit], RANKS.index(card.rank) + 1): card for card in Card}
_OUTCOMES: Final = {code: outcome for outcome, code in _WINNERS.items()} | {
    0b101: Outcome.BANKER  # with six: the table knows that from the cards
}
_ERRORS: Final = {
    1: (Cause.UNREADABLE, "card unreadable"),
    2: (Cause.OVERDRAW, "overdraw"),
    3: (Cause.BUTTON, "indication button mishandled"),
    4: (Cause.CARD_RETURNED, "card pushed back at the exit"),
    5: (Cause.CARD_RETURNED, "card pushed back midway"),
    6: (Cause.CARD_CODE, "card code error"),
    7: (Cause.TIMEOUT, "draw timed out"),
}


class DecodedReport(NamedTuple):
    """The content of a report: an observation or none; for people, what is unusual about it."""

    observations: tuple[Observation, ...] = ()
    note: str = ""


def face_code(card: Card | None) -> int:
    """Return b2 of a card; None for one that is not disclosed."""
    if card is None:
        return NOT_DISCLOSED
    return 0x80 | _SUITS[card.suit] << 4 | (RANKS.index(card.rank) + 1)


def place_code(slot: Slot) -> int:
    """Return b1 of a place."""
    return 0x80 | _TARGETS[slot[0]] << 4 | int(slot[1])


def result_code(winner: Outcome, *, player_pair: bool, banker_pair: bool) -> int:
    """Return r of a result."""
    return 0x80 | _WINNERS[winner] << 4 | banker_pair << 1 | player_pair


class _Face(NamedTuple):
    """The content of b2: a card, a hidden card, or an impossible code."""

    card: Card | None
    impossible: bool
    note: str = ""


def decode_report(report: Report) -> DecodedReport:
    """Decode a report; invalid data do not raise."""
    entry = _REPORTS.get(report.code)
    if entry is None:
        return DecodedReport(note=f"unknown report {report.code!a}")
    length, read = entry
    decoded = read(report.data)
    if len(report.data) == length:
        return decoded
    note = f"{report.code} with {len(report.data)} bytes of data, not {length}"
    return decoded._replace(note=f"{note}; {decoded.note}" if decoded.note else note)


def _drawn(data: bytes) -> DecodedReport:
    target, index = _place(data)
    face = _face(data)
    if target in _ROLES:
        return DecodedReport((CardDrawn(card=face.card, role=_ROLES[target]),), face.note)
    slot = _SLOTS.get((target, index))
    note = face.note if slot else f"a card for no place: {data[:1].hex().upper() or 'nothing'}"
    if face.impossible:
        return DecodedReport((Unreadable(slot=slot),), note)
    return DecodedReport((CardDrawn(card=face.card, slot=slot),), note)


def _outside(data: bytes) -> DecodedReport:
    # The high bits of b1 name a mode, but a real shoe sent another mode than its own.
    face = _face(data)
    return DecodedReport((CardDrawn(card=face.card, role=Role.OUTSIDE),), face.note)


def _disclosed(data: bytes) -> DecodedReport:
    slot, face = _SLOTS.get(_place(data)), _face(data)
    if slot is None:
        return DecodedReport(note=f"a face for no place: {data[:1].hex().upper() or 'nothing'}")
    if face.card is None:
        # The card itself was counted when it was drawn; its face stays unknown.
        return DecodedReport(note=face.note or "a disclosure without a face")
    return DecodedReport((Disclosed(slot=slot, card=face.card),))


def _withdrawn(data: bytes) -> DecodedReport:
    face = _face(data)
    return DecodedReport((Withdrawn(card=face.card),), face.note)


def _carried(data: bytes) -> DecodedReport:
    slot, face = _SLOTS.get(_place(data)), _face(data)
    if slot is None:
        # A carried card is the next round's first by definition.
        carried = Carried(slot=Slot.P1, card=face.card)
        return DecodedReport((carried,), "carried to no place: P1 taken")
    return DecodedReport((Carried(slot=slot, card=face.card),), face.note)


def _result(data: bytes) -> DecodedReport:
    code = _bits(data, 4, 0b111)
    if code == FORCED:
        return DecodedReport((Result(forced=True),))
    outcome = _OUTCOMES.get(code)
    if outcome is None:
        return DecodedReport((Result(),), f"a result of nobody: {data.hex().upper() or 'nothing'}")
    pairs = _bits(data, 0, 0b11)
    result = Result(
        outcome=outcome, player_pair=bool(pairs & 0b01), banker_pair=bool(pairs & 0b10)
    )
    return DecodedReport((result,))


def _error(kind: type[DeviceError | DeviceErrorCleared], data: bytes) -> DecodedReport:
    if not data:
        return DecodedReport((kind(cause=Cause.OTHER),))
    code = data[0] & 0x3F
    cause, text = _ERRORS.get(code, (Cause.OTHER, "unknown error"))
    if data[0] & IN_ERROR_MODE:
        text = f"{text}, already in error mode"
    return DecodedReport((kind(cause=cause, code=code, text=text),))


def _lock(data: bytes) -> DecodedReport:
    if not data:
        return DecodedReport(note="a lock without its state")
    return DecodedReport((Lock(locked=bool(data[0] & 1)),))


def _preset(data: bytes) -> DecodedReport:
    text = data.decode("latin-1")
    return DecodedReport(note=f"preset {text[:2]!a} set to {text[2:]!a} at the shoe")


def _bits(data: bytes, shift: int, mask: int) -> int:
    """Return some bits of the first byte; -1, an invalid code, without data."""
    return data[0] >> shift & mask if data else -1


def _place(data: bytes) -> tuple[int, int]:
    return _bits(data, 4, 0b111), _bits(data, 0, 0b1111)


def _face(data: bytes) -> _Face:
    if len(data) < 2:  # noqa: PLR2004 - b1 and b2
        return _Face(None, impossible=True, note="no face")
    code = data[1]
    if code & 0x7F == NOT_DISCLOSED & 0x7F:
        return _Face(None, impossible=False)
    card = _FACES.get((code >> 4 & 0b111, code & 0b1111))
    return _Face(card, card is None, "" if card else f"no card has the code {code:02X}")


_REPORTS: Final[dict[str, tuple[int, Callable[[bytes], DecodedReport]]]] = {
    "S": (0, lambda _: DecodedReport((Booted(),))),
    "P": (0, lambda _: DecodedReport((Standby(),))),
    "C": (0, lambda _: DecodedReport((CutCardSeen(),))),
    "D": (2, _drawn),
    "d": (2, _outside),
    "I": (2, _disclosed),
    "i": (2, _withdrawn),
    "R": (2, _carried),
    "G": (1, _result),
    "E": (1, partial(_error, DeviceError)),
    "e": (1, partial(_error, DeviceErrorCleared)),
    "L": (1, _lock),
    "M": (4, _preset),
}


_FACE_REPORTS: Final = "DdIiR"
_NO_FACE: Final = 0xFF
"""A face code of no card, in place of any other such code."""


def with_other_cards(report: Report, permutation: Mapping[Card, Card]) -> Report:
    """Return a report with other cards. Data that may show a card in another way is replaced."""
    known = _REPORTS[report.code][0] if report.code in _REPORTS else 0
    data, beyond = report.data[:known], report.data[known:]
    if report.code in _FACE_REPORTS and len(data) == known:
        data = bytes([data[0], _other_face(data[1], permutation)])
    return Report(report.seq, report.code, data + bytes([NOT_DISCLOSED]) * len(beyond))


def _other_face(code: int, permutation: Mapping[Card, Card]) -> int:
    if code & 0x7F == NOT_DISCLOSED & 0x7F:
        return code
    card = _FACES.get((code >> 4 & 0b111, code & 0b1111))
    return _NO_FACE if card is None else face_code(permutation[card]) & (code | 0x7F)


_BOOT: Final = "S"
_LAST_SEQ: Final = 9


class AngelDecoder:
    """Decodes the stream of one shoe; keeps at most 255 bytes and the last report."""

    def __init__(self, options: AngelOptions) -> None:
        self._repeat_interval = options.repeat_interval
        self._answers = options.allow_commands
        self._buffer = bytearray()
        self._last = b""
        self._last_at = 0.0
        self._expected: int | None = None
        self._rejoined = False

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """Take the next bytes, received at `now` (monotonic seconds)."""
        frames: list[Frame] = []
        # In pieces: the buffer stays small.
        for start in range(0, len(data), MAX_FRAME):
            self._buffer += data[start : start + MAX_FRAME]
            while piece := split(self._buffer, answers=self._answers):
                raw = bytes(self._buffer[: piece.length])
                del self._buffer[: piece.length]
                frames.append(self._frame(raw, piece, now))
        return frames

    def reset(self) -> None:
        """
        Forget a half-received frame and the next sequence number.

        The reader that reopened the line reports the gap. A copy of the last report
        within the repeat interval is still a repeat.
        """
        self._buffer.clear()
        self._expected = None
        self._rejoined = True

    def _frame(self, raw: bytes, piece: Piece, now: float) -> Frame:
        if piece.shape is Shape.REPORT:
            return self._report(raw, now)
        if piece.shape is Shape.NOISE:
            return Frame(raw, FrameKind.NOISE, (), now, piece.note)
        return Frame(raw, FrameKind.FRAME, (), now, _answer(raw, piece.shape))

    def _report(self, raw: bytes, now: float) -> Frame:
        report = parse_report(raw)
        if self._is_repeat(raw, report, now):
            return Frame(raw, FrameKind.REPEAT, (), now)
        gap = self._lost_before(report)
        self._last, self._last_at, self._rejoined = raw, now, False
        self._expected = _successor(report.seq)
        decoded = decode_report(report)
        return Frame(raw, FrameKind.FRAME, gap + decoded.observations, now, decoded.note)

    def _is_repeat(self, raw: bytes, report: Report, now: float) -> bool:
        if raw != self._last:
            return False
        # All boots are identical, and after a reconnection a report of a later round
        # may be too; only the time distinguishes them from a repeat.
        ambiguous = report.code == _BOOT or self._rejoined
        return not ambiguous or now - self._last_at <= self._repeat_interval

    def _lost_before(self, report: Report) -> tuple[Observation, ...]:
        # A boot restarts the numbers, and a stream may be joined anywhere.
        if report.code == _BOOT or self._expected in {None, report.seq}:
            return ()
        return (Gap(detail=GapDetail.LOST_FRAMES),)


def _successor(seq: int) -> int | None:
    """Return the sequence number after this one; None after an invalid one."""
    return seq % _LAST_SEQ + 1 if 0 <= seq <= _LAST_SEQ else None


def _answer(raw: bytes, shape: Shape) -> str:
    if shape is Shape.NAK:
        return f"the shoe refused a command: {text_of_nak(raw[1])}"
    if shape is Shape.ACK:
        return "the shoe took a command"
    return f"reply {raw[1:-3].decode('latin-1')!a}"
