"""Stored pictures are bounded by age and size, and never block the station."""

from __future__ import annotations

import os
import shutil
import stat
import threading
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest
from structlog.testing import capture_logs

from drivers.camera import evidence
from drivers.camera.evidence import Evidence
from tests.waiting import wait_for

PATCH = np.random.default_rng(1).integers(0, 255, (120, 120, 3)).astype(np.uint8)
_DAY = 86_400
_Usage = namedtuple("_Usage", "total used free")  # noqa: PYI024 - as shutil's own


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jpg"))


def there(folder: Path, number: int, size: int = 1, age: float = 0.0) -> str:
    """Create a picture of an earlier day, with an age in seconds."""
    path = folder / f"20250101-120000.{number:03}-P1-AS.jpg"
    path.write_bytes(bytes(size))
    moment = time.time() - age
    os.utime(path, (moment, moment))
    return path.name


def test_old_files_are_removed(tmp_path: Path) -> None:
    young, old = [1, 29], [31, 300]
    left = [there(tmp_path, days, age=days * _DAY) for days in young]
    for days in old:
        there(tmp_path, days, age=days * _DAY)
    kept = Evidence(tmp_path, 30, 100)
    name = kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert names(tmp_path) == sorted([*left, str(name)])


def test_old_files_are_removed_without_new_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "_CLEANUP_INTERVAL_S", 0.05)
    kept = Evidence(tmp_path, 30, 100)
    there(tmp_path, 1, age=31 * _DAY)
    wait_for(lambda: not names(tmp_path))
    kept.close(60)


def test_the_oldest_files_are_removed_first(tmp_path: Path) -> None:
    old = [there(tmp_path, number, 100_000, 100 - number) for number in range(10)]
    kept = Evidence(tmp_path, 30, 0.5)
    name = kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert names(tmp_path) == sorted([*old[6:], str(name)])


def test_the_size_limit_holds_at_any_time(tmp_path: Path) -> None:
    kept = Evidence(tmp_path, 30, 0.1)
    told = [kept.store(PATCH, f"P1-{number}") for number in range(50)]
    kept.close(60)
    assert None not in told
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100_000
    assert str(told[-1]) in names(tmp_path)


def test_files_from_the_future_are_removed_first(tmp_path: Path) -> None:
    future = [there(tmp_path, number, 50_000, -1000 * _DAY) for number in range(2)]
    kept = Evidence(tmp_path, 30, 0.105)
    name = kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert names(tmp_path) == sorted([future[1], str(name)])


def test_other_files_are_not_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.jpg").write_bytes(bytes(2_000_000))
    os.utime(tmp_path / "mine.jpg", (1, 1))
    (tmp_path / "20250101-120000.000-P1-AS.jpg").mkdir()
    kept = Evidence(tmp_path, 30, 0.1)
    name = kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert names(tmp_path) == sorted(["mine.jpg", "20250101-120000.000-P1-AS.jpg", str(name)])


def test_files_are_not_world_readable(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        kept = Evidence(tmp_path / "evidence", 30, 100)
        name = kept.store(PATCH, "P1-AS")
        kept.close(60)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "evidence").stat().st_mode) == 0o750
    assert stat.S_IMODE((tmp_path / "evidence" / str(name)).stat().st_mode) == 0o640


def test_two_pictures_at_once_have_two_names(tmp_path: Path) -> None:
    kept = Evidence(tmp_path, 30, 100)
    told = [kept.store(PATCH, "shoe-unread") for _ in range(5)]
    kept.close(60)
    assert len(set(told)) == 5
    assert names(tmp_path) == sorted(map(str, told))


def test_a_picture_that_cannot_be_encoded_does_not_stop_the_thread(tmp_path: Path) -> None:
    kept = Evidence(tmp_path, 30, 100)
    with capture_logs() as logs:
        kept.store(np.zeros((0, 0, 3), np.uint8), "P1-AS")
        name = kept.store(PATCH, "P2-AS")
        kept.close(60)
    assert names(tmp_path) == [name]
    assert kept.lost == 1
    assert [log["event"] for log in logs] == ["evidence_write_failed"]


def test_a_failed_write_leaves_no_partial_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "rename", _full)
    kept = Evidence(tmp_path, 30, 100)
    kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert list(tmp_path.iterdir()) == []
    assert kept.lost == 1


def test_a_partial_file_of_a_power_failure_is_removed(tmp_path: Path) -> None:
    half = tmp_path / ".20250101-120000.000-P1-AS.jpg"
    half.write_bytes(b"half")
    os.utime(half, (time.time() - 3600,) * 2)
    kept = Evidence(tmp_path, 30, 100)
    name = kept.store(PATCH, "P1-AS")
    kept.close(60)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_disk_space_is_left_to_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there(tmp_path, 1, 5000)
    free = [10_000_000]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**9, 0, free[0]))
    kept = Evidence(tmp_path, 30, 100)
    with capture_logs() as logs:
        kept.store(PATCH, "P1-AS")
        wait_for(lambda: kept.lost == 1)
        assert names(tmp_path) == []
        free[0] = 10**9
        name = kept.store(PATCH, "P2-AS")
        kept.close(60)
    assert names(tmp_path) == [name]
    assert [log["event"] for log in logs] == ["evidence_write_failed"]
    assert "MB" in logs[0]["reason"]


def _full(*_: object) -> Path:
    raise OSError(28, "No space left on device")


def test_a_read_only_folder_costs_pictures_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = Evidence(tmp_path / "file" / "below", 30, 100)
    assert kept.store(PATCH, "P1-AS") is not None
    kept.close(60)
    assert kept.lost == 1


def test_a_hanging_disk_leaves_no_thread_once_it_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = threading.Event()
    monkeypatch.setattr(evidence.Evidence, "_write", lambda *_: hanging.wait(60))
    before = set(threading.enumerate())
    kept = Evidence(tmp_path, 30, 100)
    (writer,) = set(threading.enumerate()) - before
    while kept.store(PATCH, "P1-AS") is not None:
        pass
    kept.close(0)
    assert writer.is_alive()
    hanging.set()
    wait_for(lambda: not writer.is_alive())
