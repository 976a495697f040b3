"""The supervisors of several tables share a broker, and nobody throws another out."""

from __future__ import annotations

import threading

import pytest

from shoe_daemon.demo.client import SupervisorClient
from shoe_daemon.demo.supervisor import AutoSupervisor
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from tests.brokers import Mosquitto, mosquitto
from tests.waiting import wait_for

__all__ = ["mosquitto"]

pytestmark = pytest.mark.mosquitto


def supervisor(broker: Mosquitto, table: str) -> SupervisorClient:
    topics, mind = Topics("house", table), AutoSupervisor(lambda: None)
    return SupervisorClient(MqttSettings(port=broker.port), topics, mind, decide_after=0)


def test_the_supervisors_of_two_tables_are_two(mosquitto: Mosquitto) -> None:
    # Each has been accepted when its block begins: whoever was thrown out for it, was before.
    with supervisor(mosquitto, "table-1"), supervisor(mosquitto, "table-2"):
        log = mosquitto.log.read_text(encoding="utf-8")
    assert log.count("New client connected") == 2
    assert "already connected" not in log


def test_a_line_that_has_ended_before_it_is_waited_for_is_left_as_any(
    mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = threading.current_thread

    def is_over() -> bool:
        return not any(each.name.startswith("paho") for each in threading.enumerate())

    def late() -> threading.Thread:
        if current() is threading.main_thread():
            wait_for(is_over)
        return current()

    with supervisor(mosquitto, "table-1"):
        monkeypatch.setattr(threading, "current_thread", late)
    monkeypatch.undo()
