"""
What most tests here stand on.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import Listener, Mosquitto, mosquitto

__all__ = ["listener", "mosquitto"]


@pytest.fixture
def listener(mosquitto: Mosquitto) -> Iterator[Listener]:
    """
    One that has subscribed to everything before anything is said.
    """
    with Listener(mosquitto.port) as listener:
        yield listener
