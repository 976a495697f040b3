"""The report on one shoe, made from its events, with the proof that the journal is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from shoe_daemon import __version__
from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader
from shoe_daemon.journal.journal_reader import open_read_only
from shoe_daemon.journal.part import part_around
from shoe_daemon.journal.signatures import last_signature
from shoe_daemon.journal.verify import verify
from shoe_daemon.report.cards_in_drawn_order import CardFold, DrawnCard
from shoe_daemon.report.caused_event import CausedEvent
from shoe_daemon.report.journal_events_and_commands import (
    NO_END,
    ShoeSpan,
    events_in,
    find_span,
)
from shoe_daemon.report.report_model import (
    Incident,
    Pause,
    Proof,
    ProofSignature,
    RoundLine,
    ShoeReport,
    ShoeStatus,
    Tempo,
    Verified,
)
from shoe_daemon.report.rounds_and_incidents import (
    ChangeFold,
    IncidentFold,
    RoundFold,
    compare_with_odds,
    count_rounds,
    decision_times,
)
from shoe_daemon.report.shoe_composition import compose
from shoe_daemon.table import Event, events, to_microseconds

Progress = Callable[[int, int], None]

_SECOND: Final = 1_000_000
_HASH_BYTES: Final = 32

_NEAR: Final = 10_000
"""More events than a table causes between two signatures."""

_LAST_EVENT: Final = (
    "SELECT seq, hash, observation FROM event WHERE seq < ? ORDER BY seq DESC LIMIT 1"
)
_PUBLISHED_HEAD: Final = """
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


def read_shoe(path: Path, shoe: int | None, *, progress: Progress | None = None) -> ShoeReport:
    """
    Report on one shoe of a journal; on the last one for None. A daemon may be writing the journal.

    With `progress` the chain of the shoe is verified, and `progress` is called with the
    observations done and their total.

    Raises:
        UserError: The shoe does not exist, or the file is no journal.
    """
    with open_read_only(path) as reader:
        span = find_span(reader, shoe)
        report = report_on(events_in(reader, span), replaced=span.end < NO_END)
        return replace(report, proof=prove(reader, span, progress))


def report_on(caused: Iterable[CausedEvent], *, replaced: bool = False) -> ShoeReport:
    """
    Report on the events of one shoe, from its start.

    Raises:
        UserError: The first event is not a shoe's start.
    """
    cards, rounds, incidents, changes = CardFold(), RoundFold(), IncidentFold(), ChangeFold()
    first: Event | None = None
    last: Event | None = None
    finished = False
    composition: events.StaffComposition | None = None
    for each in caused:
        last = each.event
        first = first or last
        for fold in (cards, rounds, incidents, changes):
            fold.take(each)
        match last.data:
            case events.ShoeFinished():
                finished = True
            case events.StaffComposition() as counted:
                composition = counted
            case events.CardCorrected():
                composition = None  # counted before the correction
    if first is None or last is None:
        raise UserError("these are no events of a shoe")
    started = first.data
    if not isinstance(started, events.ShoeStarted):
        raise UserError(f"event {first.seq} is {first.type}: expected a shoe's start")
    drawn = cards.finish()
    lines = rounds.finish(drawn)
    status: ShoeStatus = "replaced" if replaced else "under way"
    return ShoeReport(
        site=first.site,
        table=first.table,
        shoe=first.shoe or 0,
        status="finished" if finished else status,
        decks=started.decks,
        house=started.house,
        policy=started.policy,
        started_at=first.at,
        last_at=last.at,
        counts=count_rounds(lines),
        expectations=tuple(
            compare_with_odds(
                [(each, started.decks) for each in lines if each.counts], started.decks
            )
        ),
        composition=compose(started.decks, started.house, drawn, composition),
        incidents=tuple(incidents.incidents),
        changes=tuple(changes.changes),
        tempo=_tempo(drawn, lines, incidents.incidents),
        rounds=tuple(lines),
    )


def _tempo(cards: list[DrawnCard], lines: list[RoundLine], incidents: list[Incident]) -> Tempo:
    moments = [to_microseconds(card.at) for card in cards]
    ends = [to_microseconds(line.ended_at) for line in lines if line.ended_at]
    span = (max([*moments, *ends]) - moments[0]) / _SECOND if moments else 0.0
    done = sum(line.status == "finished" for line in lines)
    return Tempo(
        seconds=round(span, 3),
        cards_per_minute=round(len(cards) * 60 / span, 1) if span else None,
        rounds_per_hour=round(done * 3600 / span, 1) if span else None,
        longest_pause=_longest_pause(cards, moments),
        **decision_times(incidents),
    )


def _longest_pause(cards: list[DrawnCard], moments: list[int]) -> Pause | None:
    gaps = [after - before for before, after in pairwise(moments)]
    if not gaps:
        return None
    place = gaps.index(max(gaps))
    return Pause(cards[place].at, gaps[place] / _SECOND, cards[place + 1].round)


def prove(
    reader: JournalReader, span: ShoeSpan, progress: Progress | None, *, since: int | None = None
) -> Proof:
    """
    Collect the proof of some events. Without `progress` the chain is not verified.

    It is verified from the last signature or shoe before them, or before event `since`, up to the
    signature that covers them. The journal holds at least one event before the span's end.
    """
    connection = reader.connection
    last, digest, observation = connection.execute(_LAST_EVENT, (span.end,)).fetchone()
    found = connection.execute(_PUBLISHED_HEAD, (span.first, last)).fetchone()
    published = found[0] if found else None
    sessions = connection.execute(_PROGRAMS, {"first": span.first, "last": observation})
    signed = last_signature(connection, shoe=span.shoe)
    until = signed.seq if signed is not None and 0 < signed.seq - last < _NEAR else last
    verdict = verified = None
    if progress is not None:
        with reader.snapshot():
            of = reader.head().seq
            part = part_around(
                connection, reader.identity, since or span.first, until if until < of else None
            )
            verdict = verify(reader, find=_hash(published), part=part, progress=progress)
        end = of if part.end is None else part.end.seq
        verified = Verified(part.start.seq + 1, end, of, part.basis)
    fault = verdict.broken if verdict else None
    return Proof(
        first_event=span.first,
        last_event=last,
        head=digest.hex(),
        published=published,
        published_at=verdict.found_at if verdict else None,
        chain="not verified" if verdict is None else "broken" if fault else "good",
        broken=f"{fault.row}: {fault.what}" if fault else None,
        written_by=tuple(dict.fromkeys(row[0] for row in sessions)),
        reported_by=__version__,
        signature=None
        if signed is None
        else ProofSignature(signed.seq, signed.key.hex(), signed.signature.hex()),
        verified=None if fault else verified,
    )


def _hash(published: object) -> bytes | None:
    try:
        found = bytes.fromhex(str(published))
    except ValueError:
        return None
    return found if len(found) == _HASH_BYTES else None
