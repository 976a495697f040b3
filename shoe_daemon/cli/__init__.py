"""The command line: a table of commands, each imported only when it is called.

A command lives in a module of its own as a click command or group named `command`, and
imports extras (rich, OpenCV, …) inside its functions, so that `--help` needs none of them.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import IO, Any

import click

from shoe_daemon import __version__
from shoe_daemon.errors import UserError

__all__ = ["COMMANDS", "main"]

# The command's name, and where it is: "module:attribute". A new command is one line here.
COMMANDS: dict[str, str] = {}

# What a shell reports of a program that SIGPIPE ended.
_BROKEN_PIPE_STATUS = 141


class _Told(click.ClickException):
    """A UserError on its way out through click."""

    def __init__(self, error: UserError) -> None:
        super().__init__(str(error))
        self.exit_code = error.exit_status

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"shoe-daemon: {self.message}", file=file, err=file is None)


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports the one that is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Every command, in alphabetical order; nothing is imported for it."""
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """The command, imported now; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever the command returns
        """Runs the command; a UserError becomes one line, a reader that left a quiet end."""
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except UserError as error:
            raise _Told(error) from error
        except BrokenPipeError:
            if not _nobody_reads_stdout():
                raise
            ctx.exit(_BROKEN_PIPE_STATUS)
        return result


def _nobody_reads_stdout() -> bool:
    """True where stdout is the pipe that broke; what is still unwritten is then let go."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="shoe-daemon", message="%(prog)s %(version)s")
def main() -> None:
    """Reads a baccarat table's shoe, checks every draw, and drives the scoreboards."""
