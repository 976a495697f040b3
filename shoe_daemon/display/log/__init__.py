"""The log of the pit: events of all tables, kept and searched."""
