"""
Sends the open irregularities of tables to people: by webhook, mail, chat or telephone.

A program beside the display: it reads the public alerts from the broker, and publishes only
whether its notifications arrive.
`decisions` decides who is notified when, and is pure; `senders` sends.
"""
