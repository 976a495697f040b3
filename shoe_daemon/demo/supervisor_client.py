"""
The supervisor at the demo's table: hears over MQTT what is irregular, thinks for
some seconds, and gives orders as any pit would.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final, Self

import msgspec
from msgspec import Struct
from paho.mqtt import client as paho

from shoe_daemon.demo.auto_supervisor import Case, Mind, Order
from shoe_daemon.demo.subscriber import leave
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.messages import Reply
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_client import create_client
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event, decode_event

__all__ = ["Said", "Supervisor"]

_PATIENCE: Final = 10.0
"""Seconds for which an answer is waited for."""

_LOOK: Final = 0.5
_NEXT: Final = 0.4
"""Part of the time to think that the next step of the same decision takes."""


class Said(Struct, frozen=True):
    """
    An order that was answered.

    Attributes:
        order: What was wanted.
        about: The irregularity.
        refused: Why it was not done; None where it was.
        waits: It is done as soon as the table moves on.
    """

    order: Order
    about: int
    refused: str | None = None
    waits: bool = False


class Supervisor:
    """
    Watches over one table from `__enter__` to `__exit__`.

    Attributes:
        heard: The number of the last event that was thought about.
    """

    def __init__(
        self,
        address: tuple[str, int],
        topics: Topics,
        mind: Mind,
        *,
        thinks: float,
        tell: Callable[[Said], None],
    ) -> None:
        """
        Args:
            address: The broker's host and port.
            topics: The table's.
            mind: Decides.
            thinks: Seconds before a decision.
            tell: Told of each order that was answered, on a thread of its own.
        """
        self.heard = 0
        self._topics, self._mind, self._thinks, self._tell = topics, mind, thinks, tell
        self._mail: queue.Queue[Event | Reply | None] = queue.Queue()
        self._due: dict[int, float] = {}
        self._asked: dict[str, tuple[Case, Order, float]] = {}
        self._numbers = count(1)
        self._listens, self._leaving = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="demo-supervisor", daemon=True)
        # A name of its own: a broker lets the elder of two of one name go.
        name = f"demo-supervisor-{secrets.token_hex(3)}"
        settings = MqttSettings(host=address[0], port=address[1], protocol="3.1.1")
        self._client = client = create_client(settings, name, reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(*address)

    def __enter__(self) -> Self:
        """
        Come to the table, and return when the broker has agreed.
        """
        self._client.loop_start()
        if not self._listens.wait(_PATIENCE):
            leave(self._client)
            raise UserError("the demo's broker lets no supervisor subscribe")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """
        Leave.
        """
        self._leaving.set()
        self._mail.put(None)  # so that nobody waits for more
        leave(self._client)
        self._thread.join()

    @property
    def busy(self) -> bool:
        """
        Whether something is being thought about.
        """
        return bool(self._due or self._asked or not self._mail.empty())

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        root = self._topics.root
        filters = (f"{root}/event/#", f"{root}/staff/event/#", f"{root}/reply/#")
        client.subscribe([(each, 1) for each in filters])

    def _on_subscribe(self, *_: object) -> None:
        self._listens.set()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/reply/" in message.topic:
            self._mail.put(msgspec.json.decode(message.payload, type=Reply))
        else:
            self._mail.put(decode_event(bytes(message.payload)))

    def _work(self) -> None:
        while not self._leaving.is_set():
            with contextlib.suppress(queue.Empty):
                self._read(self._mail.get(timeout=self._patience()))
            now = time.monotonic()
            due = [each for each, at in self._due.items() if at <= now]
            if due and not self._asked:  # one order at a time, as a person gives them
                self._act(due[0])
            self._forget(now)

    def _patience(self) -> float:
        if self._asked or not self._due:
            return _LOOK
        return max(min(min(self._due.values()) - time.monotonic(), _LOOK), 0.0001)

    def _read(self, mail: Event | Reply | None) -> None:
        if isinstance(mail, Reply):
            self._answered(mail)
        elif (
            mail is not None and mail.seq > self.heard
        ):  # what comes again has a number that was there before
            for case in self._mind.hear(mail):
                if not case.rests and not self._asks_about(case):
                    self._due.setdefault(case.found.id, time.monotonic() + self._thinks)
            for number in self._due.keys() - self._mind.cases.keys():
                del self._due[number]
            self.heard = mail.seq

    def _asks_about(self, case: Case) -> bool:
        return any(asked is case for asked, _, _ in self._asked.values())

    def _act(self, number: int) -> None:
        case = self._mind.cases[number]
        order = self._mind.decide(case)
        if order is not None:
            name = f"demo-{next(self._numbers)}"
            self._asked[name] = (case, order, time.monotonic() + _PATIENCE)
            expires = datetime.now(UTC) + timedelta(seconds=_PATIENCE)
            command = msgspec.to_builtins(order.command)
            said = {key: value for key, value in command.items() if value is not None}
            payload = {**said, "id": name, "expires_at": expires.isoformat()}
            topic = self._topics.command(order.name.replace("_", "-"))
            self._client.publish(topic, msgspec.json.encode(payload), qos=1)
        del self._due[number]

    def _answered(self, reply: Reply) -> None:
        case, order, _ = self._asked.get(reply.id or "", (None, None, 0.0))
        if case is None or order is None:
            return
        self._mind.answered(case, order, reply.refused)
        if reply.refused is None or not case.rests:  # else it is tried again
            self._tell(Said(order, case.found.id, reply.refused, case.rests))
        if case.found.id in self._mind.cases and not case.rests:
            self._due[case.found.id] = time.monotonic() + self._thinks * _NEXT
        del self._asked[reply.id or ""]

    def _forget(self, now: float) -> None:
        for name in [name for name, (_, _, until) in self._asked.items() if until < now]:
            del self._asked[name]
