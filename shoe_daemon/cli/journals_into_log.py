"""Import of tables' journals into the history."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from shoe_daemon.display.history_store import HistoryStore, SeqRange, logged_event
from shoe_daemon.display.history_summaries import LoggedEvent
from shoe_daemon.errors import UserError
from shoe_daemon.journal import JournalReader, StoredEvent
from shoe_daemon.journal.journal_reader import open_read_only
from shoe_daemon.table import is_staff

BATCH_SIZE: Final = 5000


class Imported(NamedTuple):
    """
    The result of an import.

    Attributes:
        name: ``site.table``.
        events: Public events of the journal.
        new: So many of them were not in the history.
    """

    name: str
    events: int
    new: int


class _Envelope(Struct, gc=False):
    at: str
    data: dict[str, Any]
    round: int | None
    seq: int
    shoe: int | None
    type: str


_decode = msgspec.json.Decoder(_Envelope).decode


def import_journal(
    store: HistoryStore, path: Path, progress: Callable[[int, int], None]
) -> Imported:
    """
    Add the public events of a journal to the history; a repetition changes nothing.

    Args:
        store: The history.
        path: The journal; a daemon may be writing it.
        progress: Receives the last imported number, and that of the journal's end.

    Raises:
        UserError: The journal cannot be read, or holds an event of another form.
    """
    with open_read_only(path) as reader:
        identity, end = reader.identity, reader.head().seq
        journal = _journal_of(store, reader, end)
        last, count, new = 0, 0, 0
        while last < end:
            stored = [each for each in reader.events(last, BATCH_SIZE) if each.seq <= end]
            until = stored[-1].seq if stored else end
            events = _public(stored, path)
            new += store.add_to_journal(journal, events, SeqRange(last + 1, until))
            count, last = count + len(events), until
            progress(last, end)
    return Imported(f"{identity.site}.{identity.table}", count, new)


def _journal_of(store: HistoryStore, reader: JournalReader, end: int) -> int:
    """Return the number of a journal in the history, by its first and its last events."""
    sample = [*reader.events(0), *reader.events(max(0, end - BATCH_SIZE), BATCH_SIZE)]
    identity = reader.identity
    return store.journal_with(identity.site, identity.table, _public(sample, reader.path))


def _public(stored: Iterable[StoredEvent], path: Path) -> list[LoggedEvent]:
    events = []
    for each in stored:
        if not is_staff(each.type):
            try:
                events.append(logged_event(_decode(each.body)))
            except (ValueError, KeyError) as error:
                raise UserError(f"{path}: event {each.seq}: {error}") from error
    return events
