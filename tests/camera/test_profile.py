"""A profile is validated strictly: each fault is reported in one line, with its key."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import cv2
import msgspec
import numpy as np
import pytest
from click.testing import CliRunner

from drivers.camera.profile.file import _distort, image_size, load_profile, write_profile
from drivers.camera.profile.sections import Lens, Throat
from drivers.camera.recognition.table_projection import TableProjection
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Slot
from tests.camera import overhead_scene
from tests.each_case import each_case

LENS = (
    "[lens]\nmatrix = [[900.0, 0, 640], [0, 900.0, 360], [0, 0, 1]]\ndistortion = [0.1, 0, 0, 0]\n"
)
UNSEEN = r"table\.homography: no camera can see a table so"
IMPOSSIBLE = r"lens\.matrix: impossible; expected \[\[f, 0, x\]"
WRONG = [
    ("version = 1", "version = 2", r"version: 2; expected 1: calibrate this camera again"),
    ('"overhead"', '"above"', r"station: 'above'; expected one of overhead"),
    ("width = 1280", 'width = "1280"', r"camera\.width: '1280'; expected a whole number"),
    ("height = 720", "height = 720\nlens = 3", r"camera\.lens: unknown key; expected one of"),
    ('slot = "B3"', 'slot = "B4"', r"place 6: slot: 'B4'; expected one of P1"),
    ('slot = "B3"', 'slot = "P3"', "place: none for B3; expected one for every slot"),
    ("empty.png", "none.png", r"table\.reference: 'none\.png'; expe"),
    ("empty", "long" * 99, r"table\.reference: 'long.*'; expected a pict"),
    (r"(?<=polygon = \[\[)[^\]]*", "9000.0, 1.0", "place 1: polygon: .* lies outside the picture"),
    (r"(?<=polygon = \[\[)[^,]+", "inf", r"place\.0\.polygon\.0\.0: inf; expected a number$"),
    (r"(?<=homography = \[\[)[^,]+", "nan", r"table\.homography\.0\.0: nan; expected a number$"),
    (r"900\.0(?=, 0, 640)", "-inf", r"lens\.matrix\.0\.0: -inf; expected a number$"),
    (r"0\.1(?=, 0, 0, 0)", "nan", r"lens\.distortion\.0: nan; expected a number$"),
    (r"(?<=homography = ).*", "[[1e200, 0, 0], [0, 1e200, 0], [0, 0, 1]]", UNSEEN),
    (r"(?<=homography = ).*", "[[1, 0, 0], [0, 1, 0], [1, 1, 0]]", UNSEEN),
    (r"900\.0(?=, 0, 640)", "-900.0", IMPOSSIBLE),
    (r"900\.0(?=, 0, 640)", "0.0", IMPOSSIBLE),
]
"""What is replaced in a right profile, by what, and the fault that is reported."""


@pytest.fixture
def path(profile: Path, tmp_path: Path) -> Path:
    shutil.copytree(profile.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / profile.name


def test_a_profile_is_loaded_as_written(path: Path) -> None:
    profile = load_profile(path)
    assert [place.slot for place in profile.place] == [
        Slot(slot) for slot in overhead_scene.CENTRES
    ]
    again = path.with_name("again.toml")
    write_profile(profile, again)
    assert load_profile(again) == profile


def test_an_invalid_profile_is_not_written(path: Path) -> None:
    profile, before = load_profile(path), path.read_bytes()
    wrong = msgspec.structs.replace(profile.camera, fps=0.0)
    with pytest.raises(UserError, match=r"camera\.fps: 0\.0; expected"):
        write_profile(msgspec.structs.replace(profile, camera=wrong), path)
    assert path.read_bytes() == before


def test_a_deeply_nested_profile_is_refused(path: Path) -> None:
    path.write_text(f"version = {'[' * 5000}{']' * 5000}\n")
    with pytest.raises(UserError, match="nested too deeply; expected a camera's profile"):
        load_profile(path)


def test_optional_sections_are_kept(path: Path) -> None:
    profile = msgspec.structs.replace(
        load_profile(path),
        station="throat",
        throat=Throat(window=((0, 0), (90, 0), (90, 60)), direction=(0, 1), turn=90),
        lens=Lens(matrix=((900, 0, 640), (0, 900, 360), (0, 0, 1)), distortion=(0.1, 0, 0, 0)),
        extra={"check": {"sharp": 1.5, "names": ["a", "b"]}},
    )
    write_profile(profile, path)
    assert load_profile(path) == profile


def test_a_throat_without_direction_is_reported(path: Path) -> None:
    throat = Throat(window=((0, 0), (90, 0), (90, 60)), direction=(0, 0))
    mouth = msgspec.structs.replace(load_profile(path), station="throat", throat=throat)
    with pytest.raises(UserError, match=r"^throat\.direction: \[0, 0\]; expected the way that"):
        write_profile(mouth, path)
    alone = msgspec.structs.replace(mouth, throat=None)
    with pytest.raises(UserError, match=r"^throat: missing; expected the section of a camera"):
        write_profile(alone, path)


@each_case("right, wrong, told", WRONG)
def test_a_fault_is_one_line_with_its_key(
    right: str, wrong: str, told: str, path: Path, profile: Path
) -> None:
    text = profile.read_text()
    text, count = re.subn(right, wrong, text if re.search(right, text) else text + LENS, count=1)
    assert count == 1
    path.write_text(text)
    with pytest.raises(UserError, match=told) as caught:
        load_profile(path)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


def test_a_place_outside_the_distorted_image_is_reported(path: Path) -> None:
    first = path.read_text().split("polygon = [[")[1].split("]")[0]
    path.write_text(path.read_text() + LENS)
    load_profile(path)
    path.write_text(path.read_text().replace(f"[[{first}]", "[[9000.0, 100.0]", 1))
    with pytest.raises(UserError, match=r"place 1: polygon: .* lies outside the picture"):
        load_profile(path)


@pytest.mark.parametrize(
    "bends", [(0.1, -0.02, 0.003, -0.002), (-0.3, 0.1, 0, 0, 0.02, 0.1, 0, 0)]
)
def test_the_distortion_is_that_of_opencv(bends: tuple[float, ...], path: Path) -> None:
    lens = Lens(matrix=((900, 0, 640), (0, 910, 360), (0, 0, 1)), distortion=bends)
    profile = msgspec.structs.replace(load_profile(path), lens=lens)
    flat = msgspec.structs.replace(profile, lens=None)
    points = [(0.0, 0.0), (300.0, 100.0), (650.0, 350.0)]
    found = [_distort(lens, *at) for at in TableProjection(flat).to_pixels(points)]
    assert np.allclose(found, TableProjection(profile).to_pixels(points), atol=1e-6)


@pytest.mark.parametrize("name", ["other.png", "other.jpg"])
def test_a_reference_of_another_size_is_reported(path: Path, name: str) -> None:
    cv2.imwrite(str(path.with_name(name)), np.zeros((480, 640, 3), np.uint8))
    path.write_text(path.read_text().replace("empty.png", name))
    told = rf"table\.reference: '{name}' is 640x480; expected 1280x720, as camera\.width and"
    with pytest.raises(UserError, match=told):
        load_profile(path)


def test_a_reference_may_be_png_or_jpeg(path: Path) -> None:
    cv2.imwrite(str(path.with_name("same.jpg")), np.zeros((720, 1280, 3), np.uint8))
    path.write_text(path.read_text().replace("empty.png", "same.jpg"))
    assert load_profile(path).reference.name == "same.jpg"


def test_empty_jpeg_markers_are_skipped(tmp_path: Path) -> None:
    _, drawn = cv2.imencode(".jpg", np.zeros((48, 64, 3), np.uint8))
    whole = drawn.tobytes()
    file = tmp_path / "marked.jpg"
    file.write_bytes(whole[:2] + b"\xff\x01\xff\xd0" + whole[2:])
    assert image_size(file) == (64, 48)


@pytest.mark.parametrize(
    "data", [b"", b"\xff\xd8", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a"]
)
def test_another_file_has_no_image_size(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "file"
    file.write_bytes(data)
    assert image_size(file) is None
    assert image_size(tmp_path / "none") is None


def test_check_config_reports_a_profiles_fault(path: Path) -> None:
    path.write_text(path.read_text().replace("width = 1280", "width = 1920"))
    file = path.with_name("table.toml")
    file.write_text(
        f'site = "casino"\n[journal]\npath = "{path.parent}/journal.db"\n'
        '[[reader]]\nid = "eye"\ndriver = "camera"\nport = "camera:/dev/video0"\n'
        f'[reader.options]\nprofile = "{path}"\n'
    )
    done = CliRunner().invoke(main, ["check-config", str(file)])
    assert done.exit_code == 2
    assert done.output.count("\n") == 1
    assert "'empty.png' is 1280x720; expected 1920x720" in done.output


def test_a_missing_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml: cannot be read: No such file"):
        load_profile(tmp_path / "none.toml")
    (tmp_path / "no.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"expected a camera's profile in TOML"):
        load_profile(tmp_path / "no.toml")
