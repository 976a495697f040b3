"""
The tables as a subscriber knows them: the base of display, `watch` and `notify`.

Data goes one way:

    feed        receives from the broker, on a thread of its own
    inbox       passes the messages to the subscriber's thread
    messages    checks their form
    floor       the model of all tables
    table       the model of one table, and how fresh it is
"""
