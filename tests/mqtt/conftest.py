"""Fixtures of the MQTT tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import Listener, Mosquitto, mosquitto
from tests.mqtt.example_run import Played, play

__all__ = ["listener", "mosquitto", "played"]


@pytest.fixture
def listener(mosquitto: Mosquitto) -> Iterator[Listener]:
    """One that has subscribed to everything before anything is said."""
    with Listener(mosquitto.port) as listener:
        yield listener


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Two tables that were played through, once for all tests."""
    folder = tmp_path_factory.mktemp("played")
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as broker:
        return play(broker, folder)
