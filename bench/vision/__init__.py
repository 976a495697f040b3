"""Experiments that accept or reject the camera's readings and its calibration."""
