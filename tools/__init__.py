"""What builds and checks the project; no part of the daemon."""
