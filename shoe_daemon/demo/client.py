"""The scripted supervisor's connection: follows a table over MQTT, and sends commands."""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, Final, Self

import msgspec
from paho.mqtt import client as paho

from shoe_daemon.demo.supervisor import OPERATOR, AutoSupervisor, Case, Order
from shoe_daemon.errors import UserError
from shoe_daemon.event_text import action_text
from shoe_daemon.mqtt.commands import Reply, decode_reply
from shoe_daemon.mqtt.connection import create_client, leave
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event, decode_event, events

_REPLY_TIMEOUT_S: Final = 10.0
_ASK_AGAIN_S: Final = 1.0
_POLL_S: Final = 0.02
_MAX_WAIT_S: Final = 0.5
_NEXT_STEP_S: Final = 1.0
"""Seconds in which a decision that has begun is carried on."""


class SupervisorClient:
    """
    Supervises one table: receives its events, and decides what no person has decided in time.

    Attributes:
        processed: `seq` of the last event processed.
        reader_up: Set once the table's reader is connected.
        caught: Ids of all irregularities.
        closed: Who closed each of them; None where the equipment did.
        last: The last decision in words.
    """

    def __init__(  # noqa: PLR0913 - a table, its broker, and what is asked of it
        self,
        mqtt: MqttSettings,
        topics: Topics,
        decisions: AutoSupervisor,
        *,
        decide_after: float,
        pin: str | None = None,
        on_event: Callable[[Event], None] = lambda _event: None,
    ) -> None:
        """
        Args:
            mqtt: The broker.
            topics: Topics of the table.
            decisions: Decides.
            decide_after: Seconds that a person has for a decision.
            pin: The PIN of `OPERATOR`, where the table has operators.
            on_event: Receives each event once, on a thread of its own.
        """
        self.processed = 0
        self.reader_up = threading.Event()
        self.caught: set[int] = set()
        self.closed: dict[int, str | None] = {}
        self.last = ""
        self._topics, self._decisions, self._pin = topics, decisions, pin
        self._decide_after, self._on_event = decide_after, on_event
        self._inbox: queue.Queue[Event | Reply | None] = queue.Queue()
        self._due: dict[int, float] = {}
        self._asked: dict[str, tuple[Case, Order, float]] = {}
        self._recorded: dict[str, int] = {}
        self._numbers = count(1)
        self._leaving, self._subscribed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="demo-supervisor", daemon=True)
        # A unique client id: a broker disconnects the older of two clients with the same id.
        name = f"demo-supervisor-{secrets.token_hex(3)}"
        self._client = client = create_client(mqtt, name, reconnect=True)
        client.on_connect = self._on_connect
        client.on_subscribe = lambda *_: self._subscribed.set()
        client.on_message = self._on_message
        client.connect_async(*mqtt.address)

    def __enter__(self) -> Self:
        """Subscribe, wait for the acknowledgement, and begin to decide."""
        self._client.loop_start()
        if not self._subscribed.wait(_REPLY_TIMEOUT_S):
            leave(self._client)
            raise UserError("the broker does not acknowledge the supervisor's subscription")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Disconnect."""
        self._leaving.set()
        self._inbox.put(None)  # ends the wait for messages
        leave(self._client)
        self._thread.join()
        del self._client  # it is no part of a cycle any more, and closes its sockets at once

    @property
    def busy(self) -> bool:
        """True while a decision is open."""
        return bool(self._due) or bool(self._asked) or not self._inbox.empty()

    @property
    def seconds_left(self) -> float | None:
        """Seconds that a person has for the next decision; None while none is open."""
        due = list(self._due.values())
        return max(min(due) - time.monotonic(), 0) if due else None

    def wait_decided(self, stopping: threading.Event) -> None:
        """Wait until all that the table has recorded is here, and no decision is open."""
        waited = True
        while waited:
            self._catch_up(stopping)
            waited = False
            while self.busy and not stopping.wait(_POLL_S):
                waited = True

    def _catch_up(self, stopping: threading.Event) -> None:
        """Wait for the reply to a preview: it is published after all events before it."""
        until = time.monotonic() + _REPLY_TIMEOUT_S
        while time.monotonic() < until:
            name, again = self._new_id(), time.monotonic() + _ASK_AGAIN_S
            self._recorded[name] = -1
            self._send("betting-open", name, dry_run=True, operator=OPERATOR)
            while time.monotonic() < again:
                if 0 <= self._recorded[name] <= self.processed or stopping.wait(_POLL_S):
                    return

    def _new_id(self) -> str:
        return f"demo-{next(self._numbers)}"

    def _send(self, verb: str, identifier: str, /, **fields: Any) -> None:  # noqa: ANN401 - JSON
        expires = datetime.now(UTC) + timedelta(seconds=_REPLY_TIMEOUT_S)
        payload = {**fields, "id": identifier, "expires_at": expires.isoformat()}
        self._client.publish(self._topics.command(verb), msgspec.json.encode(payload), qos=1)

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        followed = ("event/#", "staff/event/#", "reply/#")
        client.subscribe([(f"{self._topics.root}/{each}", 1) for each in followed])

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
            self._asked = {name: asked for name, asked in self._asked.items() if asked[2] >= now}

    def _wait_time(self) -> float:
        left = None if self._asked else self.seconds_left
        return _MAX_WAIT_S if left is None else max(min(left, _MAX_WAIT_S), 0.0001)

    def _read(self, mail: Event | Reply | None) -> None:
        if isinstance(mail, Reply):
            self._answered(mail)
        elif mail is not None and mail.seq > self.processed:  # a repeated event has an old `seq`
            self._note(mail)
            self._on_event(mail)
            for case in self._decisions.receive(mail):
                if not case.rests and not self._asks_about(case):
                    delay = self._decide_after if case.ordered is None else _NEXT_STEP_S
                    due = time.monotonic() + min(delay, self._decide_after)
                    self._due[case.found.id] = min(due, self._due.get(case.found.id, due))
            cases = self._decisions.cases
            for number in list(self._due):
                if number not in cases or cases[number].rests:
                    del self._due[number]
            self.processed = mail.seq

    def _note(self, event: Event) -> None:
        match event.data:
            case events.ReaderStatus(link="up"):
                self.reader_up.set()
            case events.IrregularityData(id=number):
                self.caught.add(number)
            case events.ClosedData(id=number, operator=operator, action=action):
                self.closed[number] = operator
                self.last = f"{operator or 'closed by itself'}: {action_text(action)}"

    def _asks_about(self, case: Case) -> bool:
        return any(asked is case for asked, _, _ in self._asked.values())

    def _act(self, number: int) -> None:
        case = self._decisions.cases[number]
        order = self._decisions.decide(case)
        if order is not None:
            name = self._new_id()
            self._asked[name] = (case, order, time.monotonic() + _REPLY_TIMEOUT_S)
            fields = msgspec.to_builtins(order.command)
            said = {key: value for key, value in fields.items() if value is not None}
            self._send(order.command.name.replace("_", "-"), name, **said, pin=self._pin)
        del self._due[number]

    def _answered(self, reply: Reply) -> None:
        name = reply.id or ""
        if name in self._recorded:
            self._recorded[name] = reply.seq
        case, order, _ = self._asked.get(name, (None, None, 0.0))
        if case is None or order is None:
            return
        self._decisions.answered(case, order, reply.refused)
        if case.found.id in self._decisions.cases and not case.rests:
            self._due[case.found.id] = time.monotonic() + min(_NEXT_STEP_S, self._decide_after)
        del self._asked[name]
