"""Fixtures of the notifier's tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import mosquitto
from tests.notify.webhook_server import WebhookServer

__all__ = ["mosquitto"]


@pytest.fixture
def webhook() -> Iterator[WebhookServer]:
    """A server that accepts what is sent."""
    with WebhookServer() as server:
        yield server
