"""
Writes a release into dist/: `python -m tools.make_release`, as `make release` does.

The wheel, the Debian packages, the changes of this version (CHANGES.md), the known
vulnerabilities of the included packages (audit.json), and the hashes of all these (SHA256SUMS).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import shoe_daemon
from tools import build_deb
from tools.build_deb import PACKAGING, ROOT, BuildError, commit_time, project_version

DIST: Final = ROOT / "dist"
PIP_AUDIT: Final = ROOT / "build/pip-audit/bin/pip-audit"
_AUDIT_TIMEOUT_S: Final = 300


def main() -> str | None:
    """Write the release; return an error message for `sys.exit`."""
    try:
        check_version()
        changes = changes_of(project_version())
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        _write_wheel()
        for processor in build_deb.PROCESSORS:
            build_deb.build(DIST, processor)
        (DIST / "CHANGES.md").write_text(changes, encoding="utf-8")
        vulnerable = audit(DIST / "audit.json")
        _write_hashes()
    except BuildError as error:
        return f"release: {error}"
    except subprocess.CalledProcessError as error:
        return f"release: failed, see above: {' '.join(map(str, error.cmd))}"
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.name}")
    if vulnerable:
        return f"release: known vulnerabilities in {', '.join(vulnerable)}: see dist/audit.json"
    return None


def check_version() -> None:
    """
    Check that the version is the same everywhere, and that all files are committed.

    Raises:
        BuildError: They differ; or some file is not committed.
    """
    version = project_version()
    if shoe_daemon.__version__ != version:
        raise BuildError(
            f"shoe_daemon has version {shoe_daemon.__version__}, pyproject.toml {version}; "
            "expected the same"
        )
    status = ["git", "status", "--porcelain"]
    changed = subprocess.run(status, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    if changed:
        raise BuildError(f"not committed: {changed.split(maxsplit=1)[1].splitlines()[0]}")


def changes_of(version: str) -> str:
    """
    Return the part of CHANGELOG.md about a version; before it has one, what is unreleased.

    Raises:
        BuildError: There is neither.
    """
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    part = re.compile(r"^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    parts = dict(part.findall(text))
    if version in parts:
        return f"# shoe-daemon {version}\n{parts[version]}"
    if "Unreleased" not in parts:
        raise BuildError(f"CHANGELOG.md has neither [{version}] nor [Unreleased]; expected one")
    print(f"note: CHANGELOG.md has no part [{version}] yet: CHANGES.md shows [Unreleased]")
    return f"# shoe-daemon {version}, unreleased\n{parts['Unreleased']}"


def audit(out: Path, program: Path = PIP_AUDIT) -> list[str]:
    """
    Write the known vulnerabilities of the included packages, and print how many were audited.

    Returns:
        The names of vulnerable packages. A package that the database does not know is not audited.
    """
    locks = [PACKAGING / "requirements.lock", PACKAGING / "requirements-camera.lock"]
    command = [str(program), "--disable-pip", "--format=json", f"--output={out}"]
    command += [f"--requirement={lock}" for lock in locks]
    try:
        subprocess.run(command, capture_output=True, check=False, timeout=_AUDIT_TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        print(f"audit: pip-audit failed: {error}")
    if not out.exists():
        print("audit: NOT DONE: the database of vulnerabilities could not be reached")
        return []
    packages = json.loads(out.read_text(encoding="utf-8"))["dependencies"]
    unknown = [package["name"] for package in packages if "vulns" not in package]
    print(f"audit: {len(packages) - len(unknown)} of {len(packages)} packages audited")
    if unknown:
        print(f"audit: NOT DONE, the database of vulnerabilities lacks: {', '.join(unknown)}")
    return [package["name"] for package in packages if package.get("vulns")]


def _write_wheel() -> None:
    # hatchling takes the time of the files from SOURCE_DATE_EPOCH
    environment = {"SOURCE_DATE_EPOCH": str(commit_time()), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(DIST)]
    subprocess.run(command, cwd=ROOT, check=True, env=environment, stdout=subprocess.DEVNULL)


def _write_hashes() -> None:
    lines = [
        f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
        for file in sorted(DIST.iterdir())
    ]
    (DIST / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
