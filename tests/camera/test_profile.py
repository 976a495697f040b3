"""
A profile is strict: what is wrong with it is said in one line, with its key.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from drivers.camera.profile import Lens, Throat, load_profile, write_profile
from shoe_daemon.errors import UserError
from shoe_daemon.game.round import Slot
from tests.camera import scenes

WRONG = {
    "version = 1": ("version = 2", r"version: 2; expected 1: calibrate this camera again"),
    'station = "overhead"': ('station = "above"', r"station: 'above'; expected one of overhead"),
    "width = 1280": ('width = "1280"', r"camera\.width: '1280'; expected a whole number"),
    "height = 720": ("height = 720\nlens = 3", r"camera\.lens: unknown key; expected one of"),
    'slot = "B3"': ('slot = "B4"', r"place\.5\.slot: 'B4'; expected one of P1"),
    'reference = "empty.png"': ('reference = "none.png"', r"table\.reference: 'none\.png'; expe"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return scenes.profile(tmp_path)


def test_it_is_read_as_it_was_written(path: Path) -> None:
    profile = load_profile(path)
    assert [place.slot for place in profile.place] == [Slot(slot) for slot in scenes.CENTRES]
    again = path.with_name("again.toml")
    write_profile(profile, again)
    assert load_profile(again) == profile


def test_sections_that_may_be_there_are_kept(path: Path) -> None:
    import msgspec

    profile = msgspec.structs.replace(
        load_profile(path),
        station="throat",
        throat=Throat(window=((0, 0), (90, 0), (90, 60)), direction=(0, 1), turn=90),
        lens=Lens(matrix=((900, 0, 640), (0, 900, 360), (0, 0, 1)), distortion=(0.1, 0, 0, 0)),
        extra={"check": {"sharp": 1.5, "names": ["a", "b"]}},
    )
    write_profile(profile, path)
    assert load_profile(path) == profile


@pytest.mark.parametrize("right", WRONG)
def test_a_mistake_is_one_line_with_its_key(path: Path, right: str) -> None:
    wrong, told = WRONG[right]
    text = path.read_text()
    assert right in text
    path.write_text(text.replace(right, wrong))
    with pytest.raises(UserError, match=told) as caught:
        load_profile(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(path))


def test_a_slot_without_a_place_is_told(path: Path) -> None:
    text = path.read_text().replace('slot = "B3"', 'slot = "P3"')
    path.write_text(text)
    with pytest.raises(UserError, match="place: none for B3; expected one for every slot"):
        load_profile(path)


def test_a_place_outside_the_picture_is_told(path: Path) -> None:
    first = path.read_text().split("polygon = [[")[1].split("]")[0]
    path.write_text(path.read_text().replace(f"[[{first}]", "[[9000.0, 100.0]", 1))
    with pytest.raises(UserError, match=r"place 1: polygon: .* lies outside the picture"):
        load_profile(path)


def test_a_file_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml: cannot be read: No such file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "no.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"expected a camera's profile in TOML"):
        load_profile(tmp_path / "no.toml")
