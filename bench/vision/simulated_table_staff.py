"""A table's dealer and supervisor over MQTT: receives its events and sends its commands."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable
from typing import Final, Self

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from shoe_daemon.demo.mqtt_clients import leave
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event, Irregularity, IrregularityClosed, ReaderStatus, decode_event

__all__ = ["TableStaff"]

_TIMEOUT_S: Final = 60.0
_OPERATOR: Final = "bench"


class TableStaff:
    """
    Subscribed from `__enter__` to `__exit__`.

    Attributes:
        events: All events in order, without duplicates.
        seq: The last event's number.
        alerts: Open irregularities by id.
        down: The camera is lost.
    """

    def __init__(self, port: int, topics: Topics) -> None:
        self.events: list[Event] = []
        self.seq = 0
        self.alerts: dict[int, Irregularity] = {}
        self.down = False
        self._topics = topics
        self._changed = threading.Condition()
        self._ready = False
        self._answered: set[str] = set()
        self._fault = ""
        self._numbers = itertools.count(1)
        self._client = client = paho.Client(CallbackAPIVersion.VERSION2)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async("127.0.0.1", port)

    def __enter__(self) -> Self:
        """Subscribe, and wait for the acknowledgement."""
        self._client.loop_start()
        self._wait(lambda: self._ready, "the broker")
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        leave(self._client)
        self._client.on_connect = self._client.on_subscribe = self._client.on_message = None

    def catch_up(self, seq: int) -> None:
        """Wait until an event is received."""
        self._wait(lambda: self.seq >= seq, f"event {seq}")

    def open_shoe(self) -> None:
        """Start a new shoe, as an operator."""
        self._order("new-shoe", reason="a new shoe")

    def call(self, *, aborted: bool) -> None:
        """End a round, as the dealer; an aborted one is void, and its coup ends too."""
        if aborted:
            self._order("void-round", reason="the cards were taken back")
        self._order("confirm-result", reason="called")

    def decide(self) -> None:
        """Void held rounds and acknowledge irregularities, as a supervisor."""
        if not self.alerts:
            return
        self._order("void-round", reason="not as dealt")
        for each in sorted(self.alerts):
            self._order("acknowledge", irregularity=each, reason="seen")

    def _order(self, verb: str, **more: object) -> None:
        number = f"bench-{next(self._numbers)}"
        order = {"id": number, "operator": _OPERATOR, **more}
        self._client.publish(self._topics.command(verb), json.dumps(order), 1)
        self._wait(lambda: number in self._answered, f"an answer to {verb}")

    def _wait(self, condition: Callable[[], bool], what: str) -> None:
        with self._changed:
            met = self._changed.wait_for(lambda: bool(self._fault) or condition(), _TIMEOUT_S)
        if self._fault:
            raise RuntimeError(self._fault)
        if not met:
            raise TimeoutError(f"waited in vain for {what}")

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        root = self._topics.root
        client.subscribe([(f"{root}/{each}", 1) for each in ("event/#", "staff/#", "reply/#")])

    def _on_subscribe(self, *_: object) -> None:
        with self._changed:
            self._ready = True
            self._changed.notify_all()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        reply = self._topics.reply("")
        with self._changed:
            try:
                if message.topic.startswith(reply):
                    self._answered.add(message.topic.removeprefix(reply))
                elif "/event/" in message.topic:
                    self._hear(decode_event(bytes(message.payload)))
            except Exception as error:  # noqa: BLE001 - told where somebody waits
                self._fault = f"{message.topic}: {error!r}"
            self._changed.notify_all()

    def _hear(self, event: Event) -> None:
        if event.seq <= self.seq:
            return  # a duplicate
        if event.seq != self.seq + 1:
            raise ValueError(f"event {event.seq} after {self.seq}")
        self.seq = event.seq
        self.events.append(event)
        match event.data:
            case Irregularity() as found:
                self.alerts[found.id] = found
            case IrregularityClosed(id=number):
                self.alerts.pop(number, None)
            case ReaderStatus(link=link):
                self.down = link == "down"
