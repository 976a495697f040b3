"""`shoe-daemon new-driver`: a package with a driver of your own, to be changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import click

from shoe_daemon.cli.options import FOLDER
from shoe_daemon.errors import UserError, one_line

_TEMPLATE: Final = Path(__file__).parent / "driver_template"
_SUFFIX: Final = ".template"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@click.command()
@click.argument("name")
@click.option("--folder", type=FOLDER, help="A new one; default: NAME.")
def command(name: str, folder: Path | None) -> None:
    """
    Write a package with a driver NAME, such as my-reader: decoder, options, simulator, capture
    and tests, which pass. Then change it to your reader's bytes.
    """
    from drivers import driver_names

    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r}: expected lower-case words with hyphens, such as my-reader")
    if name in driver_names():
        raise UserError(f"{name}: there is a driver of this name; expected a new one")
    if find_spec(name.replace("-", "_")) is not None:
        raise UserError(f"{name}: Python has a module of this name; expected another")
    folder = folder or Path(name)
    try:
        folder.mkdir(parents=True)
    except FileExistsError:
        raise UserError(f"{folder}: is there already; expected a new folder") from None
    except OSError as error:
        raise UserError(f"{folder}: {one_line(error)}") from error
    for path, text in _files(name):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    click.echo(
        f"{folder}: written. Its README.md says how to go on; its tests pass now:\n\n"
        f"  cd {folder}\n  pip install --no-deps --editable .\n  pytest"
    )


def _files(name: str) -> Iterator[tuple[Path, str]]:
    """Yield the files of a driver with this name: path in its folder, and content."""
    names = {
        "my-reader": name,
        "my_reader": name.replace("-", "_"),
        "MyReader": "".join(map(str.capitalize, name.split("-"))),
    }
    for path in sorted(_TEMPLATE.rglob(f"*{_SUFFIX}")):
        inside = str(path.relative_to(_TEMPLATE)).removesuffix(_SUFFIX)
        text = path.read_text(encoding="utf-8")
        for old, new in names.items():
            inside, text = inside.replace(old, new), text.replace(old, new)
        yield Path(inside), text
