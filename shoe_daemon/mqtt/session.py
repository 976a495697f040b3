"""
One connection from its opening to its end: the welcome, the work, the farewell.
"""

from __future__ import annotations

import time
from typing import Final

from shoe_daemon.mqtt.connection import (
    Acknowledged,
    Arrived,
    Closed,
    Connected,
    Connection,
    Happening,
    Subscribed,
    SubscriptionRefused,
)
from shoe_daemon.mqtt.outgoing_queue import REFUSED, Outgoing
from shoe_daemon.mqtt.publisher_context import Desk
from shoe_daemon.mqtt.topics import STATE, STATUS

__all__ = ["Conversation", "ConversationLost"]

_TURN: Final = 1.0

_GOODBYE: Final = 2.0
"""Seconds of a stop's time that are kept for the documents, `offline` and its
acknowledgement."""


class ConversationLost(Exception):  # noqa: N818 - no error: most conversations end so
    """
    The connection is gone, or is not worth keeping.
    """

    def __init__(self, reason: str, *, taken_over: bool = False) -> None:
        super().__init__(reason)
        self.taken_over = taken_over


class Conversation:
    """
    Publishes over one connection.

    Attributes:
        accepted_at: When the broker accepted us (monotonic); None before that.
        remembered: Whether it had kept our session.
        turned: When the thread was last seen at work (monotonic).
    """

    def __init__(self, desk: Desk, connection: Connection) -> None:
        self.accepted_at: float | None = None
        self.remembered = False
        self.turned = time.monotonic()
        self._desk = desk
        self._connection = connection
        self._answer_by = self.turned + desk.pace.answer
        self._progress = self.turned
        self._state_due = self.turned
        self._greeting = False
        self._catching_up = False
        self._farewell: bytes | None = None
        self._farewell_taken = False

    def hold(self) -> None:
        """
        Publish until a stop is wanted and over.

        Raises:
            ConversationLost: The connection ended before.
        """
        bell = self._desk.bell
        while not self._is_done():
            now = self.turned = time.monotonic()
            for happening in self._connection.turn(bell.descriptor, self._patience(now)):
                self._handle(happening)
            self._desk.tell_cursor()
            # Heard before the work, so that a ring during the work is not missed.
            bell.hear()
            self._work()

    def _patience(self, now: float) -> float:
        until = min(now + _TURN, self._desk.pipeline.wake_at(now))
        if self.accepted_at is not None:
            until = min(until, self._state_due)
        if self._desk.deadline is not None:
            until = min(until, self._desk.deadline)
        return max(until - now, 0.0)

    def _handle(self, happening: Happening) -> None:
        match happening:
            case Acknowledged():
                self._answered(happening)
            case Arrived():
                self._desk.hand_over(happening, waited=self._catching_up)
            case Connected():
                self._welcome(happening)
            case Subscribed():
                self._catching_up = False
            case SubscriptionRefused():
                self._desk.last_error = f"orders cannot be received: {happening.reason}"
                self._desk.log.error("mqtt subscription refused", reason=happening.reason)
            case Closed():
                raise ConversationLost(happening.reason, taken_over=happening.taken_over)

    def _welcome(self, connected: Connected) -> None:
        """
        Start from nothing: whatever the broker knew of us may be lost or stale.
        """
        desk = self._desk
        self.accepted_at = self._progress = time.monotonic()
        self.remembered = self._catching_up = connected.remembered
        self._state_due = self.accepted_at + desk.settings.heartbeat
        self._connection.subscribe(desk.topics.commands)
        desk.pipeline.begin(connected.receive_maximum)
        desk.shelf.again()
        desk.shelf.drop(STATUS)
        self._greeting = True
        host, port = desk.settings.address
        desk.log.info("mqtt connected", broker=f"{host}:{port}")

    def _answered(self, answer: Acknowledged) -> None:
        now = self._progress = time.monotonic()
        message = self._desk.pipeline.acknowledged(answer.mid, answer.reason, now)
        if message is None:
            return
        if answer.reason >= REFUSED:
            self._desk.last_error = f"{message.topic}: {answer.text}"
            if self._desk.rarely(message.topic, now):
                self._desk.log.error(
                    "mqtt publish refused", topic=message.topic, reason=answer.text
                )
        elif message.payload is self._farewell:
            self._farewell_taken = True

    def _work(self) -> None:
        """
        Send all that may be sent, `online` after everything else.
        """
        now = time.monotonic()
        if self.accepted_at is None:
            if now > self._answer_by:
                raise ConversationLost("the broker does not answer")
            return
        self._check_progress(now)
        if now >= self._state_due:
            self._state_due = now + self._desk.settings.heartbeat
            self._desk.shelf.again(STATE)
        self._send_all(now)
        if self._greeting and self._desk.pipeline.served(now):
            self._greeting = False
            self._desk.shelf.put(STATUS, self._desk.online, 0)
            self._send_all(now)

    def _check_progress(self, now: float) -> None:
        if not self._desk.pipeline.in_flight:
            self._progress = now
        elif now - self._progress > 3 * self._desk.settings.keepalive:
            raise ConversationLost("the broker acknowledges nothing")

    def _send_all(self, now: float) -> None:
        pipeline = self._desk.pipeline
        while (message := pipeline.next(now)) is not None:
            pipeline.sent(message, self._send(message))
            # A slow journal must not eat up the time of the farewell.
            if self._is_late(time.monotonic()) and not pipeline.in_haste:
                break

    def _send(self, message: Outgoing) -> int:
        expiry = 3 * self._desk.settings.heartbeat if message.suffix == STATE else None
        return self._connection.publish(
            message.topic,
            message.payload,
            retain=message.suffix is not None,
            expiry=expiry,
            correlation=message.letter.correlation if message.letter is not None else None,
        )

    def _is_done(self) -> bool:
        """
        Tell whether a stop is wanted and over; if wanted, take its next step.
        """
        deadline = self._desk.deadline
        if deadline is None:
            return False
        now = time.monotonic()
        if self._farewell_taken:
            self._connection.disconnect()
        elif now < deadline:
            # A connection that is not accepted yet may still be in time.
            if self.accepted_at is not None:
                self._take_leave(now)
            return False
        return True

    def _is_late(self, now: float) -> bool:
        deadline = self._desk.deadline
        return deadline is not None and now > deadline - _GOODBYE

    def _take_leave(self, now: float) -> None:
        """
        `stopping` at once, then what is left, then `offline`.
        """
        desk, pipeline = self._desk, self._desk.pipeline
        if not pipeline.status_first:
            self._greeting = False
            pipeline.status_first = True
            desk.shelf.put(STATUS, desk.status("stopping"), 0)
            self._send_all(now)
        elif self._farewell is None:
            if self._is_late(now):
                pipeline.in_haste = True
                self._send_all(now)
            if self._is_all_said(now):
                self._farewell = desk.status("offline")
                pipeline.status_only = True
                desk.shelf.put(STATUS, self._farewell, 0)
                self._send_all(now)

    def _is_all_said(self, now: float) -> bool:
        """
        Tell whether nothing is left for which a stop waits.
        """
        pipeline = self._desk.pipeline
        # What was refused is refused: no reason to stay for it.
        return pipeline.drained or pipeline.refused or (pipeline.in_haste and pipeline.served(now))
