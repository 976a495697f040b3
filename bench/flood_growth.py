"""
Growth of a journal in an hour of a flood, for each kind of reader.

`python -m bench.flood_growth [--seconds N]`: bytes at the full rate of a line of 115,200 bit/s go
through the reader's decoder and the core, on a test clock; once with all frames kept, as before
there was a limit, and once as the daemon does. No flood here has a card: cards are always kept.
A link that is lost as often as the reader opens it, and noise, are among them.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final, NamedTuple

from drivers import Frame, FrameKind, create_driver
from drivers.angel_eye_ii.codec import Report
from shoe_daemon.config.table import load_config
from shoe_daemon.service import Core, floods
from shoe_daemon.service.clock import Clock
from shoe_daemon.table.observations import Gap, GapDetail, Link

BYTES_PER_S: Final = 11_520
_STEP_S: Final = 0.05
_CHECK_S: Final = 0.25
_BATCH: Final = 64


class Flood(NamedTuple):
    """A flood: what the reader's line says again and again."""

    driver: str
    says: str
    pieces: tuple[bytes, ...]
    options: Mapping[str, object] = MappingProxyType({})


def _reports(code: str, *data: bytes) -> tuple[bytes, ...]:
    """Return reports of the Angel Eye with sequence numbers that count on."""
    both = zip(range(9 * len(data)), itertools.cycle(data), strict=False)
    return tuple(Report(number % 9 + 1, code, each).to_bytes() for number, each in both)


_SLOTS: Final = {"slots": ["P1", "P2", "P3", "B1", "B2", "B3"]}
_EMPTY: Final = b'{"response":"result","arg":{"res":["","","","","",""]}}\n'
_UNREAD: Final = b'{"response":"result","arg":{"res":["?","?","","?","?",""]}}\n'

FLOODS: Final = (
    Flood("angel-eye-ii", "key turned", _reports("L", b"\x81", b"\x80")),
    Flood("angel-eye-ii", "results", _reports("G", b"\x90")),
    Flood("angel-eye-ii", "cards without a face code", _reports("D", b"\x81\xff")),
    Flood("angel-eye-ii", "unknown reports", _reports("Z", b"")),
    Flood("bee-tek", "unread cards", (b"<Game>",)),
    Flood("bee-tek", "warnings", (b"<W0x01>",)),
    Flood("line-scanner", "unknown codes", (b"Z\r", b"X\r")),
    Flood("keyboard", "unknown codes", (b"Z\r", b"X\r")),
    Flood("json-lines", "parts of objects", (b"}\n",)),
    Flood("json-lines", "starts", (b'{"type":"boot"}\n',)),
    Flood("buttons", "bets closed and open", (b"N", b"O"), {"lines": False}),
    Flood("buttons", "the supervisor called", (b"S", b"R"), {"lines": False}),
    Flood("camera", "double feeds", (b'{"say":"double_feed"}\n', b'{"say":"over"}\n')),
    Flood("mqtt-camera", "unread cards, cleared", (_UNREAD, _EMPTY), _SLOTS),
    Flood("json-lines", "noise", (b"\x00\xff\n",)),
)


class Flooded:
    """A table on a test clock, whose reader is flooded."""

    def __init__(self, folder: Path) -> None:
        config = folder / "table.toml"
        config.write_text('site = "hall"\n[table]\nid = "table-7"\n', encoding="utf-8")
        setup = load_config(config)
        self.journal = setup.journal
        self.now = 1000.0
        self.frames = 0
        self.core = Core(
            setup,
            clock=Clock(
                wall=lambda: int((1_800_000_000 + self.now) * 1_000_000),
                monotonic=lambda: self.now,
            ),
        )
        self.core.record_start()

    def run(self, frames_of: Callable[[float], list[Frame]], seconds: float) -> int:
        """Process the frames of so many seconds; return the bytes by which the journal grew."""
        before = self._size()
        checked = end = self.now
        end += seconds
        while self.now < end:
            self.now += _STEP_S
            frames = [("shoe", frame) for frame in frames_of(self.now)]
            self.frames += len(frames)
            for start in range(0, len(frames), _BATCH):
                batch = frames[start : start + _BATCH]
                self.core.process(batch)
                self.core.count_rejected(batch)
            if self.now - checked >= _CHECK_S:
                checked = self.now
                self.core.process_deadlines()
        self.core.close()
        return self.journal.stat().st_size - before

    def _size(self) -> int:
        rows = self.core.reader.connection
        pages, size = (
            rows.execute(f"PRAGMA page_{name}").fetchone()[0] for name in ("count", "size")
        )
        return int(pages * size)


def decoded(flood: Flood) -> Callable[[float], list[Frame]]:
    """Return a function that decodes the bytes of the next step."""
    decoder = create_driver(flood.driver, flood.options).decoder()
    data = b"".join(flood.pieces)
    size = int(BYTES_PER_S * _STEP_S)
    data *= 1 + size // len(data)
    place = 0

    def step(now: float) -> list[Frame]:
        nonlocal place
        piece = (data + data)[place : place + size]
        place = (place + size) % len(data)
        return decoder.feed(piece, now)

    return step


def flapping(now: float) -> list[Frame]:
    """Return the frames of a line that is lost twice a second, as often as it is opened."""
    if round(now / _STEP_S) % 10:
        return []
    lost = Frame(b"", FrameKind.FRAME, (Link(up=False, detail="unplugged"),), now)
    back = (Link(up=True), Gap(detail=GapDetail.RECONNECT))
    return [lost, Frame(b"", FrameKind.FRAME, back, now)]


def measure(
    frames_of: Callable[[float], list[Frame]], seconds: float, *, limited: bool
) -> tuple[float, float]:
    """Return the frames in a second, and the megabytes by which the journal grows in an hour."""
    most = floods.MAX_SINGLE
    floods.MAX_SINGLE = most if limited else 1 << 60  # type: ignore[misc]
    try:
        with tempfile.TemporaryDirectory() as folder:
            table = Flooded(Path(folder))
            grown = table.run(frames_of, seconds)
    finally:
        floods.MAX_SINGLE = most  # type: ignore[misc]
    return table.frames / seconds, grown / seconds * 3600 / 1e6


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="of each flood, limited")
    parser.add_argument("--unlimited", type=float, default=10.0, help="seconds without the limit")
    arguments = parser.parse_args()
    print(f"{'reader':<14}{'flood':<28}{'frames/s':>10}{'unlimited':>14}{'limited':>14}")
    for flood in (*FLOODS, None):
        sources = [flapping if flood is None else decoded(flood) for _ in range(2)]
        _, without = measure(sources[0], arguments.unlimited, limited=False)
        rate, grown = measure(sources[1], arguments.seconds, limited=True)
        name, says = ("any", "link lost twice a second") if flood is None else flood[:2]
        print(f"{name:<14}{says:<28}{rate:>10,.0f}{without:>9,.0f} MB/h{grown:>9,.1f} MB/h")


if __name__ == "__main__":
    main()
