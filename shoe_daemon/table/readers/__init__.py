"""Readers: state, faults, the checking reader, and undetectable irregularities."""
