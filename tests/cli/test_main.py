"""The entry point: commands load when called, and errors are printed in one line."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE

import click
import pytest
from click.testing import CliRunner, Result

from shoe_daemon import cli
from shoe_daemon.errors import UserError
from tests.volume import sample


@click.command()
@click.option("--status", default=2)
@click.option("--broken", is_flag=True)
@click.option("--lost", is_flag=True)
def faulty(*, status: int, broken: bool, lost: bool) -> None:
    """Fail as it is told."""
    if lost:
        raise OSError(errno.EIO, "a disk")
    if broken:
        raise BrokenPipeError(errno.EPIPE, "a socket")
    raise UserError("table.toml: `decks` is 7, expected 1, 6 or 8", exit_status=status)


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> Result:
    monkeypatch.setitem(cli.COMMANDS, "faulty", f"{__name__}:faulty")
    return CliRunner().invoke(cli.main, ["faulty", *arguments])


def test_a_user_error_is_one_line_on_stderr_and_exit_2(monkeypatch: pytest.MonkeyPatch) -> None:
    result = call(monkeypatch)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr == "shoe-daemon: table.toml: `decks` is 7, expected 1, 6 or 8\n"


def test_a_user_error_may_choose_its_exit_status(monkeypatch: pytest.MonkeyPatch) -> None:
    assert call(monkeypatch, "--status", "1").exit_code == 1


def test_a_broken_pipe_that_is_not_stdout_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    exception = call(monkeypatch, "--broken").exception
    assert isinstance(exception, RuntimeError)
    assert isinstance(exception.__cause__, BrokenPipeError)


SEER = """
import sys, threading
import cv2, click, numpy as np
from shoe_daemon import cli

picture = np.zeros((720, 1280, 3), np.uint8)
seen = threading.Event()

def see():
    while True:
        cv2.imencode(".png", picture)
        seen.set()

@click.command()
@click.pass_context
def look(context):
    threading.Thread(target=see, daemon=True).start()
    seen.wait()
    sys.stdout.write("seen")
    context.exit(3)

sys.look = look
cli.COMMANDS["look"] = "sys:look"
cli.main(["look"])
"""


def test_a_camera_that_is_still_looked_through_does_not_break_the_end() -> None:
    process = subprocess.run([sys.executable, "-c", SEER], capture_output=True, check=False)
    assert (process.returncode, process.stdout, process.stderr) == (3, b"seen", b"")


ENDED = """
import atexit, signal, sys, click
from shoe_daemon import cli

@click.command()
def end():
    atexit.register(signal.raise_signal, signal.{})

sys.end = end
cli.COMMANDS["end"] = "sys:end"
cli.main(["end"])
"""


@pytest.mark.parametrize("number", sample(["SIGTERM", "SIGINT", "SIGHUP"], 3))
def test_what_has_come_to_its_end_is_not_ended_once_more(number: str) -> None:
    command = [sys.executable, "-c", ENDED.format(number)]
    process = subprocess.run(command, capture_output=True, check=False)
    assert (process.returncode, process.stderr) == (0, b"")


SHOUTER = """
import sys, click
from shoe_daemon import cli

@click.command()
def shout():
    while True:
        click.echo("y" * 999)

sys.shout = shout
cli.COMMANDS["shout"] = "sys:shout"
cli.main(["shout"])
"""


def test_a_reader_that_leaves_early_ends_it_quietly() -> None:
    command = [sys.executable, "-c", SHOUTER]
    with subprocess.Popen(command, stdout=PIPE, stderr=PIPE) as process:
        assert process.stdout is not None
        process.stdout.read(1000)
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""
    assert process.returncode == 141


def test_an_output_on_a_full_disk_is_told_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        command = [sys.executable, "-c", SHOUTER]
        done = subprocess.run(command, stdout=full, stderr=PIPE, check=False, text=True)
    assert done.returncode == 1
    assert done.stderr == "shoe-daemon: the output cannot be written: No space left on device\n"


def test_another_fault_of_the_machine_is_not_taken_for_one_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exception = call(monkeypatch, "--lost").exception
    assert isinstance(exception, OSError)
    assert exception.errno == errno.EIO


def test_an_unknown_command_is_bad_usage() -> None:
    result = CliRunner().invoke(cli.main, ["no-such-command"])
    assert result.exit_code == 2
    assert "no-such-command" in result.stderr


def test_no_command_needs_an_extra_before_it_runs() -> None:
    """`--help` imports every command; it works where no extra is installed."""
    extras = ("rich", "cv2", "amqtt", "starlette", "uvicorn", "numpy")
    script = (
        f"import sys; sys.modules.update(dict.fromkeys({extras})); "
        "from shoe_daemon import cli; cli.main(['--help'], 'x', None, False)"
    )
    subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)


def test_running_one_command_imports_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cli.COMMANDS, "absent", "no_such_module:command")
    assert call(monkeypatch).exit_code == 2
