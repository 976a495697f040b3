"""
The thread of a witness: pictures into the ring, and clips out of it.

On any failure of its camera it is closed, logged, and opened again after 0.5 to 10 seconds. A
clip that is being written goes on meanwhile, with grey pictures that say so. Each clip is recorded
in the journal as one JSON line.
"""

from __future__ import annotations

import contextlib
import os
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

import msgspec
import structlog
from msgspec import Struct

from drivers import (
    MAX_RING_BYTES,
    Clip,
    ClipWriter,
    LineError,
    Picture,
    VideoFrame,
    VideoRing,
    clip_names,
    describe_clip,
    encode_picture,
    find_unfinished,
    is_playable,
    redact_url,
)
from shoe_daemon.errors import UserError, describe_exception, one_line
from shoe_daemon.evidence import EvidenceFolder
from shoe_daemon.limits import LoggedFailure, RetryDelay
from shoe_daemon.threads import ThreadGroup, WakeableThread
from shoe_daemon.witness.config import WitnessSettings
from shoe_daemon.witness.sources import VideoSource, source_of
from shoe_daemon.witness.span import Cause, ClipSpan

_BLIND_AFTER_S: Final = 1.5
"""A frame that is older shows nothing of the present."""

_HUNG_AFTER_S: Final = 30.0
"""A thread that added no picture for so long hangs, as in its disk."""

_SILENT_AFTER_S: Final = 5.0
"""A camera that gave no frame for so long is reported."""

_MAX_BEHIND_S: Final = 60.0
"""Seconds for which missing pictures are added after the thread was delayed, as by a camera that
opens slowly; a computer that slept longer leaves a gap."""

_CHECK_DISK_EVERY: Final = 25
"""Pictures between two looks at the free space."""

_CLEANUP_INTERVAL_S: Final = 600.0
_LAST_PICTURES_S: Final = 1.5
"""Time for which a daemon that stops encodes what it has of a clip."""

_STOP_TIMEOUT_S: Final = 5.0
_NICENESS: Final = 10
"""Video waits for the processor behind the cards."""

_log = structlog.get_logger(__name__)


class _Statement(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The record of a clip, for the journal; times are in UTC."""

    say: str
    causes: tuple[Cause, ...] = ()
    file: str | None = None
    sha256: str | None = None
    bytes: int | None = None
    begin: str | None = None
    end: str | None = None
    blind_s: float | None = None
    cut: str | None = None


_encoder = msgspec.json.Encoder(order="sorted")


class WitnessEnvironment(Struct, frozen=True):
    """
    Camera, clocks and waits of a witness; tests replace them.

    Attributes:
        open_source: Opens the camera.
        clock: Monotonic seconds.
        wall: The time of the wall clock.
        wait: Waits for some seconds, or until the witness is stopped.
        jitter: Returns a number from 0 to 1.
    """

    open_source: Callable[[], VideoSource]
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], datetime] = lambda: datetime.now(UTC)
    wait: Callable[[float], object] | None = None
    jitter: Callable[[], float] = random.random


class Witness(WakeableThread):
    """
    One witness and its thread.

    Attributes:
        name: Its id.
        detail: The reason if there is no video, or no clip, on one line; empty otherwise.

    Args:
        settings: Its section.
        folder: The folder of its clips.
        label: The table, burned into the pictures.
        record: Puts a line into the journal; may raise `queue.Full`.
        environment: The camera and the clocks.
    """

    def __init__(
        self,
        settings: WitnessSettings,
        folder: Path,
        label: str,
        record: Callable[[bytes], None],
        environment: WitnessEnvironment,
    ) -> None:
        super().__init__("witness", settings.id)
        self.detail = "no picture yet"
        self._settings = settings
        self._label = f"{label}  {settings.id}"
        self._folder = EvidenceFolder(
            folder,
            clip_names(settings.id),
            settings.days,
            settings.megabytes,
            # The journal may take long, as on a full disk.
            lambda: [clip.path.name for clip in list(self._unnamed.values())],
        )
        self._record = record
        self._environment = environment
        self._ring = VideoRing(max(1, round(settings.before * settings.fps)))
        self._span = ClipSpan(settings.after, settings.longest)
        self._news: queue.SimpleQueue[tuple[tuple[Cause, ...], bool]] = queue.SimpleQueue()
        self._statements: deque[bytes] = deque()
        self._backlog: deque[Picture] = deque()
        self._unnamed: dict[bytes, Clip] = {}
        self._writer: ClipWriter | None = None
        # Causes of a clip whose last pictures are being encoded, and why it ended early.
        self._ending: tuple[tuple[Cause, ...], str | None] | None = None
        self._stated: set[Cause] = set()
        self._written = 0
        self._trouble: str | None = None
        self._stepped_at = environment.clock()
        self._source: VideoSource | None = None
        self._frame: VideoFrame | None = None
        self._encoded_frame: VideoFrame | None = None
        self._jpeg: bytes | None = None
        self._frame_at = environment.clock()
        self._wait = environment.wait or self._stopping.wait
        self._retry_delay = RetryDelay(jitter=environment.jitter)
        place = redact_url(settings.source or f"reader {settings.reader}")
        log = _log.bind(witness=self.name, place=place)
        self._lost = LoggedFailure(log, "witness_lost", "witness_up")
        self._unwritten = LoggedFailure(log, "clip_not_written", "clips_written")

    def follow(self, causes: Sequence[Cause], *, undecided: bool) -> None:
        """Note causes, and whether anything is undecided; takes microseconds, from any thread."""
        self._news.put((tuple(causes), undecided))

    def recorded(self, line: bytes) -> None:
        """Give a clip its name: the journal has its line. Any thread may call it."""
        clip = self._unnamed.get(line)
        if clip is not None:
            try:
                clip.path.rename(clip.path.with_name(clip.file))
            except OSError as error:
                _log.warning("clip_not_named", file=clip.file, reason=one_line(error))
            self._unnamed.pop(line, None)

    @property
    def alert(self) -> str | None:
        """One sentence for people while there is no video or no clip; None otherwise."""
        detail = self.detail
        if self._environment.clock() - self._stepped_at > _HUNG_AFTER_S:
            detail = "it hangs"
        return f"witness {self.name}: {detail}" if detail else None

    def join(self, timeout_s: float) -> None:
        """Wait for the end of the open clip; a thread that does not end in time leaves no clip."""
        super().join(timeout_s)
        if self._thread.is_alive():
            self._follow_news()
            causes = self._ending[0] if self._ending is not None else ()
            causes += self._span.causes if self._span.is_open else ()
            self._say_missing(causes, "the daemon stopped, and the processor was busy")
            self._send()

    def run(self) -> None:
        """Record until stopped: the body of the thread."""
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
        with contextlib.suppress(Exception):
            self._adopt_unfinished()
        clock = self._environment.clock
        step_s = 1 / self._settings.fps
        due, tidied = clock(), float("-inf")
        while not self._stopping.is_set():
            try:
                self._look(due)
                due = max(due, clock() - _MAX_BEHIND_S)
                while due <= clock() and not self._stopping.is_set():
                    self._look(clock())  # frames that came meanwhile
                    self._step(due)
                    due += step_s
                self._write(until=due)
                if clock() - tidied >= _CLEANUP_INTERVAL_S or self._folder.is_too_large:
                    self._folder.clean_up()
                    tidied = clock()
            except Exception as error:  # noqa: BLE001 - the thread must not end
                self._fail_clip(describe_exception(error))
                self._wait(step_s)
        self._end()

    # Pictures.

    def _look(self, until: float) -> None:
        """Take frames until a moment; open the camera if it is closed."""
        clock = self._environment.clock
        try:
            if self._source is None:
                if clock() < (retry_at := self._retry_delay.retry_at):
                    self._wait(max(0.0, min(until, retry_at) - clock()))
                    return
                self._source = self._environment.open_source()
            left = 1.0
            while left > 0:
                left = until - clock()
                frame = self._source.take(max(0.0, left))
                if frame is not None:
                    self._frame, self._frame_at = frame, clock()
                    self._sees()
        except (LineError, UserError) as error:
            self._lose(str(error))
        if self._source is not None and clock() - self._frame_at > _SILENT_AFTER_S:
            self._fails("it gives no pictures")

    def _sees(self) -> None:
        self._retry_delay.reset()
        self._lost.succeeded()
        if self._trouble is None:
            self.detail = ""

    def _lose(self, reason: str) -> None:
        if self._source is not None:
            self._source.stop()
        self._source = None
        self._retry_delay.failed(self._environment.clock())
        self._fails(reason)

    def _fails(self, reason: str) -> None:
        self.detail = reason
        self._lost.failed(self._environment.clock(), detail=reason)

    def _step(self, due: float) -> None:
        """Add the picture of a moment to the ring and to the open clip."""
        now = self._stepped_at = self._environment.clock()
        late = timedelta(seconds=max(0.0, now - due))
        picture = Picture(self._environment.wall() - late, self._encode(due))
        self._follow_news()
        self._ring.add(picture)
        if self._ending is None:
            if self._writer is not None:
                self._backlog.append(picture)
            elif self._span.is_open and self._trouble is None:
                self._begin()
        if sum(len(each.jpeg or b"") for each in self._backlog) > MAX_RING_BYTES:
            self._fail_clip("the processor is too slow: expected a lower fps or width")
        if self._ending is None and (end := self._span.end(now)) is not None:
            self._end_span("no decision yet" if end == "too_long" else None)
        self._send()

    def _encode(self, due: float) -> bytes | None:
        if self._frame is None or abs(due - self._frame_at) > _BLIND_AFTER_S:
            return None
        if self._frame is not self._encoded_frame:  # a slow camera sends each only once
            self._encoded_frame = self._frame
            try:
                self._jpeg = encode_picture(self._frame.image, self._settings.width)
            except ValueError:
                self._jpeg = None
        return self._jpeg

    def _follow_news(self) -> None:
        now = self._environment.clock()
        with contextlib.suppress(queue.Empty):
            while True:
                causes, undecided = self._news.get_nowait()
                if set(causes) - set(self._span.causes):
                    self._trouble = None  # another dispute, another attempt
                self._span.follow(causes, now, undecided=undecided)

    # Clips.

    def _begin(self) -> None:
        pictures = list(self._ring)
        try:
            self._folder.prepare()
            self._writer = ClipWriter(
                self._folder.path,
                self.name,
                self._label,
                self._settings.fps,
                self._clip_size(),
                pictures[0].at,
            )
        except OSError as error:
            self._fail_clip(one_line(error))
            return
        self._written = 0
        self._backlog.extend(pictures)

    def _clip_size(self) -> tuple[int, int]:
        width, height = self._settings.frame_size
        if self._frame is not None:
            height, width = self._frame.image.shape[:2]
        scale = min(1.0, self._settings.width / width)
        # Video has colours for blocks of two by two pixels.
        return round(width * scale) // 2 * 2, round(height * scale) // 2 * 2

    def _write(self, until: float) -> None:
        """Encode pictures that wait: one, and further ones until a moment."""
        while self._writer is not None and self._backlog:
            try:
                if self._written % _CHECK_DISK_EVERY == 0:
                    self._folder.prepare()
                self._writer.add(self._backlog.popleft())
                self._written += 1
            except OSError as error:
                self._fail_clip(one_line(error))
            if self._environment.clock() >= until:
                break
        if self._ending is not None and not self._backlog:
            self._finish(*self._ending)
            self._ending = None
            self._send()

    def _end_span(self, cut: str | None) -> None:
        """The causes are decided, or it took too long: write what waits, and finish."""
        if self._writer is not None:
            self._ending = self._span.causes, cut
        else:
            self._say_missing(self._span.causes, self._trouble or self.detail)

    def _finish(self, causes: tuple[Cause, ...], cut: str | None) -> None:
        """Finish the file, and say for each cause whether it is in a clip."""
        reason = self._trouble or self.detail or "the camera gave no picture"
        self._say_missing(causes, self._close_file(causes, cut) or reason)

    def _close_file(self, causes: tuple[Cause, ...], cut: str | None) -> str | None:
        """Finish the open file, or remove it without pictures; return an error of the disk."""
        writer, self._writer = self._writer, None
        if writer is None:
            return None
        fault = None
        try:
            if not writer.is_blind:
                self._say_clip(writer.finish(), causes, cut)
                self._stated.update(causes)
                return None
        except OSError as error:
            fault = one_line(error)
        writer.abandon()
        return fault

    def _say_missing(self, causes: tuple[Cause, ...], reason: str) -> None:
        """Say which causes are in no clip, at the end of their span."""
        missing = tuple(cause for cause in causes if cause not in self._stated)
        if missing:
            self._say(_Statement(say="no_clip", causes=missing, cut=reason))
        self._stated.clear()
        self._trouble = None

    def _fail_clip(self, reason: str) -> None:
        """End the open clip early; there is no other until the next cause."""
        self.detail = self._trouble = reason
        self._unwritten.failed(self._environment.clock(), reason=reason)
        self._backlog.clear()
        causes = self._span.causes if self._ending is None else self._ending[0]
        self._close_file(causes, reason)

    def _say_clip(self, clip: Clip, causes: tuple[Cause, ...], cut: str | None) -> None:
        self._folder.add(clip.bytes)
        if cut is None:
            self._unwritten.succeeded()
        line = self._say(
            _Statement(
                say="clip",
                causes=tuple(cause for cause in causes if cause not in self._stated),
                file=clip.file,
                sha256=clip.sha256,
                bytes=clip.bytes,
                begin=_text(clip.begin),
                end=_text(clip.end),
                blind_s=clip.blind_s or None,
                cut=cut,
            )
        )
        self._unnamed[line] = clip

    def _adopt_unfinished(self) -> None:
        """
        Name the clips of a daemon that was killed: they play up to their last second. One that was
        finished and not yet named is among them.
        """
        for path, begin in find_unfinished(self._folder.path, self.name):
            try:
                if not is_playable(path):
                    path.unlink()
                    continue
                modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
                clip = describe_clip(path, self.name, begin, max(begin, modified))
            except (OSError, ValueError, OverflowError) as error:
                _log.warning("clip_not_adopted", file=path.name, reason=one_line(error))
            else:
                self._say_clip(clip, (), "the daemon ended while it was written")

    def _say(self, statement: _Statement) -> bytes:
        line = _encoder.encode(statement)
        self._statements.append(line)
        return line

    def _send(self) -> None:
        with contextlib.suppress(queue.Full):
            while self._statements:
                self._record(self._statements[0])
                self._statements.popleft()

    def _finish_ending(self) -> None:
        if self._ending is not None:
            self._write(until=self._environment.clock() + _LAST_PICTURES_S)
            self._backlog.clear()
            self._write(until=0)

    def _end(self) -> None:
        """Finish the open clip with what can be encoded in a short time."""
        with contextlib.suppress(Exception):
            self._follow_news()
            self._finish_ending()
            if self._span.is_open:
                if self._writer is None and self._trouble is None:
                    self._begin()
                self._end_span("the daemon stopped")
                self._finish_ending()
        with contextlib.suppress(Exception):
            self._send()
        if self._source is not None:
            self._source.stop()


def _text(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z"


class Witnesses(ThreadGroup[Witness]):
    """
    All witnesses of a table; `stop` ends the open clips. The arguments are those of `Witness`.

    `places` are the configuration's folder and the journal; `share_frames` passes the frames of
    a reader to a function.
    """

    def __init__(
        self,
        settings: Sequence[WitnessSettings],
        places: tuple[Path, Path],
        label: str,
        record: Callable[[str, bytes], None],
        share_frames: Callable[[str, Callable[[VideoFrame], None]], None],
    ) -> None:
        beside, journal = places
        witnesses = [
            Witness(
                each,
                each.clip_folder(beside, journal),
                label,
                partial(record, each.id),
                WitnessEnvironment(source_of(each, beside, share_frames)),
            )
            for each in settings
        ]
        super().__init__(witnesses, _STOP_TIMEOUT_S)

    def follow(self, causes: Sequence[Cause], *, undecided: bool) -> None:
        """Note what happened at the table, and whether anything is undecided."""
        for witness in self._threads:
            witness.follow(causes, undecided=undecided)

    def recorded(self, line: bytes) -> None:
        """Note that a line of a witness is in the journal."""
        for witness in self._threads:
            witness.recorded(line)
