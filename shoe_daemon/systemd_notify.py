"""Notifications to systemd: ready, status, watchdog."""

from __future__ import annotations

import os
import socket


def notify_systemd(*lines: str, timeout_s: float = 0.0) -> bool:
    """
    Send lines such as ``READY=1`` to systemd; they are dropped if it does not
    receive them within `timeout_s`.

    Returns:
        Whether they were sent; nothing is raised.
    """
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return False
    if address.startswith("@"):  # an abstract socket, in Linux's own name space
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
            sock.settimeout(timeout_s)
            sock.sendto("\n".join(lines).encode(), address)
    except OSError:
        return False
    return True
