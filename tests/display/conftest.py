"""Shared fixtures of the display's tests."""

from __future__ import annotations

from tests.brokers import mosquitto

__all__ = ["mosquitto"]
