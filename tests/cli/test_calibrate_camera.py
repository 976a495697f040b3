"""
`calibrate camera` and `print-markers`: from a recording and a script to profile, report and check.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner, Result

from calibration.camera import report
from calibration.camera.markers import find_markers
from drivers.camera.image import Image
from drivers.camera.profile.file import load_profile
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.browser.chrome import browse, watch
from tests.calibration.simulated_scene import SHEETS, SIDE, seen
from tests.volume import sample
from tests.waiting import PATIENCE

FPS = 10


def calling(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["calibrate", *map(str, arguments)])


def recorded(folder: Path, *pictures: Image) -> Path:
    """Record pictures, each for one second."""
    folder.mkdir()
    for number, picture in enumerate(pictures):
        first = folder / f"{number:02}-00.bmp"
        cv2.imwrite(str(first), picture)
        for more in range(1, FPS):
            os.link(first, folder / f"{number:02}-{more:02}.bmp")
    return folder


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("calibrated")
    card = seen({Slot.P1: Card("AS")})
    recording = recorded(folder / "recording", seen(sheets=SHEETS), seen(), card)
    script = folder / "answers.toml"
    script.write_text(
        f"[plane]\nat = 0.0\nsize = {SIDE}\n[empty]\nat = 1.0\npictures = 8\n"
        '[layout]\npreset = "six"\nturn = -0.7\n'
        '[[card]]\nat = 2.0\ncard = "AS"\nslot = "P1"\n'
        '[[sample]]\nat = 2.5\ncard = "AS"\nslot = "P1"\n'
    )
    out = folder / "profile.toml"
    source = f"folder:{recording}"
    done = calling("camera", "--source", source, "--mode", f"1280x720@{FPS}", "--script", script,
                   "--out", out)  # fmt: skip
    assert done.exit_code == 1, done.output
    assert "to put right: not shown: 2, 3, 4" in done.output
    assert "plane: 5 markers: at most 0." in done.output
    return out


def test_a_recording_gives_a_profile_and_a_report(profile: Path) -> None:
    made = load_profile(profile)
    assert made.camera.width == 1280
    assert made.camera.source is None
    assert profile.with_name("profile-report.html").stat().st_size > 50_000
    assert profile.with_name("profile-cards").is_dir()


def test_a_report_that_cannot_be_written_costs_neither_profile_nor_findings(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> str:
        raise UserError("report.html: cannot be written")

    monkeypatch.setattr(report, "render_report", full)
    recording, script = profile.parent / "recording", profile.parent / "answers.toml"
    done = calling("camera", "--source", f"folder:{recording}", "--mode", f"1280x720@{FPS}",
                   "--script", script, "--out", tmp_path / "p.toml")  # fmt: skip
    assert done.exit_code == 2
    assert "to put right: not shown: 2, 3, 4" in done.output
    assert done.output.endswith(": the profile\nshoe-daemon: report.html: cannot be written\n")
    assert load_profile(tmp_path / "p.toml").camera.width == 1280


def test_the_check_says_what_moved_and_ends_with_status_1(profile: Path, tmp_path: Path) -> None:
    pushed = recorded(tmp_path / "pushed", seen(pushed=(0.0, 5.0, 0.0)))
    done = calling("camera", "--check", "--profile", profile, "--source", f"folder:{pushed}")
    assert done.exit_code == 1
    assert re.search(r"moved: the table lies 5\.\d mm up", done.output)
    assert "NOT as it was calibrated" in done.output


def test_the_check_of_an_unchanged_camera_passes(profile: Path, tmp_path: Path) -> None:
    same = recorded(tmp_path / "same", seen({Slot.B2: Card("AH")}))
    done = calling(
        "camera", "--check", "--profile", profile, "--source", f"folder:{same}", "--json"
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["passed"] is True
    assert [each["kind"] for each in told["findings"]] == ["note"]
    assert "2 more cards face up" in told["findings"][0]["text"]
    assert told["deck"] == "unsure"


def test_the_last_line_of_a_check_says_how_far_the_deck_was_compared(
    profile: Path, tmp_path: Path
) -> None:
    there = recorded(tmp_path / "none", seen())
    done = calling("camera", "--check", "--profile", profile, "--source", f"folder:{there}")
    assert done.exit_code == 0, done.output
    assert done.output.endswith("as it was calibrated; the deck was not compared\n")


def test_what_cannot_be_is_said_in_one_line(profile: Path, tmp_path: Path) -> None:
    empty, tiny, far = (tmp_path / name for name in ("x", "tiny.toml", "far.toml"))
    right = profile.parent / "answers.toml"
    empty.touch()
    tiny.write_text("[plane]\nsize = 0\n")
    far.write_text("[plane]\n[layout]\nx = inf\n")
    for arguments, told in (
        (["--source", "file:/nowhere.avi", "--out", tmp_path / "p.toml"], "no such video"),
        (["--source", "file:x.avi", "--out", tmp_path / "x" / "p.toml"], "x is no folder"),
        (["--out", tmp_path / "p.toml"], "--source and --out are needed"),
        (["--check"], "--profile is missing"),
        (["--check", "--profile", tmp_path / "none.toml"], "none.toml"),
        (["--check", "--profile", profile], "names no camera; expected --source"),
        (["--source", "webcam", "--out", tmp_path / "p.toml"], "source 'webcam': expected /dev/…"),
        (["--source", "file:x.avi", "--out", "p.toml", "--layout", "nine"], "expected one of six"),
        (["--source", "file:x.avi", "--out", "p.toml", "--mode", "huge"], "expected WIDTHxHEIGHT"),
        (["--source", "file:x.avi", "--out", "p.toml", "--mode", "0x720"], "width: 0; expected a"),
        (["--source", "file:x.avi", "--out", "p.toml", "--mode", "640x480@0"], "fps: 0.0; expect"),
        (
            ["--source", "file:x.avi", "--out", "p.toml", "--mode", "640x480:ÄÖÜß"],
            "expected WIDTH",
        ),
        (["--source", "file:x.avi", "--out", ""], "--out: empty; expected the name of a file"),
        (["--source", f"file:{empty}", "--out", empty], "that is --source; expected another name"),
        (
            ["--source", "file:x.avi", "--out", empty, "--script", empty],
            "that is --script; expect",
        ),
        (["--source", "file:x.avi", "--out", empty, "--report", empty], "that is --out; expected"),
        (["--source", "file:x.avi", "--out", "p.toml", "--script", empty], "plane: missing"),
        (["--source", "file:x.avi", "--out", "p.toml", "--script", tiny], "number of more than 5"),
        (
            ["--source", "file:x.avi", "--out", "p.toml", "--script", far],
            "x: inf; expected a number",
        ),
        (
            ["--source", "/dev/video9", "--out", "p.toml", "--script", right],
            "--script with /dev/video9: nobody lays its cards before a live camera; expected a ",
        ),
    ):
        done = calling("camera", *arguments)
        assert done.exit_code == 2, arguments
        assert told in done.output
        assert done.output.count("\n") == 1


def test_a_profile_does_not_replace_the_configuration_of_a_table(tmp_path: Path) -> None:
    config = tmp_path / "table-7.toml"
    config.write_text('site = "casino"\n[table]\nid = "table-7"\n')
    done = calling("camera", "--source", "/dev/video9", "--out", config)
    assert done.exit_code == 2
    assert done.output == (
        f"shoe-daemon: --out {config}: is there, and is no camera's profile; expected another "
        "name, such as table-7-camera.toml\n"
    )
    assert "table-7" in config.read_text()


def test_a_guided_run_needs_somebody(tmp_path: Path) -> None:
    recording = recorded(tmp_path / "one", seen())
    done = calling("camera", "--source", f"folder:{recording}", "--out", tmp_path / "p.toml")
    assert done.exit_code == 2
    assert "nobody can answer" in done.output


def test_what_is_typed_and_is_no_text_ends_no_hearing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "shoe_daemon", "calibrate", "rehearse"]
    done = subprocess.run(
        [*command, "--live", f"raw:{tmp_path}/camera"],
        input=b"lay P1 \xff\nempty\n",
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.endswith(b"done: empty\n")


@pytest.mark.parametrize(
    ("paper", "size", "count"), sample([("letter", 40, 6), ("a4", 120, 5)], 2)
)
def test_markers_are_printed_at_true_size(
    tmp_path: Path, paper: str, size: int, count: int
) -> None:
    """A browser draws the sheets, and the detection of the calibration finds their markers."""
    out, options = tmp_path / "markers.html", ("--size", size, "--count", count)
    assert calling("print-markers", "--out", out, "--paper", paper, *options).exit_code == 0
    with browse() as browser, watch(browser) as watched:
        watched.page.goto(out.as_uri())
        sheets = watched.page.locator("svg").all()
        drawn = [_decoded(each.screenshot()) for each in sheets]
        ruler = watched.page.locator("path[stroke]").first.bounding_box()
        (pages,) = re.findall(rb"/Type /Pages\s+/Count (\d+)", watched.page.pdf())
        watched.assert_clean()
    assert int(pages) == len(drawn) == {120: 5, 40: 1}[size]
    wide = {"a4": 210, "letter": 215.9}[paper]
    markers = [each for sheet in drawn for each in find_markers(sheet)]
    assert [each.number for each in markers] == list(range(count))
    for each in markers:
        sides = np.linalg.norm(each.corners - np.roll(each.corners, 1, axis=0), axis=1)
        assert np.abs(sides * wide / drawn[0].shape[1] - size).max() < 0.5
    assert ruler is not None
    assert ruler["width"] * wide / drawn[0].shape[1] == pytest.approx(100, abs=1)


def _decoded(png: bytes) -> Image:
    return np.asarray(cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_COLOR), np.uint8)


def test_markers_come_as_svg_too_a_sheet_in_each_file(tmp_path: Path) -> None:
    done = calling("print-markers", "--out", tmp_path / "m.svg", "--count", 2)
    assert done.exit_code == 0
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["m-2.svg", "m.svg"]


def test_markers_that_fit_no_paper_or_form_are_refused(tmp_path: Path) -> None:
    done = calling("print-markers", "--out", tmp_path / "m.html", "--size", 220)
    assert "too large for a4; expected at most" in done.output
    done = calling("print-markers", "--out", tmp_path / "m.pdf")
    assert "expected a name ending in .html or .svg; a browser prints it" in done.output
    assert not [*tmp_path.iterdir()]
