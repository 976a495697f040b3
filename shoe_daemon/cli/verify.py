"""`shoe-daemon journal verify`: verify the hash chain, and with --refold the contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal, NamedTuple

import click
import msgspec

from drivers import Driver, Frame, FrameKind, create_driver, driver_version
from shoe_daemon.cli.terminal import progress_display, table_lines
from shoe_daemon.errors import UserError, os_errors_at
from shoe_daemon.journal import JournalReader, database
from shoe_daemon.journal.clips import ClipVerdict, check_clips, clip_records, first_kept
from shoe_daemon.journal.raw import RawDecoder, RawNote
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.journal.refold import OtherVersion, RefoldResult
from shoe_daemon.journal.refold import refold as check_again
from shoe_daemon.journal.signatures import Signature, SignatureVerdict, check_signatures
from shoe_daemon.journal.verify import ChainVerdict, JournalFault, verify
from shoe_daemon.table import Observation, ReaderRecord

MISSING_KEYS_EXTRA: Final = "keys need cryptography: pip install 'shoe-daemon[keys]'"

_HASH_BYTES: Final = 32
_LONG_PAUSE_S: Final = 86_400.0
_PICTURES: Final = "the lines were decoded again; the pictures are not part of the journal"


class _Found(NamedTuple):
    """The results of all comparisons; None for one not asked for, or not possible."""

    wanted: bytes | None
    chain: ChainVerdict
    signed: SignatureVerdict | None
    again: RefoldResult | None
    clips: ClipVerdict | None

    @property
    def broken(self) -> JournalFault | None:
        return self.chain.broken or (self.again.broken if self.again else None)

    @property
    def end_proved_by(self) -> Literal["head", "key"] | None:
        """What proves that the last row is the end: the given head, or a signature of it."""
        if self.chain.broken:
            return None
        head = self.chain.hash.hex()
        if self.wanted == self.chain.hash:
            return "head"
        signed = self.signed
        is_signed = signed and signed.verified and not signed.fault and signed.last
        return "key" if is_signed and is_signed.head == head else None

    @property
    def is_good(self) -> bool:
        return (
            not self.broken
            and (self.wanted is None or self.chain.found_at is not None)
            and (self.signed is None or self.signed.fault is None)
            and (self.clips is None or self.clips.is_good)
        )


def verify_journal(  # noqa: PLR0913 - the options of the command
    file: Path,
    head: str | None,
    key: Path | None,
    clips: Path | None,
    *,
    refold: bool,
    as_json: bool,
) -> int:
    """
    Verify a journal, print the result and return the exit status.

    Raises:
        UserError: The file is no journal, the head is no hash, the key is no key, or the folder
            of the clips cannot be read.
    """
    wanted = _hash(head)
    is_valid = None if key is None else _public_key(key)
    with open_read_only(file) as reader:
        database.check_integrity(reader.connection, file, thorough=True)
        with reader.snapshot():  # the daemon may remove a shoe meanwhile
            found = _compare(reader, wanted, is_valid, refold=refold)
        if clips is not None and not found.chain.broken:
            # In a later state: a clip may have got its name meanwhile.
            with os_errors_at(f"--clips {clips}"):
                videos = check_clips(clip_records(reader), clips, first_kept(reader))
            found = found._replace(clips=videos)
    click.echo(_json(found) if as_json else "\n".join(_lines(file, found)))
    return 0 if found.is_good else 1


def _compare(
    reader: JournalReader,
    wanted: bytes | None,
    is_valid: Callable[[Signature], bool] | None,
    *,
    refold: bool,
) -> _Found:
    with progress_display("verifying the chain") as progress:
        verdict = verify(reader, find=wanted, progress=progress)
    signed = _signatures(reader, verdict, is_valid)
    again = None
    if refold and not verdict.broken:
        with progress_display("decoding and folding again") as progress:
            again = check_again(reader, _decoder_of, progress=progress)
    return _Found(wanted, verdict, signed, again, None)


def _public_key(path: Path) -> Callable[[Signature], bool]:
    try:
        from shoe_daemon.journal.keys import load_public_key
    except ImportError as error:
        raise UserError(MISSING_KEYS_EXTRA) from error
    return load_public_key(path)


def _signatures(
    reader: JournalReader, verdict: ChainVerdict, is_valid: Callable[[Signature], bool] | None
) -> SignatureVerdict | None:
    """Check the signatures of a valid chain; None if it is broken, or nothing was signed."""
    if verdict.broken:
        return None
    found = check_signatures(reader.connection, reader.identity, is_valid)
    return found if is_valid or found.signatures or found.fault else None


def _hash(head: str | None) -> bytes | None:
    if head is None:
        return None
    try:
        wanted = bytes.fromhex(head)
    except ValueError:
        wanted = b""
    if len(wanted) != _HASH_BYTES:
        raise UserError(f"--head {head}: expected the {2 * _HASH_BYTES} hex digits of a head hash")
    return wanted


def _decoder_of(record: ReaderRecord) -> RawDecoder:
    version = driver_version(record.driver)
    driver = create_driver(record.driver, record.options)
    other = None
    if version != record.version:
        other = f"by version {record.version} of driver {record.driver}; installed is {version}"
    return _Decoder(driver, other)


class _Decoder:
    """A driver's decoder, fed with stored frames. Repeats and noise are not stored."""

    def __init__(self, driver: Driver, other_version: str | None) -> None:
        self.other_version = other_version
        self.limit = _PICTURES if driver.stores_evidence else None
        self._decoder = driver.decoder()
        self._pauses = 0.0

    def decode(self, raw: bytes, seconds: float) -> Sequence[Observation]:
        frames = self._frames(raw, seconds)
        if [frame.kind for frame in frames if frame.raw] == [FrameKind.REPEAT]:
            # A stored frame was no repeat. If the clock was set back, its time is too close to the
            # previous frame's.
            self._pauses += _LONG_PAUSE_S
            frames = self._frames(raw, seconds)
        # A gap without bytes follows from repeats or noise, which are not stored.
        valid = (frame for frame in frames if frame.kind is FrameKind.FRAME and frame.raw)
        return [observation for frame in valid for observation in frame.observations]

    def _frames(self, raw: bytes, seconds: float) -> list[Frame]:
        frames = self._decoder.feed(raw, seconds + self._pauses)
        if sum(len(frame.raw) for frame in frames) < len(raw):
            # A stored frame is whole: silence ended it.
            self._pauses += _LONG_PAUSE_S
            frames += self._decoder.feed(b"", seconds + self._pauses)
        return frames

    def reset(self) -> None:
        self._decoder.reset()


def _json(found: _Found) -> bytes:
    answer = msgspec.to_builtins(found.chain, builtin_types=(bytes,))
    answer |= {
        "broken": msgspec.to_builtins(found.broken),
        "clips": msgspec.to_builtins(found.clips),
        "end_proved_by": found.end_proved_by,
        "good": found.is_good,
        "hash": found.chain.hash.hex(),
        "refold": msgspec.to_builtins(found.again),
        "signatures": msgspec.to_builtins(found.signed),
    }
    return msgspec.json.encode(answer, order="sorted")


def _lines(file: Path, found: _Found) -> Iterator[str]:
    verdict, signed = found.chain, found.signed
    yield f"{file}: {_summary(found)}"
    holding = (
        f"{verdict.events:,} events of {verdict.observations:,} observations,"
        f" {verdict.captures:,} captures, {verdict.checkpoints:,} checkpoints"
    )
    before = ", before the first break" if verdict.broken else ""
    rows = [("holds", holding + before), ("head", verdict.hash.hex() + before)]
    if (anchor := verdict.anchor) is not None:
        removed = f"shoes up to {anchor.shoe:,}, events up to {anchor.seq:,}, at {anchor.at}"
        rows.append(("removed", removed))
    if verdict.found_at:
        rows.append(("found", f"the hash that was asked for, at {verdict.found_at}"))
    if signed and signed.last:
        rows.append(("signed", _signed(signed, verdict)))
    rows += _break_rows(verdict)
    if found.again:
        rows += _refold_rows(found.again)
    if found.clips:
        rows += _clip_rows(found.clips)
    yield ""
    yield from table_lines(rows)


def _break_rows(verdict: ChainVerdict) -> Iterator[tuple[str, str]]:
    if verdict.break_count > 1:
        yield "breaks", f"{verdict.break_count:,}; the rows between two of them are unchanged"
        yield from (("break", str(each)) for each in verdict.breaks)
        if unlisted := verdict.break_count - len(verdict.breaks):
            yield "break", f"and {unlisted:,} more"


def _signed(signed: SignatureVerdict, chain: ChainVerdict) -> str:
    last = signed.last
    if last is None:
        return "nothing"
    kind = "valid signatures" if signed.verified else "signatures, not compared with a key (--key)"
    count = f"{signed.signatures:,} {kind}; the last"
    rest = "" if last.head == chain.hash.hex() else "; what follows is chained, not signed"
    return f"{count} covers event {last.seq:,} of {chain.seq:,}, {last.at}{rest}"


def _summary(found: _Found) -> str:
    broken, again, signed = found.broken, found.again, found.signed
    if broken:
        return f"BROKEN at {broken}"
    if found.wanted and not found.chain.found_at:
        return f"{found.wanted.hex()} is nowhere in it: it is another journal, or cut short"
    if signed and signed.fault:
        return f"NOT PROVED: {signed.fault}"
    if found.clips and not found.clips.is_good:
        return (
            "the chain is good; clips were changed or deleted, or are none of this journal (below)"
        )
    unchanged = f"unchanged up to event {found.chain.seq:,}"
    ends = {
        "head": "its last row has the given head",
        "key": "its last row is signed",
        None: "its end is not proved",
    }
    differs = ""
    if again and again.other_versions:
        differs = "; another version of the program wrote other events (below)"
    return f"{unchanged}; {ends[found.end_proved_by]}{differs}"


def _clip_rows(videos: ClipVerdict) -> Iterator[tuple[str, str]]:
    gone = f"; {videos.removed:,} are no longer there" if videos.removed else ""
    older = f"; {videos.older:,} are older than this journal" if videos.older else ""
    yield "clips", f"{videos.good:,} are as they were recorded{gone}{older}"
    yield from (("changed", name) for name in videos.altered)
    yield from (("unknown", f"{name} is not in the journal") for name in videos.unknown)
    yield from (("deleted", f"{name}; older ones are there") for name in videos.deleted)
    if videos.missing:
        yield "no clip", f"{videos.missing:,} times a clip could not be recorded"


def _refold_rows(again: RefoldResult) -> Iterator[tuple[str, str]]:
    yield "raw bytes", f"{again.raw.compared:,} captures decode to the same observations"
    yield from (("not proved", _note(note)) for note in again.raw.notes)
    yield "events", f"{again.events:,} are the same, byte for byte"
    yield from (("not proved", _other(part, again.program)) for part in again.other_versions)


def _note(note: RawNote) -> str:
    source = "the reader" if note.source is None else note.source
    first = f"; the first is {note.first.row}: {note.first.what}" if note.first else ""
    return f"{note.captures:,} captures of {source}: {note.reason}{first}"


def _other(part: OtherVersion, program: str) -> str:
    version = part.program or "that the journal does not record"
    return (
        f"events {part.from_event:,} to {part.to_event:,} were written by version {version};"
        f" version {program} makes other events of {part.observations:,} observations there."
        " This is a change of the program or of the journal: the version that wrote them can"
        f" tell. The first is {part.first.row}: {part.first.what}"
    )
