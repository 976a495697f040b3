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

from tests.machine import image
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


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip these tests where they are not asked for, and give them time."""
    for item in items:
        if HERE not in item.path.parents:
            continue
        item.add_marker(pytest.mark.timeout(3600))
        if os.environ.get("TEST_MACHINE") != "1":
            item.add_marker(pytest.mark.skip(reason="a virtual machine: make test-machine"))


@pytest.fixture(scope="session")
def packages() -> Packages:
    """Build the packages once."""
    image.require()
    out = image.FOLDER / "packages"
    image.progress("building the packages")
    shutil.rmtree(out, ignore_errors=True)
    build = [sys.executable, "-m", "tools.build_deb", str(out)]
    subprocess.run(build, cwd=image.ROOT, check=True, stdout=subprocess.DEVNULL)
    (camera,) = out.glob("shoe-daemon-camera_*.deb")
    (daemon,) = out.glob("shoe-daemon_*.deb")
    return Packages(daemon, camera)


@pytest.fixture(scope="session")
def installed(packages: Packages) -> Path:
    """A snapshot of the machine with the package of the daemon, installed without a network."""

    def install(machine: VirtualMachine) -> None:
        machine.copy_in(packages.daemon, f"/root/{packages.daemon.name}")
        machine.check(f"cd /root; {APT} ./{packages.daemon.name}", timeout_s=1800)

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


@pytest.fixture
def machine_from(tmp_path: Path) -> Iterator[Callable[[Path], VirtualMachine]]:
    """Continue from a snapshot; the machine is switched off after the test."""
    with ExitStack() as stack:
        yield lambda snapshot: stack.enter_context(resumed(tmp_path / "machine", snapshot))


@pytest.fixture
def machine(configured: Path, machine_from: Callable[[Path], VirtualMachine]) -> VirtualMachine:
    """A machine with two simulated tables and a display, in operation."""
    return machine_from(configured)
