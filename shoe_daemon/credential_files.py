"""
Files that a configuration names: a credential of the unit, or beside the configuration.

systemd hands the files of ``LoadCredential=`` to a service in ``$CREDENTIALS_DIRECTORY``,
which exists only while the service runs.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError

__all__ = ["MissingCredentialError", "find_file", "noted", "place_of"]

_DIRECTORY: Final = "CREDENTIALS_DIRECTORY"


class MissingCredentialError(UserError):
    """
    A file is missing that the service may get as a credential; no service runs here.
    """


def place_of(name: str, folder: Path) -> Path:
    """
    Return where a file is: among the credentials if it is there, else in the folder.
    """
    kept = _credential(name)
    return kept if kept is not None and kept.is_file() else folder / name


def find_file(name: str, folder: Path, key: str = "") -> Path:
    """
    Return where a file is, if it is there.

    Args:
        name: As the configuration has it.
        folder: A path without a leading slash starts here.
        key: Of the configuration, for the message; the caller adds it where empty.

    Raises:
        MissingCredentialError: It is missing, and may be a credential of the service.
        UserError: It is missing.
    """
    path, kept = place_of(name, folder), _credential(name)
    if not _is_missing(path):
        return path
    lead = f"{key}: " if key else ""
    if Path(name).name != name:
        raise UserError(f"{lead}{path}: no such file or directory")
    if kept is not None:
        raise UserError(f"{lead}no such file or directory: neither {kept} nor {path}")
    raise MissingCredentialError(
        f"{lead}{path}: no such file or directory; the service finds it if its unit has "
        f"LoadCredential={name}:PATH"
    )


@contextmanager
def noted(notes: list[str], *, inspecting: bool, place: str = "") -> Iterator[None]:
    """
    While a person inspects a configuration, note a missing credential and go on.

    Args:
        notes: Takes the message.
        inspecting: Whether a person does; otherwise it remains an error.
        place: What stands before the message.
    """
    try:
        yield
    except MissingCredentialError as error:
        if not inspecting:
            raise
        notes.append(f"{place}{error}")


def _credential(name: str) -> Path | None:
    directory = os.environ.get(_DIRECTORY)
    return None if directory is None else Path(directory, name)


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # the reader of the file reports what is wrong
    return False
