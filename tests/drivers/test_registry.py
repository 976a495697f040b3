"""
Drivers are found by name in any installed package; an invalid name or option is
reported on one line.
"""

from __future__ import annotations

import re
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any, ClassVar

import pytest
from msgspec import Struct

from drivers import registry
from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Driver, LineSettings
from drivers.registry import check_class, make_driver
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Signal


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = [EntryPoint(name.rstrip("_"), v, registry.GROUP) for name, v in values.items()]
    monkeypatch.setattr(registry, "_installed", lambda _: EntryPoints(points))


def test_the_projects_own_drivers_are_installed() -> None:
    assert "angel-eye-ii" in registry.driver_names()
    for name in registry.driver_names():
        driver = registry.create_driver(name)
        assert driver.name == name
        assert isinstance(driver.line, LineSettings)
        driver.decoder().feed(b"\x00", 0.0)


def test_options_are_checked() -> None:
    assert isinstance(registry.create_driver("angel-eye-ii", {"repeat_interval": 2}), AngelEyeII)
    with pytest.raises(UserError, match=r"^options of driver 'angel-eye-ii': .*`repeats`"):
        registry.create_driver("angel-eye-ii", {"repeats": 3})
    with pytest.raises(UserError, match=r"Expected `float` >= 0.*\$\.repeat_interval"):
        registry.create_driver("angel-eye-ii", {"repeat_interval": -1})


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UserError, match=r"^no driver 'angel'; there are: .*angel-eye-ii"):
        registry.find_driver("angel")


def test_two_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="one:Driver", x_="two:Driver")
    with pytest.raises(UserError, match=r"^two drivers 'x': one:Driver and two:Driver$"):
        registry.find_driver("x")


def test_a_driver_of_the_project_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        registry,
        "_installed",
        lambda _: EntryPoints([EntryPoint("angel-eye-ii", "other:Driver", registry.GROUP)]),
    )
    assert registry.find_driver("angel-eye-ii") is AngelEyeII
    assert registry.replacement_of("angel-eye-ii") == "other:Driver"
    assert registry.replacement_of("keyboard") is None


def test_a_driver_that_cannot_be_imported_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.none:Driver")
    with pytest.raises(UserError, match=r"^driver 'x' \(drivers.none:Driver\) cannot be loaded"):
        registry.find_driver("x")


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options with a default for every field."""

    speed: int = 1


class Careless(Struct):
    """Options that accept any key."""


class Demanding(Struct, forbid_unknown_fields=True):
    """Options without a default."""

    speed: int


class Whole(Driver):
    """A driver with all that is needed, and a decoder in the same object."""

    name = "whole"
    signals: Any = (Signal.SLOTS,)
    options_type: ClassVar[type[Struct]] = Options

    def decoder(self) -> Any:  # noqa: ANN401 - a wrong one too
        return self

    def feed(self, data: bytes, now: float) -> list[object]:
        return []

    def reset(self) -> None:
        pass


def refused(**parts: Any) -> str:  # noqa: ANN401 - any wrong part
    """
    Return the message about a driver that differs from a whole one; a part that is
    None is missing.
    """
    needed = ("name", "signals", "options_type", "decoder", "feed", "reset")
    kept = {part: vars(Whole)[part] for part in needed if part not in parts}
    given = {part: value for part, value in parts.items() if value is not None}
    kind = type("Odd", (Driver,), kept | given)
    with pytest.raises(UserError) as raised:
        make_driver(check_class(kind, "driver 'odd'"), Options(), "driver 'odd'")
    (line,) = str(raised.value).splitlines()
    return line.removeprefix("driver 'odd': ")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"name": None}, "name: None; expected a text"),
        ({"name": 7}, "name: 7; expected a text"),
        ({"line": 9600}, "line: 9600; expected drivers.LineSettings(...)"),
        ({"signals": ("places",)}, "signals: ('places',); expected a tuple of signals: "),
        ({"signals": "slots"}, "signals: 'slots'; expected a tuple of signals: "),
        ({"options_type": dict}, "options_type: <class 'dict'>; expected a subclass of "),
        ({"options_type": Careless}, "options_type: Careless; expected forbid_unknown_fields"),
        ({"options_type": Demanding}, "options_type: Demanding.speed; expected a default for "),
        ({"decoder": None}, "decoder: missing; expected a method"),
        ({"decoder": lambda _: object()}, "decoder(): object without feed; expected a method"),
        ({"reset": None}, "decoder(): Odd without reset; expected a method"),
        ({"__init__": lambda _: None}, "cannot be made: TypeError: "),
        ({"decoder": lambda _: 1 / 0}, "cannot be made: ZeroDivisionError: division by zero"),
        ({"open_line": print}, "look: missing; expected beside open_line"),
        ({"look": "see"}, "check_url: missing; expected beside look"),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_driver_with_a_wrong_part_is_one_line(parts: dict[str, Any], said: str) -> None:
    assert refused(**parts).startswith(said)


def test_a_whole_driver_is_accepted() -> None:
    kind = check_class(Whole, "driver 'whole'")
    assert make_driver(kind, Options(), "driver 'whole'").signals == (Signal.SLOTS,)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (
            "class Shoe:\n    name = 'x'\n    def decoder(self): return self\n",
            "driver 'x' (old_shoe:Shoe): class Shoe; expected a subclass of drivers.Driver",
        ),
        (
            "from drivers import Frame, OpensLine\nclass Shoe(OpensLine): ...\n",
            "driver 'x' (old_shoe:Shoe) cannot be loaded: cannot import name 'OpensLine' from",
        ),
    ],
    ids=["no base class", "a protocol"],
)
def test_a_driver_of_the_old_interface_is_one_line_with_what_to_change(
    source: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "old_shoe.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "old_shoe", raising=False)
    install(monkeypatch, x="old_shoe:Shoe")
    with pytest.raises(UserError) as raised:
        registry.find_driver("x")
    (line,) = str(raised.value).splitlines()
    assert line.startswith(told)
    title = re.search(r"expected a subclass of drivers\.Driver,.*write-a-driver\.md, (.*)$", line)
    assert title is not None
    page = Path(__file__).parents[2] / "docs" / "write-a-driver.md"
    assert f"\n## {title[1]}\n" in page.read_text(encoding="utf-8")


def test_a_driver_that_is_no_class_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.registry:GROUP")
    with pytest.raises(UserError, match=r"^driver 'x' \(.*\): 'shoe_daemon.drivers'; expected a "):
        registry.find_driver("x")
