"""Calibration of readers: finds the settings and writes the configuration."""

import drivers.camera  # noqa: F401 - limits the pictures that OpenCV decodes, before it is loaded
