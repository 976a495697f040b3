"""
The command line: a table of commands, each imported only when it is called.

A command lives in a module of its own as a click command or group named `command`, and
imports extras (rich, OpenCV, …) inside its functions, so that `--help`, which asks every command
for its line, needs none of them.
"""

from __future__ import annotations

import errno
import importlib
import os
import select
import signal
import sys
import threading
from typing import Any

import click

from shoe_daemon import __version__
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.shutdown_signals import discard_output

__all__ = ["COMMANDS", "main"]

# The command's name, and where it is: "module:attribute". A new command is one line here.
COMMANDS: dict[str, str] = {
    "doctor": "shoe_daemon.cli.doctor:command",
    "calibrate": "shoe_daemon.cli.calibrate:command",
    "check-config": "shoe_daemon.cli.check_config:command",
    "cmd": "shoe_daemon.cli.cmd:command",
    "demo": "shoe_daemon.cli.demo:command",
    "display": "shoe_daemon.cli.display:command",
    "run": "shoe_daemon.cli.run:command",
    "replay": "shoe_daemon.cli.replay:command",
    "journal": "shoe_daemon.cli.journal.journal_commands:command",
    "roads": "shoe_daemon.cli.roads:command",
    "rules": "shoe_daemon.cli.rules.rules_commands:command",
    "samples": "shoe_daemon.cli.samples:command",
    "schema": "shoe_daemon.cli.schema:command",
    "simulate": "shoe_daemon.cli.simulate:command",
    "watch": "shoe_daemon.cli.watch:command",
}

# What a shell reports of a program that SIGPIPE ended.
_BROKEN_PIPE_STATUS = 141

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# A file, or what stdout is, takes nothing more.
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports the one that is asked for."""

    def __call__(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - as click has it
        """Be the program: run the command that was given, and end with its status."""
        try:
            return super().__call__(*args, **more)
        except SystemExit as end:
            # A signal that comes now would kill it: a proper end would look like none.
            for number in _ENDS:
                signal.signal(number, signal.SIG_IGN)
            if threading.active_count() > 1 and isinstance(end.code, int):
                _end_now(end.code)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Give every command's name, in alphabetical order; nothing is imported for it."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command now; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """
        Run the command; a UserError and an output on a full disk become one line, a reader that
        left a quiet end.
        """
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except UserError as error:
            click.echo(f"shoe-daemon: {error}", err=True)
            ctx.exit(error.exit_status)
        except BrokenPipeError as error:
            if not _nobody_reads_stdout():
                # click would take it for that and end without a word
                raise RuntimeError("a connection other than stdout broke") from error
            ctx.exit(_BROKEN_PIPE_STATUS)
        except OSError as error:
            if error.errno not in _FULL:
                raise
            _forget_stdout()
            told = f"shoe-daemon: the output cannot be written: {one_line(error)}"
            click.echo(told, err=True)
            ctx.exit(1)
        return result


def _nobody_reads_stdout() -> bool:
    """Say whether stdout is the pipe that broke; what is still unwritten is then let go."""
    try:
        stdout = sys.stdout.fileno()
    except OSError:  # not a file, as in a test
        return False
    poll = select.poll()
    poll.register(stdout, 0)
    broken = any(happened & select.POLLERR for _, happened in poll.poll(0))
    if broken:
        discard_output(stdout)
    return broken


def _forget_stdout() -> None:
    """Let what stdout does not take go, so that it is not tried again at the very end."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output(sys.stdout.fileno())


def _end_now(status: int) -> None:
    """
    End although threads go on, such as one that a camera does not let go: Python would take them
    from under OpenCV, which aborts the process, or hangs it.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoe-daemon", message="%(prog)s %(version)s")
def main() -> None:
    """Reads a baccarat table's shoe, checks every draw, and drives the scoreboards."""
