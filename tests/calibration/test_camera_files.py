"""Files that belong together are written together, or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from calibration.camera.output import check_writable, write_together
from shoe_daemon.errors import UserError


@pytest.fixture
def old(tmp_path: Path) -> Path:
    write_together({tmp_path / "a" / name: b"old" for name in ("one", "two", "three")})
    return tmp_path / "a"


def _held(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_all_files_are_written(old: Path) -> None:
    write_together({old / "one": b"new", old / "b" / "four": b"new", old / "two": None})
    assert (old / "b" / "four").read_bytes() == b"new"
    (old / "b" / "four").unlink()
    (old / "b").rmdir()
    assert _held(old) == {"one": b"new", "three": b"old"}


@pytest.mark.parametrize("room", [0, 1])
def test_a_full_disk_leaves_the_previous_files(
    old: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    synced: list[int] = []

    def fsync(file: int) -> None:
        if len(synced) == room:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        synced.append(file)

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(UserError, match="cannot be written: No space left on device"):
        write_together({old / "one": b"new", old / "two": b"new", old / "three": None})
    assert _held(old) == {"one": b"old", "two": b"old", "three": b"old"}


def test_a_file_that_cannot_be_replaced_is_reported(old: Path) -> None:
    (old / "four").mkdir()
    with pytest.raises(UserError, match="four: cannot be written: Is a directory"):
        write_together({old / "four": b"new"})
    assert not [*old.glob(".*")]


def test_the_target_of_a_link_is_replaced(old: Path) -> None:
    (old / "link").symlink_to("one")
    write_together({old / "link": b"new"})
    assert (old / "link").is_symlink()
    assert (old / "one").read_bytes() == b"new"


def test_an_impossible_path_is_reported_in_advance(old: Path) -> None:
    check_writable(old / "one")
    check_writable(old / "not yet" / "there" / "five")
    for path, said in (
        (old / "one" / "five", "one is no folder"),
        (old, "expected the name of a file"),
        (Path("/dev/null"), "expected the name of a file"),
    ):
        with pytest.raises(UserError, match=f"{path}: cannot be written: .*{said}"):
            check_writable(path)


def test_a_read_only_folder_is_reported(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(UserError, match=f"five: cannot be written: no file may come into {old}"):
        check_writable(old / "not yet" / "five")
