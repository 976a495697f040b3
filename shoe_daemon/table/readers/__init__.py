"""Readers: link and faults, the second reader, and what the equipment cannot detect."""
