"""`shoe-daemon journal`: verify, export, count and report a journal."""
