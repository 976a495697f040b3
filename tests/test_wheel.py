"""
The built wheel is complete, and runs on its own.

It is built and installed without a network: hatchling and the dependencies come from the
development environment, all of the project from the wheel alone.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from shoe_daemon import __version__
from shoe_daemon.cli import COMMANDS
from tests.drivers.test_driver_example import page_files
from tests.volume import volume

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("shoe_daemon", "drivers", "calibration")


def run(*command: str | Path, cwd: Path) -> str:
    """Run a program that knows nothing of this tree, and give what it prints."""
    clean = {"PATH": os.environ["PATH"], "HOME": str(cwd), "LANG": "C.UTF-8"}
    answer = subprocess.run(
        command, cwd=cwd, env=clean, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """Install the wheel into an environment of its own and give that environment's bin."""
    venv = wheel.parent / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=wheel.parent)
    pip = [sys.executable, "-m", "pip", "--isolated", "--python", str(venv / "bin/python")]
    run(*pip, "install", "--no-deps", "--no-index", wheel, cwd=wheel.parent)
    # A folder named in a .pth file is searched, but the .pth files in it are not read: the
    # dependencies are found there, the editable installation of this tree is not.
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin"


def test_every_file_of_the_packages_is_in_the_wheel(wheel: Path) -> None:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*")]
    source = {
        path.relative_to(ROOT).as_posix()
        for path in files
        if path.is_file()
        and "__pycache__" not in path.parts
        and not path.is_relative_to(ROOT / "calibration/training")
    }
    assert {"shoe_daemon/py.typed", "drivers/py.typed", "calibration/py.typed"} <= source
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert source - names == set()
    assert not any(name.startswith("calibration/training") for name in names)


def test_the_wheel_runs_without_the_source_tree(installed: Path) -> None:
    script = """
import shoe_daemon, calibration
from drivers import driver_names, find_driver
print(shoe_daemon.__file__, *(find_driver(name).__module__ for name in driver_names()))
"""
    place, *drivers = run(installed / "python", "-c", script, cwd=installed).split()
    assert place.startswith(str(installed.parent))
    assert "drivers.angel_eye_ii" in drivers
    version = run(installed / "shoe-daemon", "--version", cwd=installed)
    assert version == f"shoe-daemon {__version__}\n"


def test_every_command_loads_from_the_wheel(installed: Path) -> None:
    script = """
from shoe_daemon.cli import COMMANDS, main
for name in COMMANDS:
    main([name, "--help"], "shoe-daemon", standalone_mode=False)
"""
    told = run(installed / "python", "-c", script, cwd=installed)
    for name in COMMANDS:
        assert f"Usage: shoe-daemon {name} " in told
    assert "Usage:" in run(installed / "shoe-daemon", "run", "--help", cwd=installed)


def test_the_samples_are_in_the_wheel(installed: Path) -> None:
    folder = installed.parent / "samples"
    told = run(installed / "shoe-daemon", "samples", folder, cwd=installed)
    source = {path.name: path.read_bytes() for path in (ROOT / "systemd").iterdir()}
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == source
    assert all(f"written  {folder}/{name}\n" in told for name in source)


@pytest.mark.skipif(not volume(0, 1), reason="builds a second wheel")
def test_a_driver_of_ones_own_is_built_and_found(installed: Path, tmp_path: Path) -> None:
    for name, text in page_files().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    python = installed / "python"
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist", cwd=tmp_path)
    (built,) = (tmp_path / "dist").glob("*.whl")
    pip = [sys.executable, "-m", "pip", "--isolated", "--python", str(python)]
    run(*pip, "install", "--no-deps", "--no-index", built, cwd=tmp_path)
    replay = ("replay", "--protocol", "my-reader", "round.txt")
    assert "Player wins" in run(installed / "shoe-daemon", *replay, cwd=tmp_path)
    checked = run(installed / "shoe-daemon", "check-config", "table.toml", cwd=tmp_path)
    assert "my-reader on /dev/ttyUSB0" in checked
