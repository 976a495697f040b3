"""
A table without a daemon: the pure core, its documents published as a daemon publishes them.

It starts at once and accepts any observation; the pages receive documents of the real types.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from shoe_daemon.mqtt import documents
from shoe_daemon.table import Event, encode_event, is_staff
from shoe_daemon.table import observations as seen
from shoe_daemon.table.detail_texts import Detail
from shoe_daemon.table.options import Options
from tests.brokers import Listener
from tests.commands.command_table import SITE
from tests.table.dealer import Dealer

__all__ = ["RETAINED", "FoldedTable"]

_MINUTES: int = 20
"""Age of the first observation of a table."""

RETAINED = (
    *("status", "alert/active", "staff/alert/active", "result/last", "roads", "history"),
    "device/shoe",
    "state",  # last: with it the display forgets the table
)


class FoldedTable(Dealer):
    """
    Deals at one table as `Dealer` does, a second between observations, and publishes.

    Attributes:
        id: The table's id.
    """

    def __init__(
        self,
        listener: Listener,
        table: str,
        *,
        house: str | None = None,
        policy: str = "management",
        alarm: Detail | None = None,
        **options: Any,  # noqa: ANN401 - any field of the options
    ) -> None:
        super().__init__(session=False)
        self.id = table
        self._listener, self._alarm = listener, alarm
        start = datetime.now(UTC) - timedelta(minutes=_MINUTES)
        self.now = int(start.timestamp() * 1_000_000)
        settings = Options(**options)
        self.say(
            seen.Session(site=SITE, table=table, house=house, policy=policy, options=settings)
        )

    @property
    def path(self) -> str:
        """The part of an address that names it."""
        return f"/table/{self.id}"

    def alert_id(self) -> int:
        """Return the id of the only open irregularity."""
        (alert,) = self.table.public().alerts
        return alert.data.id

    def clear(self) -> None:
        """Take every retained document away again."""
        for suffix in RETAINED:
            self._put(suffix, b"", retain=True)

    def publish(
        self, status: Literal["online", "stopping", "offline"] = "online", *, expired: bool = False
    ) -> None:
        """
        Publish every retained document and all public events, then the status.

        Args:
            status: What the status says.
            expired: The broker has dropped `state`, as it does of a table that is off.
        """
        table = self.table.public()
        which: dict[str, Any] = {"seq": self.table.state.seq, "session": "s1"}
        options = documents.RoadOptions(
            leading_ties=self.table.state.session.options.leading_ties,
            tail=self.table.state.session.options.tail,
        )
        result = documents.ResultLast(result=table.last_result, **which)
        shoe = None if table.shoe is None else table.shoe.number
        payloads = {
            "state": documents.state(
                table,
                session="s1",
                alarm=self._alarm,
                heartbeat=600,
                published=datetime.now(UTC).isoformat(timespec="milliseconds"),
            ),
            "alert/active": documents.active_alerts(table.alerts, **which),
            "staff/alert/active": documents.staff_alerts(self.table.staff_alerts(), **which),
            "result/last": documents.encode_message(result),
            "roads": documents.road_map(self.table.results(), options, shoe=shoe, **which),
            "history": documents.history(self.table.history(), **which),
            "device/shoe": json.dumps(_device(**which)).encode(),
            "status": documents.encode_message(
                documents.Status(name=table.name, state=status, **which)
            ),
        }
        if expired:
            del payloads["state"]
        for suffix, payload in payloads.items():
            self._put(suffix, payload, retain=True)
        for event in self.events:
            self._put_event(event)

    def _put_event(self, event: Event) -> None:
        if not is_staff(event.type):
            self._put(f"event/{event.type}", encode_event(event), retain=False)

    def _put(self, suffix: str, payload: bytes, *, retain: bool) -> None:
        self._listener.publish(f"shoe/v1/{SITE}/{self.id}/{suffix}", payload, retain=retain)


def _device(**which: Any) -> dict[str, Any]:  # noqa: ANN401
    ages = dict.fromkeys(("byte_age", "event_age", "frame_age"), 100)
    counts = dict.fromkeys(("bytes", "frames", "noise", "repeats"), 12)
    return {**ages, **counts, **which, "schema": "1.0", "state": "connected"}
