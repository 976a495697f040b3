"""Processes that share a work end with it, and with each other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from calibration.training.parallel import together
from shoe_daemon.errors import UserError
from tests.volume import sample
from tests.waiting import wait_for


def test_long_work_shows_its_progress(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("calibration.training.parallel._PROGRESS_INTERVAL_S", 0.0)
    together(divmod, [(7, 2), (8, 3), (9, 5), (9, 4)], 2)
    assert [line[:12] for line in capsys.readouterr().err.splitlines()] == [
        "2 of 4 parts",
        "4 of 4 parts",
    ]


def test_a_process_that_was_killed_is_not_waited_for() -> None:
    with pytest.raises(UserError, match="training: a process was killed"):
        together(os._exit, [(9,), (9,)], 2)


ROOT = str(Path(__file__).parents[2])
STARTING = """
import time
from calibration.training.parallel import together

if __name__ == "__main__":
    print("begun", flush=True)
    together(time.sleep, [(0.01,)] * 1_000_000, 2)
"""


def _children(process: int) -> list[int]:
    path = Path(f"/proc/{process}/task/{process}/children")
    return [int(each) for each in path.read_text().split()]


@pytest.mark.parametrize("number", sample([signal.SIGKILL, signal.SIGTERM], 2))
def test_no_process_outlives_the_one_that_started_it(
    number: signal.Signals, tmp_path: Path
) -> None:
    script = tmp_path / "starting.py"
    script.write_text(STARTING, encoding="utf-8")
    with subprocess.Popen([sys.executable, script], env={"PYTHONPATH": ROOT}) as program:
        try:
            wait_for(lambda: len(_children(program.pid)) > 2)  # the two, and who tidies up
            workers = _children(program.pid)
        finally:
            program.send_signal(number)
    wait_for(lambda: not any(Path(f"/proc/{each}").exists() for each in workers))
