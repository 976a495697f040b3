"""
Shows and writes the files of an installation.

The hash of each written file is kept in `init.json`. A file with another hash was edited by a
person: it stays, and the new version is written beside it with the suffix ``.init-new``.
"""

from __future__ import annotations

import difflib
import hashlib
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct

from shoe_daemon.errors import UserError, one_line
from shoe_daemon.install.answers import Answers
from shoe_daemon.install.plan import CONFIGS, PlannedFile
from shoe_daemon.settings.files import ENCRYPTED_SUFFIX, read_secret, replace_file_durably

NEW_SUFFIX: Final = ".init-new"

_RECORD: Final = f"{CONFIGS}/init.json"
_MAX_DIFF_LINES: Final = 200

Action = Literal["new", "changed", "unchanged", "edited", "amended", "removed", "kept"]


class Record(Struct, forbid_unknown_fields=True):
    """
    The earlier runs of `shoe-daemon init` on this computer.

    Attributes:
        answers: The last answers for each table, in the order of the runs.
        hashes: SHA-256 of each file as it was written.
    """

    answers: dict[str, Answers] = {}
    hashes: dict[str, str] = {}


class Change(Struct, frozen=True):
    """
    A planned file beside the file that exists.

    Attributes:
        file: The planned file.
        action: ``edited``: it exists, and differs from what was written last. ``amended``: so
            it does, and lines are added to it or taken from it; it still counts as edited.
            ``kept``: it would be removed, but was edited.
        before: The existing text; None if there is none.
    """

    file: PlannedFile
    action: Action
    before: str | None = None

    @property
    def target(self) -> str:
        """The path that is written."""
        return self.file.path + (NEW_SUFFIX if self.action == "edited" else "")


def read_record(root: Path) -> Record:
    """
    Return the record of earlier runs below a root folder; an empty one before the first.

    Raises:
        UserError: It cannot be read or is invalid.
    """
    path = root / _RECORD.lstrip("/")
    try:
        return msgspec.json.decode(path.read_bytes(), type=Record)
    except FileNotFoundError:
        return Record()
    except (OSError, msgspec.MsgspecError) as error:
        raise UserError(
            f"{path}: {one_line(error)}; expected what `shoe-daemon init` wrote: move it away "
            "to begin anew"
        ) from error


def compare(root: Path, files: Iterable[PlannedFile], record: Record) -> list[Change]:
    """
    Compare planned files with those below a root folder.

    Raises:
        UserError: An existing file cannot be read.
    """
    return [_change(root, file, record.hashes.get(file.path)) for file in files]


def removals(root: Path, paths: Iterable[str], record: Record) -> Iterator[Change]:
    """
    Yield the changes that remove the existing ones of some files. A file that differs from what
    was written stays; one without a record, such as an encrypted password, is removed.

    Raises:
        UserError: A file cannot be read.
    """
    for path in paths:
        try:
            before = (root / path.lstrip("/")).read_bytes()
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UserError(f"{path}: cannot be read: {one_line(error)}") from error
        written = record.hashes.get(path)
        ours = written is None or written == hashlib.sha256(before).hexdigest()
        yield Change(PlannedFile(path, ""), "removed" if ours else "kept")


def _change(root: Path, file: PlannedFile, written_hash: str | None) -> Change:
    path = root / file.path.lstrip("/")
    try:
        before = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Change(file, "new")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: cannot be read: {one_line(error)}") from error
    if before == file.text:
        return Change(file, "unchanged", before)
    ours = written_hash == _hash(before)
    return Change(file, "changed" if ours else "edited", before)


def heading(change: Change) -> str:
    """Return the line that names a change."""
    file = change.file
    if change.action == "removed":
        return f"{change.action:9} {file.path}"
    if change.action == "kept":
        return f"{change.action:9} {file.path}: it was edited; remove it by hand"
    group = "" if file.group == "root" else f", group {file.group}"
    line = f"{change.action:9} {file.path}  ({file.mode:04o}{group})"
    if change.action == "edited":
        line += f" stays: it was edited; new version: {change.target}"
    return line


def contents(change: Change) -> Iterator[str]:
    """Yield the lines that show a change: its heading, then the text or its differences."""
    file = change.file
    yield heading(change)
    if change.action == "unchanged":
        return
    if file.secret:
        yield "    (secret, not shown)"
    elif change.before is None:
        yield from (f"    {line}" for line in file.text.splitlines())
    else:
        yield from _differences(change.before, file.text)


def _differences(before: str, after: str) -> Iterator[str]:
    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=1)
    for number, line in enumerate(lines):
        if number == _MAX_DIFF_LINES:
            yield "    …"
            return
        if not line.startswith(("---", "+++")):
            yield f"    {line}"


def write(root: Path, changes: Iterable[Change], record: Record) -> None:
    """
    Write all changes below a root folder, each file at once or not at all, then the record.

    Raises:
        UserError: A file cannot be written or removed.
    """
    for change in changes:
        if change.action in {"removed", "kept"}:
            _remove_file(root, change, record)
            continue
        if change.action != "unchanged":
            _write_file(root, change.target, change.file)
        if change.action not in {"edited", "amended"}:
            record.hashes[change.file.path] = _hash(change.file.text)
    text = msgspec.json.format(msgspec.json.encode(record), indent=2).decode()
    _write_file(root, _RECORD, PlannedFile(_RECORD, f"{text}\n", 0o600))


def _remove_file(root: Path, change: Change, record: Record) -> None:
    """Remove a file unless it was edited, the new version beside it, and its empty folder."""
    path = root / change.file.path.lstrip("/")
    try:
        Path(f"{path}{NEW_SUFFIX}").unlink(missing_ok=True)
        if change.action == "removed":
            path.unlink(missing_ok=True)
            record.hashes.pop(change.file.path, None)
            if path.parent.name.endswith(".service.d") and not any(path.parent.iterdir()):
                path.parent.rmdir()
    except OSError as error:
        raise UserError(f"{path}: cannot be removed: {one_line(error)}") from error


def _write_file(root: Path, target: str, file: PlannedFile) -> None:
    path = root / target.lstrip("/")
    group = file.group if file.group != "root" and root == Path("/") else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file_durably(path, file.text.encode(), file.mode, group)
    except (OSError, LookupError) as error:
        raise UserError(f"{path}: cannot be written: {one_line(error)}") from error


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class CredentialFolder:
    """
    The secret files of one installation, by name.

    Args:
        folder: Where they are.
        encrypt: Whether new ones are encrypted.
    """

    def __init__(self, folder: Path, *, encrypt: bool) -> None:
        self._folder = folder
        self._encrypt = encrypt

    def exists(self, name: str) -> bool:
        """True if there is such a file, encrypted or not."""
        return (self._folder / name).exists() or self._encrypted(name).exists()

    def read(self, name: str) -> str | None:
        """
        Return the password in a file; None if there is none.

        Raises:
            UserError: It cannot be read or decrypted.
        """
        return read_secret(name, self._folder, name) if self.exists(name) else None

    def is_encrypted(self, name: str) -> bool:
        """True when a file is encrypted, or will be."""
        exists = (self._folder / name).exists()
        return not exists and (self._encrypt or self._encrypted(name).exists())

    def encrypt(self, name: str, text: str) -> None:
        """
        Write an encrypted file.

        Raises:
            UserError: systemd-creds fails.
        """
        command = ["systemd-creds", "encrypt", f"--name={name}", "-", str(self._encrypted(name))]
        done = subprocess.run(  # noqa: S603 - our own arguments
            command, input=text.encode(), capture_output=True, check=False
        )
        if done.returncode:
            raise UserError(f"systemd-creds encrypt {name}: {done.stderr.decode().strip()}")

    def _encrypted(self, name: str) -> Path:
        return self._folder / f"{name}{ENCRYPTED_SUFFIX}"


def can_encrypt() -> bool:
    """Tell whether systemd-creds encrypts and decrypts on this computer."""
    program = shutil.which("systemd-creds")
    if program is None:
        return False
    sealed = _run(program, "encrypt", b"test")
    return sealed is not None and _run(program, "decrypt", sealed) == b"test"


def _run(program: str, verb: str, data: bytes) -> bytes | None:
    command = [program, verb, "--name=test", "-", "-"]
    done = subprocess.run(command, input=data, capture_output=True, check=False)  # noqa: S603
    return done.stdout if done.returncode == 0 else None
