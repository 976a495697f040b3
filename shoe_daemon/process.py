"""Signals that stop a program, and the end of a blocked output."""

from __future__ import annotations

import _thread
import contextlib
import os
import select
import signal
import socket
from collections.abc import Iterator
from threading import Event
from typing import Final

_STOP_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)

TERMINAL_ENDS: Final = (*_STOP_SIGNALS, signal.SIGHUP)
"""Ctrl-C, a service stop, and a closed terminal."""

_STDOUT: Final = 1
_STDOUT_TIMEOUT_S: Final = 1.0
"""When a stop is requested, a stdout that is blocked for longer is discarded."""


@contextlib.contextmanager
def stop_on_signals(*numbers: signal.Signals) -> Iterator[Event]:
    """
    Provide an event that these signals set: by default SIGINT and SIGTERM.

    A blocked stdout, such as a stopped terminal, is then discarded.
    """
    stopping = Event()
    numbers = numbers or _STOP_SIGNALS

    def stop(*_: object) -> None:
        # The interrupted thread may hold the event's lock, so another thread sets it;
        # starting one takes no lock.
        _thread.start_new_thread(stopping.set, ())
        if _is_stdout_blocked():
            discard_output(_STDOUT)

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield stopping
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _is_stdout_blocked() -> bool:
    poll = select.poll()
    poll.register(_STDOUT, select.POLLOUT)
    return not poll.poll(_STDOUT_TIMEOUT_S * 1000)


def discard_output(output: int) -> None:
    """Redirect an output to /dev/null, also for a write that a signal has interrupted."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), output)


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
