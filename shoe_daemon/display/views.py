"""
What pages are given: the JSON of every document, made once and kept until it changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw
from msgspec.structs import replace

from shoe_daemon.display.known import Table
from shoe_daemon.display.tables import Tables
from shoe_daemon.mqtt.topics import ALERTS, STATE

__all__ = ["NOTHING", "Views"]

NOTHING: Final = b"null"

_SIDES: Final = {"player": "P", "banker": "B", "tie": "T"}
_FLAGS: Final = {"player_pair": "p", "banker_pair": "b", "natural": "n"}

_encode = msgspec.json.Encoder(order="sorted").encode


class Views:
    """
    The documents of `Tables` as pages get them, each a JSON object in UTF-8.

    Args:
        tables: The model.
        order: The tables of the configuration, by key or id: they come first.
    """

    def __init__(self, tables: Tables, order: Sequence[str] = ()) -> None:
        self._tables = tables
        self._wanted = {name: place for place, name in enumerate(order)}

    def in_order(self) -> list[Table]:
        """
        Return all tables as the pit shows them.
        """
        return sorted(self._tables, key=self._rank)

    @staticmethod
    def title(table: Table) -> str:
        """
        Return what people call a table.
        """
        state = table.body(STATE)
        return (state and state.name) or table.table

    def first(self, name: str, table: Table | None, names: Sequence[str]) -> dict[str, Any]:
        """
        Return the documents with which a page begins, by their names.
        """
        if table is None:
            return {"board": Raw(self.unknown(name))}
        return {each: Raw(self.table(each, table)) for each in names}

    def _rank(self, table: Table) -> tuple[int, str, list[tuple[int, str]]]:
        last = len(self._wanted)
        wanted = self._wanted.get(table.key, self._wanted.get(table.table, last))
        return wanted, table.site, _naturally(table.table)

    def pit(self) -> bytes:
        """
        Return what concerns all tables.
        """
        faults = self._tables.faults
        return _encode(
            {
                "broker": self._tables.link,
                "faults": {"total": faults.total, "last": list(faults.last)},
                "order": [each.key for each in self.in_order()],
            }
        )

    def table(self, name: str, table: Table) -> bytes:
        """
        Return one document of one table: ``board``, ``roads``, ``row`` ….
        """
        made = table.views.get(name)
        if made is None:
            make: Callable[[Table], bytes] = getattr(self, f"_{name}")
            made = table.views[name] = make(table)
        return made

    def unknown(self, name: str) -> bytes:
        """
        Return the board of a table that nothing was heard of.
        """
        site, _, table = name.rpartition(".")
        return _encode(
            {
                "key": None,
                "site": site or None,
                "table": table,
                "known": False,
                "fresh": self._tables.fresh(None, 0.0),
                "state": None,
            }
        )

    def _board(self, table: Table) -> bytes:
        state = table.body(STATE)
        return _encode(
            {
                **_names(table),
                "known": True,
                "fresh": table.fresh,
                # What is irregular is for the pit; players see the cards.
                "state": state and replace(state, alerts=(), alerts_omitted=0),
            }
        )

    def _row(self, table: Table) -> bytes:
        state, alerts = table.body(STATE), table.body(ALERTS)
        return _encode(
            {
                **_names(table),
                "name": self.title(table),
                "fresh": table.fresh,
                "state": state,
                "alerts": () if alerts is None else alerts.alerts,
                "devices": _devices(table),
                "outcomes": _outcomes(table),
                "status": table.heard.status,
                "faults": table.faults,
            }
        )

    def _alerts(self, table: Table) -> bytes:
        alerts = table.body(ALERTS)
        if alerts is None:
            return _encode({"alerts": (), "omitted": 0})
        return _encode({"alerts": alerts.alerts, "omitted": alerts.omitted})

    def _roads(self, table: Table) -> bytes:
        return _document(table, "roads")

    def _history(self, table: Table) -> bytes:
        return _document(table, "history")

    def _events(self, table: Table) -> bytes:
        events = [Raw(each) for each in table.events.values()]
        return _encode({"events": events, "since": table.events_since})


def _names(table: Table) -> dict[str, Any]:
    return {"key": table.key, "site": table.site, "table": table.table}


def _document(table: Table, kind: str) -> bytes:
    found = table.documents.get(kind)
    return NOTHING if found is None else found.json


def _devices(table: Table) -> list[dict[str, Any]]:
    return [{**msgspec.to_builtins(each.body), "id": name} for name, each in table.devices]


def _outcomes(table: Table) -> str:
    """
    Write the shoe as a sequence: a letter a round, with its pairs and naturals.
    """
    roads = table.documents.get("roads")
    if roads is None:
        return ""
    beads = msgspec.json.decode(roads.json).get("bead", ())
    return "".join(_bead(each) for each in beads)


def _bead(bead: dict[str, Any]) -> str:
    return _SIDES.get(bead["outcome"], "") + "".join(
        letter for flag, letter in _FLAGS.items() if bead.get(flag)
    )


def _naturally(name: str) -> list[tuple[int, str]]:
    """
    Sort ``table-9`` before ``table-10``.
    """
    parts = name.split("-")
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
