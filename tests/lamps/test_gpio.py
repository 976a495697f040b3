"""
GPIO lines: on the kernel's own simulated chip (gpio-sim) where there is one; the texts of the
errors everywhere.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivers import LineError
from shoe_daemon.errors import UserError
from shoe_daemon.lamps.config import LampRuleSettings, LampSettings
from shoe_daemon.lamps.outputs import check_gpio, open_output
from shoe_daemon.lamps.pattern import LampAlert, TableView
from shoe_daemon.lamps.thread import Lamp
from tests.waiting import wait_for

CONFIGS = Path("/sys/kernel/config/gpio-sim")
RULES = (
    LampRuleSettings(severity=3, channel=2),
    LampRuleSettings(severity=1, channel="amber"),
)


class SimulatedChip:
    """
    A chip of gpio-sim with four lines; line 1 is called ``amber``.

    Attributes:
        device: A link to the chip: one that was unplugged while in use gets another number.
    """

    def __init__(self, link: Path) -> None:
        self.device = str(link)
        self._link = link
        self._folder = CONFIGS / f"lamps-{secrets.token_hex(4)}"
        self._bank = self._folder / "bank0"
        line = self._bank / "line1"
        line.mkdir(parents=True)
        (self._bank / "num_lines").write_text("4")
        (line / "name").write_text("amber")
        self.plug()

    def plug(self) -> None:
        (self._folder / "live").write_text("1")
        name = (self._bank / "chip_name").read_text().strip()
        self._link.unlink(missing_ok=True)
        self._link.symlink_to(f"/dev/{name}")
        self._levels = Path("/sys/devices/platform") / (
            (self._folder / "dev_name").read_text().strip()
        )
        self._chip = name

    def unplug(self) -> None:
        (self._folder / "live").write_text("0")

    def level(self, line: int) -> bool:
        path = self._levels / self._chip / f"sim_gpio{line}" / "value"
        return path.read_text().strip() == "1"

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.unplug()
        for folder in (self._bank / "line1", self._bank, self._folder):
            folder.rmdir()


@pytest.fixture
def chip(tmp_path: Path) -> Iterator[SimulatedChip]:
    modprobe = shutil.which("modprobe", path="/usr/sbin:/sbin")
    if os.geteuid() == 0 and modprobe is not None:
        subprocess.run([modprobe, "gpio-sim"], capture_output=True, check=False)
    if not os.access(CONFIGS, os.W_OK):
        pytest.skip("this kernel has no gpio-sim (CONFIG_GPIO_SIM, configfs), or needs root")
    chip = SimulatedChip(tmp_path / "chip")
    try:
        yield chip
    finally:
        chip.close()


def test_a_lamp_on_lines_of_the_kernel(chip: SimulatedChip) -> None:
    lamp = Lamp(LampSettings(gpio=chip.device, rule=RULES, at_stop="on"), None)
    lamp.show(TableView((LampAlert(1, 2),)))
    check_gpio(chip.device, (2, "amber"))
    lamp.start()
    try:
        wait_for(lambda: (chip.level(1), chip.level(2)) == (True, False), "severity 2")
        with pytest.raises(LineError, match="line 2 is in use by 'shoe-daemon'"):
            check_gpio(chip.device, (2,))
        lamp.show(TableView((LampAlert(2, 5),)))
        wait_for(lambda: (chip.level(1), chip.level(2)) == (True, True), "severity 5")
        lamp.show(TableView())
        wait_for(lambda: (chip.level(1), chip.level(2)) == (False, False), "darkness")
    finally:
        lamp.stop()
        lamp.join(10)
    assert lamp.alert is None


def test_a_chip_that_was_unplugged_is_an_alert(chip: SimulatedChip) -> None:
    lamp = Lamp(LampSettings(gpio=chip.device, rule=RULES), None)
    lamp.start()
    try:
        wait_for(lambda: not lamp.alert, "the lamp")
        chip.unplug()
        wait_for(lambda: lamp.alert, "that it is missing")
        chip.plug()
        wait_for(lambda: not lamp.alert, "the lamp again")
    finally:
        lamp.stop()
        lamp.join(10)


def test_a_chip_that_is_not_there_is_one_line() -> None:
    with pytest.raises(LineError, match=r"^/dev/gpiochip99: No such file or directory$"):
        open_output(LampSettings(gpio="/dev/gpiochip99", rule=RULES), None)
    with pytest.raises(LineError, match=r"^/dev/gpiochip99: No such file or directory$"):
        check_gpio("/dev/gpiochip99", (2,))
    with pytest.raises(LineError, match=r"^/dev/null: no such chip[^\n]*$"):
        check_gpio("/dev/null", (2,))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(errno.EBUSY, "Device or resource busy"), "another program holds the line"),
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied: the service "),
        (OSError(errno.EINVAL, "Invalid argument"), "Invalid argument"),
        (ValueError("unknown line name:\n amber"), "unknown line name: amber"),
    ],
)
def test_each_refusal_is_one_line(
    monkeypatch: pytest.MonkeyPatch, error: Exception, text: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise error

    line = SimpleNamespace(Direction=SimpleNamespace(OUTPUT=1))
    fake = SimpleNamespace(LineSettings=dict, line=line, Chip=refuse, __path__=[])
    monkeypatch.setitem(sys.modules, "gpiod", fake)
    monkeypatch.setitem(sys.modules, "gpiod.line", line)
    with pytest.raises(LineError) as raised:
        open_output(LampSettings(gpio="/dev/gpiochip0", rule=RULES), None)
    assert str(raised.value).startswith(f"/dev/gpiochip0: {text}")


def test_without_gpiod_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gpiod", None)
    with pytest.raises(UserError, match=r"^needs gpiod: pip install 'shoe-daemon\[gpio\]'$"):
        open_output(LampSettings(gpio="/dev/gpiochip0", rule=RULES), None)
