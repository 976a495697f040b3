"""
Barcode scanners and other readers that send one code for each card.

    [STX] preamble length prefix CODE suffix postamble [ETX] record-suffix

Every part but the code is optional, and is set by a preset or by an option of its own:

    preset          line                    frame
    standard        9600 8N1                CODE CR
    icl             9600 8E1, RTS/CTS       CODE CR
    fujitsu         9600 8N1                CODE CR
    nixdorf         9600 8O1                CODE CR
    olivetti        9600 7E1                STX CODE ETX, answered by ACK or NAK
    omron           9600 8N1                CODE CR
    handheld        9600 8N1                STX CODE ETX CR
    no-terminator   9600 8N1                CODE, ended by silence

The presets follow the manuals of Symbol (Zebra) and Hand Held scanners. CODE is looked up in a
table: one of the built-in ones, or your own.

    rank-suit       4S 10H TD               suit-rank       S4 H10 DT
    a01             A01 to A13 spades, H01 hearts, C01 clubs, D01 diamonds; 01 ace, 13 king

A scanner numbers nothing and knows no slot: the table assigns the slots, and a card that was
never scanned cannot be noticed. A code in no table is a card that could not be read. Bytes
destroyed within a frame are a gap besides, because two frames may have become one. From the
opening of the line to the first code of the table, text that is not a code is noise, because a
device server reports its own faults there ("Port already in use").

The only sign of a card that was scanned twice is the time: an equal code within
`repeat_window` after the one before is a repeat. Equal codes that were received at one instant
have no time between them: they are one card and a gap. With `unique_codes` a code is the tag of
one card, and the table recognises it whenever it comes again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from itertools import groupby
from typing import Annotated, Any, ClassVar, Final, Literal

from msgspec import Meta, Struct

from drivers.capture import blank
from drivers.driver import Decoder, Frame, FrameKind, LineSettings, Maturity
from drivers.text import (
    LOST,
    UNPRINTABLE,
    CardTableDriver,
    CardTableOptions,
    LineDecoder,
    lost,
    noise,
    tag_of,
)
from shoe_daemon.game import RANKS, SUITS, Card
from shoe_daemon.table.observations import CardDrawn, Observation, Signal, Unreadable

MAX_FRAME_BYTES: Final = 256

STX: Final = b"\x02"
ETX: Final = b"\x03"
ACK: Final = b"\x06"
NAK: Final = b"\x15"

_RECORD_SUFFIXES: Final = {
    "none": b"",
    "cr": b"\r",
    "lf": b"\n",
    "crlf": b"\r\n",
    "tab": b"\t",
    "space": b" ",
    "eot": b"\x04",
}

_LONGEST_CODE: Final = 64
_NO_CODE_YET: Final = "no code since the line was opened"
_BLANKS: Final = b" \t\r\n\0"
_LETTERS: Final = re.compile(rb"[0-9A-Za-z\x02]")
"""A part of a frame: noise that has one may have been a card."""

_Text = Annotated[str, Meta(max_length=20)]


class _Preset(Struct, frozen=True, kw_only=True):
    """Settings of a serial host."""

    line: LineSettings = LineSettings(baudrate=9600)
    stx: bool = False
    etx: bool = False
    record_suffix: str = "cr"
    acknowledge: bool = False


_PRESETS: Final = {
    "standard": _Preset(),
    "icl": _Preset(line=LineSettings(parity="E", rtscts=True)),
    "fujitsu": _Preset(),
    "nixdorf": _Preset(line=LineSettings(parity="O")),
    "olivetti": _Preset(
        line=LineSettings(bytesize=7, parity="E"),
        stx=True,
        etx=True,
        record_suffix="none",
        acknowledge=True,
    ),
    "omron": _Preset(),
    "handheld": _Preset(stx=True, etx=True),
    "no-terminator": _Preset(record_suffix="none"),
}


class LineScannerOptions(CardTableOptions, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``line-scanner``.

    Attributes:
        preset: The scanner's serial host; sets the line too.
        codes: A built-in table of codes.
        no_read: What the scanner sends for a card that it cannot read.
        repeat_window: Seconds within which an equal code is the same card; 0 for never.
        idle_gap: Seconds of silence that end a frame without a terminator.
        acknowledge: Whether frames are answered by ACK or NAK; None as the preset.
        stx, etx: Whether a frame begins with STX, and has ETX; None as the preset.
        preamble, prefix, suffix, postamble: Fixed texts around the code.
        length_digits: Digits of the length before the prefix; 0 for none.
        record_suffix: ``none``, ``cr``, ``lf``, ``crlf``, ``tab``, ``space``, ``eot``, or a text
            of your own; None as the preset.
        unique_codes: Every card has a code of its own, in each deck another one: the same code
            again is the same card.
    """

    preset: Literal[
        "standard", "icl", "fujitsu", "nixdorf", "olivetti", "omron", "handheld", "no-terminator"
    ] = "standard"
    codes: Literal["rank-suit", "suit-rank", "a01"] = "rank-suit"
    no_read: tuple[_Text, ...] = ("NOREAD", "NO READ", "NR", "ERROR", "?")
    repeat_window: Annotated[float, Meta(ge=0, le=5)] = 0.5
    idle_gap: Annotated[float, Meta(ge=0.01, le=2)] = 0.1
    acknowledge: bool | None = None
    stx: bool | None = None
    etx: bool | None = None
    preamble: _Text = ""
    length_digits: Annotated[int, Meta(ge=0, le=4)] = 0
    prefix: _Text = ""
    suffix: _Text = ""
    postamble: _Text = ""
    record_suffix: _Text | None = None
    unique_codes: bool = False


class _Framing(Struct, frozen=True):
    """The bytes around a code; `end` is empty where silence ends a frame."""

    stx: bytes
    head: bytes
    length_digits: int
    prefix: bytes
    end: bytes

    def wrap(self, code: str) -> bytes:
        """Return the frame of a code."""
        size = b"%0*d" % (self.length_digits, len(code)) if self.length_digits else b""
        return self.stx + self.head + size + self.prefix + code.encode("ascii") + self.end


def framing_of(options: LineScannerOptions) -> _Framing:
    """Return the framing that the options describe."""
    preset = _PRESETS[options.preset]
    record_suffix = (
        preset.record_suffix if options.record_suffix is None else options.record_suffix
    )
    stx = preset.stx if options.stx is None else options.stx
    etx = preset.etx if options.etx is None else options.etx
    texts = (options.preamble, options.prefix, options.suffix, options.postamble)
    preamble, prefix, suffix, postamble = (text.encode("utf-8") for text in texts)
    last = _RECORD_SUFFIXES.get(record_suffix)
    end = suffix + postamble + (ETX if etx else b"")
    end += record_suffix.encode("utf-8") if last is None else last
    return _Framing(STX if stx else b"", preamble, options.length_digits, prefix, end)


def built_in_codes(name: str) -> dict[str, Card]:
    """Return a built-in table of codes."""
    if name == "a01":
        return {
            f"{letter}{number:02}": Card(rank + suit)
            for suit, letter in zip(SUITS, "AHDC", strict=True)
            for number, rank in enumerate(RANKS, 1)
        }
    codes = {}
    for suit in SUITS:
        for rank in RANKS:
            # In order: a simulator's choice of a code depends on its seed alone.
            for text in (rank, rank.replace("10", "T")):
                codes[text + suit if name == "rank-suit" else suit + text] = Card(rank + suit)
    return codes


class CodeTable:
    """The cards of codes, and what a broken code may have been."""

    def __init__(self, cards: Mapping[str, Card], *, unique_codes: bool = False) -> None:
        self.cards = {code.encode("ascii"): card for code, card in cards.items()}
        self.unique_codes = unique_codes
        # The end of a longer code looks like one of these after noise.
        self.ends_of_others = {
            code[place:]
            for code in self.cards
            for place in range(1, len(code))
            if code[place:] in self.cards
        }
        starts = any(
            code[:place] in self.cards for code in self.cards for place in range(1, len(code))
        )
        longest_first = sorted(self.cards, key=len, reverse=True)
        # Codes in a row can be divided only where none begins another.
        self._in_a_row = None if starts else re.compile(b"|".join(map(re.escape, longest_first)))

    def card_of(self, code: bytes) -> CardDrawn | Unreadable:
        """Return the observation of a code."""
        card, text = self.cards.get(code), code.decode("latin-1")
        tag = tag_of(text) if self.unique_codes else None
        return CardDrawn(card=card, tag=tag) if card else Unreadable(tag=tag)

    def row(self, text: bytes) -> list[bytes]:
        """Return the codes that a text begins with, one after another."""
        codes, place = [], 0
        while self._in_a_row and (found := self._in_a_row.match(text, place)):
            codes.append(found[0])
            place = found.end()
        return codes


@lru_cache(maxsize=64)
def _known_frames(
    framing: _Framing, table: CodeTable
) -> Mapping[bytes, tuple[bytes, bytes, tuple[Observation]]]:
    """Return the raw bytes, the code and the observation of each frame without its end."""
    known = {}
    for code in table.cards:
        raw = framing.wrap(code.decode())
        known[raw.removesuffix(framing.end)] = raw, code, (table.card_of(code),)
    return known


class LineScannerDecoder(LineDecoder):
    """Decodes the stream of one scanner; keeps at most one frame and the last code."""

    def __init__(self, options: LineScannerOptions, table: CodeTable) -> None:
        self._framing = framing = framing_of(options)
        super().__init__(framing.end, MAX_FRAME_BYTES)
        self._table = table
        self._no_read = {text.encode("ascii", "replace") for text in options.no_read}
        preset = _PRESETS[options.preset]
        answers = preset.acknowledge if options.acknowledge is None else options.acknowledge
        self._ack, self._nak = (ACK, NAK) if answers else (b"", b"")
        self._window, self._idle_gap = options.repeat_window, options.idle_gap
        self._known = _known_frames(framing, table)
        self._last, self._last_at, self._byte_at = b"", 0.0, 0.0
        self._is_new = True

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """Take the next bytes, received at `now`; without bytes, the line was silent."""
        if self._framing.end:
            return super().feed(data, now) if data else []
        frames: list[Frame] = []
        if self._rest and now - self._byte_at >= self._idle_gap:
            raw, at, self._rest = self._rest, self._byte_at, b""
            self._row(raw, at, frames, is_whole=True)
        if data:
            self._rest, self._byte_at = self._rest + data, now
        while len(self._rest) >= MAX_FRAME_BYTES:
            head = self._rest[:MAX_FRAME_BYTES]
            used = self._row(head, now, frames, is_whole=False)
            self._rest = self._rest[used:]
        return frames

    def reset(self) -> None:
        """Forget a half-received frame and the last code."""
        super().reset()
        self._last, self._is_new = b"", True

    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        known, append, kind, ack = self._known.get, frames.append, FrameKind.FRAME, self._ack
        last = self._last
        for piece in pieces:
            found = known(piece)
            if found is None:
                self._read(piece, self._end, now, frames)
                last = self._last
                continue
            raw, code, observations = found
            self._is_new = False
            if code == last and now - self._last_at < self._window:  # as `_is_repeat`
                self._again(raw, now, frames)
                continue
            self._last = last = code
            self._last_at = now
            append(Frame(raw, kind, observations, now, "", ack))

    def _is_repeat(self, code: bytes | None, now: float) -> bool:
        return code == self._last and now - self._last_at < self._window

    def _again(self, raw: bytes, now: float, frames: list[Frame]) -> None:
        """Take an equal code within the window; without time between them it may be a card."""
        if now <= self._last_at and not self._table.unique_codes:
            frames.append(lost(now))
        self._last_at = now
        frames.append(Frame(raw, FrameKind.REPEAT, (), now, "", self._ack))

    def _read(self, piece: bytes, end: bytes, now: float, frames: list[Frame]) -> None:
        """Read a frame that is not simply a code in its framing."""
        framing, raw = self._framing, piece + end
        start = self._start(piece)
        lead, body = piece[:start].strip(_BLANKS), piece[start:]
        content = body.removeprefix(framing.stx).strip(_BLANKS)
        if not (lead or content):
            frames.append(noise(raw, now, "an empty line"))
            return
        code = self._unwrapped(content)
        self._is_new &= code not in self._no_read and code not in self._table.cards
        if self._is_new:
            # A scanner that waits for an answer sends a broken frame again.
            answer = self._nak if code is None else self._ack
            kind = FrameKind.REPEAT if self._is_repeat(code, now) else FrameKind.NOISE
            self._last, self._last_at = code or b"", now
            frames.append(Frame(raw, kind, (), now, _NO_CODE_YET, answer))
        elif code is None or not body.startswith(framing.stx) or UNPRINTABLE.search(content):
            # The reader sends again what was not acknowledged.
            is_card = _LETTERS.search(content) and not self._nak
            said: tuple[Observation, ...] = (*LOST, Unreadable()) if is_card else LOST
            frames.append(Frame(raw, FrameKind.FRAME, said, now, "a broken frame", self._nak))
            self._last = b""
        elif _LETTERS.search(lead) or (lead and code in self._table.ends_of_others):
            # What came before may have been another frame, or the beginning of this one.
            is_part = code in self._table.ends_of_others
            said = (*LOST, Unreadable()) if is_part else (*LOST, self._card_of(code))
            note = "a broken frame before"
            frames.append(Frame(raw, FrameKind.FRAME, said, now, note, self._ack))
            self._last = b""
        else:
            if lead:
                frames.append(noise(piece[:start], now, "no code"))
                raw = raw[start:]
            self._code(code, raw, now, frames)

    def _start(self, piece: bytes) -> int:
        """Return where the frame begins: at STX, or after the last byte of noise."""
        if self._framing.stx:
            return max(piece.rfind(STX), 0)
        kept = piece.rstrip(_BLANKS)
        end = 0
        for found in UNPRINTABLE.finditer(kept):
            end = found.end()
        # Noise at the end, or all through, leaves nothing to begin at.
        return end if end < len(kept) else 0

    def _unwrapped(self, content: bytes) -> bytes | None:
        """Return the code within preamble, length and prefix; None where they differ."""
        framing = self._framing
        if not content.startswith(framing.head):
            return None
        content = content[len(framing.head) :]
        digits, content = content[: framing.length_digits], content[framing.length_digits :]
        if not content.startswith(framing.prefix):
            return None
        code = content[len(framing.prefix) :].strip()
        if framing.length_digits and not (digits.isdigit() and int(digits) == len(code)):
            return None
        return code

    def _code(self, code: bytes, raw: bytes, now: float, frames: list[Frame]) -> None:
        if self._is_repeat(code, now):
            self._again(raw, now, frames)
            return
        observation, note = self._card_of(code), ""
        if code in self._no_read:
            note = "a card that was not read"
        elif isinstance(observation, Unreadable):
            note = f"no card has the code {code[:_LONGEST_CODE].decode('latin-1')!a}"
        self._last, self._last_at = code, now
        frames.append(Frame(raw, FrameKind.FRAME, (observation,), now, note, self._ack))

    def _card_of(self, code: bytes) -> Observation:
        return Unreadable() if code in self._no_read else self._table.card_of(code)

    def anonymised(
        self, raw: bytes, permutation: Mapping[Card, Card], codes: Mapping[Card, bytes]
    ) -> bytes:
        """Return a piece of bytes with other cards, by the codes of the cards."""
        end = self._framing.end
        is_whole = raw.endswith(end)
        piece, tail = (raw.removesuffix(end), end) if is_whole else (raw, b"")
        if not is_whole or not _LETTERS.search(piece):
            return _veiled(piece) + tail
        row = [] if end else self._table.row(raw)
        if len(row) > 1 and b"".join(row) == raw:
            return b"".join(codes[permutation[self._table.cards[code]]] for code in row)
        start = self._start(piece)
        lead, body = piece[:start], piece[start:]
        content = body.removeprefix(self._framing.stx).strip(_BLANKS)
        code = self._unwrapped(content)
        is_broken = code is None or not body.startswith(self._framing.stx)
        is_part = lead.strip(_BLANKS) and code in self._table.ends_of_others
        if code is None or is_broken or is_part or UNPRINTABLE.search(content):
            return _veiled(piece) + tail
        card = self._table.cards.get(code)
        shown = codes[permutation[card]] if card else code if code in self._no_read else b"?"
        return _veiled(lead) + self._framing.wrap(shown.decode("ascii"))

    def code_in(self, raw: bytes) -> bytes | None:
        """Return the code in a frame; None for a broken one, and where no card was read."""
        framing = self._framing
        if not raw.endswith(framing.end) or (not framing.end and len(self._table.row(raw)) > 1):
            return None
        piece = raw.removesuffix(framing.end)
        body = piece[self._start(piece) :]
        code = self._unwrapped(body.removeprefix(framing.stx).strip(_BLANKS))
        if not code or code in self._no_read or UNPRINTABLE.search(code):
            return None
        return code

    def recognises(self, raw: bytes) -> bool:
        """Return whether a frame is one of a card in the table, byte for byte."""
        if not self._framing.end and (row := self._table.row(raw)):
            return b"".join(row) == raw
        code = self.code_in(raw)
        return code in self._table.cards and raw == self._framing.wrap(code.decode("ascii"))

    def _row(self, raw: bytes, now: float, frames: list[Frame], *, is_whole: bool) -> int:
        """
        Read a frame without a terminator, which may be several; return the bytes used.

        Codes that were received without silence between them are divided by the table.
        """
        codes = self._table.row(raw)
        used = sum(map(len, codes))
        if is_whole and (len(codes) < 2 or used < len(raw)):  # noqa: PLR2004 - a row has two
            self._decode((raw,), now, frames)
            return len(raw)
        if not codes and self._is_new:
            frames.append(noise(raw, now, _NO_CODE_YET))
            return len(raw)
        if not codes:
            frames.append(Frame(raw, FrameKind.FRAME, LOST, now, "no end, and no code"))
            self._last = b""
            return len(raw)
        # Equal ones were received at one instant, as in `_again`.
        unique = self._table.unique_codes
        single = [code for code, _ in groupby(codes)] if self._window or unique else codes
        said = tuple(map(self._card_of, single))
        said += LOST if len(single) < len(codes) and not unique else ()
        frames.append(Frame(raw[:used], FrameKind.FRAME, said, now, "", self._ack))
        self._last, self._last_at = codes[-1], now
        return used


class LineScanner(CardTableDriver):
    """The driver ``line-scanner``."""

    name: ClassVar[str] = "line-scanner"
    signals: ClassVar[tuple[Signal, ...]] = (Signal.FAULTS,)
    maturity: ClassVar[Maturity] = Maturity.DOCUMENTED
    simulator: ClassVar[str] = "drivers.simulators.text_readers:SimulatedLineScanner"
    options_type: ClassVar[type[Struct]] = LineScannerOptions
    options: LineScannerOptions
    likely_options: ClassVar[tuple[dict[str, str], ...]] = tuple(
        framing | codes
        for codes in ({}, {"codes": "suit-rank"}, {"codes": "a01"})
        for framing in (
            *({"preset": preset} for preset in _PRESETS),
            {"preset": "standard", "record_suffix": "crlf"},
            {"preset": "standard", "record_suffix": "lf"},
        )
    )
    code_options: ClassVar[tuple[str, ...]] = (
        "preset",
        "stx",
        "etx",
        "preamble",
        "length_digits",
        "prefix",
        "suffix",
        "postamble",
        "record_suffix",
        "unique_codes",
    )

    @property
    def anonymised_options(self) -> dict[str, Any]:
        """The options without the table; its codes become built-in ones, which are not unique."""
        return super().anonymised_options | {"unique_codes": False}

    @property
    def line(self) -> LineSettings:
        """The line of the preset."""
        return _PRESETS[self.options.preset].line

    @property
    def unique_codes(self) -> bool:
        """True if every card has a code of its own."""
        return self.options.unique_codes

    def decoder(self) -> Decoder:
        """Return a new decoder; raises as `cards`."""
        return LineScannerDecoder(self.options, self._code_table)

    def code_in(self, raw: bytes) -> str | None:
        """Return the code in a frame, as a table has it; None for a card that was not read."""
        code = self._for_captures.code_in(raw)
        return None if code is None else code.decode("ascii")

    def recognises(self, raw: bytes) -> bool:
        """Return whether a frame is one of a card in the table, byte for byte."""
        return self._for_captures.recognises(raw)

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """Return a frame with another card, by the built-in code; a broken one stays broken."""
        return self._for_captures.anonymised(raw, permutation, self._codes)

    @cached_property
    def _for_captures(self) -> LineScannerDecoder:
        return LineScannerDecoder(self.options, self._code_table)

    @cached_property
    def _code_table(self) -> CodeTable:
        cards = self.cards() or built_in_codes(self.options.codes)
        return CodeTable(cards, unique_codes=self.options.unique_codes)

    @cached_property
    def _codes(self) -> dict[Card, bytes]:
        codes = built_in_codes(self.options.codes).items()
        # Of a ten the longer code: 10, not T.
        return {card: code.encode() for code, card in sorted(codes, key=lambda item: len(item[0]))}


_VEIL: Final = bytes(
    each
    if each in _BLANKS or each in STX + ETX
    else ord("X")
    if _LETTERS.match(bytes([each]))
    else blank(bytes([each]))[0]
    for each in range(256)
)


def _veiled(raw: bytes) -> bytes:
    """Return as many bytes of the same kinds: letters and digits become X."""
    return raw.translate(_VEIL)
