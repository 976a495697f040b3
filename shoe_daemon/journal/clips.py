"""
The records of video clips in a journal: one JSON line of a witness for each clip.

Such a line is stored as bytes of the source ``witness/ID`` without observations: it changes no
table, but the hash chain protects it, and with it the hash of the clip.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from shoe_daemon.journal.database import read_anchor
from shoe_daemon.journal.reader import JournalReader

WITNESS_PREFIX: Final = "witness/"
"""Before the id of a witness, in the source of a capture; no reader's id has a slash."""

_CLIP_SUFFIX: Final = ".webm"
_AS_IN_NAMES: Final = str.maketrans({"T": "-", "-": "", ":": "", "Z": ""})
_TIME_DIGITS: Final = len("20261123-214500.250")
_CLIPS: Final = "SELECT bytes FROM capture WHERE source LIKE 'witness/%' ORDER BY id"


class ClipCause(Struct, frozen=True):
    """
    Why there is a clip.

    Attributes:
        kind: An irregularity's kind, or the type of an event.
    """

    kind: str
    seq: int
    shoe: int | None = None
    round: int | None = None


class ClipRecord(Struct, frozen=True):
    """
    The record of one clip, or of a dispute without one.

    Attributes:
        say: ``clip``, or ``no_clip`` if there is none.
        file: Its name; None without a clip.
        begin: The time of the first picture.
        end: The time of the last picture.
        blind_s: Seconds without a picture.
        cut: Why it ended early, or why there is none.
    """

    say: str
    causes: tuple[ClipCause, ...] = ()
    file: str | None = None
    sha256: str | None = None
    begin: str | None = None
    end: str | None = None
    blind_s: float = 0.0
    cut: str | None = None


_decode = msgspec.json.Decoder(ClipRecord).decode


class ClipVerdict(Struct, frozen=True):
    """
    A folder of clips, compared with the journal.

    Attributes:
        good: Clips with the hash that the journal has.
        removed: Clips of the journal that are not in the folder: they were too old, or elsewhere.
        missing: Causes without a clip, by the journal.
        altered: Names of clips with another content.
        unknown: Names of clips that the journal does not have.
        deleted: Names of clips that are gone, though an older one of their witness is still
            there: the daemon removes the oldest first. They are among `removed`.
        older: Clips from before the first shoe that the journal still has.
    """

    good: int
    removed: int
    missing: int
    older: int
    altered: tuple[str, ...]
    unknown: tuple[str, ...]
    deleted: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """True if every clip in the folder is as it was recorded, and only old ones are gone."""
        return not (self.altered or self.unknown or self.deleted)


def is_witness(source: str | None) -> bool:
    """Return whether a capture's source is a witness."""
    return source is not None and source.startswith(WITNESS_PREFIX)


def clip_records(reader: JournalReader) -> Iterator[ClipRecord]:
    """Yield what the journal says of clips, in its order; lines that are none are left out."""
    for (raw,) in reader.connection.execute(_CLIPS):
        try:
            yield _decode(raw)
        except msgspec.DecodeError:
            continue


def first_kept(reader: JournalReader) -> str | None:
    """Return the time of the first event, if the oldest shoes were removed; None otherwise."""
    if read_anchor(reader.connection) is None:
        return None
    row = reader.connection.execute("SELECT at FROM event ORDER BY seq LIMIT 1").fetchone()
    return None if row is None else str(row[0])


def check_clips(
    records: Iterable[ClipRecord], folder: Path, since: str | None = None
) -> ClipVerdict:
    """
    Compare the clips in a folder with the records of the journal.

    `since` is the time at which the journal begins, if its oldest shoes were removed: it can say
    nothing of earlier clips.

    Raises:
        OSError: The folder or a clip cannot be read.
    """
    # Listed before the records are read: a clip gets its name when its record is in the journal.
    there = sorted(
        each.name
        for each in folder.iterdir()
        if each.suffix == _CLIP_SUFFIX and not each.name.startswith(".")
    )
    hashes: dict[str, str] = {}
    missing = 0
    for record in records:
        missing += record.file is None
        if record.file is not None and record.sha256 is not None:
            hashes[record.file] = record.sha256
    digests = {name: _sha256(folder / name) for name in there if name in hashes}
    known = [name for name, digest in digests.items() if digest is not None]
    unknown = [name for name in there if name not in hashes]
    # 2026-11-23T21:45:00.250Z as in a name: 20261123-214500.250.
    begin = (since or "").translate(_AS_IN_NAMES)
    older = [name for name in unknown if name < begin]
    altered = tuple(name for name in known if digests[name] != hashes[name])
    return ClipVerdict(
        good=len(known) - len(altered),
        removed=len(hashes) - len(known),
        missing=missing,
        older=len(older),
        altered=altered,
        unknown=tuple(name for name in unknown if name not in older),
        deleted=tuple(_deleted(folder, [name for name in hashes if name not in digests], known)),
    )


def _deleted(folder: Path, gone: Iterable[str], known: Iterable[str]) -> Iterator[str]:
    """Yield the clips that are gone though an older one of the same witness is there."""
    oldest: dict[str, str] = {}
    for name in sorted(known, reverse=True):
        oldest[_witness(name)] = name
    for name in gone:
        witness = _witness(name)
        if oldest.get(witness, name) >= name or (folder / name).exists():
            continue
        # A clip that is about to get its name has a hidden one.
        if not any(folder.glob(f".{name[:_TIME_DIGITS]}-{witness}*{_CLIP_SUFFIX}")):
            yield name


def _witness(name: str) -> str:
    return name[_TIME_DIGITS + 1 :].rsplit("-", 2)[0]


def _sha256(path: Path) -> str | None:
    """Return the hash of a file; None if it was removed meanwhile."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return None
