"""
What everybody may know at this moment: the retained documents, kept fresh.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal

import structlog

from drivers import Reader
from shoe_daemon.game import Result
from shoe_daemon.mqtt import messages, topics
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table import Detail, PublicHistory, detail

_log = structlog.get_logger(__name__)

_DEVICE_EVERY: Final = 10.0
_STALE_AFTER: Final = 5.0
DeviceState = Literal["connected", "no-signal", "stale", "error"]


class Bulletin:
    """
    Tells the publisher what is new, and says in a line how the table is.

    Attributes:
        blocked: A reader is held back because frames come too fast.
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
        self._told: dict[str, object] = {}
        self._devices_at = 0.0
        self._shown = -1
        self.blocked = False

    @property
    def owes(self) -> bool:
        """
        Whether something was observed since the table was last told: an
        observation that no event follows from changes it too.
        """
        return self._core.journal.head.observation != self._shown

    def tell_events(self) -> None:
        """
        Tell that events are on disk, and no more than that: nothing holds them up.
        """
        if self._publisher is not None:
            self._publisher.notify(self._core.table.state.seq)

    def catch_up(self) -> None:
        """
        Tell what the table is after all that was observed.
        """
        if self.owes:
            self.publish()

    def publish(self) -> None:
        """
        Tell what the table is now, and that its events are on disk.
        """
        self._shown = self._core.journal.head.observation
        publisher, table = self._publisher, self._core.table.public()
        if publisher is None:
            return
        told, seq, session = self._told, table.seq, self._session
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
        if told.get("result", ...) != table.last_result:
            told["result"] = table.last_result
            result = messages.ResultLast(result=table.last_result, seq=seq, session=session)
            publisher.retain(topics.RESULT, messages.encode_message(result), seq)
        if told.get("alerts") != table.alerts:
            told["alerts"] = table.alerts
            alerts = messages.active_alerts(table.alerts, seq=seq, session=session)
            publisher.retain(topics.ALERTS, alerts, seq)
        unseen = self._core.table.staff_alerts()
        if told.get("staff_alerts") != unseen:
            told["staff_alerts"] = unseen
            alerts = messages.staff_alerts(unseen, seq=seq, session=session)
            publisher.retain(topics.STAFF_ALERTS, alerts, seq)
        self._publish_past(publisher, seq)
        publisher.notify(seq)

    def _publish_past(self, publisher: Publisher, seq: int) -> None:
        """
        Tell what lies behind, where any of it has changed.
        """
        table, told = self._core.table, self._told
        shoe, options = table.state.shoe, table.state.session.options
        drawn = messages.RoadOptions(leading_ties=options.leading_ties, tail=options.tail)
        played = () if shoe is None else shoe.played
        number = None if shoe is None else shoe.number
        past = (
            number,
            drawn,
            # What was played never changes, it is replaced: this costs no deep look.
            [(each.data, each.voided, each.lost, each.entered) for each in played],
            [each.number for each in table.state.held],
            [] if shoe is None else [each.number for each in shoe.unfinished],
        )
        if told.get("past") == past:
            return
        told["past"] = past
        which: dict[str, Any] = {"seq": seq, "session": self._session}
        road_map = partial(_roads, table.results(), options=drawn, shoe=number, **which)
        publisher.retain(topics.ROADS, road_map, seq)
        publisher.retain(topics.HISTORY, partial(_history, table.history(), **which), seq)

    def refresh(self, *, blocked: bool) -> None:
        """
        Tell how the readers are, when it changed or was told long ago.
        """
        if self._publisher is None:
            return
        now = time.monotonic()
        again = now - self._devices_at >= _DEVICE_EVERY
        if again:
            self._devices_at = now
        for reader in self._readers:
            state = self._state_of(reader, now)
            if again or self._told.get(reader.name) != state:
                self._told[reader.name] = state
                self._publisher.retain(
                    topics.device(reader.name), self._device(reader, state, now), 0
                )
        self._sound(blocked=blocked)

    def _sound(self, *, blocked: bool) -> None:
        if blocked is not self.blocked:
            self.blocked = blocked
            if blocked:
                _log.critical("readers_held_back")
            else:
                _log.warning("readers_free_again")
            self.publish()

    @property
    def _alarm(self) -> Detail | None:
        if self._core.alarm is not None:
            return self._core.alarm
        return detail("cards_too_fast") if self.blocked else None

    def _state_of(self, reader: Reader, now: float) -> DeviceState:
        ages = reader.ages
        known = self._core.table.state.readers.get(reader.name)
        if known is not None and known.errors:
            return "error"
        if ages.link is None:
            return "no-signal"
        frame = ages.last_frame or ages.link
        if ages.last_byte is not None and ages.last_byte > frame:
            return "stale" if now - frame > _STALE_AFTER else "connected"
        return "connected"

    def _device(self, reader: Reader, state: DeviceState, now: float) -> bytes:
        ages, counts = reader.ages, reader.counts
        return messages.encode_message(
            messages.Device(
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
        """
        How the table is, in a line, for the service manager.
        """
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


def _state(published: str, **what: object) -> bytes:
    return messages.state(published=published, **what)  # type: ignore[arg-type]


def _roads(results: list[Result], _published: str, **what: Any) -> bytes:  # noqa: ANN401 - passed on
    return messages.road_map(results, **what)


def _history(table: PublicHistory, _published: str, **what: Any) -> bytes:  # noqa: ANN401 - passed on
    return messages.history(table, **what)


def _age(since: float | None, now: float) -> int | None:
    return None if since is None else max(0, int((now - since) * 1000))
