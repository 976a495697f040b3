"""Tests of `shoe-daemon forward`."""
