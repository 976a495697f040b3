"""
What pages are given: the JSON of every document, made once and kept until it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import asdict, replace

from shoe_daemon.display.floor_model import Tables
from shoe_daemon.display.table_model import Table
from shoe_daemon.mqtt.topics import ALERTS, HISTORY, ROADS, STAFF_ALERTS, STATE, STATUS

__all__ = ["NOTHING", "Views"]

NOTHING: Final = b"null"

_KEPT: Final = ("board", "row")
"""What many ask for, and what costs something to make."""

_encode = msgspec.json.Encoder(order="sorted").encode


class Views:
    """
    The documents of `Tables` as pages get them, each a JSON object in UTF-8.

    Args:
        tables: The model.
        order: The tables of the configuration, by key or id: they come first, and are
            waited for.
    """

    def __init__(self, tables: Tables, order: Sequence[str] = ()) -> None:
        self._tables = tables
        self._wanted = {name: place for place, name in enumerate(dict.fromkeys(order))}
        self._make: dict[str, Callable[[Table], bytes]] = {
            "alerts": self._alerts,
            "board": self._board,
            "events": self._events,
            HISTORY: partial(_document, kind=HISTORY),
            ROADS: partial(_document, kind=ROADS),
            "row": self._row,
        }
        self._order: list[str] = []
        self._order_of = -1

    def order(self) -> list[str]:
        """
        Return the keys of all tables as the pit shows them, and the names of those
        that are waited for.
        """
        if self._order_of != self._tables.generation:
            self._order_of = self._tables.generation
            self._order = sorted([*self._tables.keys(), *self.missing()], key=self._rank)
        return self._order

    def known(self) -> list[Table]:
        """
        Return all tables in that order.
        """
        found = (self._tables.get(key) for key in self.order())
        return [table for table in found if table is not None]

    def waited(self, key: str) -> str | None:
        """
        Return the name under which the configuration waits for a table.
        """
        return next((name for name in (key, key.partition(".")[2]) if name in self._wanted), None)

    def missing(self) -> list[str]:
        """
        Return the names of the tables that are waited for.
        """
        return [name for name in self._wanted if not self._tables.named(name)]

    def rows(self) -> list[Raw]:
        """
        Return the row of every table, in order.
        """
        found = ((self._tables.get(key), key) for key in self.order())
        return [
            Raw(self.table("row", table) if table is not None else self._waiting_row(key))
            for table, key in found
        ]

    def waiting(self, name: str) -> bytes | None:
        """
        Return the row of a table that is waited for; None where it is not.
        """
        return self._waiting_row(name) if name in self.missing() else None

    @staticmethod
    def title(table: Table) -> str:
        """
        Return what people call a table, also where its state has expired.
        """
        state, status = table.body(STATE), table.body(STATUS)
        return (state and state.name) or (status and status.name) or table.table

    def first(self, name: str, table: Table | None, names: Sequence[str]) -> dict[str, Any]:
        """
        Return the documents with which a page begins, by their names.
        """
        if table is None:
            return {"board": Raw(self.unknown(name))}
        return {each: Raw(self.table(each, table)) for each in names}

    def _rank(self, key: str) -> tuple[int, str, list[tuple[int, str]]]:
        site, _, table = key.rpartition(".")
        waited = self.waited(key)
        place = len(self._wanted) if waited is None else self._wanted[waited]
        return place, site, _naturally(table)

    def pit(self) -> bytes:
        """
        Return what concerns all tables.
        """
        faults = self._tables.faults
        return _encode(
            {
                "broker": self._tables.link,
                "faults": {"total": faults.total, "last": list(faults.last)},
                "order": self.order(),
            }
        )

    def table(self, name: str, table: Table) -> bytes:
        """
        Return one document of one table: ``board``, ``roads``, ``row`` ….
        """
        made = table.views.get(name)
        if made is None:
            made = self._make[name](table)
            if name in _KEPT:
                table.views[name] = made
        return made

    def unknown(self, name: str) -> bytes:
        """
        Return the board of a table that nothing was heard of.
        """
        return _encode(
            {**self._nothing(name), "key": None, "known": False, "state": None},
        )

    def _waiting_row(self, name: str) -> bytes:
        row = {"state": None, "alerts": (), "devices": (), "outcomes": "", "status": None}
        return _encode({**self._nothing(name), **row, "key": name, "faults": 0})

    def _nothing(self, name: str) -> dict[str, Any]:
        site, _, table = name.rpartition(".")
        fresh = self._tables.fresh(None, 0.0)
        return {"site": site or None, "table": table, "name": table, "fresh": fresh}

    def _board(self, table: Table) -> bytes:
        state = table.body(STATE)
        return _encode(
            {
                **_names(table),
                "known": True,
                "name": self.title(table),
                "fresh": table.fresh,
                # What is irregular is for the pit; players see the cards.
                "state": state and replace(state, alerts=(), alerts_omitted=0),
            }
        )

    def _row(self, table: Table) -> bytes:
        state = table.body(STATE)
        return _encode(
            {
                **_names(table),
                "name": self.title(table),
                "fresh": table.fresh,
                "state": state,
                "alerts": _open_alerts(table),
                "devices": _devices(table),
                "outcomes": _outcomes(table),
                "status": table.heard.status,
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

    def _events(self, table: Table) -> bytes:
        events = [Raw(each) for each in table.events.json]
        return _encode({"events": events, "since": table.events_since})


def _names(table: Table) -> dict[str, Any]:
    return {"key": table.key, "site": table.site, "table": table.table}


def _open_alerts(table: Table) -> list[Any]:
    """
    Return the open alerts, those that only staff may see with a mark: for the pit alone.
    """
    public, staff = table.body(ALERTS), table.body(STAFF_ALERTS)
    alerts: list[Any] = [] if public is None else list(public.alerts)
    told = {each.data.id for each in alerts}
    hidden = () if staff is None else staff.alerts
    marked = [{**asdict(each), "staff_only": True} for each in hidden if each.data.id not in told]
    return alerts + marked


def _document(table: Table, kind: str) -> bytes:
    found = table.documents.get(kind)
    return NOTHING if found is None else found.json


def _devices(table: Table) -> list[dict[str, Any]]:
    return [{**msgspec.to_builtins(each.body), "id": name} for name, each in table.devices]


def _outcomes(table: Table) -> str:
    """
    Write the shoe as a sequence: a letter a round, with its pairs and naturals.
    """
    roads = table.body(ROADS)
    return "" if roads is None else roads.outcomes


def _naturally(name: str) -> list[tuple[int, str]]:
    """
    Sort ``table-9`` before ``table-10``.
    """
    parts = name.split("-")
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
