"""Whatever becomes of the demo, nothing that it has started stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shoe_daemon import __version__
from shoe_daemon.demo.display import start_child
from tests.brokers import PATIENCE, wait_for
from tests.demo.demo_process import children_of, start

DEAF = """
import signal, time
from shoe_daemon.demo.display import end_with_parent
signal.signal(signal.SIGTERM, signal.SIG_IGN)
end_with_parent(timeout=0.1)
print("tied", flush=True)
time.sleep(3600)
"""


def is_running(process: int) -> bool:
    """Tell whether a process does anything yet: one that is dead and not buried does not."""
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@contextmanager
def nobody_left(processes: list[int]) -> Iterator[None]:
    """A test that fails leaves nothing behind either."""
    try:
        yield
    finally:
        for each in filter(is_running, processes):
            os.kill(each, signal.SIGKILL)


def test_a_demo_that_is_killed_leaves_no_display_behind(tmp_path: Path) -> None:
    process = start(tmp_path, "--board", "--speed", "60")
    assert process.stdout is not None
    line = "begin"
    while not line.startswith("Board: "):
        assert line, process.communicate()
        line = process.stdout.readline()
    children = children_of(process.pid)
    with nobody_left(children):
        process.kill()
        process.communicate(timeout=PATIENCE)
        assert len(children) == 1
        wait_for(lambda: not is_running(children[0]), "the display to end")


def test_a_child_that_is_deaf_to_signals_ends_all_the_same() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", DEAF], stdin=pipe, stdout=pipe) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        assert child.stdout.readline() == b"tied\n"
        child.stdin.close()
        assert child.wait(PATIENCE) == 1


def test_a_child_is_the_command_that_it_was_asked_for() -> None:
    with start_child("--version", stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert child.stdout.read() == f"shoe-daemon {__version__}\n".encode()
    assert child.returncode == 0
