"""Publishes the retained documents of a table whenever they change."""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal

import structlog

from drivers import Reader
from shoe_daemon.game import Result
from shoe_daemon.mqtt import documents_and_replies, topics
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table import Detail, PublicHistory, make_detail

__all__ = ["StatePublisher"]

_log = structlog.get_logger(__name__)

_DEVICE_INTERVAL_S: Final = 10.0
_STALE_AFTER_S: Final = 5.0

DeviceState = Literal["connected", "no-signal", "stale", "error"]


class StatePublisher:
    """
    Gives the publisher changed documents, and systemd a line of status.

    Attributes:
        blocked: A reader is blocked because frames come faster than they are processed.
    """

    def __init__(
        self,
        core: Core,
        publisher: Publisher | None,
        readers: Sequence[Reader],
        session: str,
        heartbeat: int,
    ) -> None:
        self._core = core
        self._publisher = publisher
        self._readers = readers
        self._session = session
        self._heartbeat = heartbeat
        self._published: dict[str, object] = {}
        self._devices_published_at = 0.0
        self._published_observation = -1
        self.blocked = False

    @property
    def is_outdated(self) -> bool:
        """
        Whether there are observations since the last publication; those without events
        count too.
        """
        return self._core.journal.head.observation != self._published_observation

    def notify_events(self) -> None:
        """Publish the events on disk, before any document."""
        if self._publisher is not None:
            self._publisher.notify(self._core.table.state.seq)

    def publish_if_changed(self) -> None:
        """Publish the table's documents if there are new observations."""
        if self.is_outdated:
            self.publish()

    def publish(self) -> None:
        """Publish the table's documents, and the events on disk."""
        self._published_observation = self._core.journal.head.observation
        publisher, table = self._publisher, self._core.table.public()
        if publisher is None:
            return
        published, seq, session = self._published, table.seq, self._session
        publisher.retain(
            topics.STATE,
            partial(
                _state,
                table=table,
                session=session,
                alarm=self._alarm,
                heartbeat=self._heartbeat,
            ),
            seq,
        )
        if published.get("result", ...) != table.last_result:
            published["result"] = table.last_result
            result = documents_and_replies.ResultLast(
                result=table.last_result, seq=seq, session=session
            )
            publisher.retain(topics.RESULT, documents_and_replies.encode_message(result), seq)
        if published.get("alerts") != table.alerts:
            published["alerts"] = table.alerts
            alerts = documents_and_replies.active_alerts(table.alerts, seq=seq, session=session)
            publisher.retain(topics.ALERTS, alerts, seq)
        staff_alerts = self._core.table.staff_alerts()
        if published.get("staff_alerts") != staff_alerts:
            published["staff_alerts"] = staff_alerts
            alerts = documents_and_replies.staff_alerts(staff_alerts, seq=seq, session=session)
            publisher.retain(topics.STAFF_ALERTS, alerts, seq)
        self._publish_roads_and_history(publisher, seq)
        publisher.notify(seq)

    def _publish_roads_and_history(self, publisher: Publisher, seq: int) -> None:
        """Publish roads and history if past rounds have changed."""
        table, published = self._core.table, self._published
        shoe, options = table.state.shoe, table.state.session.options
        drawn = documents_and_replies.RoadOptions(
            leading_ties=options.leading_ties, tail=options.tail
        )
        played = () if shoe is None else shoe.played
        number = None if shoe is None else shoe.number
        rounds = (
            number,
            drawn,
            # Past rounds are replaced, never changed: identical ones compare fast.
            [(each.data, each.voided, each.lost, each.entered) for each in played],
            [each.number for each in table.state.held],
            [] if shoe is None else [each.number for each in shoe.unfinished],
        )
        if published.get("past") == rounds:
            return
        published["past"] = rounds
        header: dict[str, Any] = {"seq": seq, "session": self._session}
        road_map = partial(_roads, table.results(), options=drawn, shoe=number, **header)
        publisher.retain(topics.ROADS, road_map, seq)
        publisher.retain(topics.HISTORY, partial(_history, table.history(), **header), seq)

    def publish_devices(self, *, blocked: bool) -> None:
        """Publish the readers' health if it has changed, and at regular intervals."""
        if self._publisher is None:
            return
        now = time.monotonic()
        is_due = now - self._devices_published_at >= _DEVICE_INTERVAL_S
        if is_due:
            self._devices_published_at = now
        for reader in self._readers:
            state = self._state_of(reader, now)
            if is_due or self._published.get(reader.name) != state:
                self._published[reader.name] = state
                self._publisher.retain(
                    topics.device(reader.name), self._device(reader, state, now), 0
                )
        self._set_blocked(blocked=blocked)

    def _set_blocked(self, *, blocked: bool) -> None:
        if blocked is not self.blocked:
            self.blocked = blocked
            if blocked:
                _log.critical("readers_blocked")
            else:
                _log.warning("readers_unblocked")
            self.publish()

    @property
    def _alarm(self) -> Detail | None:
        if self._core.alarm is not None:
            return self._core.alarm
        return make_detail("cards_too_fast") if self.blocked else None

    def _state_of(self, reader: Reader, now: float) -> DeviceState:
        ages = reader.ages
        record = self._core.table.state.readers.get(reader.name)
        if record is not None and record.errors:
            return "error"
        if ages.link is None:
            return "no-signal"
        frame = ages.last_frame or ages.link
        if ages.last_byte is not None and ages.last_byte > frame:
            return "stale" if now - frame > _STALE_AFTER_S else "connected"
        return "connected"

    def _device(self, reader: Reader, state: DeviceState, now: float) -> bytes:
        ages, counts = reader.ages, reader.counts
        return documents_and_replies.encode_message(
            documents_and_replies.Device(
                byte_age=_age(ages.last_byte, now),
                bytes=counts.bytes,
                event_age=_age(ages.last_event, now),
                frame_age=_age(ages.last_frame, now),
                frames=counts.frames,
                noise=counts.noise,
                repeats=counts.repeats,
                seq=self._core.table.state.seq,
                session=self._session,
                state=state,
            )
        )

    @property
    def summary(self) -> str:
        """The table's status on one line, for systemd."""
        if self._alarm is not None:
            return self._alarm.text
        parts = [
            f"{each.name}: {'ok' if each.ages.link else each.detail}" for each in self._readers
        ]
        health = None if self._publisher is None else self._publisher.health
        if health is not None and not health.connected:
            down = int(time.monotonic() - health.since)
            parts.append(f"broker down {down} s, {health.queued} waiting")
        return ", ".join(parts) or "no reader"


def _state(published: str, **fields: object) -> bytes:
    return documents_and_replies.state(published=published, **fields)  # type: ignore[arg-type]


def _roads(results: list[Result], _published: str, **fields: Any) -> bytes:  # noqa: ANN401 - passed on
    return documents_and_replies.road_map(results, **fields)


def _history(table: PublicHistory, _published: str, **fields: Any) -> bytes:  # noqa: ANN401 - passed on
    return documents_and_replies.history(table, **fields)


def _age(since: float | None, now: float) -> int | None:
    return None if since is None else max(0, int((now - since) * 1000))
