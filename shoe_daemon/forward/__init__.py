"""
`shoe-daemon forward`: copies journals to the back office's PostgreSQL database.

The position in a journal is a row of the database, and changes in the transaction that copies the
events. Therefore each event is there exactly once, also after a crash of either side, and after
the promotion of a standby that lacks the last transactions.
"""
