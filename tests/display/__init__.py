"""
Tests of the display.
"""
