"""
The camera profile: a TOML file with pictures beside it, and its validation.
"""
