"""The configuration of a table."""
