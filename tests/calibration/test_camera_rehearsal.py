"""
A calibration can be rehearsed: recorded with its script and calibrated from that by the real
commands, or live with typed commands.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from queue import Queue

import numpy as np
import pytest
from click.testing import CliRunner, Result

from calibration.camera import rehearsal
from calibration.camera.frame_source import open_frames
from calibration.camera.markers import find_markers
from calibration.camera.plane import plane_from_markers, projection_of
from calibration.camera.rehearsal import (
    layout_position,
    play_live,
    record_video,
)
from calibration.camera.simulated_table import COMMAND_FORMS, SimulatedTable, TableState
from calibration.terminal import Terminal
from drivers.camera.profile.file import load_profile
from drivers.camera.profile.sections import Camera
from drivers.camera.sources.address import parse_source
from drivers.simulators.camera.settings import Settings
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.cli.calibrate import command
from shoe_daemon.cli.terminal import wrap_lines
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import RANKS, Card
from shoe_daemon.game.coup import Slot
from tests.volume import sample, volume


@lru_cache(maxsize=1)
def shared_table() -> SimulatedTable:
    return SimulatedTable(Settings(seed=7, fps=10.0))


@pytest.fixture
def table() -> SimulatedTable:
    table = shared_table()
    table.state = TableState()
    return table


def run(*words: str) -> Result:
    return CliRunner().invoke(command, words, catch_exceptions=False)


@pytest.mark.parametrize("station", sample(["throat", "overhead"], 2))
def test_a_recorded_rehearsal_is_calibrated_by_its_script(
    tmp_path: Path, station: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rehearsal, "RANKS", ranks := sample(RANKS, 3))
    monkeypatch.setattr(rehearsal, "_SAMPLE_CARDS", volume(2, 6))
    video, profile = tmp_path / "night.avi", tmp_path / "p.toml"
    filmed = run("rehearse", "--out", str(video), "--station", station, "--fps", "4")
    assert filmed.exit_code == 0, filmed.output
    words = ["--source", f"file:{video}", "--script", str(video.with_suffix(".toml"))]
    made = run("camera", "--station", station, *words, "--out", str(profile))
    faults = [line for line in made.output.splitlines() if "to put right" in line]
    if len(ranks) == len(RANKS):
        assert (made.exit_code, faults) == (0, []), made.output
    else:
        assert made.exit_code == 1, made.output
        assert len(faults) == 1
        assert "to put right: not shown: 2, 3, 5" in faults[0]
    empty = {"overhead": "empty table", "throat": "empty throat"}[station]
    assert f"{empty}: sharpness" in made.output
    assert "two markers" not in made.output, "at the mouth one card's corners are enough"
    assert load_profile(profile).station == station
    words = ["--check", "--profile", str(profile), "--source", f"file:{video}", "--at", "2.5"]
    checked = run("camera", *words)
    assert checked.exit_code == 0, checked.output
    assert "as it was calibrated" in checked.output


def test_a_script_that_cannot_be_written_is_reported(
    table: SimulatedTable, tmp_path: Path
) -> None:
    (tmp_path / "night.toml").mkdir()
    with pytest.raises(
        UserError, match=r"night\.toml: cannot be written: expected the name of a file"
    ):
        record_video(table, tmp_path / "night.avi")


def test_a_video_of_another_format_is_not_overwritten(
    table: SimulatedTable, tmp_path: Path
) -> None:
    path = tmp_path / "holidays.mp4"
    path.write_bytes(b"a film of somebody's")
    with pytest.raises(UserError, match=r"expected a name ending in \.avi"):
        record_video(table, path)
    assert path.read_bytes() == b"a film of somebody's"


def test_the_recorded_script_has_the_exact_layout(table: SimulatedTable) -> None:
    table.execute("markers")
    plane = plane_from_markers(find_markers(table.picture()), table.state.side, (1280, 720))
    ground = projection_of(plane.moved(*layout_position(table)))
    points = np.array([[box.x, box.y] for box in PLACES.values()])
    off = ground.to_table(table.camera.on_table(points)) - points
    assert np.abs(off).max() < 0.5


def test_typed_commands_are_executed(table: SimulatedTable) -> None:
    for line in ("empty", "lay P1 AS", "lay b3 back", "push 5 0", "light 0.5", "deck 1"):
        table.execute(line)
    night = table.state
    assert (night.pushed, night.light, night.deck) == ((5.0, 0.0, 0.0), 0.5, 1)
    assert night.cards[Slot.P1].card == Card("AS")
    assert night.cards[Slot.B3].card is None
    for line in ("nonsense", "lay P1", "lay P9 AS", "push", "blur much", ""):
        with pytest.raises(UserError, match="expected markers"):
            table.execute(line)


def test_commands_are_played_live(table: SimulatedTable, tmp_path: Path) -> None:
    path, lines, said = tmp_path / "eye", Queue[str](), list[str]()
    opened, stopping = Queue[str](), threading.Event()

    def typed() -> Iterator[str]:
        while line := lines.get():
            yield line

    playing = threading.Thread(
        target=play_live,
        args=(table, f"raw:{path}", Terminal(said.append, typed()), stopping),
        kwargs={"opened": opened.put},
        daemon=True,
    )
    playing.start()
    try:
        assert opened.get(timeout=60) == f"camera:raw:{path}"
        pictures = open_frames(parse_source(f"raw:{path}"), Camera(width=1280, height=720))
        lines.put("markers")
        for _ in range(600):
            if len(find_markers(pictures.take(1)[0])) == 5:
                break
        else:
            pytest.fail("no markers came")
        lines.put("dance")
        while not any("expected markers" in line for line in said):
            pictures.take(1)
        pictures.close()
    finally:
        lines.put("")
        playing.join(60)
    assert not playing.is_alive()


def test_a_live_rehearsal_prints_its_commands(tmp_path: Path) -> None:
    path = tmp_path / "eye"
    done = run("rehearse", "--live", f"raw:{path}", "--station", "throat")
    assert done.exit_code == 0
    head, command = "shoe-daemon calibrate camera --station throat", f"--source raw:{path}"
    port, *_, typed, here = done.output.splitlines()
    assert port == f"port: camera:raw:{path}"
    assert typed == f"{head} {command} --out rehearsed.toml"
    assert here == f"type here what is done at the table: {COMMAND_FORMS}"


def test_long_lines_are_wrapped_for_a_terminal() -> None:
    told = wrap_lines("    plane: " + "so many words " * 12 + "\n\n/a/path/" + "x" * 90, 80)
    first, *others, empty, path = told.splitlines()
    assert first.startswith("    plane: ")
    assert all(line.startswith("        ") for line in others)
    assert max(map(len, (first, *others))) < 80
    assert (empty, len(path)) == ("", 98)
