"""The table: what it says of what it is told, promise by promise."""
