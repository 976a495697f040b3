"""The packages export what `docs/python.md` describes, load little, and their map is right."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import shoe_daemon.table
from shoe_daemon.game import REPORTABLE_KINDS, IrregularityKind
from shoe_daemon.table import AnyObservation
from tests.each_case import each_case

TABLE = Path(shoe_daemon.table.__file__).parent
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


def test_the_map_names_every_observation() -> None:
    types = {each.__struct_config__.tag for each in get_args(AnyObservation)}
    assert rows("observation").keys() == types


def test_the_map_names_every_irregularity() -> None:
    assert rows("irregularity").keys() == set(IrregularityKind)


@each_case(
    "kind, module",
    [(kind, module) for kind, modules in rows("irregularity").items() for module in modules],
)
def test_the_map_is_right(kind: str, module: str) -> None:
    source = (TABLE / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    assert "raise_alert(" in source or module.startswith("checks.")
    assert IrregularityKind(kind).name in source or (
        module == DISPATCH and kind in REPORTABLE_KINDS
    )


def test_no_module_that_raises_an_irregularity_is_missing_from_the_map() -> None:
    named = {module for modules in rows("irregularity").values() for module in modules}
    raising = {
        ".".join(path.relative_to(TABLE).with_suffix("").parts)
        for path in TABLE.rglob("*.py")
        if ".raise_alert(" in path.read_text(encoding="utf-8")
    }
    assert raising == {each for each in named if not each.startswith("checks.")}


def test_every_reported_kind_names_the_command() -> None:
    found = rows("irregularity")
    assert {kind for kind in found if DISPATCH in found[kind]} == {
        *REPORTABLE_KINDS,
        "manual_void",
    }
