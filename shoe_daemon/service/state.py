"""Publishes the retained documents of a table whenever they change."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import structlog
from msgspec.structs import replace

from drivers import Counts, Reader
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.mqtt import documents, topics
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.queues import Document
from shoe_daemon.service import guard
from shoe_daemon.service.core import Core
from shoe_daemon.table import Detail, Table, make_detail

_log = structlog.get_logger(__name__)

_DEVICE_INTERVAL_S: Final = 10.0
_STALE_AFTER_S: Final = 5.0
_ALARM: Final = "alarm"

DeviceState = Literal["connected", "no-signal", "stale", "error"]


class TableDocuments:
    """The retained documents of a table, each time that they have changed."""

    def __init__(self, session: str, heartbeat: int) -> None:
        self._session, self._heartbeat = session, heartbeat
        self._published: dict[str, object] = {}

    def has_changed(self, suffix: str, content: object) -> bool:
        """Note the content of a document; return whether it differs from the last one."""
        if self._published.get(suffix, ...) == content:
            return False
        self._published[suffix] = content
        return True

    def changed(self, table: Table, alarm: Detail | None) -> Iterator[tuple[str, Document]]:
        """Yield the topic's suffix and the document of `state`, and of each other change."""
        public, session = table.public(), self._session
        seq = public.seq
        yield (
            topics.STATE,
            lambda published: documents.state(
                public,
                session=session,
                alarm=alarm,
                heartbeat=self._heartbeat,
                published=published,
            ),
        )
        if self.has_changed(topics.RESULT, public.last_result):
            result = documents.ResultLast(result=public.last_result, seq=seq, session=session)
            yield topics.RESULT, documents.encode_message(result)
        if self.has_changed(topics.ALERTS, (public.alerts, public.alerts_omitted)):
            yield (
                topics.ALERTS,
                documents.active_alerts(
                    public.alerts, seq=seq, session=session, omitted=public.alerts_omitted
                ),
            )
        staff_alerts = table.staff_alerts()
        if self.has_changed(topics.STAFF_ALERTS, staff_alerts):
            alerts = documents.staff_alerts(staff_alerts, seq=seq, session=session)
            yield topics.STAFF_ALERTS, alerts
        yield from self._roads_and_history(table, seq)

    def _roads_and_history(self, table: Table, seq: int) -> Iterator[tuple[str, Document]]:
        """Yield roads and history if past rounds have changed."""
        shoe, options = table.state.shoe, table.state.session.options
        drawn = documents.RoadOptions(leading_ties=options.leading_ties, tail=options.tail)
        number = None if shoe is None else shoe.number
        rounds = (
            number,
            drawn,
            # Past rounds are replaced, never changed: identical ones compare fast.
            [] if shoe is None else [(e.data, e.voided, e.lost, e.entered) for e in shoe.played],
            [each.number for each in table.state.held],
            [] if shoe is None else [each.number for each in shoe.unfinished],
        )
        if not self.has_changed(topics.HISTORY, rounds):
            return
        results, past, session = table.results(), table.history(), self._session
        yield (
            topics.ROADS,
            lambda _published: documents.road_map(
                results, drawn, shoe=number, seq=seq, session=session
            ),
        )
        yield topics.HISTORY, lambda _published: documents.history(past, seq=seq, session=session)


class StatePublisher:
    """
    Gives the publisher changed documents, and systemd a line of status.

    Attributes:
        blocked: A reader is blocked because frames come faster than they are processed.
        notes: Further sentences for systemd's line of status.
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
        self._published_alarm: Detail | None = None
        self._publisher = publisher
        self._readers = readers
        self._session = session
        self._documents = TableDocuments(session, heartbeat)
        self._documents.has_changed(_ALARM, None)
        self._devices_published_at = 0.0
        self._published_observation = -1
        self._may_log = LogRateLimit()
        self._has_dealt_face_down = False
        self.blocked = False
        self.notes: Sequence[str] = ()

    @property
    def is_outdated(self) -> bool:
        """
        True with observations since the last publication; those without events
        count too.
        """
        return self._core.journal.head.observation != self._published_observation

    def notify_events(self) -> None:
        """Publish the events on disk, before any document."""
        if self._publisher is not None:
            self._publisher.notify(self._core.table.state.seq)

    def publish_if_changed(self) -> None:
        """Publish the table's documents if there are new observations, or another alarm."""
        if self.is_outdated or self.alarm != self._published_alarm:
            self.publish()

    def publish(self) -> None:
        """Publish the table's documents, and the events on disk."""
        self._published_observation = self._core.journal.head.observation
        with guard.guarded("state_not_published"):
            self._publish()

    def _publish(self) -> None:
        publisher, table = self._publisher, self._core.table
        if publisher is None:
            return
        self._published_alarm = alarm = self.alarm
        seq = table.state.seq
        for suffix, document in self._documents.changed(table, alarm):
            publisher.retain(suffix, document, seq)
        self._publish_signature(publisher)
        publisher.notify(seq)

    def _publish_signature(self, publisher: Publisher) -> None:
        """Publish the last signature of the journal, if it has one."""
        last = self._core.journal.signature
        if last is not None and self._documents.has_changed(topics.SIGNATURE, last):
            signature = documents.SignatureLast(
                key=last.key.hex(),
                seq=last.seq,
                session=self._session,
                signature=last.signature.hex(),
                signed=last.body.decode(),
            )
            message = documents.encode_message(signature)
            publisher.retain(topics.SIGNATURE, message, last.seq)

    def publish_devices(self, *, blocked: bool) -> None:
        """Publish the readers' health if it has changed, and at regular intervals."""
        if self._publisher is None:
            return
        now = time.monotonic()
        is_due = now - self._devices_published_at >= _DEVICE_INTERVAL_S
        if is_due:
            self._devices_published_at = now
        for reader in self._readers:
            state = self.reader_state(reader, now)
            suffix = topics.device(reader.name)
            if self._documents.has_changed(suffix, state) or is_due:
                self._publisher.retain(suffix, self._device(reader, state, now), 0)
        self._set_blocked(blocked=blocked)
        if self._documents.has_changed(_ALARM, self.alarm):
            self.publish()

    def _set_blocked(self, *, blocked: bool) -> None:
        if blocked is not self.blocked:
            self.blocked = blocked
            log = _log.critical if blocked else _log.warning
            event = "readers_blocked" if blocked else "readers_unblocked"
            if times := self._may_log(event, time.monotonic()):
                log(event, times=times)
            self.publish()

    @property
    def alarm(self) -> Detail | None:
        """Reason why the daemon cannot do its work, or a person has to act; None without one."""
        if self._core.alarm is not None:
            return self._core.alarm
        if self.blocked:
            return make_detail("cards_too_fast")
        published = None if self._publisher is None else self._publisher.alarm
        core = self._core
        return core.fault or core.flood or published or core.notice or core.clock_alarm

    def reader_state(self, reader: Reader, now: float) -> DeviceState:
        """Return the state of a reader, as in `device/<id>`."""
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

    def reader_counts(self, reader: Reader) -> Counts:
        """Return the counts of a reader, with the repeats that its tags have shown."""
        by_tags = self._core.repeats[reader.name]
        return replace(reader.counts, repeats=reader.counts.repeats + by_tags)

    def _device(self, reader: Reader, state: DeviceState, now: float) -> bytes:
        ages, counts = reader.ages, self.reader_counts(reader)
        # The counts are since the start: what was face down once is in them for ever.
        self._has_dealt_face_down |= self._core.table.deals_face_down
        return documents.encode_message(
            documents.Device(
                byte_age=_age(ages.last_byte, now),
                bytes=None if self._has_dealt_face_down else counts.bytes,
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
        alarm = self.alarm
        if alarm is not None and (self._core.alarm is not None or self.blocked):
            return alarm.text
        parts = [
            f"{each.name}: {'ok' if each.ages.link else each.detail}" for each in self._readers
        ]
        health = None if self._publisher is None else self._publisher.health
        if health is not None and not health.connected:
            down = int(time.monotonic() - health.since)
            reason = f": {health.last_error}" if health.last_error else ""
            parts.append(f"broker down {down} s, {health.queued} waiting{reason}")
        elif health is not None and health.refusal is not None:
            parts.append(f"broker refuses {health.refusal}, {health.queued} waiting")
        notes = self.notes if alarm is None else (alarm.text, *self.notes)
        return ", ".join([*parts, *notes]) or "no reader"


def _age(since: float | None, now: float) -> int | None:
    return None if since is None else max(0, int((now - since) * 1000))
