"""`shoe-daemon samples`: write the sample files of an installation into a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import click

import shoe_daemon
from shoe_daemon.errors import UserError, one_line

__all__ = ["command"]

_NEXT: Final = """
Next, as root in {folder}; README.md explains every file:

  install -m 644 mosquitto-shoe.conf /etc/mosquitto/conf.d/shoe.conf
  install -m 644 mosquitto-shoe.acl /etc/mosquitto/shoe.acl
  sh make-accounts.sh table-7 board pit      # passwords: /etc/shoe-daemon/*.password
  systemctl restart mosquitto
  cp example.toml /etc/shoe-daemon/table-7.toml
  editor /etc/shoe-daemon/table-7.toml       # at least the reader's port
  shoe-daemon check-config /etc/shoe-daemon/table-7.toml
  cp shoe-daemon@.service /etc/systemd/system/
  systemctl daemon-reload
  systemctl enable --now shoe-daemon@table-7"""


@click.command(short_help="Write the sample files of an installation into a folder.")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def command(folder: Path) -> None:
    """
    Write the sample files of an installation into FOLDER: configurations, service
    units, the broker's configuration and rights.

    A file that is there already is kept as it is.
    """
    for source in _samples():
        target = folder / source.name
        click.echo(f"{'written' if _write(source, target) else 'kept   '}  {target}")
    click.echo(_NEXT.format(folder=folder))


def _samples() -> list[Path]:
    """Return the files of the installed package or of the source tree."""
    package = Path(shoe_daemon.__file__).parent
    for place in (package / "samples", package.parent / "systemd"):
        if place.is_dir():
            return sorted(place.iterdir())
    raise UserError("samples: this installation has no sample files; install the wheel again")


def _write(source: Path, target: Path) -> bool:
    """Copy a file and return True; False where the target exists."""
    content = source.read_bytes()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            file.write(content)
    except FileExistsError:
        return False
    except OSError as error:
        raise UserError(f"samples: {target}: cannot be written: {one_line(error)}") from error
    return True
