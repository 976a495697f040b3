"""`shoe-daemon notify`: send open irregularities to people."""

from __future__ import annotations

import signal
from pathlib import Path

import click

from shoe_daemon.cli.options import config_option, import_structlog_alone
from shoe_daemon.errors import UserError


@click.command("notify", short_help="Send alerts to people: webhook, mail, chat, telephone.")
@config_option("Recipients and broker; see `check-config`.", required=True)
@click.option("--test", is_flag=True, help="Send one test to each recipient, and end.")
def command(file: Path, *, test: bool) -> None:
    """
    Send the open irregularities of all tables to the recipients of a configuration, until
    SIGTERM or Ctrl-C: by severity, table and time of day, and again until somebody has
    acknowledged them.

    It reads the public alerts from the MQTT broker, and publishes whether its notifications
    arrive, for the pit.
    With --test, exits with 1 if a recipient does not accept the test.
    """
    import_structlog_alone()
    from shoe_daemon.logs import configure_logging, warnings_on_stderr
    from shoe_daemon.notify.config import load_notify
    from shoe_daemon.notify.service import Notifier, send_test

    if test:
        with warnings_on_stderr():
            results = list(send_test(load_notify(file)))
        for name, error in results:
            click.echo(f"ok  {name}" if error is None else f"!!  {name}: {error}")
        failed = sum(error is not None for _, error in results)
        if failed:
            raise UserError(f"{failed} of {len(results)} recipients failed", exit_status=1)
        return
    configure_logging()
    notifier = Notifier(load_notify(file, serving=True))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: notifier.stop())
    notifier.run()
