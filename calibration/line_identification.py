"""
Identifies the reader on a line: its driver, the settings of the line, and its options.

All installed drivers decode the same bytes. What counts as evidence are frames that have a meaning
and, without a checksum, have exactly the bytes that such a reader sends. Text alone, or a lucky
byte, is none: a GPS receiver sends lines of text as well.

A serial port is opened at one setting after another. A port opened without parity also shows a
reader with seven data bits and parity: the parity is then the eighth bit. Even and odd parity
beside eight data bits cannot be seen in the bytes.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from itertools import chain, cycle
from pathlib import Path
from threading import Event
from typing import Any, Final

from msgspec import Struct, ValidationError, convert
from msgspec.structs import asdict, replace

from calibration.serial import (
    MIN_VALID_FRAMES,
    SPEEDS,
    speeds_of,
    stable_name,
)
from drivers import (
    Driver,
    Frame,
    FrameKind,
    LineError,
    LineSettings,
    Mark,
    driver_names,
    find_driver,
    load_capture,
    make_driver,
    open_transport,
)
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Gap, Unreadable

MIN_FRAMES_AT_END: Final = 2
"""Valid frames and repeats that are enough when no more bytes come: a shoe that is switched on."""

MIN_UNDERSTOOD: Final = 0.2
"""Share of the bytes that must be valid frames, or repeats of them: a line may be noisy."""

MIN_UNDERSTOOD_AT_END: Final = 0.5
"""The share with fewer than `MIN_VALID_FRAMES`."""

FIRST_BYTES: Final = 48
"""So many bytes are shown of what nothing fits."""

_MAX_GARBAGE_BYTES: Final = 24
"""So many bytes that are no text and no frame, and the next setting is tried."""

_MAX_GARBAGE_BURSTS: Final = 4
_MAX_TEXT_BURSTS: Final = 8
"""So many times bytes came after silence: at a speed that is too low, a card is a byte or two."""

_MAX_TEXT_BYTES: Final = 240
"""So many bytes of text without a frame, and the next setting is tried."""

_MAX_UNPRINTABLE: Final = 0.3
_MIN_PARITY: Final = 0.9
_LAST_SILENCE_S: Final = 60.0
_FILE: Final = "file:"
_FORMAT_FIELDS: Final = ("bytesize", "parity", "stopbits")
_RECORDED_LINE: Final = re.compile(r"(\d+) ([5-8])([NEOMS])(1|1\.5|2)")
_TEXT: Final = frozenset(b"\t\r\n\x02\x03" + bytes(range(0x20, 0x7F)))


class Candidate(Struct, frozen=True):
    """A driver with options that a reader may need."""

    driver: Driver
    options: Mapping[str, Any] = {}

    def __str__(self) -> str:
        options = ", ".join(f'{key} = "{value}"' for key, value in self.options.items())
        return f"{self.driver.name} ({options})" if options else self.driver.name


class Identification(Struct, frozen=True):
    """
    The result.

    Attributes:
        port: Its most stable name.
        fitting: The candidates that fit equally well; empty if none does. The first has the
            settings of the line as its own, if any has.
        line: The settings at which they fit, or those of `first`; None if the line has none.
        frames: Valid frames, without repeats.
        repeats: Repeated frames.
        strange: Bytes outside of them.
        received: Bytes received at all settings.
        first: The first bytes: at the setting where most was text, if nothing fits.
    """

    port: str
    fitting: tuple[Candidate, ...] = ()
    line: LineSettings | None = None
    frames: int = 0
    repeats: int = 0
    strange: int = 0
    received: int = 0
    first: bytes = b""

    @property
    def line_changes(self) -> dict[str, Any]:
        """The settings that differ from those of the first candidate, for a configuration."""
        if self.line is None or not self.fitting:
            return {}
        usual, found = asdict(self.fitting[0].driver.line), asdict(self.line)
        keys = ("baudrate", *_FORMAT_FIELDS)
        return {key: found[key] for key in keys if found[key] != usual[key]}

    @property
    def alike(self) -> tuple[Candidate, ...]:
        """Candidates that fit with the very same settings of the line as the first."""
        first = _form(self.fitting[0].driver.line) if self.fitting else ()
        return tuple(each for each in self.fitting if _form(each.driver.line) == first)

    @property
    def unlike(self) -> tuple[Candidate, ...]:
        """Candidates that would fit as well, but have another parity, which cannot be seen."""
        return tuple(each for each in self.fitting if each not in self.alike)


def likely_candidates() -> list[Candidate]:
    """Return all installed drivers that read a line, with the options that their readers have."""
    found = []
    for name in driver_names():
        # A driver of another author may be broken.
        with contextlib.suppress(UserError, ValidationError):
            kind, place = find_driver(name), f"driver {name!r}"
            if kind.opens_line:
                continue
            settings = [(convert(each, kind.options_type), each) for each in kind.likely_options]
            found += [Candidate(make_driver(kind, own, place), each) for own, each in settings]
    return found


def identify(  # noqa: PLR0913 - as it says
    port: str,
    seconds: float,
    echo: Callable[[str], None],
    stopping: Event,
    *,
    candidates: Iterable[Candidate] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Identification:
    """
    Listen to a line for at most `seconds` of the monotonic clock, or read a capture: ``file:`` and
    its path. By default, all likely candidates may be on the line.

    Raises:
        UserError: The line cannot be opened, or is lost.
    """
    tried = likely_candidates() if candidates is None else list(candidates)
    if port.startswith(_FILE):
        return _of_capture(port, tried)
    end = clock() + seconds
    received, failed, clearest = 0, list[LineSettings](), None
    for line in cycle(_settings(port, tried)):
        trial = _Trial(tried, None if len(_settings(port, tried)) == 1 else line)
        echo(f"listening at {trial.line}" if trial.line else "listening")
        try:
            with closing(open_transport(port, line)) as transport:
                while not (is_over := stopping.is_set() or clock() >= end):
                    trial.receive(transport.read(), clock())
                    if trial.is_certain or (trial.line is not None and trial.is_hopeless):
                        break
        except LineError as error:
            raise UserError(str(error)) from error
        received += trial.received
        if clearest is None or trial.clarity >= clearest.clarity:
            clearest = trial
        if trial.is_certain or is_over:
            result = trial.result(port, failed)
            if not result.fitting:
                result = replace(result, first=clearest.first, line=clearest.line)
            return replace(result, received=received)
        echo(f"{line or 'this line'}: no frame of any driver in {_shown(trial.first)}")
        failed.append(line)
    raise AssertionError("a cycle has no end")


def _settings(port: str, candidates: Iterable[Candidate]) -> list[LineSettings]:
    """Return the settings to try, those of the readers first; one if the line has none."""
    usual = [candidate.driver.line for candidate in candidates]
    if len(speeds_of(port, usual[0].baudrate)) == 1:
        return usual[:1]
    others = (
        LineSettings(baudrate=speed, parity=parity)
        for parity in ("N", "E", "O")
        for speed in SPEEDS
    )
    different = {(line.baudrate, _form(line)): line for line in chain(others, reversed(usual))}
    firsts = dict.fromkeys((line.baudrate, _form(line)) for line in usual)
    # Without parity first: such a port shows most readers with parity as well.
    order = [*sorted(firsts, key=lambda key: key[1] != _form(LineSettings())), *different]
    return [different[key] for key in dict.fromkeys(order)]


def _form(line: LineSettings) -> tuple[Any, ...]:
    return tuple(getattr(line, field) for field in _FORMAT_FIELDS)


def _of_capture(port: str, candidates: list[Candidate]) -> Identification:
    capture = load_capture(Path(port.removeprefix(_FILE)))
    found = _RECORDED_LINE.fullmatch(capture.header.get("line", ""))
    line = None
    if found is not None:
        speed, bytesize, parity, stopbits = found.groups()
        line = LineSettings(
            baudrate=int(speed),
            bytesize=int(bytesize),  # type: ignore[arg-type]  # one of four digits
            parity=parity,  # type: ignore[arg-type]  # one of five letters
            stopbits=float(stopbits),
        )
    trial, now = _Trial(candidates, line), 0.0
    for read in capture.lines:
        now = now if read.at_us is None else read.at_us / 1e6
        if read.mark is Mark.LOST:
            trial.reset()
        else:
            trial.receive(read.data, now)
    trial.receive(b"", now + _LAST_SILENCE_S)
    return trial.result(port, [])


class _Score:
    """Bytes and frames that one candidate understands."""

    def __init__(self, candidate: Candidate) -> None:
        self.candidate = candidate
        self.frames = self.repeats = self.understood = 0
        self._decoder = candidate.driver.decoder()
        self._is_broken = False

    def receive(self, data: bytes, now: float) -> None:
        if self._is_broken:
            return
        try:
            for frame in self._decoder.feed(data, now):
                self._count(frame)
        except Exception:  # noqa: BLE001 - a driver that breaks its promise is not this one
            self._is_broken, self.frames = True, 0

    def reset(self) -> None:
        self._decoder.reset()

    def _count(self, frame: Frame) -> None:
        if frame.kind is FrameKind.REPEAT and self.frames:
            self.repeats += 1
            self.understood += len(frame.raw)
        elif frame.kind is FrameKind.FRAME and self._is_evidence(frame):
            self.frames += 1
            self.understood += len(frame.raw)

    def _is_evidence(self, frame: Frame) -> bool:
        if not frame.raw or any(isinstance(each, Gap) for each in frame.observations):
            return False
        is_known = self.candidate.driver.recognises(frame.raw)
        if is_known is not None:
            return is_known
        is_unread = any(isinstance(each, Unreadable) for each in frame.observations)
        return bool(frame.observations) and not is_unread


class _Trial:
    """
    The bytes received at one setting of the line.

    Attributes:
        line: The setting; None if the line has none.
        received: Number of bytes.
        first: The first of them.
    """

    def __init__(self, candidates: list[Candidate], line: LineSettings | None) -> None:
        self.line = line
        self.received = 0
        self.first = b""
        self._candidates = candidates
        self._scores = [_Score(each) for each in candidates]
        self._seven_bit_scores: list[_Score] = []
        self._reads: list[tuple[bytes, float]] = []
        self._evens = self._highs = self._texts = self._seven_bit_texts = self._bursts = 0
        self._is_silent = True

    def receive(self, data: bytes, now: float) -> None:
        """Give bytes to all candidates; none: the line was silent until `now`."""
        self.received += len(data)
        self._bursts += bool(data) and self._is_silent
        self._is_silent = not data
        self.first += data[: FIRST_BYTES - len(self.first)]
        seven_bits = bytes(each & 0x7F for each in data)
        self._evens += sum(each.bit_count() % 2 == 0 for each in data)
        self._highs += data != seven_bits
        self._texts += sum(each in _TEXT for each in data)
        self._seven_bit_texts += sum(each in _TEXT for each in seven_bits)
        for score in self._scores:
            score.receive(data, now)
        if not self._highs:
            # With seven bits all is the same so far.
            self._reads += [(data, now)] if data else []
            return
        if not self._seven_bit_scores:
            self._seven_bit_scores = [_Score(each) for each in self._candidates]
            for earlier, at in self._reads:
                for score in self._seven_bit_scores:
                    score.receive(earlier, at)
        for score in self._seven_bit_scores:
            score.receive(seven_bits, now)

    def reset(self) -> None:
        for score in (*self._scores, *self._seven_bit_scores):
            score.reset()

    @property
    def clarity(self) -> float:
        """Share of the bytes that are text; negative without bytes."""
        return self._texts / self.received if self.received else -1.0

    @property
    def is_certain(self) -> bool:
        frames, share = self._evidence()
        return frames >= MIN_VALID_FRAMES and share >= MIN_UNDERSTOOD

    @property
    def is_hopeless(self) -> bool:
        """True after many bytes with hardly a frame of any candidate."""
        is_text = max(self._texts, self._seven_bit_texts if self._parity else 0)
        limits = _MAX_GARBAGE_BYTES, _MAX_GARBAGE_BURSTS
        if is_text >= (1 - _MAX_UNPRINTABLE) * self.received:
            limits = _MAX_TEXT_BYTES, _MAX_TEXT_BURSTS
        is_enough = self.received >= limits[0] or self._bursts >= limits[1]
        return is_enough and self._evidence()[1] < MIN_UNDERSTOOD

    def _evidence(self) -> tuple[int, float]:
        """Return the most frames of a candidate, and the share of the bytes that they are."""
        best = max(self._best()[0], key=lambda each: each.frames)
        return best.frames, best.understood / max(1, self.received)

    @property
    def _parity(self) -> str:
        """Even or odd parity in the eighth bit; empty if there is none."""
        form = (8, "N")
        is_wide = self.line is None or (self.line.bytesize, self.line.parity) == form
        if not (is_wide and self._highs):
            return ""
        if self._seven_bit_texts < (1 - _MAX_UNPRINTABLE) * self.received:
            return ""
        share = self._evens / self.received
        return "E" if share >= _MIN_PARITY else "O" if share <= 1 - _MIN_PARITY else ""

    def _best(self) -> tuple[list[_Score], LineSettings | None]:
        """Return the scores, and the setting that they are for."""
        parity: Any = self._parity
        if not parity or any(each.frames for each in self._scores):
            return self._scores, self.line
        line = LineSettings() if self.line is None else self.line
        return self._seven_bit_scores, replace(line, bytesize=7, parity=parity)

    def result(self, port: str, failed: list[LineSettings]) -> Identification:
        """Return what fits, without readers that have a setting at which no frame was valid."""
        scores, line = self._best()
        frames, share = self._evidence()
        best = [each for each in scores if each.frames == frames]
        name = stable_name(port)
        shown = Identification(name, line=self.line, received=self.received, first=self.first)
        seen = frames + max(each.repeats for each in best)
        is_enough = seen >= MIN_FRAMES_AT_END and share >= MIN_UNDERSTOOD_AT_END
        if not frames or not (is_enough or self.is_certain):
            return shown
        fitting = list(_without_failed([each.candidate for each in best], line, failed))
        if line is not None:
            form = _form(line)
            fitting.sort(key=lambda each: _form(each.driver.line) != form)
        if line is not None and self.line is None:
            # The speed of the line is unknown.
            line = replace(line, baudrate=fitting[0].driver.line.baudrate)
        return replace(
            shown,
            fitting=tuple(fitting),
            line=line,
            frames=frames,
            repeats=best[0].repeats,
            strange=self.received - best[0].understood,
        )


def _without_failed(
    candidates: list[Candidate], line: LineSettings | None, failed: list[LineSettings]
) -> Iterator[Candidate]:
    forms = {_form(each) for each in failed if line and each.baudrate == line.baudrate}
    kept = [each for each in candidates if _form(each.driver.line) not in forms]
    yield from kept or candidates


def _shown(data: bytes) -> str:
    return data[:16].hex(" ").upper()
