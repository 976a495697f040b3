"""
Each capture, through its driver, gives the observations that stand beside it.

`pytest tests/drivers/test_captures.py --regen` deals the captures anew and
writes what they give; look at the difference before it is committed.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.capture import read_capture, write_hex
from drivers.registry import create_driver
from drivers.replay import frames_of, observations_of
from drivers.simulators.angel_eye_ii import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.table.observations import decode_observation, encode_observation

CAPTURES = Path(__file__).parents[1] / "captures"

SIMULATED: dict[str, tuple[int, Settings]] = {
    "hidden": (3, Settings(rounds=6, seed=1)),
    "open": (3, Settings(rounds=6, seed=1, mode=Mode.OPEN)),
    "without-stand-by": (1, Settings(rounds=4, seed=2, stand_by=False)),
    "whole-shoe": (1, Settings(shoes=1, decks=1, seed=3)),
    "two-shoes-open": (1, Settings(shoes=2, decks=1, seed=4, mode=Mode.OPEN)),
} | {
    f"{fault}-{mode}": (3, Settings(rounds=4, seed=5, mode=mode, faults=(fault,), fault_rate=1))
    for fault in Fault
    for mode in Mode
}


def expected(capture: Path) -> Path:
    return capture.with_suffix(".observations.jsonl")


def deal_again(name: str) -> None:
    copies, settings = SIMULATED[name]
    steps = scenario(settings).steps
    pieces = [(data, f"{at:.2f} s") for step in steps for at, data in step.writes(copies)]
    header = {
        "name": name,
        "driver": "angel-eye-ii",
        "origin": f"simulated, never on a real line: seed {settings.seed}, {settings.mode} mode",
    }
    write_hex(CAPTURES / "angel-eye-ii" / f"{name}.hex", header, pieces)


def observations(capture: Path) -> list[bytes]:
    driver = create_driver(capture.parent.name)
    return [encode_observation(said) for said in observations_of(driver, read_capture(capture))]


@pytest.fixture(scope="module", autouse=True)
def _captures(*, regen: bool) -> None:
    for name in SIMULATED if regen else ():
        deal_again(name)
        capture = CAPTURES / "angel-eye-ii" / f"{name}.hex"
        expected(capture).write_bytes(b"".join(line + b"\n" for line in observations(capture)))


@pytest.mark.parametrize("name", SIMULATED)
def test_capture(name: str) -> None:
    capture = CAPTURES / "angel-eye-ii" / f"{name}.hex"
    assert observations(capture) == expected(capture).read_bytes().splitlines()


def test_every_capture_says_where_it_comes_from_and_is_tested() -> None:
    captures = sorted(CAPTURES.rglob("*.hex"))
    assert {capture.stem for capture in captures} == set(SIMULATED)
    for capture in captures:
        head = capture.read_text(encoding="utf-8").splitlines()[:3]
        assert [line.split(":")[0] for line in head] == ["# name", "# driver", "# origin"]


@pytest.mark.parametrize("name", SIMULATED)
def test_what_is_expected_is_an_observation_log(name: str) -> None:
    lines = expected(CAPTURES / "angel-eye-ii" / f"{name}.hex").read_bytes().splitlines()
    moments = [decode_observation(line).at for line in lines]
    assert moments == sorted(moments)
    assert moments[0] == "1970-01-01T00:00:00.001Z"


def test_frames_are_numbered_without_repeats_and_noise() -> None:
    clean, noisy = (scenario(SIMULATED["noise-open"][1]).stream(copies) for copies in (1, 3))
    driver = create_driver("angel-eye-ii")
    assert list(observations_of(driver, noisy)) == list(observations_of(driver, clean))
    assert len(frames_of(driver, noisy)) > 3 * len(frames_of(driver, clean)) * 0.9
