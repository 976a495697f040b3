"""
``shoe-daemon run``: the daemon of one table.
"""

from __future__ import annotations

import signal
from pathlib import Path

import click
import structlog

from shoe_daemon.config import load_config
from shoe_daemon.logs import set_up_logs
from shoe_daemon.service import Daemon


@click.command("run", short_help="Run the daemon of one table.")
@click.option(
    "--config",
    "file",
    type=click.Path(path_type=Path),
    required=True,
    help="The table's configuration; see `check-config`.",
)
def command(file: Path) -> None:
    """
    Run the daemon of one table until it is told to stop (SIGTERM or Ctrl-C).
    """
    set_up_logs()
    setup = load_config(file)
    structlog.contextvars.bind_contextvars(site=setup.config.site, table=setup.config.table.id)
    daemon = Daemon(setup)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.stop())
    daemon.run()
