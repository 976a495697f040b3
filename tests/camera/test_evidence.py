"""
Pictures of what was read are bounded by age and room, and hold up nobody.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from drivers.camera import evidence
from drivers.camera.evidence import Evidence

PATCH = np.random.default_rng(1).integers(0, 255, (120, 120, 3)).astype(np.uint8)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.jpg"))


def test_a_picture_has_moment_and_card_in_its_name(tmp_path: Path) -> None:
    kept = Evidence(tmp_path / "new" / "folder", 30, 100)
    name = kept.keep(PATCH, "P1-AS")
    kept.close()
    assert name is not None
    assert names(tmp_path / "new" / "folder") == [name]
    assert name.endswith("-P1-AS.jpg")


def test_what_is_old_goes(tmp_path: Path) -> None:
    for days in (1, 29, 31, 300):
        path = tmp_path / f"{days}.jpg"
        path.write_bytes(b"x")
        moment = time.time() - days * 86_400
        os.utime(path, (moment, moment))
    kept = Evidence(tmp_path, 30, 100)
    name = kept.keep(PATCH, "P1-AS")
    kept.close()
    assert names(tmp_path) == sorted(["1.jpg", "29.jpg", str(name)])


def test_what_is_too_much_goes_oldest_first(tmp_path: Path) -> None:
    for number in range(10):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(bytes(100_000))
        os.utime(path, (time.time() - 100 + number,) * 2)
    kept = Evidence(tmp_path, 30, 0.5)
    name = kept.keep(PATCH, "P1-AS")
    kept.close()
    assert names(tmp_path) == sorted(["6.jpg", "7.jpg", "8.jpg", "9.jpg", str(name)])


def test_a_folder_that_cannot_be_written_costs_pictures_only(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    kept = Evidence(tmp_path / "file" / "below", 30, 100)
    assert kept.keep(PATCH, "P1-AS") is not None
    kept.close()
    assert kept.lost == 1


def test_a_slow_disk_holds_up_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = threading.Event()
    monkeypatch.setattr(evidence.Evidence, "_write", lambda *_: slow.wait(60))
    kept = Evidence(tmp_path, 30, 100)
    told = [kept.keep(PATCH, f"P1-{number}") for number in range(200)]
    assert None in told
    assert kept.lost >= 100
    slow.set()
    kept.close()
