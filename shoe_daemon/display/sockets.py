"""
The socket on which browsers come.
"""

from __future__ import annotations

import contextlib
import os
import resource
import socket
from collections.abc import Iterator
from typing import Final

from shoe_daemon.errors import UserError, one_line

__all__ = ["listening", "many_doors"]

_BACKLOG: Final = 512
_SILENT: Final = 30
"""Seconds after which a browser that does not answer on the line is let go."""

_LEAST_FILES: Final = 100


@contextlib.contextmanager
def listening(address: tuple[str, int]) -> Iterator[socket.socket]:
    """
    Listen, to the end of the block.

    Raises:
        UserError: The address cannot be had.
    """
    host, port = address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # Whoever writes [::] means everybody, by IPv4 too.
        both = host == "::" and socket.has_dualstack_ipv6()
        door = socket.create_server(
            (host, port), family=family, backlog=_BACKLOG, dualstack_ipv6=both
        )
    except OSError as error:
        # What create_server says is longer; a name that nobody knows has no errno of its own.
        number = error.errno or 0
        reason = (os.strerror(number) if number > 0 else one_line(error)).lower()
        reason = reason.partition(" (while ")[0]
        # The address may be there, or free, a moment later: a service is to try again.
        where = f"display.listen: {host}:{port}"
        raise UserError(f"{where}: {reason}", exit_status=1) from error
    with door:
        # What is accepted here inherits these: a computer that is gone frees its place.
        door.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (
            (socket.TCP_KEEPIDLE, _SILENT),
            (socket.TCP_KEEPINTVL, _SILENT // 3),
            (socket.TCP_USER_TIMEOUT, _SILENT * 1000),
        ):
            door.setsockopt(socket.IPPROTO_TCP, option, value)
        yield door


def many_doors(wanted: int) -> None:
    """
    Ask the kernel for so many connections; does nothing where it already allows them.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _LEAST_FILES
    if soft < needed:
        allowed = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))
