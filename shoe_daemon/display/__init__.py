"""
The web scoreboard and the pit view: one process for any number of tables.

`feed` hears the broker and never speaks; `documents` judges every payload;
`tables` knows what was said of every table and how fresh it is; `live` pushes
what changed to the browsers; `app` serves the pages. The browser never talks to
the broker, and nothing that a broker sends can become markup.
"""
