"""
Angel Eye bytes to frames: resynchronises, drops repeats, notices what is lost.

Every report is sent three times where the host does not answer. The first copy
that arrives whole is the frame, byte-identical ones right after it are repeats;
when all three are lost, the next sequence number shows it.

What cannot be noticed: nine reports lost in a row, or eighteen ..., because the
numbers wrap; and reports lost right before a boot, which starts them anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from drivers.angel_eye_ii.frame_codec import MAX_FRAME, Report, Shape, Stretch, parse_report, split
from drivers.angel_eye_ii.report_observations import meaning_of
from drivers.angel_eye_ii.shoe_commands import text_of_nak
from drivers.driver_interface import Frame, FrameKind
from shoe_daemon.table.observations import Gap, GapDetail, Observation

if TYPE_CHECKING:
    from drivers.angel_eye_ii.options import AngelOptions

__all__ = ["AngelDecoder"]

_BOOT: Final = "S"
_LAST_SEQ: Final = 9


class AngelDecoder:
    """
    One shoe's stream. Holds at most 255 bytes and the last report.
    """

    def __init__(self, options: AngelOptions) -> None:
        self._repeat_interval = options.repeat_interval
        self._answers = options.allow_commands
        self._buffer = bytearray()
        self._last = b""
        self._last_at = 0.0
        self._expected: int | None = None
        self._rejoined = False

    def feed(self, data: bytes, now: float) -> list[Frame]:
        """
        Take the next bytes, received at `now` (monotonic seconds).
        """
        frames: list[Frame] = []
        # In pieces, so that the buffer stays small whatever is fed at once.
        for start in range(0, len(data), MAX_FRAME):
            self._buffer += data[start : start + MAX_FRAME]
            while stretch := split(self._buffer, answers=self._answers):
                raw = bytes(self._buffer[: stretch.length])
                del self._buffer[: stretch.length]
                frames.append(self._frame(raw, stretch, now))
        return frames

    def reset(self) -> None:
        """
        Forget a half-received frame, and which sequence number is due.

        That something may be missing is said by whoever reopened the line. A copy
        of the last report that still comes within the repeat interval is a repeat.
        """
        self._buffer.clear()
        self._expected = None
        self._rejoined = True

    def _frame(self, raw: bytes, stretch: Stretch, now: float) -> Frame:
        if stretch.shape is Shape.REPORT:
            return self._report(raw, now)
        if stretch.shape is Shape.NOISE:
            return Frame(raw, FrameKind.NOISE, (), now, stretch.note)
        return Frame(raw, FrameKind.FRAME, (), now, _answer(raw, stretch.shape))

    def _report(self, raw: bytes, now: float) -> Frame:
        report = parse_report(raw)
        if self._repeats(raw, report, now):
            return Frame(raw, FrameKind.REPEAT, (), now)
        gap = self._lost_before(report)
        self._last, self._last_at, self._rejoined = raw, now, False
        self._expected = _successor(report.seq)
        meaning = meaning_of(report)
        return Frame(raw, FrameKind.FRAME, gap + meaning.observations, now, meaning.note)

    def _repeats(self, raw: bytes, report: Report, now: float) -> bool:
        if raw != self._last:
            return False
        # All boots look alike, and after a reconnection so may a report of a later
        # round; only time tells those from a repeat.
        ambiguous = report.code == _BOOT or self._rejoined
        return not ambiguous or now - self._last_at <= self._repeat_interval

    def _lost_before(self, report: Report) -> tuple[Observation, ...]:
        # A boot begins the numbers anew, and a stream may be joined anywhere.
        if report.code == _BOOT or self._expected in {None, report.seq}:
            return ()
        return (Gap(detail=GapDetail.LOST_FRAMES),)


def _successor(seq: int) -> int | None:
    """
    Give the number due after this one; None after what is no sequence number.
    """
    if not 0 <= seq <= _LAST_SEQ:
        return None
    return seq % _LAST_SEQ + 1


def _answer(raw: bytes, shape: Shape) -> str:
    if shape is Shape.NAK:
        return f"the shoe refused a command: {text_of_nak(raw[1])}"
    if shape is Shape.ACK:
        return "the shoe took a command"
    return f"reply {raw[1:-3].decode('latin-1')!a}"
