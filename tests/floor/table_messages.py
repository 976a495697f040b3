"""Messages of tables for tests, of the types that the daemon publishes."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from hypothesis import HealthCheck, settings

from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Change, Message, Moment
from shoe_daemon.game.result_notation import parse_sequence
from shoe_daemon.game.roads import LeadingTies, Tail
from shoe_daemon.mqtt.documents import (
    ActiveAlerts,
    Device,
    History,
    ResultLast,
    RoadOptions,
    StaffAlerts,
    State,
    Status,
    road_map,
)
from shoe_daemon.table.times import from_microseconds
from tests.mqtt.generated_messages import least, most

__all__ = [
    "BEGIN",
    "PATIENT",
    "ModelFeeder",
    "alert",
    "at",
    "document",
    "event",
    "live_model",
    "payload",
    "roads",
    "topic",
]

PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""No time limit for an example: the machine may be slow."""

BEGIN = 1_795_253_400_000_000
"""2026-11-21T09:30:00Z; monotonic 1000.0 in these tests."""


def at(seconds: float) -> Moment:
    """Return the moment so many seconds after `BEGIN`."""
    return Moment(1000.0 + seconds, from_microseconds(BEGIN + int(seconds * 1e6)))


def topic(suffix: str, table: str = "table-1", site: str = "house") -> str:
    return f"shoe/v1/{site}/{table}/{suffix}"


_KINDS: dict[str, Any] = {
    "state": State,
    "status": Status,
    "alert/active": ActiveAlerts,
    "staff/alert/active": StaffAlerts,
    "result/last": ResultLast,
    "history": History,
    "device": Device,
}


def _least(kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_least_json(kind))
    return found


@cache
def _least_json(kind: str) -> str:
    return json.dumps(least(_KINDS[kind]))


def document(suffix: str, *, seq: int = 1, session: str = "s1", **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return the smallest document of a topic, as builtin types."""
    facts = _least(suffix.partition("/")[0] if "device" in suffix else suffix)
    facts |= {"schema": "1.0", "seq": seq, "session": session}
    if suffix == "state":
        facts |= {"site": "house", "table": "table-1", "published": at(0).wall, "heartbeat": 10}
    if suffix == "status":
        facts |= {"state": "online", "head": None}
    return facts | more


def payload(suffix: str, **more: Any) -> bytes:  # noqa: ANN401
    """Return the smallest document of a topic as a payload."""
    return json.dumps(document(suffix, **more)).encode()


def alert(number: int = 1, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    """Return an open irregularity with a proposal."""
    found: dict[str, Any] = most(ActiveAlerts)["alerts"][0]
    found["data"] |= {"id": number, "severity": 3, **more}
    return found


def roads(sequence: str, *, seq: int = 1, session: str = "s1", shoe: int = 1) -> bytes:
    """Return the payload of ``roads`` for a shoe."""
    options = RoadOptions(leading_ties=LeadingTies.MERGE, tail=Tail.FLAT)
    return road_map(parse_sequence(sequence), options, shoe=shoe, seq=seq, session=session)


def event(seq: int, kind: str = "round_started", **data: Any) -> bytes:  # noqa: ANN401
    """Return an event of table 1."""
    envelope = {"at": at(seq).wall, "data": data, "round": 1, "schema": "1.0", "seq": seq}
    more = {"shoe": 1, "site": "house", "table": "table-1", "type": kind}
    return json.dumps(envelope | more).encode()


class ModelFeeder:
    """A model, and messages for it."""

    def __init__(self, tables: Floor | None = None) -> None:
        self.tables = Floor() if tables is None else tables

    def feed(  # noqa: PLR0913 - every test names the one or two that it is about
        self,
        suffix: str,
        content: bytes | None = None,
        *,
        after: float = 0.0,
        retained: bool = False,
        table: str = "table-1",
        site: str = "house",
        **more: Any,  # noqa: ANN401
    ) -> list[Change]:
        """Apply one message; without content the smallest payload of the topic."""
        if content is None:
            names = {"site": site, "table": table} if suffix == "state" else {}
            content = payload(suffix, **names, **more)
        message = Message(topic(suffix, table, site), content, retained)
        return self.tables.receive(message, at(after))


def live_model(
    table: str = "table-1", *, site: str = "house", model: ModelFeeder | None = None
) -> ModelFeeder:
    """Return a connected model with one live table."""
    from shoe_daemon.floor.table import Link

    model = model or ModelFeeder()
    model.tables.set_link(Link(connected=True, since=at(0).wall), at(0).monotonic)
    model.feed("state", table=table, site=site)
    model.feed("status", table=table, site=site)
    return model
