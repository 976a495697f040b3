"""
The pure fold: observations in, events out.
"""
