"""
MQTT: publishes a table's events and retained documents, and receives commands.

`Publisher` is the entry point: one thread, at least once, in order. `Topics` has
all topics, `document_contents` all retained documents; `embedded_broker` is for the demo.

    connection                  one connection: paho behind `poll` and `publish`
    session                     a client that reconnects for ever
    broker_session              what is sent over one connection, from login to `offline`
    publisher                   the session of a table
    outgoing_queue              events from the journal, the cursor; which message is sent next
    document_and_reply_queues   retained documents, replies, replays
    commands                    commands as received and as parsed
"""
