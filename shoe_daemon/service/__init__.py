"""
The daemon: readers, table, journal and publisher, connected and watched.

One thread, the core, owns the table and the journal. Readers put frames into one
bounded queue; the publisher is notified of new events and reads those that are on disk.
"""

from shoe_daemon.service.core import Core
from shoe_daemon.service.daemon import Daemon

__all__ = ["Core", "Daemon"]
