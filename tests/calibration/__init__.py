"""
Tests of calibration.
"""
