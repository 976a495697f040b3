"""A release has one version, shows its changes, and never claims an audit that was not done."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import shoe_daemon
from tools import make_release
from tools.build_deb import ROOT, BuildError, project_version


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


def changelog(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    (folder / "CHANGELOG.md").write_text(text)
    monkeypatch.setattr(make_release, "ROOT", folder)


def test_this_version_has_its_part_with_a_day() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.escape(project_version())
    assert re.search(rf"^## \[{version}\] - \d{{4}}-\d\d-\d\d$", text, re.MULTILINE)
    assert "unreleased" not in make_release.changes_of(project_version())


def test_the_part_of_the_version_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "# Changelog\n\n## [Unreleased]\n\nlater\n\n## [2.0.0] - 2027-01-01\n\nnow\n\n## [1.0.0]\n"
    )
    changelog(tmp_path, monkeypatch, text)
    assert make_release.changes_of("2.0.0") == "# shoe-daemon 2.0.0\n\nnow\n\n"
    assert "unreleased" in make_release.changes_of("3.0.0")


def test_a_changelog_without_any_part_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog(tmp_path, monkeypatch, "# Changelog\n")
    with pytest.raises(BuildError, match=r"neither \[2\.0\.0\] nor \[Unreleased\]"):
        make_release.changes_of("2.0.0")


def test_another_version_in_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shoe_daemon, "__version__", "9.9.9")
    with pytest.raises(BuildError, match=r"shoe_daemon has version 9\.9\.9"):
        make_release.check_version()
