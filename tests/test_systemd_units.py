"""systemd and udev accept our files."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

SYSTEMD = Path(__file__).resolve().parents[1] / "systemd"
UNIT = SYSTEMD / "shoe-daemon@.service"
DISPLAY = SYSTEMD / "shoe-display.service"
KIOSK = SYSTEMD / "shoe-kiosk.service"
CAMERA = SYSTEMD / "40-camera.conf"
GPIO = SYSTEMD / "40-gpio.conf"
KEYBOARD = SYSTEMD / "40-keyboard.conf"
NOTIFY = SYSTEMD / "shoe-notify.service"
FAILURE = SYSTEMD / "shoe-failure@.service"
SIMULATOR = SYSTEMD / "shoe-simulator@.service"
BACKUP = SYSTEMD / "shoe-backup.service"
TIMER = SYSTEMD / "shoe-backup.timer"
FORWARD = SYSTEMD / "shoe-forward@.service"
RULES = SYSTEMD / "99-shoe-daemon.rules"
UNITS = (UNIT, DISPLAY, NOTIFY, KIOSK, SIMULATOR, FAILURE, BACKUP, TIMER, FORWARD)

# Debian has it in the package systemd, which only containers lack.
needs_analyze = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None,
    reason="systemd-analyze is missing: apt-get install systemd",
)

USED = ("bash", "cage", "chromium", "echo", "systemd-cat", "timeout")
"""Programs of the system that the units name."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A file system in which everything lies where the unit looks for it."""
    for name in ("opt/shoe-daemon/bin/shoe-daemon", *(f"usr/bin/{each}" for each in USED)):
        program = tmp_path / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    units = tmp_path / "etc/systemd/system"
    units.mkdir(parents=True)
    for unit in UNITS:
        shutil.copy(unit, units)
    (units / "modprobe@.service").write_text("[Service]\nType=oneshot\nExecStart=/usr/bin/echo\n")
    for target in ("sysinit", "basic", "shutdown"):  # what every service leans on
        (units / f"{target}.target").write_text("[Unit]\nDescription=of the system itself\n")
    return tmp_path


@needs_analyze
def test_the_units_are_clean(root: Path) -> None:
    names = [each.name for each in UNITS]
    command = ["systemd-analyze", "verify", f"--root={root}", "--man=no", *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stderr) == (0, "")


@pytest.mark.parametrize(
    ("file", "kind", "driver"),
    [
        (UNIT, "char-ttyUSB", "usbserial"),
        (UNIT, "char-ttyACM", "cdc_acm"),
        (CAMERA, "char-video4linux", "videodev"),
    ],
)
def test_the_driver_of_an_allowed_kind_comes_before_the_unit(
    file: Path, kind: str, driver: str
) -> None:
    # systemd.resource-control(5): a kind that the kernel does not know at the start is left out.
    text = file.read_text()
    assert f"DeviceAllow={kind} " in text
    for key in ("Wants", "After"):
        assert f"modprobe@{driver}.service" in re.findall(rf"^{key}=(.*)$", text, re.MULTILINE)[-1]


@needs_analyze
@pytest.mark.parametrize(
    ("unit", "drop_in", "most"),
    [
        (UNIT, None, 15),
        (UNIT, CAMERA, 20),
        (UNIT, GPIO, 15),
        (UNIT, KEYBOARD, 15),
        (DISPLAY, None, 15),
        (NOTIFY, None, 15),
        (FORWARD, None, 15),
        (SIMULATOR, None, 15),
        (FAILURE, None, 10),
        (BACKUP, None, 30),
        (KIOSK, None, 45),
    ],
    ids=[
        *("table", "camera", "gpio", "keyboard", "display", "notify", "forward", "simulator"),
        *("failure", "backup", "kiosk"),
    ],
)
def test_the_exposure_stays_low(root: Path, unit: Path, drop_in: Path | None, most: int) -> None:
    """`most` is ten times the highest exposure; the figures of docs/security.md."""
    if drop_in:
        folder = root / f"etc/systemd/system/{unit.name}.d"
        folder.mkdir()
        shutil.copy(drop_in, folder)
    command = ["systemd-analyze", "security", "--offline=yes", f"--root={root}", unit.name]
    answer = subprocess.run([*command, f"--threshold={most}"], capture_output=True, check=False)
    assert answer.returncode == 0, answer.stdout.decode()[-500:]


def test_no_unit_leaves_a_dump_of_its_memory() -> None:
    """It would hold cards that lie face down, and passwords."""
    for unit in SYSTEMD.glob("*.service"):
        assert "\nLimitCORE=0\n" in unit.read_text(), unit.name
    for drop_in in SYSTEMD.glob("*.conf"):
        assert "LimitCORE" not in drop_in.read_text(), drop_in.name


def rules() -> list[str]:
    """Give the rules of udev, the ones that stand there as examples too."""
    lines = RULES.read_text(encoding="utf-8").splitlines()
    return [line.lstrip("#") for line in lines if re.match(r"#?[A-Z]", line)]


def test_every_rule_is_a_rule() -> None:
    part = r'[A-Z]+(\{\w+\})?(==|!=|\+=|=)"[^"]*"'
    assert len(rules()) >= 5
    for rule in rules():
        assert re.fullmatch(rf"{part}(, {part})*", rule), rule
