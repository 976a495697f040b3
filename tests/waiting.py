"""Waiting for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

PATIENCE: Final = 60.0
"""Seconds after which what must happen counts as not happening, on a machine that is
slow and busy with other things too; whoever waits goes on as soon as it has happened."""

_FIRST_PAUSE_S, _MAX_PAUSE_S = 0.005, 0.02
"""Between two looks: a look may ask a server or read a file."""


def wait_for(
    condition: Callable[[], object], what: str = "", *, timeout: float = PATIENCE
) -> None:
    """Wait until a condition holds; fail with `what` when it does not come to hold."""
    until, pause_s = time.monotonic() + timeout, _FIRST_PAUSE_S
    while not condition():
        assert time.monotonic() < until, f"waited {timeout} s in vain: {what or condition}"
        time.sleep(pause_s)
        pause_s = min(1.1 * pause_s, _MAX_PAUSE_S)
