"""
The demo: a simulated shoe, the real daemon, a broker inside the process, and a live view.

`runner` starts the parts; `dealer` or `camera_dealer` deals, `auto_supervisor` decides
irregularities through `auto_supervisor_client`. `view` draws the table from a `view_model`,
`output` shows it; `result_check` compares it with the cards dealt for the `summary`.
Needs the extra `demo` (amqtt and rich).
"""
