"""Calibration of readers: finds the settings and writes the configuration."""
