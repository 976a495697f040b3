"""
What systemd is told: that the daemon is ready, how it is, that it lives.
"""

from __future__ import annotations

import os
import socket


def tell_systemd(*lines: str, patience: float = 0.0) -> bool:
    """
    Send lines such as ``READY=1`` to the service manager.

    A service manager that does not listen for the moment holds nobody up for
    longer than `patience` seconds: what it cannot take is let drop.

    Returns:
        Whether it was told; never raises.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):  # an abstract socket, in Linux's own name space
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as door:
            door.settimeout(patience)
            door.sendto("\n".join(lines).encode(), address)
    except OSError:
        return False
    return True
