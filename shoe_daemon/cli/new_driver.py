"""`shoe-daemon new-driver` and `install-driver`: a package with a driver of your own."""

from __future__ import annotations

import re
import shutil
import sysconfig
import tomllib
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from msgspec import Struct

from shoe_daemon.cli.options import EXISTING_FOLDER, FOLDER
from shoe_daemon.errors import UserError, errors_at, one_line, os_errors_at

_TEMPLATE: Final = Path(__file__).parent / "driver_template"
_SUFFIX: Final = ".template"
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@click.command()
@click.argument("name")
@click.option("--folder", type=FOLDER, help="A new one; default: NAME.")
def command(name: str, folder: Path | None) -> None:
    """
    Write a package with a driver NAME, such as my-reader: decoder, options, simulator, capture
    and tests. It keeps all promises of a driver. Then change it to your reader's bytes.
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
        f"{folder}: written. Its README.md says how to go on; it keeps all promises now:\n\n"
        f"  cd {folder}\n  shoe-daemon install-driver .\n  shoe-daemon check-driver {name}"
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


class _Package(Struct, frozen=True):
    """What `pyproject.toml` says of a driver's package."""

    name: str
    version: str
    entry_points: dict[str, str]
    modules: list[str]

    @property
    def stem(self) -> str:
        """The name, as in the names of files."""
        return re.sub(r"[-_.]+", "_", self.name).lower()


@click.command("install-driver", short_help="Install a driver of your own.")
@click.argument("folder", type=EXISTING_FOLDER)
def install(folder: Path) -> None:
    """
    Install the driver in FOLDER for this shoe-daemon, as `new-driver` writes it; again after
    each change. Needs neither pip nor a network. A table knows it after a restart.
    """
    package = _package(folder / "pyproject.toml")
    site = Path(sysconfig.get_path("purelib"))
    about = site / f"{package.stem}-{package.version}.dist-info"
    earlier = list(site.glob(f"{package.stem}-*.dist-info"))
    ours = {line.partition(",")[0] for each in earlier for line in _lines(each / "RECORD")}
    for module in package.modules:
        if (site / module).exists() and module not in ours:
            raise UserError(f"{site / module}: belongs to another package; expected a new name")
        if not (folder / module).is_file():
            raise UserError(f"{folder / module}: no such file, but only-include names it")
    with os_errors_at(f"{site}: cannot be written"):
        for each in earlier:
            shutil.rmtree(each)
        about.mkdir()
        for module in package.modules:
            shutil.copyfile(folder / module, site / module)
        for name, text in _metadata(package).items():
            (about / name).write_text(text, encoding="utf-8")
    click.echo(f"{', '.join(package.entry_points)}: installed in {site}")


def _package(path: Path) -> _Package:
    with errors_at(str(path)):
        try:
            content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
            project = content["project"]
            found = {
                "name": project["name"],
                "version": project["version"],
                "entry_points": project["entry-points"]["shoe_daemon.drivers"],
                "modules": content["tool"]["hatch"]["build"]["targets"]["wheel"]["only-include"],
            }
            return msgspec.convert(found, _Package)
        except KeyError as error:
            raise UserError(
                f"no {error.args[0]}; expected a file as `new-driver` writes"
            ) from error
        except (OSError, ValueError, TypeError) as error:
            raise UserError(one_line(error)) from error


def _metadata(package: _Package) -> dict[str, str]:
    """Return the files that pip writes too, so that Python finds the driver and pip removes it."""
    head = f"Metadata-Version: 2.1\nName: {package.name}\nVersion: {package.version}\n"
    points = "".join(f"{name} = {place}\n" for name, place in package.entry_points.items())
    about = f"{package.stem}-{package.version}.dist-info"
    names = [*package.modules, *(f"{about}/{name}" for name in ("METADATA", "entry_points.txt"))]
    return {
        "METADATA": head,
        "entry_points.txt": f"[shoe_daemon.drivers]\n{points}",
        "RECORD": "".join(f"{name},,\n" for name in (*names, f"{about}/RECORD")),
    }


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []
