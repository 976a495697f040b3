"""
Lamps that show open irregularities: a USB relay, GPIO lines or a lamp on MQTT.

A lamp has a thread of its own: a slow or missing one delays no card. It knows the severity of
each irregularity that the players may know of, and nothing else.

`pattern` decides which channels are lit, without a clock or a device; `outputs` are the
devices; `thread` connects both.
"""
