"""
A witness: a clip around every dispute, from some seconds before it to its decision, with its hash
in the journal; what it could not record it says.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections import namedtuple
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from drivers import ClipWriter, Image, Picture, encode_picture
from shoe_daemon.witness import thread
from shoe_daemon.witness.span import Cause
from tests.volume import sample
from tests.waiting import PATIENCE
from tests.witness.scripted_camera import (
    CLOSED,
    HEIGHT,
    SETTINGS,
    START,
    WIDTH,
    ScriptedCamera,
    shade_of,
    shades,
)

_Usage = namedtuple("_Usage", "total used free")  # noqa: PYI024 - as shutil's own


def seconds(statement: dict[str, Any]) -> tuple[float, float]:
    """The span of a clip, in seconds since the start."""
    begin, end = (datetime.fromisoformat(statement[key]) - START for key in ("begin", "end"))
    return begin.total_seconds(), end.total_seconds()


def clips(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob("*.webm"))


def test_a_clip_shows_each_moment_from_before_the_cause_until_after_the_decision(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "new" / "folder"
    camera = ScriptedCamera(folder)
    camera.at(30, CLOSED, undecided=True)
    camera.at(45)
    (clip,) = camera.run(60)
    begin, end = seconds(clip)
    assert begin == pytest.approx(30 - SETTINGS.before, abs=1)
    assert end == pytest.approx(45 + SETTINGS.after, abs=1)
    assert clip["say"] == "clip"
    assert clip["causes"] == [{"kind": "missing_draw", "seq": 17, "shoe": 1, "round": 4}]
    assert "cut" not in clip
    assert "blind_s" not in clip
    path = folder / clip["file"]
    content = path.read_bytes()
    assert clip["sha256"] == hashlib.sha256(content).hexdigest()
    assert clip["bytes"] == len(content)
    assert clip["file"].startswith("20261123-210020.")
    assert clip["file"].endswith(f"s-{clip['sha256'][:16]}.webm")
    assert path.stat().st_mode & 0o777 == 0o640
    assert_each_moment(path, begin, end)


def assert_each_moment(path: Path, begin: float, end: float) -> None:
    """A clip shows each moment once and in order."""
    seen = shades(path)
    wanted = [shade_of(begin + number / 2) for number in range(len(seen))]
    assert len(seen) == round((end - begin) * 2) + 1
    assert max(abs(was - is_) for was, is_ in zip(wanted, seen, strict=True)) <= 5


def test_causes_of_one_dispute_share_a_clip(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path)
    held = Cause("round_held", 19, 1, 4)
    camera.at(20, CLOSED, undecided=True)
    camera.at(24, held, CLOSED, undecided=True)
    camera.at(26)
    (clip,) = camera.run(60)
    assert [each["seq"] for each in clip["causes"]] == [17, 19]


def test_disputes_far_apart_have_a_clip_each(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path)
    for second in (20, 60, 100):
        camera.at(second, Cause("card_corrected", second))
    found = camera.run(120)
    assert [each["causes"][0]["seq"] for each in found] == [20, 60, 100]
    assert clips(tmp_path) == [each["file"] for each in found]


@pytest.mark.parametrize(
    ("stops_at", "length", "why"),
    [
        (300, SETTINGS.before + SETTINGS.longest, "no decision yet"),
        (22, SETTINGS.before + 2, "the daemon stopped"),
    ],
)
def test_a_clip_without_a_decision_ends_and_says_so(
    tmp_path: Path, stops_at: float, length: float, why: str
) -> None:
    camera = ScriptedCamera(tmp_path)
    camera.at(20, CLOSED, undecided=True)
    (clip,) = camera.run(stops_at)
    begin, end = seconds(clip)
    assert end - begin == pytest.approx(length, abs=2)
    assert clip["cut"] == why
    assert clips(tmp_path) == [clip["file"]]


def test_a_camera_that_is_lost_leaves_grey_seconds_in_the_clip(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path, gone=lambda second: 20 < second < 26)
    camera.at(18, CLOSED, undecided=True)
    camera.at(30)
    (clip,) = camera.run(60)
    assert 3 <= clip["blind_s"] <= 16
    begin, _ = seconds(clip)
    seen = shades(tmp_path / clip["file"])
    wrong = [abs(shade - shade_of(begin + each / 2)) > 5 for each, shade in enumerate(seen)]
    assert abs(sum(wrong) - clip["blind_s"] * 2) <= 1  # the encoder blurs the borders


def test_a_camera_that_opens_slowly_leaves_no_gap_in_time(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path, gone=lambda second: 20 < second < 21, opens_after_s=12)
    camera.at(18, CLOSED, undecided=True)
    camera.at(50)
    (clip,) = camera.run(80)
    begin, end = seconds(clip)
    assert len(shades(tmp_path / clip["file"])) == round((end - begin) * 2) + 1
    assert clip["blind_s"] == pytest.approx(13, abs=3)


def slowed(monkeypatch: pytest.MonkeyPatch, camera: ScriptedCamera, cost_s: float) -> None:
    """Let the encoding of each picture take some time."""
    add = ClipWriter.add

    def slowly(writer: ClipWriter, picture: Picture) -> None:
        camera.now += cost_s
        add(writer, picture)

    monkeypatch.setattr(ClipWriter, "add", slowly)


@pytest.mark.parametrize("cost_s", sample([0.45, 0.3, 0.1], 3))
def test_a_slow_encoder_loses_no_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cost_s: float
) -> None:
    camera = ScriptedCamera(tmp_path)
    slowed(monkeypatch, camera, cost_s)
    camera.at(30, CLOSED, undecided=True)
    camera.at(60)
    (clip,) = camera.run(200)
    begin, end = seconds(clip)
    assert "blind_s" not in clip
    assert "cut" not in clip
    assert (begin, end) == pytest.approx((20, 63), abs=1.1)
    assert_each_moment(tmp_path / clip["file"], begin, end)


@pytest.mark.parametrize("stops_at", [38, 300])
def test_a_dispute_while_the_last_clip_is_still_encoded_has_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops_at: float
) -> None:
    """Also where the witness stops meanwhile."""
    camera = ScriptedCamera(tmp_path)
    slowed(monkeypatch, camera, 0.45)
    camera.at(30, CLOSED)
    camera.at(36, replace(CLOSED, seq=18), undecided=stops_at < 300)
    first, second = camera.run(stops_at)
    assert [each["say"] for each in (first, second)] == ["clip", "clip"]
    assert [each["seq"] for each in first["causes"]] == [17]
    assert [each["seq"] for each in second["causes"]] == [18]
    assert seconds(second)[0] < 36
    assert stops_at < 300 or seconds(second)[1] > 36


def test_an_encoder_that_is_too_slow_cuts_the_clip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread, "MAX_RING_BYTES", 60_000)
    camera = ScriptedCamera(tmp_path)
    slowed(monkeypatch, camera, 3)
    camera.at(20, CLOSED, undecided=True)
    camera.at(100)
    (clip,) = camera.run(120)
    assert clip["say"] == "clip"
    assert clip["cut"] == "the processor is too slow: expected a lower fps or width"


def test_a_slow_computer_that_stops_keeps_what_it_can_encode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    camera = ScriptedCamera(tmp_path)
    slowed(monkeypatch, camera, 0.6)
    camera.at(20, CLOSED, undecided=True)
    stopped_at: list[float] = []
    camera.call(24, lambda: stopped_at.append(camera.now))
    (clip,) = camera.run(24)
    assert clip["cut"] == "the daemon stopped"
    assert 4 <= len(shades(tmp_path / clip["file"])) <= 16
    assert camera.now - stopped_at[0] < 6


def test_a_thread_that_does_not_end_leaves_no_dispute_unsaid(tmp_path: Path) -> None:
    waits, goes_on = threading.Event(), threading.Event()

    def hang() -> None:
        waits.set()
        goes_on.wait(PATIENCE)

    camera = ScriptedCamera(tmp_path)
    camera.at(20, CLOSED, undecided=True)
    camera.call(30, hang)
    camera.witness.start()
    waits.wait(PATIENCE)
    later = Cause("excess_card", 20, 1, 5)
    camera.witness.follow([later], undecided=True)
    camera.witness.stop()
    camera.witness.join(0)
    (statement,) = camera.statements
    goes_on.set()
    camera.witness.join(PATIENCE)
    assert (statement["say"], [each["seq"] for each in statement["causes"]]) == (
        "no_clip",
        [17, 20],
    )
    assert statement["cut"] == "the daemon stopped, and the processor was busy"


def test_clips_that_begin_with_the_same_picture_are_two_files(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path, replace(SETTINGS, after=0))
    camera.records = False
    for second in (4, 6, 8):  # within the seconds before
        camera.at(second, Cause("card_corrected", second))
    found = camera.run(20)
    assert len(found) == 3
    hidden = {hashlib.sha256(each.read_bytes()).hexdigest() for each in tmp_path.glob(".*.webm")}
    assert hidden == {each["sha256"] for each in found}


def test_a_clip_has_its_name_when_the_journal_has_its_line(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path)
    camera.records = False
    camera.at(20, CLOSED)
    (clip,) = camera.run(40)
    assert not (tmp_path / clip["file"]).exists()
    assert len(list(tmp_path.glob(".*.webm"))) == 1
    # The daemon was killed before the line was durable: the next one says it again.
    (again,) = ScriptedCamera(tmp_path).run(1)
    assert again["sha256"] == clip["sha256"]
    assert clips(tmp_path) == [again["file"]]


def test_each_cause_is_in_a_clip_or_said_to_be_in_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    camera = ScriptedCamera(tmp_path)
    free = {"bytes": 10**9}
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Usage(10**9, 0, free["bytes"]))
    camera.at(20, CLOSED, undecided=True)
    camera.call(35, lambda: free.update(bytes=0))
    camera.at(45, replace(CLOSED, seq=18), undecided=True)
    camera.call(55, lambda: free.update(bytes=10**9))
    camera.at(58, replace(CLOSED, seq=19), undecided=True)
    camera.at(60)
    found = camera.run(90)
    said = {each["seq"]: one["say"] for one in found for each in one["causes"]}
    assert said == {17: "clip", 18: "clip", 19: "clip"}
    assert [len(each["causes"]) for each in found] == [1, 2]
    assert "which the journal needs" in found[0]["cut"]


@pytest.mark.parametrize(("step", "after"), [("add", 3), ("finish", 3), ("finish", 0)])
def test_a_disk_or_an_encoder_that_fails_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, after: float
) -> None:
    def fails(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(ClipWriter, step, fails)
    camera = ScriptedCamera(tmp_path, replace(SETTINGS, after=after))
    camera.at(20, CLOSED)
    (none,) = camera.run(60)
    assert (none["say"], none["cut"]) == ("no_clip", "Input/output error")
    assert clips(tmp_path) == []


def test_strange_files_do_not_stop_a_witness(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".20261123-210000.000-pit.webm")
    (tmp_path / ".20261123-210000.001-pit.webm").symlink_to("/dev/zero")
    (tmp_path / ".20261123-210000.002-pit.webm").write_bytes(b"")
    (tmp_path / ".20261123-210000.003-pit.webm").write_bytes(b"no video")
    (tmp_path / ".20261399-210000.003-pit.webm").write_bytes(b"no day")
    camera = ScriptedCamera(tmp_path)
    camera.at(20, CLOSED)
    (clip,) = camera.run(40)
    assert clip["say"] == "clip"


def test_without_a_picture_there_is_no_clip_and_the_journal_says_so(tmp_path: Path) -> None:
    camera = ScriptedCamera(tmp_path, gone=lambda second: second < 100)
    camera.at(20, CLOSED)
    camera.at(150, replace(CLOSED, seq=18))
    alerts: list[str | None] = []
    camera.call(19, lambda: alerts.append(camera.witness.alert))
    camera.call(149, lambda: alerts.append(camera.witness.alert))
    none, clip = camera.run(170)
    assert none["say"] == "no_clip"
    assert none["causes"][0]["seq"] == 17
    assert "no stream comes from there" in none["cut"]
    assert clip["say"] == "clip"
    assert alerts == ["witness pit: rtsp://camera/1: no stream comes from there", None]


def test_a_full_disk_costs_the_clip_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = {"bytes": 1_000_000}
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: _Usage(10**9, 0, free["bytes"]))
    camera = ScriptedCamera(tmp_path)
    camera.at(20, CLOSED)
    camera.call(50, lambda: free.update(bytes=10**9))
    camera.at(60, replace(CLOSED, seq=18))
    none, clip = camera.run(90)
    assert (none["say"], none["causes"][0]["seq"]) == ("no_clip", 17)
    assert "which the journal needs" in none["cut"]
    assert (clip["say"], clip["causes"][0]["seq"]) == ("clip", 18)
    assert camera.witness.alert is None


def test_any_other_fault_does_not_end_the_thread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, broken = encode_picture, [True]

    def fails(image: Image, width: int) -> bytes:
        if broken and broken.pop():
            raise ZeroDivisionError
        return real(image, width)

    monkeypatch.setattr(thread, "encode_picture", fails)
    camera = ScriptedCamera(tmp_path)
    camera.at(20, CLOSED)
    assert [each["say"] for each in camera.run(60)] == ["clip"]


def test_an_unfinished_clip_is_named_at_the_next_start(tmp_path: Path) -> None:
    killed = ScriptedCamera(tmp_path / "killed")
    killed.at(20, CLOSED, undecided=True)
    half: list[bytes] = []

    def copy() -> None:
        (path,) = (tmp_path / "killed").glob(".*.webm")
        half.append(path.read_bytes())
        (tmp_path / path.name).write_bytes(half[0][:-100])
        moment = (START + timedelta(seconds=29)).timestamp()
        os.utime(tmp_path / path.name, (moment, moment))

    killed.call(29, copy)
    killed.run(40)
    (clip,) = ScriptedCamera(tmp_path).run(1)
    assert clip["cut"] == "the daemon ended while it was written"
    assert "causes" not in clip
    assert seconds(clip)[1] == 29
    assert clips(tmp_path) == [clip["file"]]
    assert len(shades(tmp_path / clip["file"])) > 20


def test_a_clip_waits_for_its_line_however_old_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(thread, "_CLEANUP_INTERVAL_S", 5)
    camera = ScriptedCamera(tmp_path)
    camera.records = False
    camera.at(20, CLOSED)
    (clip,) = camera.run(40)
    (half,) = tmp_path.glob(".*.webm")
    moment = half.stat().st_mtime - 3600  # the computer was off for an hour
    os.utime(half, (moment, moment))
    again = ScriptedCamera(tmp_path)
    again.records = False  # the journal is slow
    again.call(20, lambda: again.witness.recorded(again.lines[0]))
    again.run(40)
    (name,) = clips(tmp_path)
    assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == clip["sha256"]


def test_what_the_journal_cannot_take_yet_waits(tmp_path: Path) -> None:
    full = [True]
    camera = ScriptedCamera(tmp_path, full=lambda: full[0])
    camera.at(20, CLOSED)
    camera.call(50, full.clear)
    camera.call(50, lambda: full.append(False))
    assert len(camera.run(60)) == 1


def test_the_folder_stays_within_its_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thread, "_CLEANUP_INTERVAL_S", 5)
    settings = replace(SETTINGS, before=1, after=1, megabytes=0.02)
    camera = ScriptedCamera(tmp_path, settings)
    other = tmp_path / "20260101-120000.000-other-8s-0123456789abcdef.webm"
    other.write_bytes(b"of another witness")
    largest = 0

    def measure() -> None:
        nonlocal largest
        own = [each for each in tmp_path.glob("*.webm") if each != other]
        largest = max(largest, sum(each.stat().st_size for each in own))

    for second in range(10, 90, 8):
        camera.at(second, Cause("card_corrected", second))
        camera.call(second + 7, measure)
    assert len(camera.run(100)) == 10
    assert 5_000 < largest < 25_000
    assert other.exists()


def test_old_clips_are_removed(tmp_path: Path) -> None:
    old = tmp_path / "20200101-120000.000-pit-8s-0123456789abcdef.webm"
    old.write_bytes(b"old")
    os.utime(old, (1, 1))
    ScriptedCamera(tmp_path).run(5)
    assert clips(tmp_path) == []


def test_a_picture_of_another_size_fits_the_clip(tmp_path: Path) -> None:
    writer = ClipWriter(tmp_path, "pit", "hall.table-7", 5, (WIDTH, HEIGHT), START)
    for width in (WIDTH, 64, 1920):
        frame = encode_picture(_grey(width), 960)
        writer.add(Picture(START, frame))
    writer.add(Picture(START, b"\xff\xd8 torn"))
    clip = writer.finish()
    assert len(shades(clip.path)) == 4
    assert clip.blind_s == pytest.approx(0.2)


def _grey(width: int) -> Image:
    return np.full((width // 2, width, 3), 128, np.uint8)
