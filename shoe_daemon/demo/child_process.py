"""
A command of ours as a process of its own, which ends when the one that started it does.

However that ended: the parent alone holds the other end of a pipe, and a kill closes it too.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Final

__all__ = ["end_child", "start_child", "tie"]

_PIPE: Final = 0
"""The child's standard input; none of our commands that serve reads it."""

_GRACE: Final = 10.0
_ENDS: Final = 5.0


def start_child(*arguments: str, **more: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - Popen's
    """
    Start a command such as ``display``; it is over at the latest when we are.
    """
    command = [sys.executable, "-m", "shoe_daemon.demo.child_process", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **more)  # noqa: S603 - ours


def end_child(process: subprocess.Popen[bytes]) -> None:
    """
    Stop it; it has ended when this returns.
    """
    process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_ENDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def tie(grace: float = _GRACE) -> None:
    """
    Let this process end with its parent: as if told to, and after `grace` seconds at once.
    """
    thread = threading.Thread(target=_end_with_parent, args=(grace,), name="parent", daemon=True)
    thread.start()


def _end_with_parent(grace: float) -> None:
    with contextlib.suppress(OSError):
        while os.read(_PIPE, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)


if __name__ == "__main__":
    tie()
    runpy.run_module("shoe_daemon", run_name="__main__", alter_sys=True)
