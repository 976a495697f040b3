"""Output of the simulated camera: a file, a stream, a profile, words."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from threading import Event

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from drivers.camera.profile.file import load_profile
from drivers.camera.recognition.table_projection import TableProjection
from drivers.camera.sources.open_source import RawSource
from drivers.simulators.camera.files import write_simulated_profile, write_video
from drivers.simulators.camera.live import RawSender, Sender, open_sender, play_live
from drivers.simulators.camera.scene import Scene
from drivers.simulators.camera.settings import Station
from drivers.simulators.camera.table_layout import PLACES
from shoe_daemon.cli import main
from shoe_daemon.cli.simulate import command
from shoe_daemon.errors import UserError
from tests.camera.simulated_tables import settings, table


def test_a_video_has_a_picture_for_every_line_of_truth(tmp_path: Path) -> None:
    video, truth = tmp_path / "table.avi", tmp_path / "truth.jsonl"
    scene = table(seed=2, fps=2)
    count = sum(1 for _ in write_video(scene, video, truth, Event()))
    lines = [json.loads(line) for line in truth.read_text().splitlines()]
    pictures = [line["picture"] for line in lines if "picture" in line]
    assert len(pictures) == count
    film = cv2.VideoCapture(str(video))
    shapes = []
    while (got := film.read())[0]:
        shapes.append(got[1].shape)
    film.release()
    assert shapes == [(360, 640, 3)] * count
    (dealt,) = [line["round"] for line in lines if "round" in line]
    assert dealt["coup"]["outcome"] in {"player", "banker", "tie"}
    most = max(pictures, key=lambda picture: len(picture["cards"]))
    assert {card["slot"] for card in most["cards"]} == {slot for slot, _ in dealt["cards"]}
    assert set(most["cards"][0]) == {
        "slot", "card", "quad", "face_up", "covered", "overlapped", "since",
    }  # fmt: skip


def test_a_disk_that_is_full_is_told(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="/dev/full: No space left on device"):
        list(write_video(table(seed=2, fps=2), tmp_path / "table.avi", Path("/dev/full"), Event()))


def test_a_profile_without_room_for_its_picture_is_told(tmp_path: Path) -> None:
    (tmp_path / "reference.png").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left"):
        write_simulated_profile(settings(seed=2), tmp_path)


def test_a_video_is_not_written_over_by_its_own_truth(tmp_path: Path) -> None:
    name = str(tmp_path / "table.avi")
    told = CliRunner().invoke(main, ["simulate", "camera", "--out", name, "--truth", name])
    assert told.exit_code == 2
    assert "that is --out; expected another name" in told.output


def test_only_a_socket_of_before_makes_room_for_a_new_one(tmp_path: Path) -> None:
    path = tmp_path / "eye"
    left = RawSender(path)
    RawSender(path).close()
    left.close()
    path.write_text("somebody's")
    with pytest.raises(UserError, match="eye: cannot listen there: Address already in use"):
        open_sender(f"raw:{path}")
    assert path.read_text() == "somebody's"
    for where, said in ((tmp_path, "already in use"), (tmp_path / "no" / "eye", "No such file")):
        with pytest.raises(UserError, match=f"cannot listen there: .*{said}"):
            open_sender(f"raw:{where}")


def test_a_name_that_is_no_video_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="expected a name ending in"):
        next(write_video(table(), tmp_path / "table.gif", None, Event()))
    with pytest.raises(UserError, match="no video can be written"):
        next(write_video(table(), tmp_path / "nowhere" / "table.avi", None, Event()))


@pytest.mark.parametrize("station", list(Station))
def test_the_profile_is_that_of_a_perfect_calibration(station: Station, tmp_path: Path) -> None:
    wish = settings(seed=2, station=station)
    profile = load_profile(write_simulated_profile(wish, tmp_path))
    ground, camera = TableProjection(profile), Scene(wish).camera
    points = np.array([[box.x, box.y] for box in PLACES.values()])
    if station is Station.THROAT:
        points = points / 10
    assert np.allclose(ground.to_pixels(points), camera.on_table(points), atol=0.3)
    assert len(profile.place) == (6 if station is Station.OVERHEAD else 0)


def _playing(sender: Sender) -> tuple[threading.Thread, Event]:
    stopping = Event()
    scene = table(seed=2, fps=20.0)
    thread = threading.Thread(target=lambda: list(play_live(scene, sender, stopping)), daemon=True)
    thread.start()
    return thread, stopping


def test_it_plays_live_to_a_socket(tmp_path: Path) -> None:
    sender = open_sender(f"raw:{tmp_path / 'eye'}")
    assert sender.address == f"camera:raw:{tmp_path / 'eye'}"
    thread, stopping = _playing(sender)
    source = RawSource(str(tmp_path / "eye"))
    got = [source.read() for _ in range(4)]
    stopping.set()
    thread.join(60)
    source.close()
    sender.close()
    assert all(image.shape == (360, 640, 3) for image, _ in got)
    moments = [at for _, at in got]
    assert moments == sorted(set(moments))


def test_it_plays_live_over_http() -> None:
    sender = open_sender("127.0.0.1:0")
    thread, stopping = _playing(sender)
    film = cv2.VideoCapture(sender.address.removeprefix("camera:"))
    got = [film.read() for _ in range(3)]
    film.release()
    stopping.set()
    thread.join(60)
    sender.close()
    assert all(done and image.shape == (360, 640, 3) for done, image in got)


@pytest.mark.parametrize("where", ["", "raw:", "127.0.0.1", "127.0.0.1:99999", "v4l2:/dev/video0"])
def test_an_address_that_is_none_is_refused(where: str) -> None:
    with pytest.raises(UserError, match="expected raw:PATH, or HOST:PORT"):
        open_sender(where)


def _say(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, ["camera", *words])
    return result.exit_code, str(result.exception) if result.exception else result.output


def test_the_command_films_a_round(tmp_path: Path) -> None:
    words = ["--rounds", "1", "--fps", "1", "--size", "640x480", "--seed", "2", "--pause", "0"]
    out, folder = tmp_path / "a.avi", tmp_path / "profile"
    code, said = _say("--out", str(out), "--profile", str(folder), *words)
    assert code == 0, said
    assert "shoe 1 round 1: P1:" in said
    assert "1 round; faults: none" in said
    assert out.stat().st_size > 10_000
    assert load_profile(folder / "profile.toml").camera.width == 640


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "expected either --out FILE or --live ADDRESS"),
        (["--out", "a.avi"], "--out needs an end"),
        (["--live", "x"], "--live x: expected raw:PATH"),
        (["--live", "raw:x", "--truth", "y"], "--truth: expected only with --out"),
        (["--live", "raw:x", "--fault", "rain"], "--fault rain: expected all, or one of"),
        (
            ["--station", "throat", "--live", "raw:x", "--fault", "wrong-place"],
            "--fault wrong-place: expected all, or one of",
        ),
    ],
)
def test_wrong_wishes_are_told_in_one_line(words: list[str], said: str) -> None:
    code, text = _say(*words)
    assert code != 0
    assert said in text
    assert "\n" not in text.strip()


def test_a_missing_extra_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cv2", None)
    code, text = _say("--live", "raw:x")
    assert code != 0
    assert text == "simulated cameras need cv2: pip install 'shoe-daemon[camera]'"
