"""`shoe-daemon init`: below a folder of a test, with a real broker."""
