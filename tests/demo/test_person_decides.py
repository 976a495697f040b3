"""
A person decides in the demo, each fault by each ruling that is offered, as on the pit's page:
every round comes to its end, and the demo waits for no one who has decided.
"""

from __future__ import annotations

import json
import threading
import time
from itertools import count, product
from pathlib import Path
from typing import Any

import pytest

from drivers.simulators.shoe import Fault
from shoe_daemon.demo.parts import PERSON, PIN, SITE, TABLE, Demo
from shoe_daemon.demo.shoe import DemoSettings, house_of
from shoe_daemon.mqtt.connection import create_client, leave
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import Event
from tests import volume
from tests.brokers import free_port

ROUNDS = 8
STALLS_S = 90.0
"""Seconds for all rounds: several times what they take, less than a stall takes."""

CARD = "7H"
WAIT = [
    (Fault.MISSED_DRAW, "us_nj_pa", 0),
    (Fault.UNREADABLE, "live_studio", 0),
    (Fault.UNREADABLE, "live_studio", 1),
]
"""Rulings that wait: draw now, read again, enter by hand."""

POLICIES = ("us_nj_pa", "fr_2007", "live_studio", "management")


class Person:
    """Decides each irregularity once: by the proposal of that number, or else by the last."""

    def __init__(self, demo: Demo, choice: int) -> None:
        self.given: list[tuple[str, str]] = []
        self.refused: list[Any] = []
        self._topics, self._choice = Topics(SITE, TABLE), choice
        self._decided, self._numbers = set[int](), count(1)
        self._client = create_client(demo.mqtt, "person", reconnect=True)
        self._client.on_connect = lambda client, *_: client.subscribe(
            [(f"{self._topics.root}/alert/active", 1), (f"{self._topics.root}/reply/#", 1)]
        )
        self._client.on_message = lambda _client, _data, message: self._receive(message)
        self._client.connect(*demo.mqtt.address)
        self._client.loop_start()

    def leave(self) -> None:
        leave(self._client)

    def _receive(self, message: Any) -> None:  # noqa: ANN401 - of paho
        content = json.loads(message.payload)
        if "/reply/" in message.topic:
            if str(content.get("id")).startswith("person-") and not content["ok"]:
                self.refused.append(content)
            return
        for alert in content["alerts"]:
            if alert["data"]["id"] not in self._decided:
                self._decided.add(alert["data"]["id"])
                self._decide(alert)

    def _decide(self, alert: dict[str, Any]) -> None:
        data = alert["data"]
        if not data["proposals"]:
            self._send("acknowledge", irregularity=data["id"])
            return
        chosen = data["proposals"][: self._choice + 1][-1]
        self.given.append((data["kind"], chosen["action"]))
        fields = dict.fromkeys(chosen.get("needs", ()), CARD)
        self._send("rule", irregularity=data["id"], action=chosen["action"], **fields)

    def _send(self, verb: str, **fields: object) -> None:
        order: dict[str, object] = {
            "id": f"person-{next(self._numbers)}",
            "operator": PERSON,
            "pin": PIN,
            "reason": "seen",
        }
        order |= fields
        self._client.publish(self._topics.command(verb), json.dumps(order).encode(), qos=1)


@pytest.mark.parametrize(
    ("fault", "policy", "choice"),
    dict.fromkeys([*WAIT, *volume.sample(product(Fault, POLICIES, range(3)), 29)]),
)
def test_every_round_ends_without_a_stall(
    fault: Fault, policy: str, choice: int, tmp_path: Path
) -> None:
    settings = DemoSettings(
        rounds=ROUNDS,
        speed=0,
        seed=12,
        faults=(fault,),
        fault_rate=0.6,
        policy=policy,
        port=free_port(),
        board_port=free_port(),
        decide_after=2 * STALLS_S,
    )
    events: list[Event] = []
    with Demo(settings, house_of(settings), tmp_path, threading.Event(), events.append) as demo:
        person = Person(demo, choice)
        began = time.monotonic()
        try:
            while not demo.dealer.over:
                assert time.monotonic() - began < STALLS_S, (person.given, events[-3:])
                time.sleep(0.05)
        finally:
            person.leave()
    assert person.refused == []
    begun = {(each.shoe, each.round) for each in events if each.type == "round_started"}
    ends = ("round_finished", "round_aborted", "round_voided", "result_revised")
    ended = {(each.shoe, each.round) for each in events if each.type in ends}
    assert begun <= ended
    closed = {each.data.id for each in events if each.type == "irregularity_closed"}  # type: ignore[attr-defined]
    raised = {each.data.id for each in events if each.type == "irregularity"}  # type: ignore[attr-defined]
    assert raised == closed
