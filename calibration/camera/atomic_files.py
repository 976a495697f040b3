"""Writes files that belong together, such as a profile and its images: all of them or none."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from shoe_daemon.errors import UserError, one_line

__all__ = ["check_writable", "write_together"]


def write_together(files: Mapping[Path, bytes | None]) -> None:
    """
    Write temporary files, and rename them only once all are on the disk; None deletes a file.
    Folders are created.

    Raises:
        UserError: A file cannot be written; then none was changed.
    """
    written: dict[Path, Path] = {}
    for path, data in files.items():
        if data is not None:
            try:
                _write(path, data, written)
            except OSError as error:
                _delete(written.values())
                raise _write_error(path, error) from error
    for path, data in files.items():
        try:
            if data is None:
                path.unlink(missing_ok=True)
            else:
                written[path].replace(_link_target(path))
        except OSError as error:
            _delete(written.values())
            raise _write_error(path, error) from error


def check_writable(path: Path) -> None:
    """
    Check that a file can be written there, before the work that it will hold.

    Raises:
        UserError: It cannot be written.
    """
    folder = path.absolute().parent
    while not os.path.lexists(folder):
        folder = folder.parent
    if not folder.is_dir():
        raise UserError(f"{path}: cannot be written: {folder} is no folder")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UserError(f"{path}: cannot be written: no file may come into {folder}")
    if os.path.lexists(path) and not path.is_file():
        raise UserError(f"{path}: cannot be written: expected the name of a file")


def _write(path: Path, data: bytes, written: dict[Path, Path]) -> None:
    place = _link_target(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    written[path] = new = place.with_name(f".{place.name}.{os.getpid()}")
    with new.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _link_target(path: Path) -> Path:
    # The target of a link is replaced, not the link.
    return Path(os.path.realpath(path))


def _delete(files: Iterable[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _write_error(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: cannot be written: {one_line(error)}")
