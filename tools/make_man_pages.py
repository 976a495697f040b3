"""
Writes a manual page for every command: `python tools/make_man_pages.py FOLDER EPOCH`.

Runs in the environment that is packed, so that the pages describe the packed program. The text
is that of `--help`.
"""

from __future__ import annotations

import inspect
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from shoe_daemon import __version__
from shoe_daemon.cli import main as program


def main(folder: Path, date: str) -> None:
    """Write the pages of the program and of all its commands."""
    root = click.Context(program, info_name="shoe-daemon", **program.context_settings)
    for context in _contexts(root):
        name = context.command_path.replace(" ", "-")
        (folder / f"{name}.1").write_text(_page(context, name, date), encoding="utf-8")


def _contexts(context: click.Context) -> list[click.Context]:
    """Return the context of a command, followed by those of its subcommands."""
    found = [context]
    for name, command in _subcommands(context):
        found += _contexts(click.Context(command, info_name=name, parent=context))
    return found


def _subcommands(context: click.Context) -> list[tuple[str, click.Command]]:
    group = context.command
    if not isinstance(group, click.Group):
        return []
    commands = [(name, group.get_command(context, name)) for name in group.list_commands(context)]
    return [(name, command) for name, command in commands if command and not command.hidden]


def _page(context: click.Context, name: str, date: str) -> str:
    command = context.command
    usage = " ".join(command.collect_usage_pieces(context))
    lines = [
        f'.TH "{name.upper()}" 1 "{date}" "shoe-daemon {__version__}" "shoe-daemon"',
        ".nh",
        ".SH NAME",
        f"{_escape(name)} \\- {_escape(command.get_short_help_str(limit=300).rstrip('.'))}",
        ".SH SYNOPSIS",
        f"\\fB{_escape(context.command_path)}\\fR {_escape(usage)}",
        ".SH DESCRIPTION",
        *_paragraphs(command.help or ""),
    ]
    if options := _options(context):
        lines.append(".SH OPTIONS")
        for option, text in options:
            lines += [".TP", f"\\fB{_escape(option)}\\fR", _escape(text) or "\\&"]
    if subcommands := _subcommands(context):
        lines.append(".SH COMMANDS")
        for subcommand, details in subcommands:
            page = _escape(f"{name}-{subcommand}")
            text = _escape(details.get_short_help_str(limit=300))
            lines += [".TP", f"\\fB{page}\\fR(1)", text]
    if context.parent:
        parent = context.parent.command_path.replace(" ", "-")
        lines += [".SH SEE ALSO", f"\\fB{_escape(parent)}\\fR(1)"]
    return "\n".join(lines) + "\n"


def _options(context: click.Context) -> list[tuple[str, str]]:
    """Return the options with their texts."""
    parameters = context.command.get_params(context)
    options = [each for each in parameters if isinstance(each, click.Option)]
    return [record for option in options if (record := option.get_help_record(context))]


def _paragraphs(help_text: str) -> list[str]:
    r"""Format a help text; a paragraph that begins with \b keeps its lines."""
    lines = []
    for paragraph in inspect.cleandoc(help_text).split("\n\n"):
        verbatim = paragraph.startswith("\b\n")
        body = [_escape(line) for line in paragraph.removeprefix("\b\n").splitlines()]
        lines += [".PP", *([".nf", *body, ".fi"] if verbatim else body)]
    return lines[1:]


def _escape(text: str) -> str:
    """Escape what roff would interpret."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


if __name__ == "__main__":
    main(Path(sys.argv[1]), datetime.fromtimestamp(int(sys.argv[2]), UTC).date().isoformat())
