"""
The demo: a simulated shoe, the real daemon, a broker inside the process, and a live view.

`demo_parts` starts the parts: `dealer` deals, `supervisor_decisions` decides irregularities and
`mqtt_clients` sends that, `display_process` serves browsers. `run_demo` shows the table: `view`
and `irregularity_notice` draw a `view_model`. `result_check_and_summary` compares the published
rounds with the cards dealt. Needs the extra `demo` (amqtt and rich).
"""
