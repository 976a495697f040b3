"""
Reports for staff, made from a journal's events: one shoe in detail, and the shuffles of all past
shoes.

Reports contain faces that were never disclosed to the players.
"""
