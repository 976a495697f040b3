"""Calibrations of all these tests try a few index windows only, but for `make test-all`."""

from __future__ import annotations

from tests.calibration.shared_calibration import few_windows

__all__ = ["few_windows"]
