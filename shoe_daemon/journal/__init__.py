"""
The journal of a table: raw bytes, observations and events in SQLite, joined by a hash chain.

One thread writes (`Journal`); the publisher and other consumers read (`JournalReader`).
"""

from shoe_daemon.journal.file_errors import JournalUnwritable
from shoe_daemon.journal.journal_entries import Entry, Head, Identity, Step, StoredEvent
from shoe_daemon.journal.journal_reader import Checkpoint, FoldSource, JournalReader
from shoe_daemon.journal.journal_writer import Journal

__all__ = [
    "Checkpoint",
    "Entry",
    "FoldSource",
    "Head",
    "Identity",
    "Journal",
    "JournalReader",
    "JournalUnwritable",
    "Step",
    "StoredEvent",
]
