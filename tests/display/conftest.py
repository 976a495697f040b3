"""What some tests here stand on."""

from __future__ import annotations

from tests.brokers import mosquitto

__all__ = ["mosquitto"]
