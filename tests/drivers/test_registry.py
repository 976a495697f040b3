"""
Drivers are found by name in any installed package; an invalid name or option is
reported on one line.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest
from msgspec import Struct

from drivers import driver_registry
from drivers.angel_eye_ii import AngelEyeII
from drivers.driver_interface import LineSettings
from drivers.driver_registry import check_class, make_driver
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Signal


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = [EntryPoint(name.rstrip("_"), v, driver_registry.GROUP) for name, v in values.items()]
    monkeypatch.setattr(driver_registry, "_installed", lambda _: EntryPoints(points))


def test_the_projects_own_drivers_are_installed() -> None:
    assert "angel-eye-ii" in driver_registry.driver_names()
    for name in driver_registry.driver_names():
        driver = driver_registry.create_driver(name)
        assert driver.name == name
        assert isinstance(driver.line, LineSettings)
        driver.decoder().feed(b"\x00", 0.0)


def test_options_are_checked() -> None:
    assert isinstance(
        driver_registry.create_driver("angel-eye-ii", {"repeat_interval": 2}), AngelEyeII
    )
    with pytest.raises(UserError, match=r"^options of driver 'angel-eye-ii': .*`repeats`"):
        driver_registry.create_driver("angel-eye-ii", {"repeats": 3})
    with pytest.raises(UserError, match=r"Expected `float` >= 0.*\$\.repeat_interval"):
        driver_registry.create_driver("angel-eye-ii", {"repeat_interval": -1})


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UserError, match=r"^no driver 'angel'; there are: .*angel-eye-ii"):
        driver_registry.find_driver("angel")


def test_two_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="one:Driver", x_="two:Driver")
    with pytest.raises(UserError, match=r"^two drivers 'x': one:Driver and two:Driver$"):
        driver_registry.find_driver("x")


def test_a_driver_of_the_project_cannot_be_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        driver_registry,
        "_installed",
        lambda _: EntryPoints([EntryPoint("angel-eye-ii", "other:Driver", driver_registry.GROUP)]),
    )
    assert driver_registry.find_driver("angel-eye-ii") is AngelEyeII
    assert driver_registry.replacement_of("angel-eye-ii") == "other:Driver"
    assert driver_registry.replacement_of("keyboard") is None


def test_the_same_one_installed_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.angel_eye_ii:AngelEyeII", x_="drivers.angel_eye_ii:AngelEyeII")
    assert driver_registry.find_driver("x") is AngelEyeII


def test_a_driver_that_cannot_be_imported_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.none:Driver")
    with pytest.raises(UserError, match=r"^driver 'x' \(drivers.none:Driver\) cannot be loaded"):
        driver_registry.find_driver("x")


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Options with a default for every field."""

    speed: int = 1


class Careless(Struct):
    """Options that accept any key."""


class Demanding(Struct, forbid_unknown_fields=True):
    """Options without a default."""

    speed: int


class Whole:
    """A driver with every part of the interface, and a decoder in the same object."""

    name = "whole"
    line = LineSettings()
    signals: Any = (Signal.SLOTS,)
    options_type: Any = Options

    def __init__(self, options: Struct) -> None:
        pass

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
    without = {part for part, value in parts.items() if value is None}
    kept = {k: v for k, v in vars(Whole).items() if k not in without and not k.startswith("__d")}
    kind = type("Odd", (), kept | {k: v for k, v in parts.items() if v is not None})
    with pytest.raises(UserError) as raised:
        make_driver(check_class(kind, "driver 'odd'"), Options(), "driver 'odd'")
    (line,) = str(raised.value).splitlines()
    return line.removeprefix("driver 'odd': ")


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"name": None}, "name: missing; expected a text"),
        ({"name": 7}, "name: 7; expected a text"),
        ({"line": None}, "line: missing; expected drivers.driver_interface.LineSettings"),
        ({"line": 9600}, "line: 9600; expected drivers.driver_interface.LineSettings"),
        ({"signals": None}, "signals: missing; expected a tuple of signals: betting, "),
        ({"signals": ("places",)}, "signals: ('places',); expected a tuple of signals: "),
        ({"signals": "slots"}, "signals: 'slots'; expected a tuple of signals: "),
        ({"options_type": None}, "options_type: missing; expected a subclass of msgspec.Struct"),
        ({"options_type": dict}, "options_type: <class 'dict'>; expected a subclass of "),
        ({"options_type": Careless}, "options_type: Careless; expected forbid_unknown_fields"),
        ({"options_type": Demanding}, "options_type: Demanding.speed; expected a default for "),
        ({"decoder": None}, "decoder: missing; expected a method"),
        ({"decoder": lambda _: object()}, "decoder(): object without feed; expected a method"),
        ({"reset": None}, "decoder(): Odd without reset; expected a method"),
        ({"__init__": lambda _: None}, "cannot be made: TypeError: "),
        ({"decoder": lambda _: 1 / 0}, "cannot be made: ZeroDivisionError: division by zero"),
        (
            {"open_line": print},
            "look: missing; expected beside open_line (drivers.driver_interface.",
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(each),
)
def test_a_driver_with_a_wrong_part_is_one_line(parts: dict[str, Any], said: str) -> None:
    assert refused(**parts).startswith(said)


def test_a_whole_driver_is_accepted() -> None:
    kind = check_class(Whole, "driver 'whole'")
    assert make_driver(kind, Options(), "driver 'whole'").signals == (Signal.SLOTS,)


def test_a_driver_that_is_no_class_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.driver_registry:GROUP")
    with pytest.raises(UserError, match=r"^driver 'x' \(.*\): 'shoe_daemon.drivers'; expected a "):
        driver_registry.find_driver("x")
