"""Prepares what `make` needs: the virtual environment and the programs of the machine.

Runs on a bare Python, before anything of the project is installed:

    python3 tools/prepare.py venv        # .venv as the lock file says, the project beside it
    python3 tools/prepare.py mosquitto   # the broker that tests start
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
LOCK = ROOT / "requirements-dev.lock"
STAMP = VENV / ".stamp"
# Debian keeps servers where an ordinary user's PATH does not look.
SERVER_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


def main(arguments: list[str]) -> None:
    """Does the one job that is named."""
    jobs = {"venv": venv, "mosquitto": mosquitto}
    if len(arguments) != 1 or arguments[0] not in jobs:
        sys.exit(f"usage: prepare.py {'|'.join(jobs)}")
    try:
        jobs[arguments[0]]()
    except subprocess.CalledProcessError as error:
        sys.exit(f"this failed, its own words are above: {' '.join(map(str, error.cmd))}")


def venv() -> None:
    """Makes `.venv` what pyproject and the lock say; does nothing where it already is."""
    if _works() and STAMP.is_file() and STAMP.read_text() == _wanted():
        STAMP.touch()
        return
    if not _works():
        _need(_can_make_venv, _venv_package(), "Python's venv module")
        _run(sys.executable, "-m", "venv", "--clear", VENV)
    STAMP.unlink(missing_ok=True)
    pip = [VENV / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    # Wheels only: a source archive would fetch what builds it, unseen by the hashes.
    _run(*pip, "--require-hashes", "--only-binary=:all:", "--requirement", LOCK)
    _run(*pip, "--no-deps", "--no-build-isolation", "--no-index", "--editable", ROOT)
    STAMP.write_text(_wanted())


def mosquitto() -> None:
    """Sees to it that a mosquitto can be started; the tests start their own."""
    _need(_has_mosquitto, "mosquitto", 'the tests marked mosquitto (or: pytest -m "not mosquitto")')


def _has_mosquitto() -> bool:
    return shutil.which("mosquitto", path=SERVER_PATH) is not None


def _works() -> bool:
    """True where `.venv` holds a Python that runs and has pip: it may have been half made."""
    python = VENV / "bin/python"
    command = [python, "-c", "import pip"]
    return python.exists() and subprocess.run(command, check=False).returncode == 0


def _wanted() -> str:
    """What decides how `.venv` looks. Settings of ruff, mypy and pytest do not."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    parts = [repr(project.get(key)) for key in ("project", "build-system", "dependency-groups")]
    parts += [repr(project["tool"]["hatch"]), LOCK.read_text(encoding="utf-8"), str(VENV)]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest() + "\n"


def _can_make_venv() -> bool:
    """Debian leaves ensurepip out of python3; a process of its own sees what was just installed."""
    command = [sys.executable, "-c", "import ensurepip, venv"]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _venv_package() -> str:
    return f"python3.{sys.version_info.minor}-venv"


def _need(is_there: object, package: str, purpose: str) -> None:
    """Installs a Debian package where that is allowed; otherwise one line says what to do."""
    assert callable(is_there)
    if is_there():
        return
    root = _becoming_root()
    if root is None or not shutil.which("apt-get"):
        sys.exit(f"{package} is missing, for {purpose}: run  sudo apt-get install {package}")
    print(f"installing {package}, for {purpose}", flush=True)
    apt = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    _run(*apt, "update")
    _run(*apt, "install", "--yes", "--no-install-recommends", package)


def _becoming_root() -> list[str] | None:
    """What to write before a command that needs root; None where nobody lets us."""
    if os.geteuid() == 0:
        return []
    sudo = ["sudo", "--non-interactive"]
    if not shutil.which("sudo"):
        return None
    quiet = subprocess.DEVNULL
    allowed = subprocess.run([*sudo, "true"], check=False, stderr=quiet).returncode == 0
    return sudo if allowed else None


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, cwd=ROOT)


if __name__ == "__main__":
    main(sys.argv[1:])
