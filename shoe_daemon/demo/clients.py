"""MQTT clients of the demo: the subscriber that counts messages, and the supervisor."""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Final, Self

import msgspec
from msgspec import Struct
from paho.mqtt import client as paho

from shoe_daemon.demo.supervisor import AutoSupervisor, Case, Order
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.commands import Reply, decode_reply
from shoe_daemon.mqtt.connection import create_client, leave
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event, decode_event

_REPLY_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.5
_OBEY_S: Final = 1.0
"""Seconds in which the dealer carries out a ruling."""

_NEXT_STEP: Final = 0.4
"""Share of the decision time that the next step of the same decision takes."""


class DemoClient(ABC):
    """A client that is subscribed to topics from `__enter__` to `__exit__`."""

    def __init__(self, address: tuple[str, int], client_id: str, *topics: str) -> None:
        self._topics = topics
        self._subscribed = threading.Event()
        settings = MqttSettings(host=address[0], port=address[1], protocol="3.1.1")
        self._client = client = create_client(settings, client_id, reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(*address)

    def __enter__(self) -> Self:
        """Subscribe, and wait for the acknowledgement."""
        self._client.loop_start()
        if not self._subscribed.wait(_REPLY_TIMEOUT_S):
            leave(self._client)
            raise UserError("the demo's broker does not acknowledge a subscription")
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        leave(self._client)

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe([(topic, 1) for topic in self._topics])

    def _on_subscribe(self, *_: object) -> None:
        self._subscribed.set()

    @abstractmethod
    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        """Process a message, on paho's thread."""


class Subscriber(DemoClient):
    """
    Counts the messages of one table.

    Attributes:
        events: Number of different events received.
        last: `seq` of the last event.
        documents: Number of other messages.
    """

    def __init__(self, host: str, port: int, topics: str) -> None:
        self.events = self.last = self.documents = 0
        super().__init__((host, port), "demo-subscriber", topics)

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/event/" not in message.topic:
            self.documents += 1
            return
        seq = decode_event(bytes(message.payload)).seq
        # At least once: a repeated event has a `seq` that was already counted.
        if seq > self.last:
            self.events += 1
            self.last = seq


class AnsweredOrder(Struct, frozen=True):
    """
    A command with its answer.

    Attributes:
        order: The command.
        about: Id of the irregularity.
        refused: Reason of a refusal.
    """

    order: Order
    about: int
    refused: str | None = None


class SupervisorClient(DemoClient):
    """
    Supervises one table: receives irregularities, sends commands as a pit does.

    Attributes:
        processed: `seq` of the last event processed.
    """

    def __init__(
        self,
        address: tuple[str, int],
        topics: Topics,
        decisions: AutoSupervisor,
        *,
        decision_s: float,
        on_answer: Callable[[AnsweredOrder], None],
    ) -> None:
        """
        Args:
            address: Host and port of the broker.
            topics: Topics of the table.
            decisions: Decides.
            decision_s: Seconds before a decision.
            on_answer: Receives each answered command, on a thread of its own.
        """
        self.processed = 0
        self._command_topic, self._decisions = topics.command, decisions
        self._decision_s, self._on_answer = decision_s, on_answer
        self._inbox: queue.Queue[Event | Reply | None] = queue.Queue()
        self._due: dict[int, float] = {}
        self._asked: dict[str, tuple[Case, Order, float]] = {}
        self._numbers = count(1)
        self._leaving = threading.Event()
        self._thread = threading.Thread(target=self._work, name="demo-supervisor", daemon=True)
        # A unique client id: a broker disconnects the older of two clients with the same id.
        name, root = f"demo-supervisor-{secrets.token_hex(3)}", topics.root
        super().__init__(
            address, name, f"{root}/event/#", f"{root}/staff/event/#", f"{root}/reply/#"
        )

    def __enter__(self) -> Self:
        """Subscribe, and begin to decide."""
        super().__enter__()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self._leaving.set()
        self._inbox.put(None)  # ends the wait for messages
        super().__exit__()
        self._thread.join()

    @property
    def busy(self) -> bool:
        """True while a decision is open."""
        return bool(self._due or self._asked or not self._inbox.empty())

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/reply/" in message.topic:
            self._inbox.put(decode_reply(message.payload))
        else:
            self._inbox.put(decode_event(bytes(message.payload)))

    def _work(self) -> None:
        while not self._leaving.is_set():
            with contextlib.suppress(queue.Empty):
                self._read(self._inbox.get(timeout=self._wait_time()))
            now = time.monotonic()
            due = [each for each, at in self._due.items() if at <= now]
            if due and not self._asked:  # one command at a time, as from a person
                self._act(due[0])
            self._forget(now)

    def _wait_time(self) -> float:
        if self._asked or not self._due:
            return _POLL_S
        return max(min(min(self._due.values()) - time.monotonic(), _POLL_S), 0.0001)

    def _read(self, mail: Event | Reply | None) -> None:
        if isinstance(mail, Reply):
            self._answered(mail)
        elif mail is not None and mail.seq > self.processed:  # a repeated event has an old `seq`
            for case in self._decisions.receive(mail):
                if not case.rests and not self._asks_about(case):
                    delay = self._decision_s if case.ordered is None else _OBEY_S
                    due = time.monotonic() + delay
                    self._due[case.found.id] = min(due, self._due.get(case.found.id, due))
            cases = self._decisions.cases
            for number in list(self._due):
                if number not in cases or cases[number].rests:
                    del self._due[number]
            self.processed = mail.seq

    def _asks_about(self, case: Case) -> bool:
        return any(asked is case for asked, _, _ in self._asked.values())

    def _act(self, number: int) -> None:
        case = self._decisions.cases[number]
        order = self._decisions.decide(case)
        if order is not None:
            name = f"demo-{next(self._numbers)}"
            self._asked[name] = (case, order, time.monotonic() + _REPLY_TIMEOUT_S)
            expires = datetime.now(UTC) + timedelta(seconds=_REPLY_TIMEOUT_S)
            command = msgspec.to_builtins(order.command)
            said = {key: value for key, value in command.items() if value is not None}
            payload = {**said, "id": name, "expires_at": expires.isoformat()}
            topic = self._command_topic(order.command.name.replace("_", "-"))
            self._client.publish(topic, msgspec.json.encode(payload), qos=1)
        del self._due[number]

    def _answered(self, reply: Reply) -> None:
        case, order, _ = self._asked.get(reply.id or "", (None, None, 0.0))
        if case is None or order is None:
            return
        self._decisions.answered(case, order, reply.refused)
        if reply.refused is None or not case.rests:  # otherwise it is retried later
            self._on_answer(AnsweredOrder(order, case.found.id, reply.refused))
        if case.found.id in self._decisions.cases and not case.rests:
            self._due[case.found.id] = time.monotonic() + self._decision_s * _NEXT_STEP
        del self._asked[reply.id or ""]

    def _forget(self, now: float) -> None:
        self._asked = {name: asked for name, asked in self._asked.items() if asked[2] >= now}
