"""
A `shoe-daemon` command as a child process that ends together with its parent.

Only the parent holds the other end of a pipe, which is closed even if the parent is killed.
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

__all__ = ["end_child", "end_with_parent", "start_child"]

_PIPE: Final = 0
"""Standard input of the child; the commands started here do not read it."""

_EXIT_TIMEOUT_S: Final = 10.0
_STOP_TIMEOUT_S: Final = 5.0


def start_child(*arguments: str, **more: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401 - Popen's
    """Start a command such as ``display``; it ends at the latest with this process."""
    command = [sys.executable, "-m", "shoe_daemon.demo.child_process", *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, **more)  # noqa: S603 - our own command


def end_child(process: subprocess.Popen[bytes]) -> None:
    """Stop a child, and wait for its end."""
    process.terminate()
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(_STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_with_parent(timeout: float = _EXIT_TIMEOUT_S) -> None:
    """End this process with its parent: by SIGTERM, and by force after `timeout` seconds."""
    thread = threading.Thread(target=_wait_for_parent, args=(timeout,), name="parent", daemon=True)
    thread.start()


def _wait_for_parent(timeout: float) -> None:
    with contextlib.suppress(OSError):
        while os.read(_PIPE, 1):
            pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(timeout)
    os._exit(1)


if __name__ == "__main__":
    end_with_parent()
    runpy.run_module("shoe_daemon", run_name="__main__", alter_sys=True)
