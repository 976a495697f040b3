"""Forbidden imports and import cycles are reported, allowed imports are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_imports import check, main


def faults(root: Path, *trees: dict[str, str]) -> list[str]:
    """Write files below a root, and return the violations."""
    for name, source in [item for tree in trees for item in tree.items()]:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    return list(check(root))


FORBIDDEN = {
    "a package imports tests": ("shoe_daemon/service.py", "import tests.helpers"),
    "a bench imports a test": ("bench/card_latency.py", "import tests.service.running"),
    "a fake server imports bench": (
        "tests/fakes/server.py",
        "from bench import harness",
    ),
    "a package imports tools": ("calibration/line.py", "import tools.prepare"),
    "cv2 in the service": ("shoe_daemon/service.py", "import cv2"),
    "rich in the service": ("shoe_daemon/service.py", "from rich.live import Live"),
    "amqtt in the publisher": ("shoe_daemon/mqtt/publisher.py", "import amqtt.broker"),
    "starlette in the demo": ("shoe_daemon/demo.py", "import starlette"),
    "a clock in the game": ("shoe_daemon/game/coup.py", "import time"),
    "a clock by method": ("shoe_daemon/table/context.py", "moment = datetime.now(tz=UTC)"),
    "chance in the game": ("shoe_daemon/game/shoe.py", "from random import shuffle"),
    "mqtt below the table": (
        "shoe_daemon/mqtt/publisher.py",
        "from shoe_daemon.table.events import Event",
    ),
    "a driver below the game": ("drivers/angel.py", "from shoe_daemon.game.cards import Card"),
    "the service below the drivers": (
        "shoe_daemon/service.py",
        "from drivers import driver",
    ),
    "an import in a function": ("drivers/angel.py", "def f():\n    import cv2"),
    "an import by name": ("drivers/angel.py", "importlib.import_module('cv2')"),
    "a module imports itself": ("drivers/angel.py", "import drivers.angel"),
    "argon2 in the service": ("shoe_daemon/service/commands.py", "import argon2"),
}


@pytest.mark.parametrize(("module", "source"), FORBIDDEN.values(), ids=FORBIDDEN.keys())
def test_what_is_forbidden_is_caught(tmp_path: Path, module: str, source: str) -> None:
    stands = {"shoe_daemon/journal/__init__.py": "", "drivers/driver.py": ""}
    found = faults(tmp_path, stands, {module: source})
    assert len(found) == 1
    line = source.count("\n") + 1
    assert found[0].startswith(f"{module}:{line}: ")


ALLOWED = {
    "game within itself": ("shoe_daemon/game/coup.py", "from shoe_daemon.game.cards import Card"),
    "a relative import at home": ("shoe_daemon/game/coup.py", "from .cards import Card"),
    "cv2 in the camera": ("drivers/camera/lens.py", "import cv2"),
    "cv2 in calibration": ("calibration/geometry.py", "import cv2"),
    "the command line of the odds": (
        "shoe_daemon/cli/rules/__init__.py",
        "from shoe_daemon.game.exact_odds import count_odds",
    ),
    "a clock in the service": ("shoe_daemon/service.py", "import time\ndatetime.now()"),
    "datetime as a type": ("shoe_daemon/table/context.py", "from datetime import datetime"),
    "argon2 in passwords": ("shoe_daemon/operators.py", "import argon2"),
}


@pytest.mark.parametrize(("module", "source"), ALLOWED.values(), ids=ALLOWED.keys())
def test_what_is_allowed_is_let_pass(tmp_path: Path, module: str, source: str) -> None:
    stands = {"shoe_daemon/table/observations.py": "", "shoe_daemon/game/cards.py": ""}
    assert faults(tmp_path, stands, {module: source}) == []


def test_an_exported_name_may_be_the_name_of_a_module(tmp_path: Path) -> None:
    files = {
        "shoe_daemon/game/__init__.py": '__all__ = ["roads"]',
        "shoe_daemon/game/roads.py": "",
        "shoe_daemon/cli/roads.py": "from shoe_daemon.game import roads",
    }
    assert faults(tmp_path, files) == []


def test_a_cycle_is_named_once_with_all_its_modules(tmp_path: Path) -> None:
    files = {
        "shoe_daemon/a.py": "from shoe_daemon import b",
        "shoe_daemon/b.py": "from .c import C",
        "shoe_daemon/c.py": "if TYPE_CHECKING:\n    from shoe_daemon.a import A",
        "shoe_daemon/d.py": "import shoe_daemon.a",
    }
    assert faults(tmp_path, files) == [
        "shoe_daemon/a.py:1: import cycle of shoe_daemon.a, shoe_daemon.b, shoe_daemon.c"
    ]


def test_faults_are_printed_and_end_with_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    faults(tmp_path, {"drivers/angel.py": "import cv2\n"})
    assert main([str(tmp_path)]) == 1
    assert "drivers/angel.py:1: drivers.angel must not import cv2" in capsys.readouterr().out
