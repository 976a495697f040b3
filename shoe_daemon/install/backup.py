"""
Backup of a computer's tables, broker accounts and display in one file, and its restoration.

The file is a tar archive with paths below the root folder, for root only. What `systemd-creds`
encrypted for this computer is decrypted in it, and the units load it so: another computer can
decrypt nothing. Its last member is the `Manifest`: without it, or with another content of any
file, it is not restored.
"""

from __future__ import annotations

import grp
import hashlib
import io
import os
import re
import shutil
import socket
import sqlite3
import tarfile
import time
import tomllib
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct

from shoe_daemon import __version__
from shoe_daemon.config.table import SERVICE_STATE
from shoe_daemon.display.config import SERVICE_STATE as DISPLAY_STATE
from shoe_daemon.errors import UserError, one_line, os_errors_at
from shoe_daemon.install.files import RECORD
from shoe_daemon.install.plan import CONFIGS
from shoe_daemon.journal import backup as journals
from shoe_daemon.journal import database
from shoe_daemon.journal.backup import Progress, RestoredJournal
from shoe_daemon.journal.chain import Head
from shoe_daemon.settings.files import ENCRYPTED_SUFFIX, decrypt

_MANIFEST: Final = "shoe-backup.json"
_FORM: Final = 1
_SUFFIX: Final = ".tar.gz"
_LEVEL: Final = 1
"""Of the compression: a higher one takes minutes for a journal and gains little."""

_CONFIGURATION: Final = (
    "/etc/mosquitto/shoe.*",
    "/etc/mosquitto/conf.d/shoe*.conf",
    "/etc/mosquitto/certs/ca.*",
    "/etc/mosquitto/certs/broker.*",
    "/etc/systemd/system/shoe-*.service",
    "/etc/systemd/system/shoe-*.d/*",
    "/etc/udev/rules.d/*shoe*",
    f"{CONFIGS}/**/*",
)
"""Last the folder with the record of `init`, which has hashes of the others."""

_ENABLED: Final = "etc/systemd/system/*.wants/shoe-*"
_ENCRYPTED: Final = re.compile(
    rf"^LoadCredentialEncrypted=(.*){re.escape(ENCRYPTED_SUFFIX)}$".encode(), re.MULTILINE
)
_DAMAGE: Final = (tarfile.TarError, EOFError, zlib.error, msgspec.MsgspecError, OSError)
"""Errors of a file that is cut off, damaged, or something else."""


class Manifest(Struct, frozen=True, kw_only=True):
    """
    What a backup contains.

    Attributes:
        form: Of the backup; 1.
        version: Of the program that made it.
        files: SHA-256 of each file, by its path on the computer.
        journals: The journals among the files.
        units: The units that started with the computer.
    """

    form: int
    version: str
    files: dict[str, str]
    journals: list[str]
    units: list[str]


class Saved(Struct, frozen=True):
    """
    A complete backup.

    Attributes:
        file: Its path.
        files: The number of files in it.
        heads: The ends of the journals, by path; None for a table that has none yet.
    """

    file: Path
    files: int
    heads: dict[str, Head | None]


def back_up(folder: Path, root: Path, keep: int, progress: Progress) -> Saved:
    """
    Write a backup of a computer into a folder, also while its daemons write, and remove all but
    the latest `keep` backups of this computer from there.

    Raises:
        UserError: A journal is not valid, or a file cannot be read, decrypted or written.
    """
    name = f"shoe-backup-{socket.gethostname().partition('.')[0]}"
    target = folder / f"{name}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}{_SUFFIX}"
    with _working_folder(folder, f".{name}-", f"{target}: cannot be made") as work:
        new = work / "new"
        with (
            os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=_LEVEL) as tar,
        ):
            saved = _Archive(tar, root, work).write(target, progress)
        database.sync(new)
        new.rename(target)
        database.sync(folder)
    for old in sorted(folder.glob(f"{name}-{'[0-9]' * 8}T{'[0-9]' * 6}Z{_SUFFIX}"))[:-keep]:
        with os_errors_at(f"{old}: cannot be removed"):
            old.unlink()
    return saved


@contextmanager
def _working_folder(parent: Path, prefix: str, failure: str) -> Iterator[Path]:
    """Yield a folder for root only, and remove it, also one that a power cut left."""
    try:
        for left in parent.glob(f"{prefix}*"):
            shutil.rmtree(left)
        with TemporaryDirectory(prefix=prefix, dir=parent) as folder:
            yield Path(folder)
    except (OSError, sqlite3.Error) as error:
        raise UserError(f"{failure}: {database.error_reason(error)}", exit_status=1) from error


class _Archive:
    """Files on their way into a backup."""

    def __init__(self, tar: tarfile.TarFile, root: Path, work: Path) -> None:
        self._tar = tar
        self._root = root
        self._work = work
        self._hashes: dict[str, str] = {}
        self._changed: dict[bytes, bytes] = {}

    def write(self, target: Path, progress: Progress) -> Saved:
        """Write all files, and the manifest as the last one."""
        tables, histories = tuple(_journals(self._root)), tuple(_histories(self._root))
        for path in _matches(self._root, *_CONFIGURATION):
            # A database, and what SQLite keeps beside it, comes later.
            if not path.startswith((*tables, *histories)):
                self._add_configuration(path)
        if not self._hashes:
            raise UserError(f"{below(self._root, CONFIGS)}: empty; expected the files of a table")
        heads = {path: self._add_journal(path, progress) for path in tables}
        for path in histories:
            self._add_history(path)
        manifest = Manifest(
            form=_FORM,
            version=__version__,
            files=self._hashes,
            journals=[path for path, head in heads.items() if head is not None],
            units=sorted({link.name for link in self._root.glob(_ENABLED)}),
        )
        count = len(self._hashes)
        self._add(f"/{_MANIFEST}", io.BytesIO(msgspec.json.encode(manifest)), 0o600)
        return Saved(target, count, heads)

    def _add(self, path: str, content: BinaryIO, mode: int, group: str = "root") -> None:
        member = tarfile.TarInfo(path.lstrip("/"))
        member.size = content.seek(0, os.SEEK_END)
        member.mode, member.uname, member.gname = mode, "root", group
        member.mtime = int(time.time())
        content.seek(0)
        self._hashes[path] = hashlib.file_digest(content, "sha256").hexdigest()  # type: ignore[arg-type]
        content.seek(0)
        self._tar.addfile(member, content)

    def _add_configuration(self, path: str) -> None:
        file = below(self._root, path)
        with os_errors_at(f"{file}: cannot be read"):
            content, mode, group = file.read_bytes(), file.stat().st_mode & 0o777, _group(file)
        if path.startswith(CONFIGS) and path.endswith(ENCRYPTED_SUFFIX):
            path = path.removesuffix(ENCRYPTED_SUFFIX)
            if below(self._root, path).exists():
                return
            content, mode = decrypt(file, PurePosixPath(path).name), 0o600
        elif path.endswith(".conf"):
            before, content = content, _ENCRYPTED.sub(rb"LoadCredential=\1", content)
            self._changed[_hash(before)] = _hash(content)
        elif path == RECORD:
            # `init` takes a file with another hash for one that a person edited.
            for old, new in self._changed.items():
                content = content.replace(old, new)
        self._add(path, io.BytesIO(content), mode, group)

    def _add_journal(self, path: str, progress: Progress) -> Head | None:
        file, copy = below(self._root, path), self._work / "journal"
        if not file.exists():
            return None
        _, head = journals.back_up(file, copy, progress)
        with copy.open("rb") as content:
            self._add(path, content, 0o640)
        copy.unlink()
        return head

    def _add_history(self, path: str) -> None:
        file, copy = below(self._root, path), self._work / "history"
        if not file.exists():
            return
        try:
            with (
                closing(database.connect(file, "mode=ro")) as source,
                closing(database.connect(copy, "mode=rwc")) as new,
            ):
                source.backup(new)
                new.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.Error as error:
            raise database.file_error(file, "cannot be copied", error) from error
        with copy.open("rb") as content:
            self._add(path, content, 0o600)
        copy.unlink()


def _hash(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def below(root: Path, path: str) -> Path:
    """Return the place of an absolute path of the computer below a root folder."""
    return root / path.lstrip("/")


def _matches(root: Path, *patterns: str) -> Iterator[str]:
    """Yield the paths of files that match a pattern."""
    for pattern in patterns:
        for path in sorted(root.glob(pattern.lstrip("/"))):
            if path.is_file():
                yield f"/{path.relative_to(root)}"


def _group(file: Path) -> str:
    try:
        return file.group()
    except KeyError:
        return "root"


def _journals(root: Path) -> Iterator[str]:
    """Yield the paths of the journals of all tables that are configured."""
    for path, config in _configurations(root):
        if {"site", "table"} <= config.keys():
            state = SERVICE_STATE / PurePosixPath(path).stem / "journal.db"
            yield str(CONFIGS / Path(config.get("journal", {}).get("path", state)))


def _histories(root: Path) -> Iterator[str]:
    for _, config in _configurations(root):
        if file := config.get("display", {}).get("history", {}).get("file"):
            yield str(DISPLAY_STATE / file)


def _configurations(root: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for path in _matches(root, f"{CONFIGS}/*.toml"):
        try:
            yield path, tomllib.loads(below(root, path).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UserError(f"{below(root, path)}: {one_line(error)}; mend it first") from error


def restore(
    file: Path, root: Path, progress: Progress
) -> tuple[Manifest, dict[str, RestoredJournal]]:
    """
    Put the files of a backup onto a computer that has none of them: all, or none after an error.

    Returns:
        What the backup contains, and its journals by path, each with a gap at its end.

    Raises:
        UserError: The backup is damaged, a file exists, or cannot be written.
    """
    manifest = _read(file)
    for path in manifest.files:
        for target in (below(root, path), database.wal_of(below(root, path))):
            if os.path.lexists(target):
                raise UserError(
                    f"{target}: exists; nothing was changed: a backup is restored on a computer "
                    "without tables; move the file away first"
                )
    state = below(root, "/var/lib")
    with _working_folder(state, ".shoe-restore-", f"{file}: cannot be restored") as work:
        members = _unpack(file, work, manifest)
        if root == Path("/"):
            _check_groups(members.values())
        restored = {}
        for path in manifest.journals:
            copy = below(work, path)
            saved = copy.rename(copy.with_name("saved"))
            restored[path] = journals.restore(saved, copy, None, progress)
        with ExitStack() as undo:
            for path, member in members.items():
                _put(
                    below(work, path),
                    below(root, path),
                    member,
                    undo,
                    with_group=root == Path("/"),
                )
            undo.pop_all()
    return manifest, restored


def _read(file: Path) -> Manifest:
    """Return the manifest of a backup, if all files in it are as it says."""
    hashes, text = {}, b""
    try:
        with tarfile.open(file, "r:gz") as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is None:
                    raise tarfile.ReadError(f"{member.name} is not a file")
                if member.name == _MANIFEST:
                    text = content.read()
                else:
                    digest = hashlib.file_digest(content, "sha256")  # type: ignore[arg-type]
                    hashes[f"/{member.name}"] = digest.hexdigest()
        manifest = msgspec.json.decode(text or b"{}", type=Manifest)
    except _DAMAGE as error:
        raise UserError(f"{file}: is not a complete backup: {one_line(error)}") from error
    if manifest.form != _FORM:
        raise UserError(
            f"{file}: a backup of form {manifest.form}, by version {manifest.version}; this "
            f"program reads form {_FORM}: use that version"
        )
    if hashes != manifest.files or any(".." in PurePosixPath(path).parts for path in hashes):
        raise UserError(f"{file}: is damaged: its files are not those of its manifest")
    return manifest


def _unpack(file: Path, work: Path, manifest: Manifest) -> dict[str, tarfile.TarInfo]:
    members = {}
    with tarfile.open(file, "r:gz") as tar:
        for member in tar:
            path, content = f"/{member.name}", tar.extractfile(member)
            if path in manifest.files and content is not None:
                members[path] = member
                below(work, path).parent.mkdir(parents=True, exist_ok=True)
                with below(work, path).open("wb") as new:
                    shutil.copyfileobj(content, new)
    return members


def _check_groups(members: Iterable[tarfile.TarInfo]) -> None:
    for name in sorted({member.gname for member in members}):
        try:
            grp.getgrnam(name)
        except KeyError:
            raise UserError(
                f"group {name}: missing; nothing was changed: install the package of {name} first"
            ) from None


def _put(
    source: Path, target: Path, member: tarfile.TarInfo, undo: ExitStack, *, with_group: bool
) -> None:
    """Put a file in its place; `undo` removes it, and the folders that were made for it."""
    for parent in reversed(target.parents):
        if not parent.exists():
            parent.mkdir()
            undo.callback(parent.rmdir)
            parent.chmod(0o755)
    undo.callback(target.unlink, missing_ok=True)
    source.chmod(member.mode)
    shutil.move(source, target)
    if with_group:
        shutil.chown(target, group=member.gname)
    database.sync(target)
    database.sync(target.parent)
