"""MQTT client of the demo's supervisor: receives irregularities, sends commands as a pit does."""

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

from shoe_daemon.demo.auto_supervisor import AutoSupervisor, Case, Order
from shoe_daemon.demo.subscriber import leave
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.documents_and_replies import Reply
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.paho_client import create_client
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event, decode_event

__all__ = ["AnsweredOrder", "SupervisorClient"]

_REPLY_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.5
_NEXT_STEP: Final = 0.4
"""Share of the decision time that the next step of the same decision takes."""


class AnsweredOrder(Struct, frozen=True):
    """
    A command with its answer.

    Attributes:
        order: The command.
        about: Id of the irregularity.
        refused: Reason of a refusal.
        waits: The command takes effect when the table moves on.
    """

    order: Order
    about: int
    refused: str | None = None
    waits: bool = False


class SupervisorClient:
    """
    Supervises one table from `__enter__` to `__exit__`.

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
        self._topics, self._decisions, self._decision_s, self._on_answer = (
            topics,
            decisions,
            decision_s,
            on_answer,
        )
        self._inbox: queue.Queue[Event | Reply | None] = queue.Queue()
        self._due: dict[int, float] = {}
        self._asked: dict[str, tuple[Case, Order, float]] = {}
        self._numbers = count(1)
        self._subscribed, self._leaving = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="demo-supervisor", daemon=True)
        # A unique client id: a broker disconnects the older of two clients with the same id.
        name = f"demo-supervisor-{secrets.token_hex(3)}"
        settings = MqttSettings(host=address[0], port=address[1], protocol="3.1.1")
        self._client = client = create_client(settings, name, reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect_async(*address)

    def __enter__(self) -> Self:
        """Subscribe, and wait for the acknowledgement."""
        self._client.loop_start()
        if not self._subscribed.wait(_REPLY_TIMEOUT_S):
            leave(self._client)
            raise UserError("the demo's broker does not acknowledge the supervisor's subscription")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self._leaving.set()
        self._inbox.put(None)  # ends the wait for messages
        leave(self._client)
        self._thread.join()

    @property
    def busy(self) -> bool:
        """Whether a decision is open."""
        return bool(self._due or self._asked or not self._inbox.empty())

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        root = self._topics.root
        filters = (f"{root}/event/#", f"{root}/staff/event/#", f"{root}/reply/#")
        client.subscribe([(each, 1) for each in filters])

    def _on_subscribe(self, *_: object) -> None:
        self._subscribed.set()

    def _on_message(self, _client: object, _userdata: object, message: paho.MQTTMessage) -> None:
        if "/reply/" in message.topic:
            self._inbox.put(msgspec.json.decode(message.payload, type=Reply))
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
                    self._due.setdefault(case.found.id, time.monotonic() + self._decision_s)
            for number in self._due.keys() - self._decisions.cases.keys():
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
            topic = self._topics.command(order.name.replace("_", "-"))
            self._client.publish(topic, msgspec.json.encode(payload), qos=1)
        del self._due[number]

    def _answered(self, reply: Reply) -> None:
        case, order, _ = self._asked.get(reply.id or "", (None, None, 0.0))
        if case is None or order is None:
            return
        self._decisions.answered(case, order, reply.refused)
        if reply.refused is None or not case.rests:  # otherwise it is retried later
            self._on_answer(AnsweredOrder(order, case.found.id, reply.refused, case.rests))
        if case.found.id in self._decisions.cases and not case.rests:
            self._due[case.found.id] = time.monotonic() + self._decision_s * _NEXT_STEP
        del self._asked[reply.id or ""]

    def _forget(self, now: float) -> None:
        for name in [name for name, (_, _, until) in self._asked.items() if until < now]:
            del self._asked[name]
