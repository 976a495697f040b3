"""
Evidence of rounds: the pictures of cards that cameras stored, the video clips of witnesses, and
the archive with everything of a round.

Both are files in a folder ``SITE.TABLE`` below the evidence folder. Their names have the UTC time;
the name of a clip also has its witness, its length and the begin of its hash. Symbolic links are
never followed, whatever they point to.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import re
import stat
import zipfile
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator, Mapping
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

from starlette.responses import FileResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from shoe_daemon.table import moment_to_microseconds

BEFORE_US: Final = 2_000_000
AFTER_US: Final = 5_000_000
"""Evidence so long before the first event of a round and after its end belongs to it."""

MAX_CLIP_S: Final = 86_400
"""A name with a longer time is not that of a clip."""

MAX_CLIP_BYTES: Final = 1_000_000_000
"""Size beyond which a clip is not read: an hour of video has less."""

MAX_CHECKED_CLIPS: Final = 4096
CHUNK_BYTES: Final = 256 * 1024
_SECOND_US: Final = 1_000_000
_PICTURE: Final = re.compile(r"(?P<at>\d{8}-\d{6}\.\d{3})-(?P<what>[0-9A-Za-z-]+)\.jpg", re.ASCII)
_CLIP: Final = re.compile(
    r"(?P<at>\d{8}-\d{6}\.\d{3})-(?P<witness>[a-z0-9-]+)-(?P<seconds>\d{1,9})s"
    r"-(?P<hash>[0-9a-f]{16})\.webm",
    re.ASCII,
)
_FIRST_ZIP_YEAR: Final = 1980
_LAST_ZIP_YEAR: Final = 2107
_FILE_MODE: Final = stat.S_IFREG | 0o644
_CHANGED_TEXT: Final = (
    "These clips were changed or cut after they were recorded: do not rely on them.\n"
)
_MISSING_TEXT: Final = (
    "These files belong to the round, but were deleted or could not be read while this archive"
    " was made.\n"
)


class Picture(NamedTuple):
    """
    A picture, as its name describes it.

    Attributes:
        at: Its time, microseconds since 1970.
        what: Place and card, ``P1-AS``; either may be missing.
    """

    name: str
    at: int
    what: str


class Clip(NamedTuple):
    """
    A video clip, as its name describes it.

    Attributes:
        at: Time of its first image, microseconds since 1970.
        witness: The id of the camera that recorded it.
        seconds: Its length, rounded up.
        digits: First 16 hexadecimal digits of its SHA-256.
    """

    name: str
    at: int
    witness: str
    seconds: int
    digits: str


class ClipState(StrEnum):
    """The result of comparing a clip with the hash in its name."""

    INTACT = "intact"
    """Its SHA-256 begins with the digits in its name."""
    CHANGED = "changed"
    """It does not: the file was altered or cut."""
    UNREADABLE = "unreadable"
    """The display may not read it, or its disk fails."""


class EvidenceTimes(NamedTuple):
    """
    The times whose evidence belongs to a finished round; all in microseconds since 1970.

    Attributes:
        table: Key of the table, which is the name of its folder.
        spans: First and last moment: first the round itself, then its later events.
        until: Evidence that reaches this time is withheld, because another round of the table
            runs since then; None if no round runs.
    """

    table: str
    spans: tuple[tuple[int, int], ...]
    until: int | None

    def has_picture(self, picture: Picture) -> bool:
        """Return whether a picture was taken during the round itself."""
        begin, end = self.spans[0]
        return begin <= picture.at <= end and (self.until is None or picture.at < self.until)

    def has_clip(self, clip: Clip) -> bool:
        """Return whether a clip shows some of the round, or the time of a later event of it."""
        end = clip.at + clip.seconds * _SECOND_US
        if self.until is not None and end >= self.until:
            return False
        return any(clip.at <= last and first <= end for first, last in self.spans)


def evidence_times(found: Mapping[str, Any], running_since: int | None) -> EvidenceTimes | None:
    """
    Return the times of a round's evidence; None while the round runs, since its cards may be
    hidden.

    Args:
        found: A round, as `LogReader.round` returns it.
        running_since: First event of the round that the table plays now; None without one.
    """
    ended = found["ended"]
    if ended is None:
        return None
    moments = {each["at"] for each in found["events"]}
    for entry in found["entries"]:
        moments |= {entry["at"], entry["closed"]} - {None}
    begin = min(found["at"], *moments) if moments else found["at"]
    spans = [(begin - BEFORE_US, ended + AFTER_US)]
    later = sorted(moment for moment in moments if moment > ended)
    spans += [(moment - BEFORE_US, moment + AFTER_US) for moment in later]
    return EvidenceTimes(found["table"], tuple(spans), running_since)


def parse_picture(name: str) -> Picture | None:
    """Return the picture that has this name; None if it is not the name of one."""
    parts = _PICTURE.fullmatch(name)
    at = None if parts is None else _parse_time(parts["at"])
    return None if parts is None or at is None else Picture(name, at, parts["what"])


def parse_clip(name: str) -> Clip | None:
    """Return the clip that has this name; None if it is not the name of one."""
    parts = _CLIP.fullmatch(name)
    at = None if parts is None else _parse_time(parts["at"])
    if parts is None or at is None or int(parts["seconds"]) > MAX_CLIP_S:
        return None
    return Clip(name, at, parts["witness"], int(parts["seconds"]), parts["hash"])


def _parse_time(text: str) -> int | None:
    try:
        return moment_to_microseconds(datetime.strptime(f"{text}+0000", "%Y%m%d-%H%M%S.%f%z"))
    except ValueError:
        return None


class EvidenceFiles:
    """
    The evidence folder. All methods block: call them from a thread.

    Args:
        folder: The folder with a folder for each table.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hashes: OrderedDict[tuple[str | int, ...], str] = OrderedDict()

    def find(self, times: EvidenceTimes) -> tuple[list[Picture], list[Clip]]:
        """Return the pictures and the clips of a round, in the order of their times."""
        pictures, clips = [], []
        for name in self._names(times.table):
            picture, clip = parse_picture(name), parse_clip(name)
            if picture is not None and times.has_picture(picture):
                pictures.append(picture)
            elif clip is not None and times.has_clip(clip):
                clips.append(clip)
        return pictures, clips

    def _names(self, table: str) -> list[str]:
        with contextlib.suppress(OSError), os.scandir(self._folder / table) as found:
            return sorted(each.name for each in found if each.is_file(follow_symlinks=False))
        return []

    def open_file(self, table: str, name: str) -> io.FileIO:
        """
        Open a file that `parse_picture` or `parse_clip` knows.

        Raises:
            OSError: There is no such file, it cannot be read, or it is no regular file.
        """
        # Without O_NONBLOCK, a pipe of that name would block for ever.
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        descriptor = os.open(self._folder / table / name, flags)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise FileNotFoundError(name)
        return io.FileIO(descriptor, "rb")

    def check(self, table: str, clip: Clip) -> ClipState | None:
        """
        Compare the bytes of a clip with its name; None if it is gone.

        The result is kept for as long as the file does not change.
        """
        try:
            with self.open_file(table, clip.name) as file:
                if os.fstat(file.fileno()).st_size > MAX_CLIP_BYTES:
                    return ClipState.UNREADABLE  # nothing that a witness wrote
                found = self._hash(table, clip.name, file)
        except FileNotFoundError:
            return None
        except OSError:
            return ClipState.UNREADABLE
        return ClipState.INTACT if found.startswith(clip.digits) else ClipState.CHANGED

    def _hash(self, table: str, name: str, file: io.FileIO) -> str:
        facts = os.fstat(file.fileno())
        # A program can set the time of modification, but not that of the last change.
        key = (table, name, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns)
        known = self._hashes.get(key)
        if known is None:
            known = self._hashes[key] = hashlib.file_digest(file, "sha256").hexdigest()
            while len(self._hashes) > MAX_CHECKED_CLIPS:
                self._hashes.popitem(last=False)
        return known


class EvidenceResponse(FileResponse):
    """
    Response with a file that is open, in whole or by ranges; closes the file.

    Args:
        file: Result of `EvidenceFiles.open_file`.
    """

    def __init__(self, file: io.FileIO, headers: Mapping[str, str], media_type: str) -> None:
        # The open file, whatever has its name by now.
        path = f"/proc/self/fd/{file.fileno()}"
        facts = os.fstat(file.fileno())
        super().__init__(path, 200, headers, media_type, stat_result=facts)
        self._file = file

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the file."""
        with self._file:
            await super().__call__(scope, receive, send)


class ArchiveResponse(StreamingResponse):
    """
    Response with an archive; closes its files as soon as the browser disconnects.

    Args:
        parts: Result of `round_archive`.
    """

    def __init__(self, parts: Generator[bytes, None, None], headers: Mapping[str, str]) -> None:
        super().__init__(parts, 200, headers, "application/zip")
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the archive."""
        with contextlib.closing(self._parts):
            await super().__call__(scope, receive, send)


class ArchivedFile(NamedTuple):
    """A picture or clip in an archive, and the SHA-256 of the bytes there."""

    item: Picture | Clip
    sha256: str


class _ChunkWriter(io.RawIOBase):
    """Collects what is written; cannot seek, so that a ZIP is written from begin to end."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:  # noqa: ANN401 - a buffer
        self._parts.append(bytes(data))
        return len(data)

    def take(self) -> bytes:
        """Return what was written since the last call."""
        found = b"".join(self._parts)
        self._parts.clear()
        return found


def round_archive(
    files: EvidenceFiles | None,
    times: EvidenceTimes | None,
    ended: int,
    describe: Callable[[list[ArchivedFile]], bytes],
) -> Generator[bytes, None, None]:
    """
    Return the parts of a ZIP with all evidence of a round, which is read meanwhile.

    It has ``pictures/``, ``clips/``, ``round.json``, ``changed.txt`` and ``missing.txt`` where
    they have something to name, and ``SHA256SUMS`` for all of them. The same files give the same
    bytes.

    Args:
        files: The evidence folder; None without.
        times: Times of the round; None while it runs.
        ended: Time of the texts, microseconds since 1970.
        describe: Returns the content of ``round.json``.

    Raises:
        OSError: A file that was open can no longer be read.
    """
    out = _ChunkWriter()
    archived: list[ArchivedFile] = []
    missing: list[str] = []
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for item, file in _opened(files, times):
            path = _archive_path(item)
            if file is None:
                missing.append(path)
                continue
            with file:
                digest = yield from _add_file(archive, out, _zip_info(path, item.at), file)
            archived.append(ArchivedFile(item, digest))
        texts = {"round.json": describe(archived), **_remarks(archived, missing)}
        sums = {_archive_path(each.item): each.sha256 for each in archived}
        sums |= {name: hashlib.sha256(content).hexdigest() for name, content in texts.items()}
        lines = [f"{digest}  {path}\n" for path, digest in sums.items()]
        texts["SHA256SUMS"] = "".join(lines).encode()
        for name, content in texts.items():
            archive.writestr(_zip_info(name, ended), content)
    yield out.take()


def _opened(
    files: EvidenceFiles | None, times: EvidenceTimes | None
) -> Iterator[tuple[Picture | Clip, io.FileIO | None]]:
    """Yield each piece of evidence of a round with its open file; None if it cannot be opened."""
    if files is None or times is None:
        return
    pictures, clips = files.find(times)
    items: list[Picture | Clip] = [*pictures, *clips]
    for item in items:
        file = None
        with contextlib.suppress(OSError):
            file = files.open_file(times.table, item.name)
        yield item, file


def _archive_path(item: Picture | Clip) -> str:
    return f"{'clips' if isinstance(item, Clip) else 'pictures'}/{item.name}"


def _add_file(
    archive: zipfile.ZipFile, out: _ChunkWriter, info: zipfile.ZipInfo, file: io.FileIO
) -> Generator[bytes, None, str]:
    """Add a file, as long as it is now; yield the parts of the archive; return its SHA-256."""
    digest = hashlib.sha256()
    info.file_size = left = os.fstat(file.fileno()).st_size
    with archive.open(info, "w") as target:
        while part := file.read(min(CHUNK_BYTES, left)):
            left -= len(part)
            digest.update(part)
            target.write(part)
            yield out.take()
    return digest.hexdigest()


def _remarks(archived: list[ArchivedFile], missing: list[str]) -> dict[str, bytes]:
    """Return the texts that name changed and missing files, where there are any."""
    changed = [
        _archive_path(each.item)
        for each in archived
        if isinstance(each.item, Clip) and not each.sha256.startswith(each.item.digits)
    ]
    remarks = {"changed.txt": (_CHANGED_TEXT, *changed), "missing.txt": (_MISSING_TEXT, *missing)}
    return {
        name: "\n".join((*lines, "")).encode() for name, lines in remarks.items() if len(lines) > 1
    }


def _zip_info(path: str, at: int) -> zipfile.ZipInfo:
    moment = datetime.fromtimestamp(at // _SECOND_US, UTC)
    year = min(max(moment.year, _FIRST_ZIP_YEAR), _LAST_ZIP_YEAR)
    info = zipfile.ZipInfo(path, (year, *moment.timetuple()[1:6]))
    info.external_attr = _FILE_MODE << 16
    return info
