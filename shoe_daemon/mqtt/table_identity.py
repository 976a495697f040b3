"""
Who speaks: the names of a table, and of this start of its daemon.
"""

from __future__ import annotations

import hashlib
import secrets
import socket
from pathlib import Path
from typing import Final

from msgspec import Struct

__all__ = ["Identity"]

_MACHINE_ID: Final = Path("/etc/machine-id")


class Identity(Struct, frozen=True):
    """
    A table, and one start of its daemon.

    Attributes:
        site: Where.
        table: Which table.
        session: New per start.
        name: The name that people use for the table; None if it has none.
    """

    site: str
    table: str
    session: str
    name: str | None = None

    def client_id(self) -> str:
        """
        Return the name for the broker: another one for every table and machine,
        the same after a restart.
        """
        return f"shoe-{self.site}-{self.table}-{machine_id()[:8]}"

    def probe_id(self) -> str:
        """
        Return a name of the same form and length that no running daemon has: a broker
        that is particular about names treats it alike, and ends no other connection.
        """
        return f"{self.client_id()[:-8]}{secrets.token_hex(4)}"


def machine_id() -> str:
    """
    Return what tells this machine from others; its name where it has no id.
    """
    try:
        text = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    return text or hashlib.sha256(socket.gethostname().encode()).hexdigest()
