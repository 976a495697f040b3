"""
The demo: a simulated shoe on a real line, the real daemon, a broker inside the
process, and a live view of the table.

Everything between the simulated shoe and the view is what `run` runs. Needs the
extra `demo` (amqtt and rich).
"""
