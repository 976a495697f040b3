"""`shoe-daemon backup` and `restore`: all that a computer's tables need, in one file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click

from shoe_daemon.cli.options import COUNT, EXISTING_FOLDER, FILE
from shoe_daemon.cli.terminal import progress_display
from shoe_daemon.errors import UserError

_ROOT: Final = Path("/")
_BELOW: Final = click.option(
    "--root",
    type=EXISTING_FOLDER,
    default=_ROOT,
    show_default=False,
    help="The computer's files are below this folder.",
)


def _require_root(command: str, root: Path) -> None:
    if root == _ROOT and os.geteuid() != 0:
        raise UserError(f"{command}: needs root: sudo shoe-daemon {command}; or --root FOLDER")


@click.command("backup", short_help="Write all that the tables here need into one file.")
@click.argument("folder", type=EXISTING_FOLDER)
@click.option("--keep", type=COUNT, metavar="N", default=14, help="Backups that stay in FOLDER.")
@_BELOW
def backup(folder: Path, keep: int, root: Path) -> None:
    """
    Write a backup of this computer into FOLDER, while its tables run: one file, for root only.

    It contains the journals, verified, /etc/shoe-daemon with operators, camera profiles and
    keys, the units' settings, the broker's accounts and rights, and the log of the pit.
    Passwords and keys are not encrypted in it. Pictures and video are not in it.
    """
    from shoe_daemon.install.backup import back_up, below

    _require_root("backup", root)
    with progress_display("verifying the copy") as progress:
        saved = back_up(folder, root, keep, progress)
    for path, head in saved.heads.items():
        state = f"up to event {head.seq:,}" if head else "not there yet: the table never started"
        click.echo(f"{below(root, path)}: {state}")
    click.echo(f"{saved.file}: good, {saved.files} files")


@click.command("restore", short_help="Put a backup onto a computer without tables.")
@click.argument("file", type=FILE)
@_BELOW
def restore(file: Path, root: Path) -> None:
    """
    Put the backup FILE onto this computer, which has no tables yet; start nothing.

    Passwords and keys are then plain files for root only. Each journal continues with a number
    that no event after the backup can have, as with `journal restore`.
    """
    from shoe_daemon.install.backup import below
    from shoe_daemon.install.backup import restore as put_back

    _require_root("restore", root)
    with progress_display("verifying the backup") as progress:
        manifest, restored = put_back(file, root, progress)
    for path, journal in restored.items():
        click.echo(
            f"{below(root, path)}: restored up to event {journal.head.seq:,} of {journal.at}; "
            f"the next event is {journal.next_seq:,}"
        )
    click.echo(
        f"{file}: restored, {len(manifest.files)} files. Next, once the old computer is off:"
    )
    click.echo("  systemctl daemon-reload")
    if any(path.startswith("/etc/mosquitto/") for path in manifest.files):
        click.echo("  systemctl restart mosquitto")
    if manifest.units:
        click.echo(f"  systemctl enable --now {' '.join(manifest.units)}")
