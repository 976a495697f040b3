"""
What the journal promises.
"""
