"""
The events that the publisher brings away: the latest out of memory, older ones
out of the journal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shoe_daemon.journal import JournalReader, StoredEvent

_KEPT: Final = 64


class Outbox:
    """
    What is on the disk, for the publisher's thread; the core adds to it.

    An event that was just written is handed over as it is: to read it back from
    the journal would only take time.
    """

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader
        self._latest: list[StoredEvent] = []

    def add(self, events: Sequence[StoredEvent]) -> None:
        """
        Take what was written and follows what was added before; for the core's thread.
        """
        # Never changed, always replaced: the other thread may be reading it.
        self._latest = [*self._latest[-_KEPT:], *events]

    def events(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        """
        Return the events that follow `after_seq`, at most `limit`.
        """
        latest = self._latest
        if not latest or after_seq + 1 < latest[0].seq:
            return self._reader.events(after_seq, limit)
        first = after_seq + 1 - latest[0].seq
        return latest[first : first + limit]

    def cursor(self, consumer: str) -> int:
        """
        Return the last event that a consumer is known to have; 0 where none.
        """
        return self._reader.cursor(consumer)

    def close(self) -> None:
        """
        Give the journal back.
        """
        self._reader.close()
