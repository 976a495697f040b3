"""Fake servers on loopback, for the tests and the benches."""
