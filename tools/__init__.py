"""Tools that build and check the project; not part of the daemon."""
