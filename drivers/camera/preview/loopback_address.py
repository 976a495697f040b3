"""
Where a camera's view may listen: on its own machine alone.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.errors import UserError

__all__ = ["LOOPBACK", "check_listen"]

LOOPBACK: Final = ("127.0.0.1", "localhost", "::1")
_PORTS: Final = 65536


def check_listen(listen: str) -> tuple[str, int]:
    """
    Read where a view listens.

    Raises:
        UserError: That is nowhere, or could be seen by others.
    """
    host, colon, port = listen.rpartition(":")
    host = host.strip("[]")
    is_port = port.isascii() and port.isdecimal() and int(port) < _PORTS
    if not (colon and is_port and host in LOOPBACK):
        raise UserError(
            f"options.view: {listen!r}; expected an address of this machine alone, such as "
            "127.0.0.1:8091"
        )
    return host, int(port)
