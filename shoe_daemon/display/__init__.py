"""
The web scoreboard and the pit view: one process for any number of tables.

`shoe_daemon.floor` receives the tables; `json_views` encodes documents; `browser_streams` pushes
changed documents to the browsers.

`http_app` serves pages, streams and files (`pages_and_static_files`, `languages`); `pit_auth`
protects the pit; `display_server` runs everything as `display_config` says. `terminal` draws the
same model in a terminal. Browsers never connect to the broker, and no message can become markup.
"""
