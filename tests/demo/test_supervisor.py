"""
The supervisors of several tables share a broker, and nobody throws another out.
"""

from __future__ import annotations

import pytest

from shoe_daemon.demo.mind import Mind
from shoe_daemon.demo.supervisor import Supervisor
from shoe_daemon.mqtt.topics import Topics
from tests.brokers import Mosquitto, mosquitto

__all__ = ["mosquitto"]

pytestmark = pytest.mark.mosquitto


def supervisor(broker: Mosquitto, table: str) -> Supervisor:
    topics, mind = Topics("house", table), Mind(lambda: None)
    return Supervisor(
        ("127.0.0.1", broker.port), topics, mind, thinks=0.0, tell=lambda _said: None
    )


def test_the_supervisors_of_two_tables_are_two(mosquitto: Mosquitto) -> None:
    # Each has been accepted when its block begins: whoever was thrown out for it, was before.
    with supervisor(mosquitto, "table-1"), supervisor(mosquitto, "table-2"):
        log = mosquitto.log.read_text(encoding="utf-8")
    assert log.count("New client connected") == 2
    assert "already connected" not in log
