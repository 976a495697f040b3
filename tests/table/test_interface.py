"""The packages export what `docs/python.md` describes, load little, and their map is right."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys

import pytest

import shoe_daemon.table
from shoe_daemon.game import REPORTABLE_KINDS

ROW = re.compile(r"^\| ([a-z_, ]+) \| (.+) \|$", re.MULTILINE)
DISPATCH = "commands.dispatch"


def rows(title: str) -> dict[str, list[str]]:
    """Return a table of the package docstring: the modules for each name."""
    part = (shoe_daemon.table.__doc__ or "").partition(f"| {title} |")[2].partition("\n\n")[0]
    found: dict[str, list[str]] = {}
    for names, modules in ROW.findall(part):
        for name in names.split(", "):
            found[name] = re.findall(
                r"[a-z]+(?:\.[a-z_]+)|table_context|\b(?:attribute|publish)\b|^table", modules
            )
    return found


@pytest.mark.parametrize("package", ["shoe_daemon.game", "shoe_daemon.table", "drivers"])
def test_every_exported_name_is_there(package: str) -> None:
    module = importlib.import_module(package)
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert getattr(module, name) is not None, name


@pytest.mark.parametrize(
    ("package", "unwanted"),
    [
        ("drivers", {"serial", "cv2", "msgspec"}),
        ("shoe_daemon.table", {"shoe_daemon.table.table", "shoe_daemon.table.rounds"}),
        ("shoe_daemon.game", {"shoe_daemon.game.exact_odds", "shoe_daemon.table"}),
    ],
)
def test_an_import_loads_little(package: str, unwanted: set[str]) -> None:
    code = f"import sys, {package}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert not unwanted & set(loaded.stdout.decode().split())


def test_every_reported_kind_names_the_command() -> None:
    found = rows("irregularity")
    assert {kind for kind in found if DISPATCH in found[kind]} == {
        *REPORTABLE_KINDS,
        "manual_void",
    }
