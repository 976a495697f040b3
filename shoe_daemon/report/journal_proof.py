"""The proof section of a report: hashes, versions and the verified chain of its journal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from shoe_daemon import __version__
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.verify import ChainVerdict, verify
from shoe_daemon.report.report_model import Proof
from shoe_daemon.report.shoe_events import ShoeSpan

SIGNERS: Final = ("Dealer", "Supervisor", "Auditor")

_NO_END: Final = 1 << 62
_HASH_BYTES: Final = 32

_LAST: Final = "SELECT seq, hash, observation FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1"
_PUBLISHED: Final = """
    SELECT body ->> '$.data.head' FROM event
    WHERE seq BETWEEN ? AND ? AND type = 'shoe_finished' ORDER BY seq DESC LIMIT 1
"""
_PROGRAMS: Final = """
    SELECT body ->> '$.program' FROM observation
    WHERE type = 'session' AND id <= :last AND id >= ifnull((
        SELECT max(o.id) FROM observation o, event e
        WHERE o.type = 'session' AND e.seq = :first AND o.id <= e.observation
    ), 0) ORDER BY id
"""

Progress = Callable[[int, int], None]


def prove(reader: JournalReader, span: ShoeSpan, progress: Progress | None) -> Proof:
    """Collect the proof of one shoe. Without `progress` the chain is not verified."""
    connection = reader.connection
    end = _NO_END if span.end is None else span.end
    last, digest, observation = connection.execute(_LAST, (end,)).fetchone()
    found = connection.execute(_PUBLISHED, (span.first, last)).fetchone()
    published = found[0] if found else None
    sessions = connection.execute(_PROGRAMS, {"first": span.first, "last": observation})
    verdict = None
    if progress is not None:
        verdict = verify(reader, find=_hash(published), progress=progress)
    return Proof(
        first_event=span.first,
        last_event=last,
        head=digest.hex(),
        published=published,
        published_at=verdict.found_at if verdict else None,
        chain=_chain(verdict),
        broken=_broken(verdict),
        written_by=tuple(dict.fromkeys(row[0] for row in sessions)),
        reported_by=__version__,
    )


def proof_rows(proof: Proof) -> list[tuple[str, str]]:
    """Return rows of name and value."""
    rows = [
        ("Events", f"{proof.first_event:,} to {proof.last_event:,} of the journal"),
        ("Chain", _CHAIN[proof.chain].format(broken=proof.broken)),
        ("Head", f"after the last event of this shoe: {proof.head}"),
    ]
    if proof.published is not None:
        rows.append(("Published", f"{_where(proof)}: {proof.published}"))
    written = ", ".join(each or "not recorded" for each in proof.written_by) or "not recorded"
    rows.append(("Program", f"written by version {written}; report by {proof.reported_by}"))
    return rows


_CHAIN: Final = {
    "good": "good: the whole journal was verified for this report",
    "broken": "BROKEN at {broken}",
    "not verified": "not verified for this report",
}


def _where(proof: Proof) -> str:
    if proof.published_at is not None:
        return f"in shoe_finished, found in the journal at {proof.published_at}"
    if proof.chain == "good":
        return "in shoe_finished, NOT FOUND in the journal"
    return "in shoe_finished, not compared"


def _chain(verdict: ChainVerdict | None) -> Literal["good", "broken", "not verified"]:
    if verdict is None:
        return "not verified"
    return "broken" if verdict.broken else "good"


def _broken(verdict: ChainVerdict | None) -> str | None:
    broken = verdict.broken if verdict else None
    return f"{broken.row}: {broken.what}" if broken else None


def _hash(published: object) -> bytes | None:
    try:
        found = bytes.fromhex(str(published))
    except ValueError:
        return None
    return found if len(found) == _HASH_BYTES else None
