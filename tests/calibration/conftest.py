"""Fixtures of a calibration."""

from __future__ import annotations

from tests.camera.weights import weights

__all__ = ["weights"]
