"""
Each capture decodes to the observations beside it.

`make golden-write` calls it with ``--regen``, and writes those that are missing: compare each line
with the description of the protocol.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.capture import TEXT_SUFFIXES, frames_of, load_capture, observations_of
from drivers.driver import Driver
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.table.observations import decode_observation, encode_observation

CAPTURES = Path(__file__).parents[1] / "captures"
ALL = sorted(each for suffix in TEXT_SUFFIXES for each in CAPTURES.rglob(f"*{suffix}"))
IDS = [f"{capture.parent.name}/{capture.stem}" for capture in ALL]


def driver_of(capture: Path) -> Driver:
    """Return the driver of a capture, with the options that its head names."""
    return create_driver(capture.parent.name, load_capture(capture).options)


def observations(capture: Path) -> list[bytes]:
    found = observations_of(driver_of(capture), load_capture(capture))
    return [encode_observation(said) for said in found]


@pytest.mark.parametrize("capture", ALL, ids=IDS)
def test_a_capture_names_its_origin_and_has_its_meaning(capture: Path, *, regen: bool) -> None:
    head = capture.read_text(encoding="utf-8").splitlines()[:3]
    assert head[:2] == [f"# name: {capture.stem}", f"# driver: {capture.parent.name}"]
    assert head[2].startswith("# origin: ")
    found, meaning = observations(capture), capture.with_suffix(".observations.jsonl")
    if regen and not meaning.exists():
        meaning.write_bytes(b"".join(line + b"\n" for line in found))
    assert found == meaning.read_bytes().splitlines()
    moments = [decode_observation(line).at for line in found]
    assert moments == sorted(moments)


def test_the_first_frame_is_number_one() -> None:
    first = observations(CAPTURES / "angel-eye-ii" / "hidden.hex")[0]
    assert decode_observation(first).at == "1970-01-01T00:00:00.001Z"


def test_frames_are_numbered_without_repeats_and_noise() -> None:
    shoe = scenario(
        Settings(rounds=4, seed=5, mode=Mode.OPEN, faults=(Fault.NOISE,), fault_rate=1)
    )
    clean, noisy = shoe.stream(1), shoe.stream(3)
    driver = create_driver("angel-eye-ii")
    assert list(observations_of(driver, noisy)) == list(observations_of(driver, clean))
    assert len(frames_of(driver, noisy)) > 2 * len(frames_of(driver, clean))
