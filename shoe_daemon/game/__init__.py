"""
The rules of the game: cards, drawing, houses, wagers, odds.  Pure.
"""
