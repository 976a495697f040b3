"""
The dealer's buttons: a box or keypad that sends one text for each press.

Every text has a meaning in the option `keys`: without it, N, O, P, B, T, E, C, R and S. A box on a
serial line sends lines of text, or single characters (`lines = false`); a USB keypad is a line of
single characters, `keyboard:/dev/input/…`. Buttons on lines of a GPIO chip send the number or the
name of the line, `gpio:/dev/gpiochip0:17,27`.

    no_more_bets, betting_open    the bets
    table_cleared                 the cards are removed
    result                        the round has ended
    player, banker, tie           the round has ended, and this hand has won
    cut_card                      the cut card came out
    reveal                        the order `reveal`: the cards that lie face down are turned over
    call_supervisor               the order `hold`: results wait until a person resumes

A press has no operator. Therefore a button gives no other order: docs/readers.md.

Where every byte is a button, a device server's text ("Port already in use") would be presses. From
the opening of the line to the first press, a character counts only if no other one came within
0.1 s of it; the rest is noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta, Struct, field

from drivers.driver import Decoder, Driver, Frame, FrameKind, LineSettings, Maturity
from drivers.text import noise
from shoe_daemon.game import Card
from shoe_daemon.table.observations import (
    BettingOpen,
    Command,
    CutCardSeen,
    NoMoreBets,
    Observation,
    Result,
    Signal,
    TableCleared,
)

MAX_LINE_BYTES: Final = 64

Meaning = Literal[
    "no_more_bets",
    "betting_open",
    "table_cleared",
    "result",
    "player",
    "banker",
    "tie",
    "cut_card",
    "reveal",
    "call_supervisor",
]

_MEANINGS: Final[dict[str, tuple[Observation, Signal | None]]] = {
    "no_more_bets": (NoMoreBets(), Signal.BETTING),
    "betting_open": (BettingOpen(), Signal.BETTING),
    "table_cleared": (TableCleared(), Signal.CLEARED),
    "result": (Result(), Signal.RESULTS),
    "player": (Result(outcome="player"), Signal.RESULTS),
    "banker": (Result(outcome="banker"), Signal.RESULTS),
    "tie": (Result(outcome="tie"), Signal.RESULTS),
    "cut_card": (CutCardSeen(), Signal.CUT_CARD),
    "reveal": (Command(name="reveal"), None),
    "call_supervisor": (Command(name="hold", reason="the supervisor was called"), None),
}

DEFAULT_KEYS: Final[dict[str, Meaning]] = {
    "N": "no_more_bets",
    "O": "betting_open",
    "P": "player",
    "B": "banker",
    "T": "tie",
    "E": "result",
    "C": "table_cleared",
    "R": "reveal",
    "S": "call_supervisor",
}

_ALONE_S: Final = 0.1
_LINE_ENDS: Final = b"\r\n"
_PRINTABLE: Final = bytes(range(0x20, 0x7F))
_NAMED_CHARACTERS: Final = {"enter": b"\r", "space": b" ", "tab": b"\t"}


class ButtonsOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``buttons``.

    Attributes:
        keys: The text of each button, and its meaning. A single character may be ``enter``,
            ``space`` or ``tab``.
        lines: Every text ends with a carriage return or line feed; otherwise every byte is a
            button.
        repeat_window: Seconds within which an equal text is the same press: a contact bounces.
    """

    keys: dict[str, Meaning] = field(default_factory=lambda: dict(DEFAULT_KEYS))
    lines: bool = True
    repeat_window: Annotated[float, Meta(ge=0, le=5)] = 0.3

    def __post_init__(self) -> None:
        """Reject texts that no button can send."""
        for text in self.keys:
            if not (text.isascii() and text.isprintable()) or not text.strip():
                msg = f"keys: {text!a}; expected ASCII characters"
                raise ValueError(msg)
            if self.lines and (text != text.strip() or len(text) >= MAX_LINE_BYTES):
                msg = f"keys: {text!a}; expected at most {MAX_LINE_BYTES - 1} characters"
                raise ValueError(msg)
            if not self.lines and len(text) != 1 and text not in _NAMED_CHARACTERS:
                names = ", ".join(_NAMED_CHARACTERS)
                msg = f"keys: {text!a}; expected one character or {names} where lines = false"
                raise ValueError(msg)


class ButtonsDecoder:
    """Decodes presses; keeps at most one unfinished line, or text, and the last press."""

    def __init__(self, options: ButtonsOptions) -> None:
        self._lines = options.lines
        self._window = options.repeat_window
        named = {} if options.lines else _NAMED_CHARACTERS
        self._meanings = {
            named.get(text, text.encode("ascii")): _MEANINGS[meaning][0]
            for text, meaning in options.keys.items()
        }
        self._last_at = self._byte_at = 0.0
        self._line = b""
        self.reset()

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """Take the next bytes, received at `now`; without bytes, the line was silent."""
        frames: list[Frame] = []
        if self._line and not self._lines and now - self._byte_at >= _ALONE_S:
            self._end_text(frames)
        if self._is_new and data:
            self._line, self._byte_at = self._line + data, now
            self._cut_text(frames)
            return frames
        for raw in (bytes((byte,)) for byte in data):
            if not self._lines:
                frames.append(self._press(raw, raw, now))
            elif raw in _LINE_ENDS:
                frames.append(self._end_of_line(self._line + raw, now))
            else:
                self._add(raw, now, frames)
        return frames

    def reset(self) -> None:
        """Forget a half-received line and the last press."""
        self._clear()
        self._last, self._is_new = b"", not self._lines

    def _end_text(self, frames: list[Frame]) -> None:
        """Take what came before the first press: one character is a button, a text is noise."""
        text, is_overlong = self._line, self._is_overlong
        self._clear()
        if is_overlong or len(set(text.strip(_LINE_ENDS) or text)) > 1:
            frames.append(noise(text, self._byte_at, "a text before the first press"))
            return
        pressed = [self._press(bytes((byte,)), bytes((byte,)), self._byte_at) for byte in text]
        frames += pressed
        self._is_new = all(frame.kind is FrameKind.NOISE for frame in pressed)

    def _cut_text(self, frames: list[Frame]) -> None:
        while len(self._line) >= MAX_LINE_BYTES:
            head, self._line = self._line[:MAX_LINE_BYTES], self._line[MAX_LINE_BYTES:]
            frames.append(noise(head, self._byte_at, "a text before the first press"))
            self._is_overlong = True

    def _clear(self) -> None:
        self._line = b""
        self._is_noise = self._is_overlong = False

    def _add(self, raw: bytes, now: float, frames: list[Frame]) -> None:
        is_noise = raw not in _PRINTABLE
        if self._is_noise and not is_noise:
            # Text begins anew after noise.
            frames.append(noise(self._line, now, "no text"))
            self._clear()
        self._line += raw
        self._is_noise |= is_noise
        if len(self._line) == MAX_LINE_BYTES:
            frames.append(noise(self._line, now, "a line without end"))
            self._line, self._is_overlong = b"", True

    def _end_of_line(self, raw: bytes, now: float) -> Frame:
        is_noise, is_overlong = self._is_noise, self._is_overlong
        self._clear()
        if is_overlong:
            return noise(raw, now, "the end of a line that was too long")
        if is_noise or not raw.strip():
            return noise(raw, now, "no text" if is_noise else "an empty line")
        return self._press(raw, raw.strip(), now)

    def _press(self, raw: bytes, text: bytes, now: float) -> Frame:
        meaning = self._meanings.get(text)
        if meaning is None:
            # A button without a meaning changes nothing, so nothing is missing.
            return noise(raw, now, f"no meaning: {text!r}")
        is_repeat = text == self._last and now - self._last_at < self._window
        self._last, self._last_at = text, now
        if is_repeat:
            return Frame(raw, FrameKind.REPEAT, (), now, "the same press")
        return Frame(raw, FrameKind.FRAME, (meaning,), now)


class Buttons(Driver):
    """The driver ``buttons``."""

    name: ClassVar[str] = "buttons"
    line: ClassVar[LineSettings] = LineSettings(baudrate=9600)
    maturity: ClassVar[Maturity] = Maturity.ASSUMED
    options_type: ClassVar[type[Struct]] = ButtonsOptions
    options: ButtonsOptions

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals of the buttons that there are."""
        signals = {_MEANINGS[each][1] for each in self.options.keys.values()}
        return tuple(sorted(each for each in signals if each is not None))

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        return ButtonsDecoder(self.options)

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """Return a press as it is: no card is in it. Any other bytes become control characters."""
        del permutation
        decoder = self.decoder()
        frames = [*decoder.feed(raw, 0.0), *decoder.feed(b"", 2 * _ALONE_S)]
        if [frame.kind for frame in frames] == [FrameKind.FRAME]:
            return raw
        return bytes(each if each in _LINE_ENDS else _NO_BUTTON for each in raw)


_NO_BUTTON: Final = 0x1A
"""No text of a button contains it."""
