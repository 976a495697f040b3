"""
Where the demo's pages are: on this machine alone, at the ports that people know where they can be.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

__all__ = ["HOST", "free_port"]

HOST: Final = "127.0.0.1"


def free_port(usual: int) -> int:
    """
    Choose the usual port, or another one where somebody has it.
    """
    for wanted in (usual, 0):
        with contextlib.suppress(OSError), socket.create_server((HOST, wanted)) as probe:
            port: int = probe.getsockname()[1]
            return port
    return usual
