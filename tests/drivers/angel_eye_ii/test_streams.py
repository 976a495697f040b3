"""
However a stream is cut, repeated, disturbed or joined, the same is said; and
whatever the bytes, nothing is raised and memory is bounded.
"""

from __future__ import annotations

import random
from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drivers.angel_eye_ii import AngelEyeII, AngelOptions
from drivers.angel_eye_ii.codec import MAX_FRAME
from drivers.driver import Frame
from drivers.simulators.angel_eye import Mode, Scenario, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.table.observations import Gap, Observation

SILENT = tuple(fault for fault in Fault if fault is not Fault.UNPLUG)


def dealt(mode: Mode, seed: int, faults: tuple[Fault, ...] = SILENT) -> Scenario:
    return scenario(Settings(rounds=12, mode=mode, seed=seed, faults=faults, fault_rate=0.4))


def fed(pieces: list[bytes], options: AngelOptions | None = None) -> list[Frame]:
    decoder = AngelEyeII(options).decoder()
    return [frame for piece in pieces for frame in decoder.feed(piece, 7.0)]


def said(frames: list[Frame]) -> list[Observation]:
    return [observation for frame in frames for observation in frame.observations]


def cut(data: bytes, rng: random.Random) -> list[bytes]:
    ends = list(accumulate(rng.choices([1, 2, 3, 7, 40, 300], k=len(data))))
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False)]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("seed", range(5))
class TestCuts:
    def test_repeats_change_nothing(self, mode: Mode, seed: int) -> None:
        # Noise damages a copy, which is a loss where there is only one.
        played = dealt(mode, seed, tuple(set(SILENT) - {Fault.NOISE}))
        once = said(fed([played.stream(1)]))
        for copies in (2, 3, 5):
            assert said(fed([played.stream(copies)])) == once

    def test_a_lost_report_is_always_noticed(self, mode: Mode, seed: int) -> None:
        steps = dealt(mode, seed, ()).steps
        frames = [step.report.to_bytes() * 3 for step in steps if step.report]
        for lost in random.Random(seed).sample(range(1, len(frames) - 1), 20):
            heard = said(fed([b"".join(frames[:lost] + frames[lost + 1 :])]))
            assert heard.count(Gap()) == 1


@given(st.binary(max_size=2000), st.randoms(use_true_random=False), st.booleans())
@settings(deadline=None)
def test_random_bytes_give_the_same_however_they_are_cut(
    data: bytes,
    rng: random.Random,
    allowed: bool,  # noqa: FBT001 - hypothesis gives it by place
) -> None:
    options = AngelOptions(allow_commands=allowed)
    whole = fed([data], options)
    assert fed([bytes([byte]) for byte in data], options) == whole
    assert fed(cut(data, rng), options) == whole
    # Nothing is lost or made up: the frames are the bytes, up to an unfinished end.
    joined = b"".join(frame.raw for frame in whole)
    assert data.startswith(joined)
    assert len(data) - len(joined) < MAX_FRAME
