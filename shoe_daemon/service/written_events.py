"""The events on disk, for the thread that publishes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from shoe_daemon.journal import JournalReader, StoredEvent

_KEPT: Final = 64
"""The latest events in memory, at least."""


def _is_withheld(seq: int, withheld: Sequence[tuple[int, int]]) -> bool:
    return any(first <= seq <= last for first, last in withheld)


class WrittenEvents:
    """
    The events on disk, for the publisher's thread; the core adds new ones.

    The latest events are kept in memory: reading them back from the journal would
    only take time.

    Attributes:
        withheld: The first and last number of events that are never published; as in the
            table's state.
    """

    def __init__(self, reader: JournalReader, withheld: Sequence[tuple[int, int]] = ()) -> None:
        self.withheld = withheld
        self._reader = reader
        self._latest: list[StoredEvent] = []

    def add(self, events: Sequence[StoredEvent]) -> None:
        """Add events that were written; for the core's thread."""
        # Replaced, never changed: the other thread may be reading the list.
        latest = self._latest[-_KEPT:]
        if latest and events and events[0].seq != latest[-1].seq + 1:
            latest = []  # numbers were skipped
        self._latest = [*latest, *events]

    def events(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        """Return the events that follow `after_seq` and may be published, at most `limit`."""
        while True:
            found = self._stored(after_seq, limit)
            if not self.withheld or not found:
                return found
            if public := [each for each in found if not _is_withheld(each.seq, self.withheld)]:
                return public
            after_seq = found[-1].seq

    def _stored(self, after_seq: int, limit: int) -> Sequence[StoredEvent]:
        latest = self._latest
        if not latest or after_seq + 1 < latest[0].seq:
            return self._reader.events(after_seq, limit)
        first = after_seq + 1 - latest[0].seq
        return latest[first : first + limit]

    def close(self) -> None:
        """Close the journal."""
        self._reader.close()
