"""
Tests of drivers/simulators.
"""
