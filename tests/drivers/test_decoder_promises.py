"""Promises of our own decoders that `drivers.conformance` does not check, on all captures."""

from __future__ import annotations

import random
from itertools import accumulate
from pathlib import Path

import pytest

from drivers.capture import read_capture
from drivers.driver import Driver, Frame, FrameKind
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Settings
from drivers.simulators.simulator import find_simulator, simulator_names
from shoe_daemon.cli.verify import _Decoder as StoredFrames
from shoe_daemon.table.observations import Gap, Observation, Unreadable
from tests.drivers.test_captures import ALL, IDS, driver_of
from tests.volume import volume

Piece = tuple[float, bytes]
LATER_S = 60.0
NOISY = [each for each in ALL if each.parent.name != "camera" and each.stem != "no-terminator"]
"""Captures that noise may come between: a camera is no line, and here only noise ends a frame."""


def decode(driver: Driver, pieces: list[bytes]) -> list[Frame]:
    decoder = driver.decoder()
    frames = [frame for piece in pieces for frame in decoder.feed(piece, 7.0)]
    return frames + decoder.feed(b"", 7.0 + LATER_S)


def decode_timed(driver: Driver, pieces: list[Piece]) -> list[Frame]:
    decoder = driver.decoder()
    frames = []
    for at, piece in pieces:
        frames += decoder.feed(b"", at)
        frames += decoder.feed(piece, at)
    return frames + decoder.feed(b"", pieces[-1][0] + LATER_S)


def said(frames: list[Frame]) -> list[Observation]:
    return [observation for frame in frames for observation in frame.observations]


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    ends = list(accumulate(rng.choices([1, 2, 3, 7, 40, 300], k=len(data))))
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("capture", NOISY, ids=lambda each: f"{each.parent.name}/{each.stem}")
def test_noise_between_frames_changes_nothing(capture: Path) -> None:
    driver, rng = driver_of(capture), random.Random(capture.stem)
    frames = [frame for frame in decode(driver, [read_capture(capture)]) if frame.raw]
    noisy = b"".join(
        bytes(rng.choices(range(0x80, 0x100), k=rng.randrange(1, 60))) + frame.raw
        if frame.kind is FrameKind.FRAME and not frame.note
        else frame.raw
        for frame in frames
    )
    assert said(decode(driver, [noisy])) == said(decode(driver, [frame.raw for frame in frames]))


@pytest.mark.parametrize("name", simulator_names())
def test_a_stream_may_be_joined_anywhere(name: str) -> None:
    driver = create_driver(name)
    scenes = find_simulator(name)(driver).scenes(Settings(rounds=12, seed=3), once=True)
    pieces = [piece for scene in scenes for step in scene.steps for piece in step.writes(1)]
    whole = said(decode_timed(driver, pieces))
    rng = random.Random(name)
    for _ in range(volume(20, 100)):
        first = rng.randrange(len(pieces) - 4)
        at, data = pieces[first]
        rest = (at, data[rng.randrange(len(data)) :])
        joined = said(decode_timed(driver, [rest, *pieces[first + 1 :]]))
        if len(joined) > 1 and isinstance(joined[1], Gap):
            del joined[1]  # of a recogniser: nobody saw the cards that lie there being laid
        # The piece that was cut may be a gap, or one card: the reader reports a gap before it.
        while joined and isinstance(joined[0], Gap | Unreadable):
            del joined[0]
        if joined != whole[len(whole) - len(joined) :]:
            del joined[0]
        assert joined == whole[len(whole) - len(joined) :]
        assert len(joined) >= len(whole) - first - 20


@pytest.mark.parametrize("capture", ALL, ids=IDS)
def test_stored_frames_decode_again_to_the_same(capture: Path) -> None:
    """Repeats, noise and gaps without bytes are not stored; the rest proves itself."""
    driver, data = driver_of(capture), read_capture(capture)[:4000]
    rng = random.Random(capture.stem)
    for _ in range(volume(2, 10)):
        decoder, at, frames = driver.decoder(), 0.0, []
        pieces = cut(data, rng)
        rng.shuffle(pieces[rng.randrange(len(pieces)) :])
        for piece in pieces:
            # Some pieces come twice, and some without time between them.
            for each in [piece] * rng.choice([1, 1, 1, 2]):
                at += rng.choice([0, 0, 0.001, 0.2, 0.45, 0.6, 5])
                frames += decoder.feed(b"", at) + decoder.feed(each, at)
        frames += decoder.feed(b"", at + LATER_S)
        again = StoredFrames(driver, None)
        for frame in frames:
            if frame.kind is FrameKind.FRAME and frame.raw:
                found = again.decode(frame.raw, round(frame.received, 3))
                assert tuple(found) == frame.observations, frame
