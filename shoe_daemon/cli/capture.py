"""`shoe-daemon capture`: record the bytes of a reader with their times."""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, Final

import click
import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from drivers import CAPTURE_SUFFIX, Driver, FrameKind, LineSettings
from shoe_daemon.cli.options import (
    DRIVER_OPTIONS,
    FILE,
    PATH,
    Number,
    import_structlog_alone,
)
from shoe_daemon.errors import UserError, describe_exception, errors_at, one_line, os_errors_at
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.process import stop_on_signals

if TYPE_CHECKING:
    from drivers import (
        Anonymiser,
        CaptureLine,
        CaptureWriter,
        Decoder,
        Frame,
        Transport,
    )

MIN_FREE_BYTES: Final = 64 * 1024 * 1024
"""A capture ends before the disk is full: the journal of a table may be on it too."""

_PROGRESS_S: Final = 0.5
_JOIN_S: Final = 5.0
_MAX_SILENCE_S: Final = 60.0
_FILE: Final = "file:"
_KEPT_KEYS: Final = ("line", "date")
"""Keys of the header that a copy with other cards has, too."""

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@click.command("capture", short_help="Record the bytes of a reader with their times.")
@click.argument("file", type=FILE)
@click.option(
    "--port",
    metavar="PORT",
    help="A path, socket://HOST:PORT, rfc2217://HOST:PORT, keyboard:PATH, gpio:PATH:LINE,LINE "
    "or file:PATH.",
)
@click.option("--driver", "driver_name", metavar="NAME", help="The reader, if it is known.")
@DRIVER_OPTIONS
@click.option(
    "--config", type=PATH, help="A table's configuration instead of --port and --driver."
)
@click.option("--reader", metavar="ID", help="Which reader of --config, if it has several.")
@click.option("--site", metavar="ID", help="Noted in the file.  [default: that of --config]")
@click.option("--baudrate", type=click.IntRange(1, 4_000_000), help="Bits a second.")
@click.option("--bytesize", type=click.Choice(["5", "6", "7", "8"]), help="Data bits.")
@click.option("--parity", type=click.Choice(["N", "E", "O", "M", "S"]), help="None, even, odd …")
@click.option("--stopbits", type=click.Choice(["1", "1.5", "2"]), help="Stop bits.")
@click.option("--seconds", type=Number(min=0, min_open=True), help="Ends after so long.")
@click.option("--anonymise", is_flag=True, help="Put other cards in place of those in the bytes.")
def command(
    *,
    file: Path,
    seconds: float | None,
    anonymise: bool,
    **chosen: Any,  # noqa: ANN401 - settings, by name
) -> None:
    """
    Record the bytes of a reader and their times in FILE, a new file that ends in .cap,
    until Ctrl-C. Nothing is sent to the reader.

    `shoe-daemon replay FILE` replays it. The file shows every card. With --anonymise
    each card stands for another one, chosen by chance for this file; site and port are
    left out. --port file:PATH copies an earlier capture, to anonymise it, or
    the bytes that another tool recorded (.bin), a line for each frame of --driver.
    """
    from drivers import Anonymiser, random_permutation

    if file.suffix != CAPTURE_SUFFIX:
        raise UserError(f"{file}: expected a name that ends in {CAPTURE_SUFFIX}")
    source = _source(anonymise=anonymise, **chosen)
    anonymiser = None
    if anonymise:
        if source.driver is None:
            raise UserError(
                "--anonymise: expected --driver NAME or --config FILE: the bytes of "
                "each reader have their cards in other places"
            )
        anonymiser = Anonymiser(source.driver, random_permutation())
    if source.port.startswith(_FILE):
        _copy(file, source, anonymiser)
    else:
        _record(file, source, anonymiser, seconds)


class _Source(Struct, frozen=True):
    """The line that is recorded; the site and the driver where they are known."""

    port: str
    line: LineSettings
    driver: Driver | None
    options: dict[str, Any]
    site: str | None

    def open(self) -> Transport:
        from drivers import open_transport

        if (opener := _opener(self.driver)) is not None:
            return opener.open_line(self.port)
        return open_transport(self.port, self.line)

    def header(self, *, anonymise: bool) -> dict[str, str]:
        """Return what is known of the line; with `anonymise` nothing that names the place."""
        from drivers import has_line_settings, redact_url

        header = self.driver_header(anonymise=anonymise)
        if not anonymise:
            header["port"] = redact_url(self.port)
            if self.site:
                header["site"] = self.site
        if has_line_settings(self.port) and _opener(self.driver) is None:
            header["line"] = str(self.line)
        return header

    def driver_header(self, *, anonymise: bool) -> dict[str, str]:
        """Return the driver, and the options that decode the bytes."""
        driver = self.driver
        if driver is None:
            return {}
        options = driver.anonymised_options if anonymise else driver.recorded_options
        if options is None and not driver.opens_line:
            options = self.options
        header = {"driver": driver.name}
        if options:
            header["options"] = msgspec.json.encode(options, order="sorted").decode()
        return header


def _opener(driver: Driver | None) -> Driver | None:
    """Return the driver if it opens its own kind of line."""
    return driver if driver is not None and driver.opens_line else None


def _head(file: Path, origin: str, more: dict[str, str]) -> dict[str, str]:
    """Return a header: name, driver and origin first, as of all captures."""
    from shoe_daemon import __version__

    driver = {"driver": more["driver"]} if "driver" in more else {}
    return (
        {"name": file.stem} | driver | {"origin": f"{origin}, by shoe-daemon {__version__}"} | more
    )


def _source(  # noqa: PLR0913 - one for each option
    *,
    anonymise: bool,
    port: str | None,
    driver_name: str | None,
    driver_options: dict[str, Any],
    config: Path | None,
    reader: str | None,
    site: str | None,
    **line: str | int | None,
) -> _Source:
    from drivers import check_url, create_driver, load_capture

    given = {key: value for key, value in line.items() if value is not None}
    if config is not None:
        if port is not None or driver_name is not None or driver_options:
            raise UserError("--config: expected without --port, --driver and --options")
        return _configured(config, reader, site, given)
    if port is None:
        raise UserError("expected --port PORT, or --config FILE of a table")
    if reader is not None:
        raise UserError("--reader: expected only with --config")
    if driver_options and driver_name is None:
        raise UserError("--options: expected with --driver NAME")
    is_copy = port.startswith(_FILE)
    if is_copy and anonymise and driver_name is None:
        path = port.removeprefix(_FILE)
        original = load_capture(Path(path))
        with errors_at(path):
            driver_name, driver_options = original.header.get("driver"), original.options
    driver = None if driver_name is None else create_driver(driver_name, driver_options)
    opener = None if is_copy else _opener(driver)
    (check_url if opener is None else opener.check_url)(port)
    settings = LineSettings() if driver is None else driver.line
    return _Source(port, _changed(settings, given), driver, driver_options, site)


def _configured(
    path: Path, reader_id: str | None, site: str | None, given: dict[str, Any]
) -> _Source:
    from shoe_daemon.config.table import load_config

    setup = load_config(path, inspecting=True)
    ids = [each.id for each in setup.readers]
    wanted = ids[0] if reader_id is None and len(ids) == 1 else reader_id
    if wanted not in ids:
        found = "--reader" if reader_id is None else f"--reader {reader_id}"
        raise UserError(f"{path}: {found}: expected one of: {', '.join(ids) or 'none'}")
    reader = next(each for each in setup.readers if each.id == wanted)
    options = next(each.options for each in setup.config.reader if each.id == wanted)
    line = _changed(reader.line, given)
    return _Source(reader.port, line, reader.driver, options, site or setup.config.site)


def _changed(settings: LineSettings, given: dict[str, Any]) -> LineSettings:
    from shoe_daemon.settings.toml import convert_toml

    kinds: dict[str, type] = {"bytesize": int, "stopbits": float}
    numbers = {key: kind(given[key]) for key, kind in kinds.items() if key in given}
    return convert_toml(LineSettings, asdict(settings) | given | numbers, "line")


def _copy(file: Path, source: _Source, anonymiser: Anonymiser | None) -> None:
    """Copy a capture with its times."""
    from drivers import TEXT_SUFFIXES, lines_of_frames, load_capture

    path = Path(source.port.removeprefix(_FILE))
    original = load_capture(path)
    is_text = path.suffix in TEXT_SUFFIXES
    lines = original.lines if is_text else lines_of_frames(source.driver, original.data)
    is_other = anonymiser is not None
    kept = _KEPT_KEYS if is_other else set(original.header) - {"name", "origin"}
    known = {key: value for key, value in original.header.items() if key in kept}
    header = known | source.driver_header(anonymise=is_other)
    head = _head(file, "copied, other cards" if is_other else "copied", header)
    with _recording(file, head, source.driver, anonymiser) as recording:
        for line in lines:
            recording.take(line)
        recording.finish(None)
    if original.note:
        click.echo(f"note: {path}: {original.note}", err=True)


def _record(
    file: Path, source: _Source, anonymiser: Anonymiser | None, seconds: float | None
) -> None:
    """Record a line until a signal, the end of the time, or a failure of the disk."""
    import_structlog_alone()
    from drivers import LineError, Reader, ReaderEnvironment, redact_url
    from shoe_daemon.logs import no_logs

    try:
        first = [source.open()]
    except LineError as error:
        raise UserError(str(error)) from error
    start, date = time.monotonic(), datetime.now(UTC)
    origin = "recorded" if anonymiser is None else "recorded, other cards"
    header = _head(file, origin, source.header(anonymise=anonymiser is not None))
    header["date"] = date.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
    with (
        no_logs(),  # the terminal has the messages of the reader's thread in other words
        contextlib.closing(first[0]),
        stop_on_signals(*_STOP_SIGNALS) as stopping,
        _recording(file, header, source.driver, anonymiser) as recording,
    ):
        sink = _ReaderSink(recording, start)
        environment = ReaderEnvironment(
            open_line=lambda _url, _line: first.pop() if first else source.open()
        )
        reader = Reader(
            "capture", _AnyBytes(), source.port, source.line, sink, environment=environment
        )
        click.echo(f"{redact_url(source.port)}: recording to {file}; Ctrl-C ends it")
        reader.start()
        end = None if seconds is None else start + seconds
        while reader.alive and recording.failure is None:
            left = _PROGRESS_S if end is None else min(_PROGRESS_S, end - time.monotonic())
            if left <= 0 or stopping.wait(left):
                break
            recording.check_disk()
            recording.show_progress(time.monotonic() - start)
        reader.stop()
        reader.join(_JOIN_S)
        recording.finish(time.monotonic() - start)


@contextlib.contextmanager
def _recording(
    file: Path, header: dict[str, str], driver: Driver | None, anonymiser: Anonymiser | None
) -> Iterator[_Recording]:
    from drivers import CaptureWriter

    with os_errors_at(file, exit_status=1):
        writer = CaptureWriter(file, header)
    recording = _Recording(file, writer, driver, anonymiser)
    try:
        yield recording
    finally:
        writer.close()
    if recording.failure is not None:
        raise UserError(f"{file}: {recording.failure}; the capture ended there", exit_status=1)


class _AnyBytes(Driver):
    """Passes on the bytes of each read, whatever they mean: the driver of the reader's thread."""

    name: ClassVar[str] = "capture"

    def decoder(self) -> Decoder:
        return self

    def feed(self, data: bytes, now: float) -> list[Frame]:
        from drivers import Frame

        return [Frame(data, FrameKind.FRAME, (), now)] if data else []

    def reset(self) -> None:
        pass


class _Tally(Struct):
    """Counts of the recording."""

    reads: int = 0
    bytes: int = 0
    losses: int = 0
    frames: int = 0
    repeats: int = 0
    noise: int = 0


class _Recording:
    """
    Writes lines to the file and counts them.

    Attributes:
        failure: Why the file cannot be written any further; None while it can.
    """

    def __init__(
        self,
        file: Path,
        writer: CaptureWriter,
        driver: Driver | None,
        anonymiser: Anonymiser | None,
    ) -> None:
        self.failure: str | None = None
        self._file = file
        self._writer = writer
        self._driver = driver
        self._decoder = None if driver is None else driver.decoder()
        self._anonymiser = anonymiser
        self._tally = _Tally()
        self._lock = Lock()
        self._has_ended = False
        self._latest = 0.0
        self._is_shown = sys.stderr.isatty()

    def take(self, line: CaptureLine) -> None:
        """Write a line; nothing after a failure."""
        with self._lock:
            if self.failure is None and not self._has_ended:
                self._count(line)
                self._write([line] if self._anonymiser is None else self._anonymiser.take(line))

    def finish(self, seconds: float | None) -> None:
        """Write the end, and print what was recorded; `seconds` is None for a copy."""
        from drivers import CaptureLine, Mark

        with self._lock:
            if self.failure is None and self._anonymiser is not None:
                self._write(self._anonymiser.finish())
            if self.failure is None and seconds is not None:
                self._write([CaptureLine(at_us=int(seconds * 1e6), mark=Mark.END)])
            self._has_ended = True
            # Silence may end the last frame.
            self._count_frames(b"", self._latest + _MAX_SILENCE_S)
        self._clear_progress()
        click.echo(f"{self._file}: {self._summary(seconds)}")
        if self._driver is not None and self._tally.bytes and not self._tally.frames:
            self.say(
                f"note: no valid frame of {self._driver.name}: check the line settings and the "
                "driver; `shoe-daemon calibrate serial` finds the speed"
            )

    def check_disk(self) -> None:
        """Secure what was written against a power cut, and look for room for more."""
        try:
            self._writer.sync()
            free = self._writer.free_bytes()
        except OSError as error:
            self.failure = self.failure or one_line(error)
            return
        if free < MIN_FREE_BYTES:
            self.failure = f"less than {MIN_FREE_BYTES >> 20} MiB are free on its disk"

    def show_progress(self, seconds: float) -> None:
        """Show the counts on one line, if stderr is a terminal."""
        if self._is_shown:
            click.echo(f"\r{self._summary(seconds)}\x1b[K", nl=False, err=True)

    def say(self, text: str) -> None:
        """Print a message on a line of its own."""
        self._clear_progress()
        click.echo(text, err=True)

    def _clear_progress(self) -> None:
        if self._is_shown:
            click.echo("\r\x1b[K", nl=False, err=True)

    def _write(self, lines: list[CaptureLine]) -> None:
        try:
            for line in lines:
                self._writer.write(line)
        except OSError as error:
            self.failure = one_line(error)

    def _count(self, line: CaptureLine) -> None:
        from drivers import Mark

        tally = self._tally
        if line.mark is not None:
            tally.losses += line.mark is Mark.LOST
            if self._decoder is not None and line.mark is Mark.BACK:
                self._decoder.reset()
            return
        tally.reads += 1
        tally.bytes += len(line.data)
        self._latest = (line.at_us or 0) / 1e6
        self._count_frames(line.data, self._latest)

    def _count_frames(self, data: bytes, now: float) -> None:
        tally = self._tally
        for frame in self._frames(data, now):
            tally.frames += frame.kind is FrameKind.FRAME and bool(frame.raw)
            tally.repeats += frame.kind is FrameKind.REPEAT
            tally.noise += len(frame.raw) if frame.kind is FrameKind.NOISE else 0

    def _frames(self, data: bytes, now: float) -> list[Frame]:
        if self._driver is None or self._decoder is None:
            return []
        try:
            return self._decoder.feed(data, now)
        except Exception as error:  # noqa: BLE001 - a driver that breaks its promise
            self._decoder = self._driver.decoder()
            self.say(
                f"the decoder of {self._driver.name} failed, frames are no longer counted: "
                f"{describe_exception(error)}"
            )
            self._driver = None
            return []

    def _summary(self, seconds: float | None) -> str:
        tally = self._tally
        parts = [] if seconds is None else [_duration(seconds)]
        parts += [f"{tally.bytes:,} bytes in {tally.reads:,} reads"]
        if self._decoder is not None:
            parts += [f"{tally.frames:,} frames, {tally.repeats:,} repeats"]
            parts += [f"{tally.noise:,} bytes of noise"]
        if tally.losses:
            parts += [f"line lost: {tally.losses:,}"]
        return ", ".join(parts)


def _duration(seconds: float) -> str:
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}"


class _ReaderSink:
    """Turns the frames of the reader's thread into lines of the capture."""

    def __init__(self, recording: _Recording, start: float) -> None:
        self._recording = recording
        self._start = start
        self._latest_us = 0
        self._lost_at: float | None = None
        self._limit = LogRateLimit()

    def __call__(self, frame: Frame) -> None:
        from drivers import CaptureLine, Mark
        from shoe_daemon.table.observations import Link

        self._latest_us = max(self._latest_us, int((frame.received - self._start) * 1e6))
        links = [each for each in frame.observations if isinstance(each, Link)]
        if not links:
            self._recording.take(CaptureLine(frame.raw, self._latest_us))
        elif not links[0].up:
            self._lost_at = frame.received
            detail = links[0].detail or ""
            self._recording.take(CaptureLine(b"", self._latest_us, Mark.LOST, detail))
            if self._limit("lost", frame.received):
                self._recording.say(f"line lost: {detail}; trying again")
        elif self._lost_at is not None:
            self._recording.take(CaptureLine(b"", self._latest_us, Mark.BACK))
            if self._limit("back", frame.received):
                self._recording.say(f"line back after {frame.received - self._lost_at:.1f} s")
            self._lost_at = None
