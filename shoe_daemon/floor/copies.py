"""How far the back office's database is behind the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from msgspec import Struct

from shoe_daemon.floor.table import Moment, Table
from shoe_daemon.mqtt.topics import STATE

LATE_S: Final = 60.0
"""A copy is late if it lacked events for so long without getting any."""


class LateCopy(Struct, frozen=True):
    """
    A table that the database is behind.

    Attributes:
        table: Key of the table.
        events: So many of its events are not copied.
        since: Since when none was, RFC 3339.
    """

    table: str
    events: int
    since: str


class _Waiting(NamedTuple):
    copied: int
    since: Moment


class Copies:
    """Remembers since when each copy stands still."""

    def __init__(self) -> None:
        self._waiting: dict[str, _Waiting] = {}

    def late(
        self, tables: Iterable[Table], copied: Mapping[str, int], moment: Moment
    ) -> list[LateCopy]:
        """
        Return the late copies of tables.

        Args:
            tables: The tables; one that the database does not know lacks everything there.
            copied: The last copied event of each table, by keys.
            moment: Now.
        """
        waiting, found = {}, []
        for table in tables:
            state, last = table.body(STATE), copied.get(table.key, 0)
            if state is None or state.seq <= last:
                continue
            before = self._waiting.get(table.key)
            since = moment if before is None or before.copied != last else before.since
            waiting[table.key] = _Waiting(last, since)
            if moment.monotonic - since.monotonic >= LATE_S:
                found.append(LateCopy(table.key, state.seq - last, since.wall))
        self._waiting = waiting
        return found
