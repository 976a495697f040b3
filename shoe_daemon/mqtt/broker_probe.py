"""
A trial of the broker by a program that comes, asks and goes.

It logs in under a client id of its own, without a last will and without a session, so
that no running table or display is disturbed. It retains nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Self, TypeVar

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
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.outgoing_queue import REFUSED
from shoe_daemon.mqtt.wakeup import Bell

__all__ = ["ANSWER_TIMEOUT_S", "Probe", "ProbeError"]

ANSWER_TIMEOUT_S: Final = 3.0

T = TypeVar("T", bound=Happening)


class ProbeError(Exception):
    """
    The broker cannot be reached, refuses the login, or does not answer.
    """


class Probe:
    """
    One connection, for the length of a `with` block.

    Attributes:
        retains: Whether the broker keeps retained messages (on MQTT 5 it says so).
        arrived: The messages that came.
    """

    def __init__(
        self, settings: MqttSettings, client_id: str, timeout: float = ANSWER_TIMEOUT_S
    ) -> None:
        self.retains = True
        self.arrived: list[Arrived] = []
        self._timeout = timeout
        self._bell = Bell()
        self._connection = Connection(settings, client_id, None, timeout)

    def __enter__(self) -> Self:
        """
        Log in.

        Raises:
            ProbeError: The broker cannot be reached, or refuses the login.
        """
        try:
            self._connection.open()
            self.retains = self._await(Connected, "the login").retains
        except OSError as error:
            self._close()
            raise ProbeError(f"cannot be reached: {_reason(error)}") from error
        except ProbeError:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.disconnect()
        self._close()

    def _close(self) -> None:
        self._connection.close()
        self._bell.close()

    def subscribe(self, topic_filter: str) -> str | None:
        """
        Subscribe, and return why the broker refuses; None where it does not.

        Raises:
            ProbeError: It does not answer.
        """
        self._connection.subscribe(topic_filter)
        refusals: list[str] = []
        self._turn_until(
            lambda each: _collect(each, refusals), f"a subscription to {topic_filter}"
        )
        return refusals[0] if refusals else None

    def publish(self, topic: str, payload: bytes = b"{}") -> str | None:
        """
        Publish without retaining, and return why the broker refuses; None where it
        accepts, or on MQTT 3.1.1, which has no refusal.

        Raises:
            ProbeError: It does not answer.
        """
        self._connection.publish(topic, payload, retain=False)
        answer = self._await(Acknowledged, f"a message to {topic}")
        return answer.text if answer.reason >= REFUSED else None

    def receives(self, topic: str) -> bool:
        """
        Tell whether a message of this topic comes within the timeout.
        """
        until = time.monotonic() + self._timeout
        while not any(each.topic == topic for each in self.arrived):
            if time.monotonic() > until:
                return False
            self._turn()
        return True

    def listen(self, seconds: float) -> None:
        """
        Receive messages for some seconds.
        """
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._turn()

    def _await(self, kind: type[T], what: str) -> T:
        found = self._turn_until(lambda each: isinstance(each, kind), what)
        assert isinstance(found, kind)  # noqa: S101 - it was just asked
        return found

    def _turn_until(self, wanted: Callable[[Happening], bool], what: str) -> Happening:
        until = time.monotonic() + self._timeout
        while time.monotonic() < until:
            for happening in self._turn():
                if wanted(happening):
                    return happening
        raise ProbeError(f"does not answer {what} within {self._timeout:g} s")

    def _turn(self) -> list[Happening]:
        happened = self._connection.turn(self._bell.descriptor, 0.1)
        for each in happened:
            if isinstance(each, Arrived):
                self.arrived.append(each)
            elif isinstance(each, Closed):
                raise ProbeError(each.reason)
        if not self._connection.is_open:
            raise ProbeError("closes the connection")
        return happened


def _collect(happening: Happening, refusals: list[str]) -> bool:
    if isinstance(happening, SubscriptionRefused):
        refusals.append(happening.reason)
    return isinstance(happening, Subscribed)


def _reason(error: OSError) -> str:
    return " ".join((getattr(error, "verify_message", "") or error.strerror or str(error)).split())
