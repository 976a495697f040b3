"""
The web scoreboard and the pit view: one process for any number of tables.

Data goes one way: `mqtt_feed` receives from the broker, on a thread of its own; `mqtt_inbox`
passes the messages to the event loop; `message_validation` checks them; `floor_model` and
`table_model` are the model; `json_views` encodes documents; `browser_streams` pushes changed
documents to the browsers.

`http_app` serves pages, streams and files (`pages_and_static_files`, `languages`); `pit_auth`
protects the pit; `display_server` runs everything as `display_config` says. `terminal` draws the
same model in a terminal. Browsers never connect to the broker, and no message can become markup.
"""
