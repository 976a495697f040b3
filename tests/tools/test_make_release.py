"""A release has one version, dates its changes and tags them, and never claims a missing audit."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from shoe_daemon import __version__
from tools import make_release
from tools.build_deb import ROOT, debian_version


def pip_audit(folder: Path, *packages: dict[str, object]) -> Path:
    """Write a program that answers as pip-audit does."""
    answer = json.dumps({"dependencies": packages})
    program = folder / "pip-audit"
    program.write_text(
        f"#!/bin/sh\nfor each; do case $each in --output=*) out=${{each#*=}};; esac; done\n"
        f"echo '{answer}' > $out\n"
    )
    program.chmod(0o755)
    return program


def test_vulnerable_packages_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, object] = {"name": "click", "version": "1", "vulns": [{"id": "PYSEC-1"}]}
    clean: dict[str, object] = {"name": "rich", "version": "1", "vulns": []}
    program = pip_audit(tmp_path, found, clean)
    assert make_release.audit(tmp_path / "audit.json", program) == ["click"]
    assert capsys.readouterr().out == "audit: 2 of 2 packages audited\n"


def test_without_its_program_or_an_entry_in_the_database_an_audit_is_not_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_release.audit(tmp_path / "audit.json", tmp_path / "none") == []
    assert "NOT DONE" in capsys.readouterr().out
    program = pip_audit(tmp_path, {"name": "click", "skip_reason": "not found"})
    assert make_release.audit(tmp_path / "audit.json", program) == []
    told = capsys.readouterr().out
    assert "0 of 1 packages audited" in told
    assert "NOT DONE, the database of vulnerabilities lacks: click" in told


CHANGES = "# Changelog\n\n## [Unreleased]\n\n- new\n\n## [1.0.0] - 2026-01-01\n\n- old\n"


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a changelog, in the place of the project's."""
    monkeypatch.setattr(make_release, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / ".git/config"))
    (tmp_path / "CHANGELOG.md").write_text(CHANGES)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Kim")
    git(tmp_path, "config", "user.email", "kim@casino.example")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=changes")


def released(monkeypatch: pytest.MonkeyPatch, version: str, *arguments: str) -> str | None:
    """Make a release without packages; return the error."""
    monkeypatch.setattr(make_release, "__version__", version)
    monkeypatch.setattr(make_release, "_write_release", list)
    monkeypatch.setattr(make_release, "DIST", Path(__file__).parent)
    return make_release.main(list(arguments))


def test_a_release_dates_its_changes_and_tags_them(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert released(monkeypatch, "1.1.0", "--dry-run") is None
    assert git(repository, "tag", "--list") == ""
    assert git(repository, "rev-list", "--count", "HEAD") == "1\n"
    assert make_release.changes_of("1.1.0").startswith("# shoe-daemon 1.1.0, unreleased\n\n- new")

    assert released(monkeypatch, "1.1.0") is None
    text = (repository / "CHANGELOG.md").read_text()
    day = re.search(r"^## \[1\.1\.0\] - (\d{4}-\d\d-\d\d)$", text, re.MULTILINE)
    assert day
    assert text == CHANGES.replace("]\n", f"]\n\n## [1.1.0] - {day[1]}\n", 1)
    assert make_release.changes_of("1.1.0") == "# shoe-daemon 1.1.0\n\n- new\n\n"
    assert git(repository, "status", "--porcelain") == ""
    # The tag is at the commit that dates the changes, from which the packages are built.
    assert git(repository, "describe", "--exact-match") == "v1.1.0\n"


def test_a_release_is_refused_before_anything_changes(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for version, error in (
        ("1.0.0", "has a part [1.0.0], and changes in [Unreleased]; raise the version"),
        ("2.0.0", "the tag v2.0.0 exists; raise the version in shoe_daemon/__init__.py"),
    ):
        if version == "2.0.0":
            git(repository, "tag", "v2.0.0")
        assert error in str(released(monkeypatch, version))
    (repository / "CHANGELOG.md").write_text(CHANGES.replace("- new", ""))
    assert "not committed: CHANGELOG.md" in str(released(monkeypatch, "1.1.0"))
    commit(repository)
    error = "has no part [1.1.0], and no changes in [Unreleased]"
    assert error in str(released(monkeypatch, "1.1.0"))
    assert git(repository, "tag", "--list") == "v2.0.0\n"


def test_all_that_is_built_has_the_version_of_the_package() -> None:
    metadata = ["-m", "hatchling", "metadata", "version"]
    command = [sys.executable, *metadata]
    answer = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    assert answer.stdout == f"{__version__}\n"
    assert debian_version().startswith(__version__[:3])
