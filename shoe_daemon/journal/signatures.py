"""
Signed checkpoints: the daemon signs the head of the chain at the end of each shoe, and ten minutes
after the last signature where a shoe is played longer.

A person who can write the file can compute a new chain, but not sign it without the private key.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from shoe_daemon.journal.chain import Head, Identity, Step
from shoe_daemon.journal.database import read_anchor
from shoe_daemon.table import to_microseconds

SIGNATURE_SCHEMA: Final = "1.0"

KEY_NAME: Final = "journal.key"
"""The usual name of a private key."""

PUBLIC_NAME: Final = "journal-public.pem"
"""The usual name of its public key."""

_INTERVAL_US: Final = 10 * 60 * 1_000_000
"""The longest play without a signature, in microseconds."""

_COLUMNS: Final = "seq, shoe, CAST(body AS BLOB), key, signature"
# By primary keys alone: a journal may have thousands of signatures.
_HEAD_AFTER: Final = """
    SELECT coalesce(
        (SELECT hash FROM checkpoint WHERE observation = :observation),
        (SELECT hash FROM event WHERE seq = :seq)
    ), (SELECT observation FROM event WHERE seq = :seq),
    (SELECT observation FROM event WHERE seq > :seq ORDER BY seq LIMIT 1),
    (SELECT after FROM capture WHERE id = :capture),
    (SELECT after FROM capture WHERE id = :capture + 1)
"""


_LAST_SKIPPED: Final = """
    SELECT max(body ->> '$.next_seq') FROM observation WHERE type = 'gap'
    AND id >= ifnull(
        (SELECT observation FROM event WHERE seq <= :seq ORDER BY seq DESC LIMIT 1), 0
    )
"""


class Signer(NamedTuple):
    """
    A private key.

    Attributes:
        public: The public key, 32 bytes.
        sign: Returns the signature of a text, 64 bytes.
    """

    public: bytes
    sign: Callable[[bytes], bytes]


class Statement(Struct, frozen=True, kw_only=True):
    """
    The signed text: JSON with sorted keys, without spaces.

    Attributes:
        at: The time of the last observation.
        captures: Number of captures in the journal.
        head: The hash of the chain, in hex.
        key: The public key, in hex.
        number: Number of this signature in its journal, from 1.
        observations: Number of observations in the journal.
        seq: The last event.
        shoe: The last shoe that had ended; 0 before the end of the first.
    """

    at: str
    captures: int
    head: str
    key: str
    number: int
    observations: int
    schema: str = SIGNATURE_SCHEMA
    seq: int
    shoe: int
    site: str
    table: str


class Signature(Struct, frozen=True):
    """
    A signature as stored.

    Attributes:
        body: The signed text, a `Statement`, byte for byte.
    """

    seq: int
    shoe: int
    body: bytes
    key: bytes
    signature: bytes

    @property
    def number(self) -> int:
        """The number of this signature in its journal, from 1; 0 if its text is damaged."""
        try:
            return _decode(self.body).number
        except msgspec.DecodeError:
            return 0


class SignatureVerdict(Struct, frozen=True):
    """
    The result of checking the signatures of a journal.

    Attributes:
        fault: Why they prove nothing, or not everything; None if there is no fault.
        signatures: Number of valid signatures.
        last: The last valid signature; None without one.
        verified: They were compared with a public key.
    """

    fault: str | None
    signatures: int
    last: Statement | None
    verified: bool


_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder(Statement, strict=True).decode


def make_signature(  # noqa: PLR0913 - everything that is signed
    signer: Signer, identity: Identity, head: Head, *, at: str, shoe: int, number: int
) -> Signature:
    """Sign the head of a journal."""
    statement = Statement(
        at=at,
        captures=head.capture,
        head=head.hash.hex(),
        key=signer.public.hex(),
        number=number,
        observations=head.observation,
        seq=head.seq,
        shoe=shoe,
        site=identity.site,
        table=identity.table,
    )
    body = _encode(statement)
    return Signature(head.seq, shoe, body, signer.public, signer.sign(body))


class SignatureTimes:
    """When the next signature is due."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        last = last_signature(connection)
        # Play without a signature begins with the first event.
        row = connection.execute(
            "SELECT at FROM event WHERE seq >= ? ORDER BY seq LIMIT 1", (last.seq if last else 0,)
        ).fetchone()
        self._at = None if row is None else to_microseconds(row[0])
        self._shoe = last.shoe if last else 0

    def due(self, step: Step) -> int | None:
        """
        Return the last shoe that has ended, if the head after this step is to be signed; None if
        it is not. A step without events is not signed.
        """
        at = to_microseconds(step.observation.at)
        if self._at is None:
            self._at = at
        # A shoe that ended by itself is signed already when the next one starts.
        shoe = max(self._shoe, *ended) if (ended := _ended_shoes(step)) else self._shoe
        if shoe == self._shoe and not (ended and at - self._at >= _INTERVAL_US):
            return None
        self._at, self._shoe = at, shoe
        return shoe


def _ended_shoes(step: Step) -> list[int]:
    """Return the last shoe that had ended at each event of play."""
    return [
        event.shoe if event.type == "shoe_finished" else event.shoe - 1
        for event in step.events
        if event.shoe
    ]


def read_signatures(connection: sqlite3.Connection) -> Iterator[Signature]:
    """Yield all signatures of a journal, oldest first."""
    if has_signatures(connection):
        rows = connection.execute(f"SELECT {_COLUMNS} FROM signature ORDER BY seq")  # noqa: S608
        yield from (Signature(*row) for row in rows)


def last_signature(connection: sqlite3.Connection, *, shoe: int | None = None) -> Signature | None:
    """Return the last signature of a journal; the first that covers a shoe, if one is given."""
    if not has_signatures(connection):
        return None
    which = "ORDER BY seq DESC" if shoe is None else "WHERE shoe >= ? ORDER BY seq"
    row = connection.execute(
        f"SELECT {_COLUMNS} FROM signature {which} LIMIT 1",  # noqa: S608 - our own text
        () if shoe is None else (shoe,),
    ).fetchone()
    return None if row is None else Signature(*row)


def signed_head(connection: sqlite3.Connection, *, before: int) -> Head | None:
    """Return the last signed head before an event; None without one."""
    if not has_signatures(connection):
        return None
    row = connection.execute(
        "SELECT CAST(body AS BLOB) FROM signature WHERE seq < ? ORDER BY seq DESC LIMIT 1",
        (before,),
    ).fetchone()
    if row is None:
        return None
    try:
        said = _decode(row[0])
        return Head(said.seq, said.observations, said.captures, bytes.fromhex(said.head))
    except ValueError:  # of msgspec, too
        return None  # `check_signatures` reports it


def has_signatures(connection: sqlite3.Connection) -> bool:
    """Return whether the journal's version has signatures; a reader never migrates."""
    return bool(
        connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'signature'").fetchone()
    )


def own_statement(
    signer: Signer, identity: Identity, body: bytes, signature: bytes
) -> Statement | None:
    """Return what a table has signed with this key; None if it is not of this table and key."""
    # Ed25519 gives a text one signature (RFC 8032).
    if signer.sign(body) != signature:
        return None
    try:
        said = _decode(body)
    except msgspec.DecodeError:
        return None
    return said if (said.site, said.table) == (identity.site, identity.table) else None


def covers(connection: sqlite3.Connection, said: Statement) -> bool:
    """
    Return whether a journal has the signed head, or has skipped all numbers up to it since.

    A journal that lacks it is an older copy of the one that was signed.
    """
    try:
        _check_head(connection, "signature", said)
    except _Fault:
        (skipped,) = connection.execute(_LAST_SKIPPED, {"seq": said.seq}).fetchone()
        return skipped is not None and said.seq < skipped
    return True


class _Fault(Exception):  # noqa: N818 - a finding, not a failure
    pass


def check_signatures(
    connection: sqlite3.Connection,
    identity: Identity,
    is_valid: Callable[[Signature], bool] | None,
) -> SignatureVerdict:
    """
    Check all signatures of a journal whose chain is valid.

    `is_valid` returns whether a signature was made with the expected key, and raises `ValueError`
    with the reason if another key made it. None compares only the signed heads.
    """
    last: Statement | None = None
    count, fault = 0, None
    try:
        for each in read_signatures(connection):
            last = _check(connection, identity, each, count + 1, is_valid)
            count += 1
        if is_valid is not None:
            _check_coverage(connection, last)
    except _Fault as found:
        fault = str(found)
    return SignatureVerdict(fault, count, last, is_valid is not None)


def _check(
    connection: sqlite3.Connection,
    identity: Identity,
    row: Signature,
    number: int,
    is_valid: Callable[[Signature], bool] | None,
) -> Statement:
    name = f"signature after event {row.seq:,}"
    try:
        said = _decode(row.body)
    except msgspec.DecodeError as error:
        raise _Fault(f"{name}: its text is no statement of this version") from error
    if (said.site, said.table) != (identity.site, identity.table):
        owner = f"{identity.site}/{identity.table}"
        raise _Fault(f"{name}: it is of {said.site}/{said.table}, expected {owner}")
    if (said.seq, said.shoe, said.key) != (row.seq, row.shoe, row.key.hex()):
        raise _Fault(f"{name}: its columns and its text differ")
    if said.number != number:
        raise _Fault(f"{name}: it is signature {said.number}, expected {number}: some are missing")
    _check_head(connection, name, said)
    try:
        if is_valid is not None and not is_valid(row):
            raise _Fault(f"{name}: not signed with this key: the signature is invalid")
    except ValueError as error:
        raise _Fault(f"{name}: {error}") from error
    return said


def _check_head(connection: sqlite3.Connection, name: str, said: Statement) -> None:
    anchor = read_anchor(connection)
    if anchor is not None and said.observations <= anchor.observation:
        return  # of a shoe that was removed
    (last,) = connection.execute("SELECT ifnull(max(seq), 0) FROM event").fetchone()
    if said.seq > last:
        raise _Fault(
            f"{name}: it covers event {said.seq:,}, but the last event is {last:,}: the end of"
            " the journal was cut off"
        )
    place = {"observation": said.observations, "seq": said.seq, "capture": said.captures}
    digest, of, next_of, after, next_after = connection.execute(_HEAD_AFTER, place).fetchone()
    head = (digest or b"").hex()
    removed = anchor is not None and said.captures <= anchor.capture
    captured = said.captures == 0 or removed or (after is not None and after < said.observations)
    if head != said.head or of != said.observations or not captured:
        raise _Fault(
            f"{name}: the head after event {said.seq:,} is {head[:16] or None}…, signed was"
            f" {said.head[:16]}…: the journal was changed before that event"
        )
    if next_of == said.observations or (next_after or said.observations) < said.observations:
        raise _Fault(f"{name}: there are more rows before event {said.seq:,} than it covers")


def _check_coverage(connection: sqlite3.Connection, last: Statement | None) -> None:
    if last is None:
        raise _Fault("no signature: nothing proves that the chain was not computed again")
    row = connection.execute(
        "SELECT min(shoe) FROM event WHERE type = 'shoe_finished' AND seq > ?", (last.seq,)
    ).fetchone()
    if row[0] is not None:
        raise _Fault(f"shoe {row[0]} ended without a signature; the last is of shoe {last.shoe}")
