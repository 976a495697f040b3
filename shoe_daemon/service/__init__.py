"""
The daemon: readers, table, journal and publisher, wired together and watched.

One thread, the core, owns the table and the journal. Readers put frames into
one bounded queue; the publisher is told what is new and asks the journal.
"""

from shoe_daemon.service.daemon import Daemon
from shoe_daemon.service.processing_core import Core

__all__ = ["Core", "Daemon"]
