"""The packages, and snapshots of the machine with them; skipped without ``TEST_MACHINE=1``."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from drivers.simulators.camera.files import write_simulated_profile
from drivers.simulators.camera.settings import Settings
from tests.machine import image
from tests.machine.report import PARTIAL_REPORT, REPORT, VERSIONS, VERSIONS_FILE, Report
from tests.machine.serial_table import CONFIG, SERIAL, SITE, TABLE
from tests.machine.usb_camera import HEIGHT, WIDTH
from tests.machine.virtual_machine import VirtualMachine, later_disk, ready_disk, resumed

HERE = Path(__file__).parent


class Packages(NamedTuple):
    """The built Debian packages."""

    daemon: Path
    camera: Path

    @property
    def key(self) -> str:
        """The same for the same content."""
        return hashlib.sha256(self.daemon.read_bytes() + self.camera.read_bytes()).hexdigest()


FIRST = (
    "test_a_camera_is_calibrated_and_reads_rounds_through_faults",
    "test_an_adapter_is_pulled_out_and_plugged_in_again",
    "test_nothing_acknowledged_is_lost",
    "test_the_control_loses_something",
    "test_an_upgrade_keeps_the_journal_and_a_purge_too",
    "test_all_is_back_after_a_boot",
    "test_a_dispute_leaves_a_clip_of_this_camera",
    "test_a_hung_core_is_replaced",
    "test_buttons_and_a_lamp_share_a_chip_that_is_pulled_out",
    "test_a_person_installs_a_table",
)
"""The long tests: none of them is to begin when all others have ended. A worker takes two tests at
a time, so a short one comes after the longest."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests where they are not asked for, give them time, and put long ones first."""
    order = {name: place for place, name in enumerate(FIRST)}
    items.sort(key=lambda item: order.get(item.name.partition("[")[0], len(order)))
    for item in items:
        if not item.nodeid.startswith("tests/machine/"):
            continue
        item.add_marker(pytest.mark.timeout(3600))
        if os.environ.get("TEST_MACHINE") != "1":
            item.add_marker(pytest.mark.skip(reason="a virtual machine: make test-machine"))


_report = Report()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the result of each test on the machine."""
    if HERE.name in Path(report.nodeid.partition("::")[0]).parts:
        _report.add(report)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the report: once, for all workers."""
    if _report.tests and VERSIONS_FILE.exists() and not hasattr(session.config, "workerinput"):
        whole = {HERE, *HERE.parents}
        chosen = (
            session.config.option.keyword
            or whole.isdisjoint(Path(each).resolve() for each in session.config.args)
            or "POWER_CUTS" in os.environ
        )
        _report.write(PARTIAL_REPORT if chosen else REPORT)


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Callable[[str, str], None]:
    """Add a line to a section of the report, and show it."""

    def record(section: str, line: str) -> None:
        record_property(section, line)
        image.progress(f"{section}: {line}")

    return record


@pytest.fixture(scope="session")
def packages() -> Packages:
    """Build the packages, unless they were built of the same sources."""
    image.require()
    out = image.FOLDER / "packages"
    with image.locked():
        if not (out / image.source_key()).exists():
            image.progress("building the packages")
            shutil.rmtree(out, ignore_errors=True)
            build = [sys.executable, "-m", "tools.build_deb", str(out), "amd64"]
            subprocess.run(build, cwd=image.ROOT, check=True, stdout=subprocess.DEVNULL)
            (out / image.source_key()).touch()
    (camera,) = out.glob("shoe-daemon-camera_*.deb")
    (daemon,) = out.glob("shoe-daemon_*.deb")
    return Packages(daemon, camera)


@pytest.fixture(scope="session")
def installed(packages: Packages) -> Path:
    """A snapshot of the machine with the package of the daemon, installed without a network."""

    def install(machine: VirtualMachine) -> None:
        machine.copy_in(packages.daemon, f"/root/{packages.daemon.name}")
        machine.check(f"cd /root; {APT} ./{packages.daemon.name}", timeout_s=1800)
        VERSIONS_FILE.write_text(machine.check(VERSIONS))

    return later_disk("installed", ready_disk(), packages.key, install)


APT = "DEBIAN_FRONTEND=noninteractive apt-get install -y"
TABLES = ("table-1", "table-2")
INIT = "shoe-daemon init --yes --site casino --reader simulated --display network"


@pytest.fixture(scope="session")
def configured(installed: Path, packages: Packages) -> Path:
    """A snapshot of the machine with two simulated tables and a display, by `init` from flags."""

    def configure(machine: VirtualMachine) -> None:
        for number, table in enumerate(TABLES):
            pit = "a long password\n" if number == 0 else ""
            log = machine.check(f"{INIT} --table {table}", typed=pit, timeout_s=900)
            (image.FOLDER / f"init-{table}.log").write_text(log)

    return later_disk("configured", installed, packages.key + INIT, configure)


@pytest.fixture(scope="session")
def serial_table(installed: Path, packages: Packages) -> Path:
    """
    A snapshot of the machine with one table, whose shoe is on a USB adapter; it is not in
    operation, and the adapter is pulled out. A broker's port is open to the outside.
    """

    def configure(machine: VirtualMachine) -> None:
        machine.plug_serial("adapter", None, SERIAL)
        machine.wait(f"test -e /dev/serial/by-id/*{SERIAL}*")
        log = machine.check(
            f"shoe-daemon init --yes --site {SITE} --table {TABLE} --reader search "
            "--display local --listen 0 --no-start",
            timeout_s=900,
        )
        (image.FOLDER / "init-serial.log").write_text(log)
        # No operator is there to release a held result.
        machine.check(f"sed -i 's/^\\[table\\]/[table]\\nhold_from = 0/' {CONFIG}")
        machine.check("ip address add 10.0.2.15/24 dev eth0; ip link set eth0 up")
        machine.check(f"systemd-run --unit=outside-broker {OUTSIDE_BROKER}")
        machine.unplug_serial("adapter")

    return later_disk("serial-table", installed, packages.key + SERIAL_VERSION, configure)


@pytest.fixture(scope="session")
def camera_table(
    installed: Path, packages: Packages, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A snapshot of the machine with one table, whose camera is not plugged in; not started."""
    folder = tmp_path_factory.mktemp("profile")
    write_simulated_profile(CAMERA_SCENE, folder)

    def configure(machine: VirtualMachine) -> None:
        machine.copy_in(packages.camera, f"/root/{packages.camera.name}")
        machine.check(f"cd /root; {APT} ./{packages.camera.name}", timeout_s=1800)
        log = machine.check(
            f"shoe-daemon init --yes --site {SITE} --table {TABLE} --reader camera:{CAMERA} "
            "--display none --no-start",
            timeout_s=900,
        )
        (image.FOLDER / "init-camera.log").write_text(log)
        machine.copy_in(folder / "profile.toml", f"/etc/shoe-daemon/{TABLE}-camera.toml")
        machine.copy_in(folder / "reference.png", "/etc/shoe-daemon/reference.png")

    return later_disk("camera-table", installed, packages.key + CAMERA, configure)


CAMERA = "/dev/v4l/by-id/usb-Test_bench_Top_camera_CAM0001-video-index0"
CAMERA_SCENE = Settings(width=WIDTH, height=HEIGHT, fps=2.0, seed=3)
"""Few, small pictures: without hardware support the machine is slow."""
SERIAL_VERSION = "1"
OUTSIDE_PORT = 2883
OUTSIDE_BROKER = (
    f"systemd-socket-activate --listen=10.0.2.15:{OUTSIDE_PORT} "
    "/lib/systemd/systemd-socket-proxyd 127.0.0.1:1883"
)


@pytest.fixture
def machine_from(tmp_path: Path) -> Iterator[Callable[[Path], VirtualMachine]]:
    """Continue from a snapshot; the machine is switched off after the test."""
    with ExitStack() as stack:
        yield lambda snapshot: stack.enter_context(resumed(tmp_path / "machine", snapshot))
    (tmp_path / "machine" / "root.qcow2").unlink(missing_ok=True)


@pytest.fixture
def machine(configured: Path, machine_from: Callable[[Path], VirtualMachine]) -> VirtualMachine:
    """A machine with two simulated tables and a display, in operation."""
    return machine_from(configured)
