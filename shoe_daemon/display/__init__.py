"""
The web scoreboard and the pit view: one process for any number of tables.

`shoe_daemon.floor` receives the tables; `views` encodes documents; `streams` pushes
changed documents to the browsers.

`app` serves pages, streams and files (`pages`, `languages`); `logins`
protects the pit; `server` runs everything as `config` says. `terminal` draws the
same model in a terminal. Browsers never connect to the broker, and no message can become markup.
"""
