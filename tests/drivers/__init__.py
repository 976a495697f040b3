"""
Tests of drivers.
"""
