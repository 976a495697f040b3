"""Commands of operators: over a real broker, to a real daemon, from the shell."""
