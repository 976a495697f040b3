"""
The demo: a simulated shoe, the real daemon, a broker inside the process, and a live view.

`demo_parts` starts the parts: `dealer` deals, `auto_supervisor` decides irregularities through
`mqtt_clients`, `display_process` serves browsers. `run_demo` shows the table: `view` and
`irregularity_notice` draw a `view_model`. `result_check` compares the published rounds with the
cards dealt. Needs the extra `demo` (amqtt and rich).
"""
