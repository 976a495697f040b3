"""The result of a check, and whether an address answers or is free."""

from __future__ import annotations

import errno
import socket
from typing import Literal

from msgspec import Struct

from shoe_daemon.display.config import parse_listen
from shoe_daemon.errors import one_line
from shoe_daemon.mqtt.client import ANSWER_TIMEOUT_S


class Finding(Struct, frozen=True):
    """
    The result of one check.

    Attributes:
        about: What was checked.
        verdict: ``good``; ``note``: for information; ``bad``: it affects the table.
        text: One sentence.
    """

    about: str
    verdict: Literal["good", "note", "bad"]
    text: str


def check_reachable(about: str, address: tuple[str, int]) -> Finding | None:
    """Connect to a host and port; return why that failed, or None."""
    try:
        socket.create_connection(address, ANSWER_TIMEOUT_S).close()
    except OSError as error:
        text = f"{address[0]}:{address[1]} cannot be reached: {one_line(error)}"
        return Finding(about, "bad", text)
    return None


def check_listen(about: str, listen: str, owner: str = "display") -> Finding:
    """Check that an address (`host:port`) is free to listen on; `owner` may have it already."""
    host, port = parse_listen(listen)
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            text = f"{listen} is in use: by the running {owner}, or another program"
            return Finding(about, "note", text)
        return Finding(about, "bad", f"{listen}: {one_line(error)}")
    return Finding(about, "good", f"{listen} is free")
