"""Finds out how a reader has to be set up, and writes the configuration for it."""
