"""`shoe-daemon doctor`: test the equipment of a table or a display."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from shoe_daemon.config import load_config
from shoe_daemon.display.display_config import is_display, load_display
from shoe_daemon.doctor import examine, examine_display
from shoe_daemon.doctor_broker import Finding
from shoe_daemon.errors import UserError
from shoe_daemon.logging_setup import warnings_on_stderr

_SIGNS = {"good": "ok", "note": "--", "bad": "!!"}


@click.command("doctor", short_help="Test all that a table, or a display, depends on.")
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    required=True,
    help="The configuration of a table or a display.",
)
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
def command(file: Path, *, as_json: bool) -> None:
    """
    Look at a table's disk, readers and broker, and say which irregularities its
    equipment cannot detect; or at a display's address and broker.

    Logs in to the broker as the table or the display would, under another client id,
    and retains nothing there. Readers are opened and closed again: not while the
    daemon runs. Exits with 1 if anything is bad.
    """
    findings = []
    with warnings_on_stderr():
        for finding in _examine(file):
            findings.append(finding)
            if not as_json:
                click.echo(_line(finding))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings), indent=2))
    bad = sum(finding.verdict == "bad" for finding in findings)
    if bad:
        raise UserError(f"{file}: {bad} of {len(findings)} findings are bad", exit_status=1)


def _examine(file: Path) -> Iterator[Finding]:
    if is_display(file):
        return examine_display(load_display(file, inspecting=True))
    return examine(load_config(file, inspecting=True))


def _line(finding: Finding) -> str:
    lead = f"{_SIGNS[finding.verdict]}  {finding.about:<12} "
    return textwrap.fill(finding.text, 80, initial_indent=lead, subsequent_indent=" " * len(lead))
