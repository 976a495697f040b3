"""
The daemon: readers, table, journal and publisher, wired together and watched.

One thread, the core, owns the table and the journal. Readers put frames into
one bounded queue; the publisher is told what is new and asks the journal.
"""

from shoe_daemon.service.core import Core
from shoe_daemon.service.daemon import Daemon

__all__ = ["Core", "Daemon"]
