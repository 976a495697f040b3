"""
Prepares what `make` needs: the virtual environment and system programs.

Runs on a bare Python, before the project is installed:

    python3 tools/prepare.py run         .venv with what `make run` needs, and the project
    python3 tools/prepare.py venv        .venv with all extras and the development tools
    python3 tools/prepare.py mosquitto   the broker of the tests
    python3 tools/prepare.py postgres    the database of the tests
    python3 tools/prepare.py chromium    the browser of the page tests
    python3 tools/prepare.py node        Node and npm, for the tests of examples
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
LOCKS = {"run": ROOT / "requirements-run.lock", "venv": ROOT / "requirements-dev.lock"}
STAMPS = {"run": VENV / ".run", "venv": VENV / ".stamp"}
# Debian installs servers outside an ordinary user's PATH.
SERVER_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])
# System libraries of opencv-python; desktops have them, servers do not.
OPENCV_LIBRARIES = ("libgl1", "libglib2.0-0")
# Any of these. Debian has the first, which draws without a window at a third of the cost.
BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome", "chromium-browser")
NODE_PROGRAMS, NODE_PACKAGES = ("node", "npm"), ("nodejs", "npm")


class MissingError(Exception):
    """A missing program that may not be installed automatically."""


def main(arguments: list[str]) -> str | None:
    """Run the named jobs; return an error message for `sys.exit`."""
    jobs = {
        "run": lambda: venv("run"),
        "venv": lambda: venv("venv"),
        "mosquitto": mosquitto,
        "postgres": postgres,
        "chromium": chromium,
        "node": node,
    }
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


def venv(kind: str) -> None:
    """Bring `.venv` up to date with pyproject and the lock of a kind, ``run`` or ``venv``."""
    if _succeeds(PYTHON, "-c", "import pip"):
        if any(map(_is_current, {kind, "venv"})):
            STAMPS[kind].write_text(_wanted(kind))
            return
    else:
        print("making .venv", flush=True)
        _make_empty_venv()
    for stamp in STAMPS.values():
        stamp.unlink(missing_ok=True)
    # Wheels only: building a source archive would download packages without checking hashes.
    # Bytecode of everything would take a third of the time, and most of it is never imported.
    _install_lock(LOCKS[kind], "--require-hashes", "--only-binary=:all:", "--no-compile")
    _run(*_PIP, "--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)
    if kind == "venv":
        _see_to_opencv()
    STAMPS[kind].write_text(_wanted(kind))


def _is_current(kind: str) -> bool:
    stamp = STAMPS[kind]
    return stamp.is_file() and stamp.read_text() == _wanted(kind)


def mosquitto() -> None:
    """Ensure that mosquitto is installed; the tests start their own."""
    if shutil.which("mosquitto", path=SERVER_PATH):
        return
    _install("mosquitto", purpose="tests")
    if Path("/run/systemd/system").exists():  # do not leave a broker running
        _succeeds(*(_as_root() or []), "systemctl", "disable", "--now", "mosquitto.service")


def postgres() -> None:
    """Ensure that PostgreSQL is installed; the tests start their own, and skip without it."""
    if any(Path("/usr/lib/postgresql").glob("*/bin/postgres")):
        return
    try:
        _install("postgresql", purpose="tests of the back office's database")
    except MissingError as error:
        print(error, file=sys.stderr)
        return
    if Path("/run/systemd/system").exists():  # do not leave a server running
        _succeeds(*(_as_root() or []), "systemctl", "disable", "--now", "postgresql.service")


def chromium() -> None:
    """Ensure that a browser is installed."""
    if not any(map(shutil.which, BROWSERS)):
        _install(BROWSERS[0], purpose="tests of the pages")


def node() -> None:
    """Install Node and npm; on failure print a note: only the tests of two examples need them."""
    if all(map(shutil.which, NODE_PROGRAMS)):
        return
    try:
        _install(*NODE_PACKAGES, purpose="tests of examples")
    except MissingError as error:
        print(error, file=sys.stderr)


def _wanted(kind: str) -> str:
    """
    Return everything that determines `.venv`; excludes the settings of ruff, mypy and pytest.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = [project["build-system"], project["project"], project["tool"]["hatch"], str(VENV)]
    text = repr(parts) + LOCKS[kind].read_text(encoding="utf-8")
    return hashlib.sha256(text.encode()).hexdigest() + "\n"


def _make_empty_venv() -> None:
    # Debian's python3 has no ensurepip; a new process sees what was just installed.
    if not _succeeds(sys.executable, "-c", "import ensurepip, venv"):
        _install(f"python3.{sys.version_info.minor}-venv", purpose=".venv")
    _run(sys.executable, "-m", "venv", "--clear", VENV)


_PIP = (PYTHON, "-m", "pip", "--disable-pip-version-check", "install")


def _install_lock(lock: Path, *options: str) -> None:
    """Install the packages of a lock; show each as it is fetched, and why it failed."""
    total = sum("==" in line for line in lock.read_text(encoding="utf-8").splitlines())
    print(f"installing {total} packages into .venv, once", flush=True)
    command = [*map(str, _PIP), *options, "--progress-bar=off", "--requirement", str(lock)]
    said: list[str] = []
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        for line in pip.stdout or ():
            said.append(line)
            _show_progress(line, sum(each.startswith("Collecting ") for each in said), total)
    if pip.returncode:
        print("".join(said[-20:]), file=sys.stderr)
        raise subprocess.CalledProcessError(pip.returncode, command)


def _show_progress(line: str, count: int, total: int) -> None:
    if line.startswith("Collecting "):
        name = line.split()[1].partition("==")[0]
    elif line.startswith("Installing collected"):
        name = "unpacking"
    else:
        return
    if sys.stdout.isatty():
        print(f"\r\x1b[K  {count} of {total}  {name}", end="", flush=True)
        if name == "unpacking":
            print(flush=True)
    elif count % 20 == 0 or name == "unpacking":
        print(f"  {count} of {total}  {name}", flush=True)


def _see_to_opencv() -> None:
    """Install OpenCV's system libraries; on failure print a note, since only cameras need them."""
    if _succeeds(PYTHON, "-c", "import cv2"):
        return
    try:
        _install(*OPENCV_LIBRARIES, purpose="cameras")
    except MissingError as error:
        print(error, file=sys.stderr)


def _install(*packages: str, purpose: str) -> None:
    """Install Debian packages if permitted; otherwise print what to do."""
    root = _as_root()
    names = " ".join(packages)
    if root is None or not shutil.which("apt-get"):
        raise MissingError(f"missing for {purpose}: run: sudo apt-get install {names}")
    print(f"installing {names} for {purpose}", flush=True)
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run([*apt, *command], check=True, stdout=subprocess.DEVNULL)


def _as_root() -> list[str] | None:
    """Return the prefix for root commands; None without permission."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    return sudo if shutil.which("sudo") and _succeeds(*sudo, "true") else None


def _succeeds(*command: str | Path) -> bool:
    quiet = subprocess.DEVNULL
    try:
        return subprocess.run(command, check=False, stdout=quiet, stderr=quiet).returncode == 0
    except OSError:  # no such program
        return False


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
