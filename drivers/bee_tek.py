"""
USPC Bee-Tek: a shoe that reads each card as it is drawn and reports it as a token of text.

    [Game]<Card:4S>                  a card was drawn: rank and suit, 10 or T for a ten
    [Manual Burn Cards]<Card:4S>     a card was burned
    [Game]<Game>                     a card was drawn and could not be read
    [Game]<Alarm:E3 Card Not Read>   an alarm: code and text; also [GameAlarm]<Alarm:...>
    <W0x01>                          a warning, in hex

9600 bit/s, 8N1. A space stands before and after each token, and most readers end a line with
CR LF, but neither is relied upon: a token ends at ``>``. One source writes the suit first
(``H3``), so both orders are read.

Nothing names the slot, the result or the cut card, and nothing is numbered: the table assigns
the slots, and a token that was lost whole cannot be noticed. A token that arrived in part is
a gap. Tokens nobody has described are frames without a meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar, Final, NamedTuple

from drivers.capture import blank
from drivers.driver import Decoder, Driver, Frame, FrameKind, LineSettings, Maturity
from drivers.text import (
    LOST,
    UNPRINTABLE,
    LineDecoder,
    card_named,
    noise,
    other_name,
)
from shoe_daemon.game import Card
from shoe_daemon.table.observations import (
    CardDrawn,
    Cause,
    DeviceError,
    Observation,
    Role,
    Signal,
    Unreadable,
)

MAX_TOKEN_BYTES: Final = 256
"""Limit of a token and the noise before it; the longest known token has 31 bytes."""

_MAX_KNOWN: Final = 2000
_END: Final = b">"
_TOKEN: Final = re.compile(rb"\s*(?:\[([^<>\[\]]*)\]\s*)?<([^<>\[\]]*)>")
_MARKS: Final = re.compile(rb"[<>\[\]:]")
"""A part of a token: noise that has one may have been a card."""

_BURN: Final = "burn"


class _Meaning(NamedTuple):
    observations: tuple[Observation, ...]
    note: str = ""


class BeeTekDecoder(LineDecoder):
    """Decodes the stream of one shoe; keeps at most 256 bytes and the tokens that recur."""

    def __init__(self) -> None:
        super().__init__(_END, MAX_TOKEN_BYTES)
        self._known: dict[bytes, _Meaning] = {}

    def _decode(self, pieces: Iterable[bytes], now: float, frames: list[Frame]) -> None:
        known, valid = self._known, FrameKind.FRAME
        for piece in pieces:
            raw = piece + _END
            meaning = known.get(raw)
            if meaning is None:
                self._read(raw, now, frames)
            else:
                frames.append(Frame(raw, valid, meaning[0], now, meaning[1]))

    def _read(self, raw: bytes, now: float, frames: list[Frame]) -> None:
        found = _TOKEN.search(raw)
        # With half of a section nobody knows whether the card was dealt or burned.
        is_half = found is not None and raw[: found.start()].rstrip().endswith(b"]")
        if found is None or is_half or UNPRINTABLE.search(found[2]):
            frames.append(Frame(raw, FrameKind.FRAME, LOST, now, "part of a token"))
            return
        start, meaning = found.start(), _meaning(found[1], found[2])
        if _MARKS.search(raw, 0, start) or UNPRINTABLE.search(found[1] or b""):
            said = LOST + meaning.observations
            frames.append(Frame(raw, FrameKind.FRAME, said, now, "part of another token before"))
            return
        if start:
            frames.append(noise(raw[:start], now, "no token"))
            raw = raw[start:]
        frames.append(Frame(raw, FrameKind.FRAME, meaning.observations, now, meaning.note))
        if len(self._known) < _MAX_KNOWN:
            self._known[raw] = meaning


def _meaning(section: bytes | None, content: bytes) -> _Meaning:
    """Return the meaning of a token: its section, if any, and the text between < and >."""
    name, colon, value = content.decode("ascii", "replace").strip().partition(":")
    match name.strip().lower():
        case "card":
            return _card(value, is_burn=_BURN in (section or b"").decode("latin-1").lower())
        case "game" if not colon:
            return _Meaning((Unreadable(),), "a card that was not read")
        case "alarm":
            return _alarm(value.strip())
        case warning if warning.startswith("w0x"):
            return _Meaning((), f"warning {warning[1:]}")
    return _Meaning((), f"unknown token {content.decode('ascii', 'replace')!a}")


def _card(value: str, *, is_burn: bool) -> _Meaning:
    card = card_named(value.strip().upper())
    note = "" if card else f"no card has the name {value.strip()!a}"
    if is_burn:
        return _Meaning((CardDrawn(card=card, role=Role.BURN),), note)
    return _Meaning((CardDrawn(card=card) if card else Unreadable(),), note)


def _alarm(value: str) -> _Meaning:
    code, _, text = value.partition(" ")
    cause = Cause.UNREADABLE if "not read" in text.lower() else Cause.OTHER
    return _Meaning((DeviceError(cause=cause, code=code or None, text=text or None),))


class BeeTek(Driver):
    """The driver ``bee-tek``."""

    name: ClassVar[str] = "bee-tek"
    line: ClassVar[LineSettings] = LineSettings(baudrate=9600)
    signals: ClassVar[tuple[Signal, ...]] = (Signal.FAULTS,)
    frame_bytes: ClassVar[int] = 20
    maturity: ClassVar[Maturity] = Maturity.DOCUMENTED
    simulator: ClassVar[str] = "drivers.simulators.text_readers:SimulatedBeeTek"

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        return BeeTekDecoder()

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """Return a token with another card; of other text only known words stay."""
        found = _TOKEN.search(raw)
        if found is None or UNPRINTABLE.search(found[2]):
            return _veiled(raw)
        start, end = found.span(2)
        return _veiled(raw[:start]) + _other_content(found[2], permutation) + _veiled(raw[end:])


_KEPT: Final = re.compile(
    rb"\[\s*(?:Game|GameAlarm|(?:(?:Manual|Auto|Burn|Burned|Cards?)\s*)+)\]|[<>\[\]:\s]",
    re.IGNORECASE,
)
"""Sections that are known, and marks."""

_CARD: Final = re.compile(rb"(\s*Card\s*:\s*)(.*?)(\s*)", re.IGNORECASE)
_NO_CARD: Final = re.compile(rb"\s*(?:Game|W0x[0-9A-F]+)\s*", re.IGNORECASE)
_ALARM: Final = re.compile(rb"(\s*Alarm\s*:)(.*)", re.IGNORECASE | re.DOTALL)
_ALARM_TEXT: Final = re.compile(rb"(?:\s*E[0-9]{1,3}\b)?([A-Z\s]*)", re.IGNORECASE)
_CARD_WORDS: Final = re.compile(
    r"ace|two|three|four|five|six|seven|eight|nine|ten|jack|queen|king|spade|heart|diamond|club"
    r"|\b\w\b",
    re.IGNORECASE,
)
"""Words, and single letters, that may name a card in the text of an alarm."""


def _veiled(raw: bytes) -> bytes:
    """Return what stands around a token's content, or a part of a token."""
    shown, place = b"", 0
    for found in _KEPT.finditer(raw):
        shown += blank(raw[place : found.start()]) + found[0]
        place = found.end()
    return shown + blank(raw[place:])


def _other_content(content: bytes, permutation: Mapping[Card, Card]) -> bytes:
    if found := _CARD.fullmatch(content):
        other = other_name(found[2].decode("ascii", "replace").upper(), permutation)
        return found[1] + (blank(found[2]) if other is None else other.encode()) + found[3]
    if _NO_CARD.fullmatch(content):
        return content
    if found := _ALARM.fullmatch(content):
        text = _ALARM_TEXT.fullmatch(found[2])
        is_known = text is not None and not _CARD_WORDS.search(text[1].decode("ascii"))
        return content if is_known else found[1] + blank(found[2], b" ")
    return blank(content, b":")
