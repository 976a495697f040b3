"""Shoes: start, burn, cut card, end, card counts, and who holds the shoe."""
