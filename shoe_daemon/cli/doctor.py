"""
``shoe-daemon doctor``: what is well with a table, and what it cannot see.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import click
import msgspec

from shoe_daemon.config import load_config
from shoe_daemon.doctor import Finding, examine
from shoe_daemon.errors import UserError
from shoe_daemon.logs import aside

_SIGNS = {"good": "ok", "note": "--", "bad": "!!"}


@click.command("doctor", short_help="Look at all that a table stands on.")
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    required=True,
    help="The table's configuration.",
)
@click.option("--json", "as_json", is_flag=True, help="One object, for programs.")
def command(file: Path, *, as_json: bool) -> None:
    """
    Look at a table's disk, readers and broker, and say which irregularities its
    equipment cannot detect.

    Readers are opened and closed again: not while the daemon runs. Exits with 1
    if anything is bad.
    """
    findings = []
    with aside():
        for finding in examine(load_config(file)):
            findings.append(finding)
            if not as_json:
                click.echo(_line(finding))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(findings), indent=2))
    bad = sum(finding.verdict == "bad" for finding in findings)
    if bad:
        raise UserError(f"{file}: {bad} of {len(findings)} findings are bad", exit_status=1)


def _line(finding: Finding) -> str:
    lead = f"{_SIGNS[finding.verdict]}  {finding.about:<12} "
    return textwrap.fill(finding.text, 80, initial_indent=lead, subsequent_indent=" " * len(lead))
