"""The reports of a simulated Angel Eye in time, with the effects of a broken line."""

from __future__ import annotations

from random import Random
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from drivers.angel_eye_ii.frame_codec import Report

COPIES: Final = 3
"""Copies of each report sent without an acknowledgement."""

COPY_SPACING: Final = 0.03
"""Seconds from the end of one copy to the next: about two frames at 4800 bit/s."""


class Step(Struct, frozen=True):
    """
    One report, or one interruption of the line.

    Attributes:
        at: Seconds from the start, at speed 1.
        report: None for an interruption.
        noise: Bytes on the line before the report.
        damaged: The first copy arrives damaged.
        lost: No copy arrives.
        unplugged: Duration of the interruption in seconds; 0 for none.
    """

    at: float
    report: Report | None = None
    noise: bytes = b""
    damaged: bool = False
    lost: bool = False
    unplugged: float = 0.0

    @property
    def is_news(self) -> bool:
        """True for a card, a face or a result."""
        return self.report is not None and self.report.code in "DIG"

    def writes(self, copies: int = COPIES) -> list[tuple[float, bytes]]:
        """Return the bytes received, each piece with its time."""
        if self.report is None or self.lost:
            return []
        raw = self.report.to_bytes()
        pieces = [raw] * copies
        if self.damaged and copies > 1:
            # One bit of the payload or of the checksum: the frame stays a frame.
            pieces[0] = raw[:-1] + bytes([raw[-1] ^ 0x40])
        pieces[0] = self.noise + pieces[0]
        return [(self.at + number * COPY_SPACING, data) for number, data in enumerate(pieces)]


class Wire:
    """The shoe's side of the line."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._now = 0.0
        self._seq = 0
        self._unplugged_until = 0.0
        self._steps: list[Step] = []

    def wait(self, shortest: float, longest: float) -> None:
        """Advance the time by a random number of seconds."""
        self._now += self._rng.uniform(shortest, longest)

    def send_report(self, code: str, *data: int) -> None:
        """Send one report."""
        self._seq = 0 if code == "S" else self._seq % 9 + 1
        self._send(Step(self._now, Report(self._seq, code, bytes(data))))

    def _send(self, step: Step) -> None:
        self._steps.append(replace(step, lost=step.at < self._unplugged_until))

    def unplug(self, seconds: float) -> None:
        """Interrupt the line from now on for some seconds."""
        self._steps.append(Step(self._now, unplugged=seconds))
        self._unplugged_until = self._now + seconds

    def add_noise(self) -> None:
        """Add noise before one of the reports since the last `take`."""
        place = self._rng.randrange(len(self._steps))
        noise = self._rng.randbytes(self._rng.randint(3, 40))
        self._steps[place] = replace(self._steps[place], noise=noise, damaged=True)

    def drop_report(self) -> None:
        """Lose all copies of one of the reports since the last `take`."""
        place = self._rng.choice([n for n, step in enumerate(self._steps) if step.is_news])
        self._steps[place] = replace(self._steps[place], lost=True)

    def take(self) -> tuple[Step, ...]:
        """Return the steps since the last call."""
        steps, self._steps = tuple(self._steps), []
        return steps
