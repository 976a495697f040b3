"""
Follows one table over MQTT: the display's own feed and model, without a browser.
"""

from __future__ import annotations

import threading
import time
from datetime import datetime
from functools import lru_cache
from typing import Final, Self

import msgspec

from shoe_daemon.display.coalescing_queue import CoalescingQueue
from shoe_daemon.display.floor_model import FloorModel
from shoe_daemon.display.message_validation import Document, topic_filters
from shoe_daemon.display.mqtt_feed import MqttFeed
from shoe_daemon.display.table_model import Moment, Table
from shoe_daemon.display.terminal.view_model import Seen
from shoe_daemon.mqtt.messages import History, RoadsNow
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.timeouts import Timeouts
from shoe_daemon.mqtt.topics import HISTORY, ROADS, STATE, STATUS
from shoe_daemon.table import from_microseconds, to_microseconds

__all__ = ["Watcher"]


_SETTLES: Final = 1.0
"""Seconds after which a broker has told which tables there are."""

_LATELY: Final = 8.0
"""Seconds for which a result stands there, whether its cards lie there or not."""

_MINUTE: Final = 60
_HOUR: Final = 3600


class Watcher:
    """
    Listens from `__enter__` to `__exit__`.

    Attributes:
        tables: All that was heard.
    """

    def __init__(
        self,
        settings: MqttSettings,
        site: str | None = None,
        *,
        stale_after: float | None = None,
        timeouts: Timeouts | None = None,
    ) -> None:
        self.tables = FloorModel(settings.prefix, stale_after=stale_after)
        self._where = "{}:{}".format(*settings.address)
        self._rung = threading.Event()
        self._queue = CoalescingQueue(self._rung.set)
        self._feed = MqttFeed(
            settings, topic_filters(settings.prefix, site), self._queue, _now, timeouts=timeouts
        )
        self._came = time.monotonic()
        self._shown: tuple[str, int] | None = None
        self._result_at = -_LATELY

    def __enter__(self) -> Self:
        """
        Begin to listen.
        """
        self._feed.start()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Leave the broker.
        """
        self._feed.stop()

    def turn(self, patience: float) -> None:
        """
        Take what has come, waiting so long for it.
        """
        self._rung.wait(patience)
        self._rung.clear()
        known, more = len(self.tables), True
        while more:
            mail = self._queue.take()
            more = mail.more
            moment = Moment(time.monotonic(), _now())
            if mail.link is not None:
                self.tables.set_link(mail.link, moment.monotonic)
                self._came = moment.monotonic
            for message in mail.messages:
                self.tables.receive(message, moment)
            if mail.known_tables is not None:
                self.tables.expire_missing(mail.known_tables, moment.monotonic)
        self.tables.advance_time(time.monotonic())
        if len(self.tables) != known:
            self._came = time.monotonic()

    @property
    def settled(self) -> bool:
        """
        Whether the broker has had the time to tell which tables there are.
        """
        return self.tables.link.connected and time.monotonic() - self._came > _SETTLES

    def is_whole(self, name: str) -> bool:
        """
        Tell whether everything that a board shows is there.
        """
        found = self.tables.named(name)
        return len(found) == 1 and all(
            found[0].body(kind) is not None for kind in (STATUS, STATE, ROADS, HISTORY)
        )

    def seen(self, name: str) -> Seen:
        """
        Say what there is to see of a table at this moment.
        """
        found = self.tables.named(name)
        table = found[0] if len(found) == 1 else None
        fresh = self.tables.freshness(table, time.monotonic())
        told = Seen(
            name=name,
            broker=self._where,
            link=self.tables.link,
            fresh=fresh,
            since="" if fresh.since is None else _since(fresh.since, time.time()),
        )
        return told if table is None else self._of(table, told)

    def _of(self, table: Table, told: Seen) -> Seen:
        state = table.body(STATE)
        return Seen(
            name=told.name,
            broker=told.broker,
            link=told.link,
            fresh=told.fresh,
            since=told.since,
            state=state,
            roads=_roads(table.documents.get(ROADS)),
            history=_history(table.documents.get(HISTORY)),
            lately=self._is_late(table),
        )

    def _is_late(self, table: Table) -> bool:
        """
        Tell whether the last result came while we looked, some seconds ago.
        """
        state = table.body(STATE)
        if state is None or state.last_result is None:
            return False
        now, result = time.monotonic(), (state.session, state.last_result.seq)
        if self._shown is not None and self._shown != result:
            self._result_at = now
        self._shown = result
        return now - self._result_at < _LATELY


# Of long documents the model keeps what came, in its checked form; most of the time
# the same as before.
@lru_cache(maxsize=1)
def _roads(document: Document | None) -> RoadsNow | None:
    return None if document is None else msgspec.json.decode(document.json, type=RoadsNow)


@lru_cache(maxsize=1)
def _history(document: Document | None) -> History | None:
    return None if document is None else msgspec.json.decode(document.json, type=History)


def _now() -> str:
    return from_microseconds(time.time_ns() // 1_000_000 * 1000)


def _since(at: str, now: float) -> str:
    """
    Write a moment by the clock on the wall, and how long ago it was.
    """
    seconds = to_microseconds(at) / 1e6
    try:
        clock = f"{datetime.fromtimestamp(seconds).astimezone():%H:%M:%S}"
    except (OverflowError, ValueError, OSError):  # a year that no clock has
        return at
    return f"{clock}, {_span(max(now - seconds, 0))}"


def _span(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{int(seconds)} s"
    if seconds < _HOUR:
        return f"{int(seconds // _MINUTE)} min"
    return f"{int(seconds // _HOUR)} h {int(seconds % _HOUR // _MINUTE)} min"
