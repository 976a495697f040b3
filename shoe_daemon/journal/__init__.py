"""
What the daemon knows, on the disk: raw bytes, observations, events, and the
hash chain that holds them together.

One thread writes (`Journal`); the publisher and others read (`JournalReader`).
"""

from shoe_daemon.journal.entries import Entry, Head, Identity, Step, StoredEvent
from shoe_daemon.journal.faults import JournalUnwritable
from shoe_daemon.journal.reader import Checkpoint, FoldSource, JournalReader
from shoe_daemon.journal.store import Journal

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
