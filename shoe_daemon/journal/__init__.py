"""
The journal of a table: raw bytes, observations and events in SQLite, joined by a hash chain.

One thread writes (`Journal`); the publisher and other consumers read (`JournalReader`).
"""

from shoe_daemon.journal.entries_and_hash_chain import Entry, Head, Step, StoredEvent
from shoe_daemon.journal.journal_database import JournalUnwritable
from shoe_daemon.journal.journal_reader import JournalReader
from shoe_daemon.journal.journal_writer import Journal

__all__ = [
    "Entry",
    "Head",
    "Journal",
    "JournalReader",
    "JournalUnwritable",
    "Step",
    "StoredEvent",
]
