"""Tests of drivers/simulators."""
