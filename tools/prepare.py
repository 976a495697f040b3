"""
Prepares what `make` needs: the virtual environment and the programs of the machine.

Runs on a bare Python, before anything of the project is installed:

    python3 tools/prepare.py venv        .venv as the lock says, the project beside it
    python3 tools/prepare.py mosquitto   the broker that tests start
    python3 tools/prepare.py chromium    the browser that looks at the pages
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOCK = ROOT / "requirements-dev.lock"
STAMP = VENV / ".stamp"
# Debian keeps servers where an ordinary user's PATH does not look.
SERVER_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
# opencv-python brings all but these, which every desktop has and a bare server has not.
OPENCV_LIBRARIES = ("libgl1", "libglib2.0-0")
# Any of these will do; Debian has the first.
BROWSERS = ("chromium", "google-chrome", "chromium-browser")


class MissingError(Exception):
    """Something that the machine lacks and that we may not install."""


def main(arguments: list[str]) -> str | None:
    """Do the jobs that are named; the answer is what went wrong, for `sys.exit`."""
    jobs = {"venv": venv, "mosquitto": mosquitto, "chromium": chromium}
    if not arguments or not jobs.keys() >= set(arguments):
        return f"usage: prepare.py {'|'.join(jobs)} …"
    try:
        for job in arguments:
            jobs[job]()
    except MissingError as error:
        return str(error)
    except subprocess.CalledProcessError as error:
        return f"this failed, its own words are above: {' '.join(map(str, error.cmd))}"
    return None


def venv() -> None:
    """Make `.venv` what pyproject and the lock say; nothing is done where it already is."""
    if _succeeds(PYTHON, "-c", "import pip"):
        if STAMP.is_file() and STAMP.read_text() == _wanted():
            STAMP.touch()
            return
    else:
        _make_empty_venv()
    STAMP.unlink(missing_ok=True)
    # Wheels only: a source archive would fetch what builds it, unseen by the hashes.
    _pip("--require-hashes", "--only-binary=:all:", "--requirement", LOCK)
    _pip("--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)
    _see_to_opencv()
    STAMP.write_text(_wanted())


def mosquitto() -> None:
    """See to it that a mosquitto can be started; the tests start their own."""
    if shutil.which("mosquitto", path=SERVER_PATH):
        return
    _install("mosquitto", purpose="tests")
    if Path("/run/systemd/system").exists():  # nobody asked for a broker that runs for ever
        _succeeds(*(_as_root() or []), "systemctl", "disable", "--now", "mosquitto.service")


def chromium() -> None:
    """See to it that there is a browser for the tests of the pages; they start their own."""
    if not any(map(shutil.which, BROWSERS)):
        _install("chromium", purpose="tests of the pages")


def _wanted() -> str:
    """Say what decides how `.venv` looks. The settings of ruff, mypy and pytest do not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = [project["build-system"], project["project"], project["tool"]["hatch"], str(VENV)]
    text = repr(parts) + LOCK.read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest() + "\n"


def _make_empty_venv() -> None:
    # Debian leaves ensurepip out of python3; what was just installed is seen by a new process.
    if not _succeeds(sys.executable, "-c", "import ensurepip, venv"):
        _install(f"python3.{sys.version_info.minor}-venv", purpose=".venv")
    _run(sys.executable, "-m", "venv", "--clear", VENV)


def _pip(*arguments: str | Path) -> None:
    _run(PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *arguments)


def _see_to_opencv() -> None:
    """Install what OpenCV loads from the system; only cameras need it, so a word will do too."""
    if _succeeds(PYTHON, "-c", "import cv2"):
        return
    try:
        _install(*OPENCV_LIBRARIES, purpose="cameras")
    except MissingError as error:
        print(error, file=sys.stderr)


def _install(*packages: str, purpose: str) -> None:
    """Install Debian packages where that is allowed; otherwise one line says what to do."""
    root = _as_root()
    names = " ".join(packages)
    if root is None or not shutil.which("apt-get"):
        raise MissingError(f"missing for {purpose}: run: sudo apt-get install {names}")
    print(f"installing {names} for {purpose}", flush=True)
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run([*apt, *command], check=True, stdout=subprocess.DEVNULL)


def _as_root() -> list[str] | None:
    """Say what to write before a command that needs root; None where nobody lets us."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    return sudo if shutil.which("sudo") and _succeeds(*sudo, "true") else None


def _succeeds(*command: str | Path) -> bool:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, check=False, stdout=quiet, stderr=quiet).returncode == 0
    except OSError:  # there is no such program
        return False


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
