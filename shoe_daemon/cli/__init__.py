"""
The command line: a table of commands, each imported when it is called.

Each command is a click command or group. It imports extras
(rich, OpenCV, …) inside functions, so that `--help`, which loads all commands, needs none.
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
from shoe_daemon.process import discard_output

# Command name to "module:attribute".
COMMANDS: dict[str, str] = {
    "backup": "shoe_daemon.cli.backup:backup",
    "doctor": "shoe_daemon.cli.doctor:doctor",
    "capture": "shoe_daemon.cli.capture:command",
    "calibrate": "shoe_daemon.cli.calibrate:command",
    "check-driver": "drivers.conformance:main",
    "check-config": "shoe_daemon.cli.doctor:check_config",
    "cmd": "shoe_daemon.cli.cmd:command",
    "demo": "shoe_daemon.cli.demo:command",
    "diagnostics": "shoe_daemon.cli.doctor:diagnostics",
    "display": "shoe_daemon.cli.display:display",
    "forward": "shoe_daemon.cli.forward:command",
    "init": "shoe_daemon.cli.init:command",
    "install-driver": "shoe_daemon.cli.new_driver:install",
    "run": "shoe_daemon.cli.run:command",
    "new-driver": "shoe_daemon.cli.new_driver:command",
    "notify": "shoe_daemon.cli.notify:command",
    "report": "shoe_daemon.cli.report:command",
    "restore": "shoe_daemon.cli.backup:restore",
    "replay": "shoe_daemon.cli.replay:command",
    "journal": "shoe_daemon.cli.journal:command",
    "roads": "shoe_daemon.cli.roads:command",
    "rules": "shoe_daemon.cli.rules:command",
    "samples": "shoe_daemon.cli.samples:samples",
    "schema": "shoe_daemon.cli.samples:schema",
    "simulate": "shoe_daemon.cli.simulate:command",
    "watch": "shoe_daemon.cli.display:watch",
}

# The shell's exit status of a program killed by SIGPIPE.
_SIGPIPE_EXIT_STATUS = 141

_END_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

# Errors of a full disk.
_FULL_DISK_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class LazyGroup(click.Group):
    """A group that imports a command when it is called."""

    def __call__(self, *args: Any, **more: Any) -> Any:  # noqa: ANN401 - click's signature
        """Run the given command and exit with its status."""
        try:
            return super().__call__(*args, **more)
        except SystemExit as end:
            # From here on the exit status is settled; a signal must not change it.
            for number in _END_SIGNALS:
                signal.signal(number, signal.SIG_IGN)
            if threading.active_count() > 1 and isinstance(end.code, int):
                _exit_now(end.code)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of all commands in alphabetical order, without importing them."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command; return None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - the command's return value
        """
        Run a command. A UserError or a full disk prints one line; a closed pipe exits silently.
        """
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except UserError as error:
            for line in str(error).split("\n"):
                click.echo(f"shoe-daemon: {line}", err=True)
            ctx.exit(error.exit_status)
        except BrokenPipeError as error:
            if not _is_stdout_closed():
                # click would mistake it for a closed stdout and exit silently
                raise RuntimeError("a connection other than stdout broke") from error
            ctx.exit(_SIGPIPE_EXIT_STATUS)
        except OSError as error:
            if error.errno not in _FULL_DISK_ERRNOS:
                raise
            _discard_stdout()
            message = f"shoe-daemon: the output cannot be written: {one_line(error)}"
            click.echo(message, err=True)
            ctx.exit(1)
        return result


def _is_stdout_closed() -> bool:
    """Return whether stdout is a closed pipe, and if so, discard its unwritten data."""
    try:
        stdout = sys.stdout.fileno()
    except OSError:  # not a file, as in tests
        return False
    poll = select.poll()
    poll.register(stdout, 0)
    broken = any(happened & select.POLLERR for _, happened in poll.poll(0))
    if broken:
        discard_output(stdout)
    return broken


def _discard_stdout() -> None:
    """Discard data that stdout does not accept, so that Python does not retry at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        discard_output(sys.stdout.fileno())


def _exit_now(status: int) -> None:
    """
    Exit while other threads run, such as a blocked camera thread.

    A normal exit would abort or hang in OpenCV.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


# The commands inherit both settings.
@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
)
@click.version_option(__version__, prog_name="shoe-daemon", message="%(prog)s %(version)s")
def main() -> None:
    """Reads a baccarat table's shoe, checks every draw, and drives the scoreboards."""
