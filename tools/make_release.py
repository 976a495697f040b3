"""
Makes a release: `python -m tools.make_release [--dry-run]`, as `make release` does.

It dates the changes in CHANGELOG.md and commits them, writes the release into dist/, and makes
the tag of the version; nothing is pushed. A dry run only writes dist/.

dist/ has the wheel, the Debian packages, the changes of this version (CHANGES.md), the known
vulnerabilities of the included packages (audit.json), and the hashes of all these (SHA256SUMS).
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from shoe_daemon import __version__
from tools import build_deb
from tools.build_deb import PACKAGING, ROOT, BuildError, commit_time

DIST: Final = ROOT / "dist"
PIP_AUDIT: Final = ROOT / "build/pip-audit/bin/pip-audit"
_AUDIT_TIMEOUT_S: Final = 300
_UNRELEASED: Final = "Unreleased"


def main(arguments: list[str]) -> str | None:
    """Make the release; return an error message for `sys.exit`."""
    if arguments not in ([], ["--dry-run"]):
        return "usage: python -m tools.make_release [--dry-run]"
    is_dry_run = bool(arguments)
    try:
        check_ready(__version__)
        if not is_dry_run:
            date_changes(__version__, f"{datetime.now(UTC):%Y-%m-%d}")
        vulnerable = _write_release()
        if not is_dry_run and not vulnerable:
            _git("tag", "--annotate", _tag(__version__), f"--message=shoe-daemon {__version__}")
    except BuildError as error:
        return f"release: {error}"
    except subprocess.CalledProcessError as error:
        return f"release: failed, see above: {' '.join(map(str, error.cmd))}"
    for file in sorted(DIST.iterdir()):
        print(f"{file.stat().st_size / 1e6:8.1f} MB  {file.name}")
    if vulnerable:
        return f"release: known vulnerabilities in {', '.join(vulnerable)}: see dist/audit.json"
    if not is_dry_run:
        print(f"tagged: git push --follow-tags publishes {_tag(__version__)}")
    return None


def check_ready(version: str) -> None:
    """
    Check that all files are committed, and that this version has changes and no tag.

    Raises:
        BuildError: It is not so; the message says what to do.
    """
    if changed := _git("status", "--porcelain"):
        raise BuildError(f"not committed: {changed.split(maxsplit=1)[1].splitlines()[0]}")
    if _git("tag", "--list", _tag(version)):
        raise BuildError(
            f"the tag {_tag(version)} exists; raise the version in shoe_daemon/__init__.py"
        )
    parts = _changes()
    unreleased = parts.get(_UNRELEASED, "").strip()
    if version in parts and unreleased:
        raise BuildError(
            f"CHANGELOG.md has a part [{version}], and changes in [{_UNRELEASED}]; raise the "
            "version in shoe_daemon/__init__.py"
        )
    if version not in parts and not unreleased:
        raise BuildError(
            f"CHANGELOG.md has no part [{version}], and no changes in [{_UNRELEASED}]"
        )


def date_changes(version: str, day: str) -> None:
    """Make what is unreleased the part of this version, and commit that; once only."""
    if version in _changes():
        return
    path = ROOT / "CHANGELOG.md"
    head = f"## [{_UNRELEASED}]\n"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(head, f"{head}\n## [{version}] - {day}\n", 1), encoding="utf-8")
    _git("commit", "--quiet", f"--message=release: Date the changes of {version}", path.name)


def _changes() -> dict[str, str]:
    """Return the parts of CHANGELOG.md by version."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    part = re.compile(r"^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## |\Z)", re.DOTALL | re.MULTILINE)
    return dict(part.findall(text))


def changes_of(version: str) -> str:
    """Return the part of CHANGELOG.md about a version; before it has one, what is unreleased."""
    parts = _changes()
    if version in parts:
        return f"# shoe-daemon {version}\n{parts[version]}"
    return f"# shoe-daemon {version}, unreleased\n{parts[_UNRELEASED]}"


def _tag(version: str) -> str:
    return f"v{version}"


def _git(*arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def _write_release() -> list[str]:
    """Write dist/; return the names of vulnerable packages."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    _write_wheel()
    for processor in build_deb.PROCESSORS:
        build_deb.build(DIST, processor)
    (DIST / "CHANGES.md").write_text(changes_of(__version__), encoding="utf-8")
    vulnerable = audit(DIST / "audit.json")
    _write_hashes()
    return vulnerable


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
    sys.exit(main(sys.argv[1:]))
