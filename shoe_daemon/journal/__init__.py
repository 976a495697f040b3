"""
The journal of a table: raw bytes, observations and events in SQLite, joined by a hash chain.

One thread writes (`Journal`); the publisher and other consumers read (`JournalReader`).
"""

from shoe_daemon.journal.chain import Entry, Head, Step, StoredEvent
from shoe_daemon.journal.database import JournalUnwritable
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.writer import Journal

__all__ = [
    "Entry",
    "Head",
    "Journal",
    "JournalReader",
    "JournalUnwritable",
    "Step",
    "StoredEvent",
]
