"""A program stops on every signal, at any moment."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from shoe_daemon.process import stop_on_signals
from tests.waiting import PATIENCE, wait_for

INTERRUPTED = """
import signal, sys, threading
from shoe_daemon.process import stop_on_signals

raised = 0

def interrupt(frame, happened, _):
    global raised
    if frame.f_code.co_filename == threading.__file__:
        raised += 1
        signal.raise_signal(signal.SIGINT)
    return interrupt

with stop_on_signals() as stopping:
    sys.settrace(interrupt)
    told = stopping.wait(60)
    sys.settrace(None)
print(raised > 10, told)
"""


def test_a_signal_at_each_step_of_a_wait_ends_it() -> None:
    program = subprocess.run(
        [sys.executable, "-c", INTERRUPTED],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (program.stdout, program.stderr) == ("True True\n", "")


TALKING = """
import sys
from shoe_daemon.process import stop_on_signals

with stop_on_signals() as stopping:
    while not stopping.is_set():
        print("what nobody takes")
    print("over")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_whose_words_nobody_takes_ends(number: signal.Signals) -> None:
    taken, said = os.pipe()
    room = select.poll()
    room.register(said, select.POLLOUT)
    command = [sys.executable, "-c", TALKING]
    with subprocess.Popen(command, stdout=said, stderr=subprocess.PIPE) as program:
        try:
            wait_for(lambda: not room.poll(0))
            program.send_signal(number)
            _, wrong = program.communicate(timeout=PATIENCE)
        finally:
            program.kill()
            os.close(taken)
            os.close(said)
    assert (program.returncode, wrong) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_a_signal_did_before_it_does_again(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with stop_on_signals(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as stopping:
        assert not stopping.is_set()
        signal.raise_signal(number)
        assert stopping.wait(PATIENCE)
    assert signal.getsignal(number) == before
