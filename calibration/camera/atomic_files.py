"""
Files that belong together, such as a profile and its pictures: a full disk leaves those of
before as they were.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from shoe_daemon.errors import UserError

__all__ = ["check_writable", "write_together"]


def write_together(files: Mapping[Path, bytes | None]) -> None:
    """
    Write files beside where they go, and put them there only once all of them are on the disk;
    None takes one away. Their folders are made.

    Raises:
        UserError: One cannot be written; then none was changed.
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
    Look whether a file can come there, before the work of which it is the result.

    Raises:
        UserError: It cannot.
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
    # What a link leads to is replaced, and not the link.
    return Path(os.path.realpath(path))


def _delete(files: Iterable[Path]) -> None:
    for file in files:
        with contextlib.suppress(OSError):
            file.unlink(missing_ok=True)


def _write_error(path: Path, error: OSError) -> UserError:
    return UserError(f"{path}: cannot be written: {error.strerror or error}")
