"""
Readers of shoes: each says what it saw, and nothing more.

`contract` says what a driver is, `registry` finds one by name, `transport` opens
a line, `reader` keeps it open in a thread of its own, `replay` decodes a capture
as if it came now, and `simulators` deals where there is no shoe. Each folder is a
driver. Nothing is imported here: who decodes a file needs no serial port.
"""
