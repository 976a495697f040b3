"""
Kills and interruptions of the whole daemon at random times; `make chaos` runs them at full length.
"""
