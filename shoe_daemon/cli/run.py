"""
`shoe-daemon run`: run the daemon of one table.

The daemon runs for months on a small computer, so unneeded modules are not loaded.
"""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import TYPE_CHECKING

import click

from shoe_daemon.cli.options import config_option, import_structlog_alone

if TYPE_CHECKING:
    from shoe_daemon.service import Daemon


@click.command("run", short_help="Run the daemon of one table.")
@config_option("The table's configuration; see `check-config`.", required=True)
@click.option(
    "--debug",
    is_flag=True,
    help="Logs frames, observations, events and messages too; faces before the table shows them.",
)
def command(file: Path, *, debug: bool) -> None:
    """
    Run the daemon of one table until SIGTERM or Ctrl-C.

    After SIGUSR1 it ends between two rounds, at most ten minutes later: an upgrade of the
    package sends it, and systemd starts the new version.
    """
    # Objects made at the start live as long as the daemon: exclude them from garbage collection.
    gc.disable()
    try:
        daemon = _create_daemon(file, debug=debug)
        gc.freeze()
    finally:
        gc.enable()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: daemon.stop())
    signal.signal(signal.SIGUSR1, lambda *_: daemon.restart_soon())
    daemon.run()


def _create_daemon(file: Path, *, debug: bool) -> Daemon:
    import_structlog_alone()
    import structlog

    from shoe_daemon.config.table import load_config
    from shoe_daemon.logs import configure_logging
    from shoe_daemon.service import Daemon

    configure_logging(debug=debug)
    setup = load_config(file, serving=True)
    structlog.contextvars.bind_contextvars(site=setup.config.site, table=setup.config.table.id)
    return Daemon(setup)
