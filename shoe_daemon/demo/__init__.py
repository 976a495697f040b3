"""
The demo: a simulated shoe, the real daemon, a broker inside the process, and a live view.

`parts` starts the parts: `dealer` deals, `supervisor` decides irregularities and
`clients` sends that, `display` serves browsers. `run` shows the table: `view`
and `notice` draw a `view_model`. `summary` compares the published
rounds with the cards dealt. Needs the extra `demo` (amqtt and rich).
"""
