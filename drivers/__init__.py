"""
Readers of shoes: each says what it saw, and nothing more.
"""
