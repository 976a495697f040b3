"""
Files that a configuration names: a credential of the unit, or a file in its folder.

systemd hands the files of ``LoadCredential=`` to a service in ``$CREDENTIALS_DIRECTORY``,
which exists only while the service runs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from shoe_daemon.errors import UserError, errors_at, one_line

_DIRECTORY: Final = "CREDENTIALS_DIRECTORY"
_EMPTY_CREDENTIAL: Final = "the file of LoadCredential= in the unit is empty, or it is missing"

ENCRYPTED_SUFFIX: Final = ".cred"
"""Ending of a file that `systemd-creds encrypt` wrote; only root can read it."""


class MissingCredentialError(UserError):
    """A file is missing that may be a credential of the service; this process is no service."""


def path_of(name: str, folder: Path) -> Path:
    """Return the path of a file: among the credentials if it is there, else in the folder."""
    credential = _credential(name)
    if credential is not None and credential.is_file():
        return credential
    return folder / name


def find_file(name: str, folder: Path, key: str = "") -> Path:
    """
    Return the path of a file that exists.

    Args:
        name: As it is in the configuration.
        folder: A path without a leading slash starts here.
        key: The configuration's key, for the message; empty where the caller adds it.

    Raises:
        MissingCredentialError: It is missing, and may be a credential of the service.
        UserError: It is missing.
    """
    path, credential = path_of(name, folder), _credential(name)
    if not _is_missing(path):
        return path
    lead = f"{key}: " if key else ""
    if Path(name).name != name:
        raise UserError(f"{lead}{path}: no such file or directory")
    if credential is not None:
        raise UserError(f"{lead}no such file or directory: neither {credential} nor {path}")
    if Path(f"{path}{ENCRYPTED_SUFFIX}").exists():
        raise MissingCredentialError(
            f"{lead}{path}{ENCRYPTED_SUFFIX}: encrypted; only the service can read it"
        )
    raise MissingCredentialError(
        f"{lead}{path}: no such file or directory; the service finds it if its unit has "
        f"LoadCredential={name}:PATH"
    )


def read_secret(name: str, folder: Path, key: str) -> str:
    """
    Return the first line of a file with a password; the arguments are those of `find_file`.

    Raises:
        UserError: The file cannot be read or decrypted, or its first line is empty.
    """
    path = path_of(name, folder)
    encrypted = Path(f"{path}{ENCRYPTED_SUFFIX}")
    try:
        if _is_missing(path) and encrypted.exists() and os.geteuid() == 0:
            with errors_at(key):
                lines = decrypt(encrypted, path.name).decode().splitlines()
        else:
            lines = find_file(name, folder, key).read_text(encoding="utf-8").splitlines()
    except UnicodeDecodeError as error:
        raise UserError(f"{key}: {path}: not UTF-8 text") from error
    except OSError as error:
        raise UserError(f"{key}: {path}: {one_line(error).lower()}") from error
    if not lines or not lines[0]:
        hint = f"; {_EMPTY_CREDENTIAL}" if path == _credential(name) else ""
        raise UserError(f"{key}: {path}: its first line is empty{hint}")
    return lines[0]


def find_credential(name: str, folder: Path) -> Path:
    """
    Return the path of a file that exists, as `find_file`, and is no empty credential: the unit
    has one in the place of a missing file.

    Raises:
        MissingCredentialError: It is missing, and may be a credential of the service.
        UserError: It is missing, or an empty credential.
    """
    path = find_file(name, folder)
    if path == _credential(name) and not path.read_bytes().strip():
        raise UserError(f"{path}: {_EMPTY_CREDENTIAL}")
    return path


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """
    Replace a file as a whole: readers see the old content or the new one.

    Raises:
        OSError: It cannot be written; the old content stays.
    """
    # Hidden, and with another ending: programs that read all files of a folder skip it.
    new = path.with_name(f".{path.name}.new")
    try:
        new.touch(mode)
        new.write_bytes(content)
        new.chmod(mode)
        os.replace(new, path)  # noqa: PTH105 - as its manual names it
    except OSError:
        new.unlink(missing_ok=True)
        raise


def replace_file_durably(path: Path, content: bytes, mode: int, group: str | None = None) -> None:
    """
    Replace a file as `replace_file` does, so that it outlives a loss of power; only its owner can
    read the new content before it has its mode and group.

    Raises:
        OSError: It cannot be written; the old content stays.
        LookupError: There is no such group.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            os.fchmod(handle, mode)
            if group is not None:
                shutil.chown(name, group=group)
            file.write(content)
            file.flush()
            os.fsync(handle)
        Path(name).replace(path)
    finally:
        Path(name).unlink(missing_ok=True)


def decrypt(path: Path, name: str) -> bytes:
    """
    Return the content of a file that `systemd-creds` encrypted under a name on this computer.

    Raises:
        UserError: It cannot be decrypted.
    """
    command = ["systemd-creds", "decrypt", f"--name={name}", str(path), "-"]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - our own
    if done.returncode:
        raise UserError(f"{path}: cannot be decrypted: {done.stderr.decode().strip()}")
    return done.stdout


def _credential(name: str) -> Path | None:
    directory = os.environ.get(_DIRECTORY)
    return None if directory is None else Path(directory, name)


def _is_missing(path: Path) -> bool:
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False  # reported when the file is read
    return False
