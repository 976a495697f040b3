"""
Drivers are found by name, whoever has installed them, and a wrong name or
option is said in one line.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, EntryPoints

import pytest

from drivers import registry
from drivers.angel_eye_ii import AngelEyeII
from drivers.contract import LineSettings
from shoe_daemon.errors import UserError


def install(monkeypatch: pytest.MonkeyPatch, **values: str) -> None:
    points = [EntryPoint(name.rstrip("_"), v, registry.GROUP) for name, v in values.items()]

    def entry_points(group: str, name: str) -> EntryPoints:
        return EntryPoints(points).select(group=group, name=name)

    monkeypatch.setattr(registry, "entry_points", entry_points)


def test_the_projects_own_drivers_are_installed() -> None:
    assert "angel-eye-ii" in registry.driver_names()
    for name in registry.driver_names():
        driver = registry.find_driver(name)
        assert driver.name == name
        assert isinstance(driver.line, LineSettings)
        registry.create_driver(name).decoder().feed(b"\x00", 0.0)


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


def test_the_same_one_installed_twice_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.angel_eye_ii:AngelEyeII", x_="drivers.angel_eye_ii:AngelEyeII")
    assert registry.find_driver("x") is AngelEyeII


def test_a_driver_that_cannot_be_imported_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, x="drivers.none:Driver")
    with pytest.raises(UserError, match=r"^driver 'x' \(drivers.none:Driver\) cannot be loaded"):
        registry.find_driver("x")
