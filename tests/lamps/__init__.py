"""Lamps: the pattern, the devices, their threads, and a table with lamps."""
