"""The identity of a table at the broker: its names and its client id."""

from __future__ import annotations

import hashlib
import secrets
import socket
from pathlib import Path
from typing import Final

from msgspec import Struct

__all__ = ["TableIdentity"]

_MACHINE_ID: Final = Path("/etc/machine-id")


class TableIdentity(Struct, frozen=True):
    """
    A table, and one start of its daemon.

    Attributes:
        site: The site's id.
        table: The table's id.
        session: New at every start of the daemon.
        name: The table's name for people; None if it has none.
    """

    site: str
    table: str
    session: str
    name: str | None = None

    def client_id(self) -> str:
        """
        Return the MQTT client id: different for every table and machine, the same
        after a restart.
        """
        return f"shoe-{self.site}-{self.table}-{machine_id()[:8]}"

    def probe_id(self) -> str:
        """
        Return a client id of the same form and length that no daemon uses: a broker
        with rules for client ids treats it alike, and ends no other connection.
        """
        return f"{self.client_id()[:-8]}{secrets.token_hex(4)}"


def machine_id() -> str:
    """Return the id of this machine; a hash of its name where it has none."""
    try:
        text = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    return text or hashlib.sha256(socket.gethostname().encode()).hexdigest()
