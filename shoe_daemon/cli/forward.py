"""`shoe-daemon forward`: copy journals to the back office's PostgreSQL database."""

from __future__ import annotations

from pathlib import Path

import click

from shoe_daemon.cli.options import PATH, import_structlog_alone
from shoe_daemon.errors import UserError


@click.command("forward", short_help="Copy journals to a PostgreSQL database.")
@click.argument("configs", nargs=-1, type=PATH, metavar="CONFIG...")
@click.option("--once", is_flag=True, help="Copy what there is, and end.")
@click.option("--schema", "print_schema", is_flag=True, help="Print the SQL for a new database.")
@click.option("--forget", is_flag=True, help="Let the journals be pruned without the copy; end.")
def command(configs: tuple[Path, ...], *, once: bool, print_schema: bool, forget: bool) -> None:
    """
    Copy the journal of each CONFIG of a table, or of all tables of a folder, to the database of
    its section [forward], until SIGTERM or Ctrl-C.

    Each event is there exactly once, whatever is killed or restored. While the database is away
    the journals keep the events, and pruning keeps what is not copied; --forget ends that after
    a table stopped copying.
    """
    import_structlog_alone()
    from shoe_daemon.config.table import load_forwards
    from shoe_daemon.forward.source import forget as forget_journal
    from shoe_daemon.logs import configure_logging
    from shoe_daemon.process import stop_on_signals

    try:
        from shoe_daemon.forward.database import schema
        from shoe_daemon.forward.service import Forwarder
    except ImportError as error:
        raise UserError(
            "forward needs psycopg and libpq: pip install 'shoe-daemon[forward]',"
            " apt-get install libpq5"
        ) from error
    if print_schema:
        click.echo(schema(), nl=False)
        return
    if not configs:
        raise UserError("no configuration; expected CONFIG..., such as /etc/shoe-daemon")
    journals = load_forwards(configs)
    if forget:
        for each in journals:
            forget_journal(each.journal)
        return
    forwarder = Forwarder(journals)
    if once:
        try:
            click.echo(f"{forwarder.run_once():,} events copied")
        finally:
            forwarder.close()
        return
    configure_logging()
    with stop_on_signals() as stopping:
        forwarder.run(stopping)
