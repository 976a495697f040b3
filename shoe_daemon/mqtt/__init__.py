"""
MQTT: publishes a table's events and retained documents, and receives commands.

`Publisher` is the entry point: one thread, at least once, in order. The way of a message:

    connection     one connection: paho behind `poll` and `publish`
    session        a client that reconnects for ever
    publisher      the session of a table, for the other threads
    publication    what is sent over one connection, from login to `offline`
    outbox         which message is sent next
    queues         events from the journal with the cursor, retained documents, replies, replays
    own_status     the table's own documents as the broker has them

What is in the messages: `topics`, `documents` (with `home_assistant`), `commands`, and made from
their types `schemas` and `asyncapi`. `settings` has the login and TLS, `certificates` their
alerts. `client` sends one command, or tests a broker; `broker` is for the demo.
"""
