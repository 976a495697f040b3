"""Rounds: from the first card to the published result."""
