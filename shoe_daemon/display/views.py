"""JSON documents that pages receive, encoded from the model; expensive ones are cached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from shoe_daemon.display.languages import PLAYER_SENTENCES
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Table
from shoe_daemon.mqtt.topics import ALERTS, HISTORY, ROADS, STAFF_ALERTS, STATE, STATUS

JSON_NULL: Final = b"null"

_CACHED_VIEWS: Final = ("board", "row")
"""Views that many streams send and that are expensive to encode."""

MAX_NOTIFIER_FAULTS: Final = 10

_encode = msgspec.json.Encoder(order="sorted").encode


class JsonViews:
    """
    The views of the model, each a JSON object in UTF-8.

    Args:
        configured: Keys or ids of the configured tables: they come first, and have a row before
            anything is received from them.
    """

    def __init__(self, tables: Floor, configured: Sequence[str] = ()) -> None:
        self._tables = tables
        names = dict.fromkeys(configured)
        self._configured = {name: position for position, name in enumerate(names)}
        self._encoders: dict[str, Callable[[Table], bytes]] = {
            "alerts": self._alerts,
            "board": self._board,
            "events": self._events,
            "public_alerts": self._public_alerts,
            HISTORY: partial(_document, kind=HISTORY),
            ROADS: partial(_document, kind=ROADS),
            "row": self._row,
        }
        self._order: list[str] = []
        self._order_generation = -1

    def order(self) -> list[str]:
        """
        Return the keys of all tables, and the names of missing ones, in the order of the pit.
        """
        if self._order_generation != self._tables.generation:
            self._order_generation = self._tables.generation
            self._order = sorted([*self._tables.keys(), *self.missing()], key=self._sort_key)
        return self._order

    def tables(self) -> list[Table]:
        """Return all tables in the order of the pit."""
        found = (self._tables.get(key) for key in self.order())
        return [table for table in found if table is not None]

    def configured_name(self, key: str) -> str | None:
        """Return the name of a table in the configuration, or None."""
        names = (key, key.partition(".")[2])
        return next((name for name in names if name in self._configured), None)

    def missing(self) -> list[str]:
        """Return the names of the configured tables that are unknown."""
        return [name for name in self._configured if not self._tables.named(name)]

    def rows(self) -> list[Raw]:
        """Return the row of every table, in the order of the pit."""
        found = ((self._tables.get(key), key) for key in self.order())
        return [
            Raw(self.table("row", table) if table is not None else self._missing_row(key))
            for table, key in found
        ]

    def missing_row(self, name: str) -> bytes | None:
        """Return the row of a missing configured table; None for any other name."""
        return self._missing_row(name) if name in self.missing() else None

    @staticmethod
    def title(table: Table) -> str:
        """Return the name of a table, also after its `state` has expired."""
        state, status = table.body(STATE), table.body(STATUS)
        return (state and state.name) or (status and status.name) or table.table

    def initial(self, name: str, table: Table | None, names: Sequence[str]) -> dict[str, Any]:
        """Return the initial documents of a page by their names."""
        if table is None:
            return {"board": Raw(self.unknown(name))}
        return {each: Raw(self.table(each, table)) for each in names}

    def _sort_key(self, key: str) -> tuple[int, str, list[tuple[int, str]]]:
        site, _, table = key.rpartition(".")
        name = self.configured_name(key)
        position = len(self._configured) if name is None else self._configured[name]
        return position, site, _natural_sort_key(table)

    def pit(self) -> bytes:
        """Return the document about all tables."""
        faults = self._tables.faults
        return _encode(
            {
                "broker": self._tables.link,
                "copies": self._tables.late_copies[:MAX_NOTIFIER_FAULTS],
                "faults": {"total": faults.total, "last": list(faults.last)},
                "notifications": self._tables.notifier_faults[:MAX_NOTIFIER_FAULTS],
                "order": self.order(),
            }
        )

    def table(self, name: str, table: Table) -> bytes:
        """Return one document of one table: ``board``, ``roads``, ``row`` …."""
        encoded = table.cached_views.get(name)
        if encoded is None:
            encoded = self._encoders[name](table)
            if name in _CACHED_VIEWS:
                table.cached_views[name] = encoded
        return encoded

    def unknown(self, name: str) -> bytes:
        """Return the board of an unknown table."""
        return _encode({**self._unknown_table(name), "key": None, "known": False, "state": None})

    def _missing_row(self, name: str) -> bytes:
        row = {"state": None, "alerts": (), "devices": (), "outcomes": "", "status": None}
        known = {**self._unknown_table(name), **row, "figures": None}
        return _encode({**known, "key": name, "faults": 0})

    def _unknown_table(self, name: str) -> dict[str, Any]:
        site, _, table = name.rpartition(".")
        freshness = self._tables.freshness(None, 0.0)
        return {"site": site or None, "table": table, "name": table, "fresh": freshness}

    def _board(self, table: Table) -> bytes:
        state = table.body(STATE)
        if state is not None and state.detail_code not in PLAYER_SENTENCES:
            # Other alarms are for staff, and do not make the board out of date.
            state = replace(state, alarm=None, detail_code=None, detail_values={})
        return _encode(
            {
                **_table_ids(table),
                "known": True,
                "name": self.title(table),
                "fresh": table.freshness,
                # Alerts are shown in the pit only.
                "state": state and replace(state, alerts=(), alerts_omitted=0),
            }
        )

    def _row(self, table: Table) -> bytes:
        state, roads = table.body(STATE), table.body(ROADS)
        if state is not None and state.alarm is None and (alarm := table.alarm) is not None:
            code, values, text = alarm
            state = replace(state, alarm=text, detail_code=code, detail_values=values)
        return _encode(
            {
                **_table_ids(table),
                "name": self.title(table),
                "fresh": table.freshness,
                "state": state,
                "alerts": _open_alerts(table),
                "figures": (
                    None
                    if state is None
                    else table.figures.hour(state.published, table.events_since)
                ),
                "devices": [
                    {**msgspec.to_builtins(each.body), "id": name} for name, each in table.devices
                ],
                # One letter for each round of the shoe, with its pairs and naturals.
                "outcomes": "" if roads is None else roads.outcomes,
                "status": table.contact.status,
                "faults": table.faults,
                "staff_alerts_missing": (
                    self._tables.staff_alerts and table.body(STAFF_ALERTS) is None
                ),
            }
        )

    def _alerts(self, table: Table) -> bytes:
        found = (table.body(ALERTS), table.body(STAFF_ALERTS))
        omitted = sum(each.omitted for each in found if each is not None)
        return _encode({"alerts": _open_alerts(table), "omitted": omitted})

    def _public_alerts(self, table: Table) -> bytes:
        found = table.body(ALERTS)
        alerts = () if found is None else found.alerts
        # Rulings are proposed in the pit only.
        shown = [replace(each, data=replace(each.data, proposals=())) for each in alerts]
        return _encode({"alerts": shown})

    def _events(self, table: Table) -> bytes:
        events = [Raw(each) for each in table.events.json]
        return _encode({"events": events, "since": table.events_since})


def _table_ids(table: Table) -> dict[str, Any]:
    return {"key": table.key, "site": table.site, "table": table.table}


def _open_alerts(table: Table) -> list[Any]:
    """Return the open alerts for the pit; those for staff only are marked."""
    public, staff = table.body(ALERTS), table.body(STAFF_ALERTS)
    alerts: list[Any] = [] if public is None else list(public.alerts)
    public_ids = {each.data.id for each in alerts}
    hidden = () if staff is None else staff.alerts
    marked = [
        {**msgspec.to_builtins(each), "staff_only": True}
        for each in hidden
        if each.data.id not in public_ids
    ]
    return alerts + marked


def _document(table: Table, kind: str) -> bytes:
    found = table.documents.get(kind)
    return JSON_NULL if found is None else found.json


def _natural_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts ``table-9`` before ``table-10``."""
    parts = name.split("-")
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
