"""The daemon as a process, with a real broker and simulated readers."""
