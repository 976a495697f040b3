"""
Reports on what a journal holds: one shoe from its first card to its last, and
what many shoes together say about how they were shuffled.

Everything here reads a journal's events after the fact. What it says is for
staff: it names faces that the players had not seen.
"""
