"""
Operators' orders: over the real broker, to the real daemon, from the shell.
"""
