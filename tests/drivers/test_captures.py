"""
Each capture decodes to the observations beside it.

`pytest tests/drivers/test_captures.py --regen` writes the observations of every capture, and deals
the simulated captures that are missing; review the difference. To deal one anew, delete it first.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from drivers.capture import (
    TEXT_SUFFIXES,
    CaptureLine,
    Mark,
    frames_of,
    load_capture,
    observations_of,
    write_capture,
    write_hex,
)
from drivers.driver import Driver
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from drivers.simulators.simulator import find_simulator
from shoe_daemon.table.observations import decode_observation, encode_observation
from tests.each_case import each_case

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


TAGS = {"04A2B3C4D5E680": "AS", "04A2B3C4D5E681": "AS", "04A2B3C4D5E682": "KD"}
TEXT: dict[str, dict[str, tuple[dict[str, Any], Settings]]] = {
    "bee-tek": {"shoe": ({}, Settings(rounds=6, seed=1))},
    "line-scanner": {
        "standard": ({}, Settings(rounds=6, seed=1)),
        "icl": ({"preset": "icl", "codes": "suit-rank"}, Settings(rounds=3, seed=2)),
        "olivetti": ({"preset": "olivetti", "codes": "a01"}, Settings(rounds=3, seed=3)),
        "handheld": (
            {"preset": "handheld", "preamble": "#", "length_digits": 2, "prefix": "]A0"},
            Settings(rounds=3, seed=4),
        ),
        "no-terminator": ({"preset": "no-terminator"}, Settings(rounds=3, seed=5)),
    },
    "json-lines": {
        "names": ({}, Settings(rounds=6, seed=1)),
        "tags": ({"cards": TAGS}, Settings(rounds=3, seed=2)),
    },
}
for _name, _made in TEXT.items():
    for _fault in find_simulator(_name).faults:
        _made[_fault] = ({}, Settings(rounds=4, seed=5, faults=(_fault,), fault_rate=1))

_SEEN_FAULTS = tuple(each for each in Fault if each is not Fault.UNPLUG)
TEXT["mqtt-camera"] = {
    "simulated": (
        {"slots": ["P1", "P2", "P3", "B1", "B2", "B3"]},
        Settings(rounds=8, seed=2, faults=_SEEN_FAULTS, fault_rate=0.7),
    ),
}


ALL = sorted(each for suffix in TEXT_SUFFIXES for each in CAPTURES.rglob(f"*{suffix}"))
IDS = [f"{capture.parent.name}/{capture.stem}" for capture in ALL]


def expected(capture: Path) -> Path:
    return capture.with_suffix(".observations.jsonl")


def deal_text(name: str, capture: str) -> None:
    file = CAPTURES / name / f"{capture}.cap"
    if file.exists():
        return
    options, settings = TEXT[name][capture]
    scenes = find_simulator(name)(create_driver(name, options)).scenes(settings, once=False)
    steps = [step for scene in scenes for step in scene.steps]
    lines = []
    for step in steps:
        lines += [CaptureLine(data, round(at * 1e6)) for at, data in step.writes()]
        if step.unplugged:
            lines.append(CaptureLine(at_us=round(step.at * 1e6), mark=Mark.LOST))
            lines.append(
                CaptureLine(at_us=round((step.at + step.unplugged) * 1e6), mark=Mark.BACK)
            )
    header = {
        "name": capture,
        "driver": name,
        "origin": f"simulated, never on a real line: seed {settings.seed}",
        **({"options": json.dumps(options)} if options else {}),
    }
    write_capture(file, header, lines)


def deal(name: str) -> None:
    file = CAPTURES / "angel-eye-ii" / f"{name}.hex"
    if file.exists():
        return
    copies, settings = SIMULATED[name]
    steps = scenario(settings).steps
    pieces = [(data, f"{at:.2f} s") for step in steps for at, data in step.writes(copies)]
    header = {
        "name": name,
        "driver": "angel-eye-ii",
        "origin": f"simulated, never on a real line: seed {settings.seed}, {settings.mode} mode",
    }
    write_hex(file, header, pieces)


def driver_of(capture: Path) -> Driver:
    """Return the driver of a capture, with the options that its head names."""
    return create_driver(capture.parent.name, load_capture(capture).options)


def observations(capture: Path) -> list[bytes]:
    found = observations_of(driver_of(capture), load_capture(capture))
    return [encode_observation(said) for said in found]


@pytest.fixture(scope="module", autouse=True)
def _captures(*, regen: bool) -> None:
    if not regen:
        return
    for name in SIMULATED:
        deal(name)
    for driver, captures in TEXT.items():
        for name in captures:
            deal_text(driver, name)
    for capture in ALL:
        expected(capture).write_bytes(b"".join(line + b"\n" for line in observations(capture)))


@pytest.mark.parametrize("capture", ALL, ids=IDS)
def test_capture(capture: Path) -> None:
    lines = expected(capture).read_bytes().splitlines()
    assert observations(capture) == lines
    moments = [decode_observation(line).at for line in lines]
    assert moments == sorted(moments)


@each_case("capture", ALL)
def test_every_capture_says_where_it_comes_from(capture: Path) -> None:
    head = capture.read_text(encoding="utf-8").splitlines()[:3]
    assert [line.split(":")[0] for line in head] == ["# name", "# driver", "# origin"]
    assert head[0] == f"# name: {capture.stem}"
    assert head[1] == f"# driver: {capture.parent.name}"


def test_all_simulated_captures_are_there() -> None:
    there = {capture.stem for capture in ALL if capture.parent.name == "angel-eye-ii"}
    assert there >= set(SIMULATED)
    for driver, captures in TEXT.items():
        assert {each.stem for each in ALL if each.parent.name == driver} >= set(captures)


def test_the_first_frame_is_number_one() -> None:
    first = observations(CAPTURES / "angel-eye-ii" / "hidden.hex")[0]
    assert decode_observation(first).at == "1970-01-01T00:00:00.001Z"


def test_frames_are_numbered_without_repeats_and_noise() -> None:
    clean, noisy = (scenario(SIMULATED["noise-open"][1]).stream(copies) for copies in (1, 3))
    driver = create_driver("angel-eye-ii")
    assert list(observations_of(driver, noisy)) == list(observations_of(driver, clean))
    assert len(frames_of(driver, noisy)) > 2 * len(frames_of(driver, clean))
