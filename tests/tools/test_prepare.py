"""Missing programs are installed if permitted; otherwise one line names them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import prepare


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """A bare machine on which we are root; what would be run on it is listed."""
    commands: list[list[str]] = []
    monkeypatch.setattr("tools.prepare.shutil.which", lambda name, **_: name == "apt-get")
    monkeypatch.setattr("tools.prepare.os.geteuid", lambda: 0)
    monkeypatch.setattr("tools.prepare.subprocess.run", lambda words, **_: commands.append(words))
    monkeypatch.setattr(prepare, "_succeeds", lambda *_: False)
    return commands


def test_root_installs_what_is_missing(installed: list[list[str]]) -> None:
    assert prepare.main(["mosquitto"]) is None
    assert installed[-1][-1] == "mosquitto"
    assert "--yes" in installed[-1]


def test_others_are_told_in_one_line(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.prepare.os.geteuid", lambda: 1000)
    line = prepare.main(["mosquitto"])
    assert line == "missing for tests: run: sudo apt-get install mosquitto"
    assert installed == []


def test_nothing_is_done_where_nothing_changed(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(prepare, "_succeeds", lambda *_: True)
    stamps = {"run": tmp_path / "run", "venv": tmp_path / "stamp"}
    monkeypatch.setattr(prepare, "STAMPS", stamps)
    stamps["venv"].write_text(prepare._wanted("venv"))  # noqa: SLF001 - what an earlier run left
    assert prepare.main(["venv"]) is None
    assert prepare.main(["run"]) is None  # everything is enough for it
    assert installed == []


def test_several_jobs_are_done_in_their_order(installed: list[list[str]]) -> None:
    assert prepare.main(["mosquitto", "chromium"]) is None
    names = [words[-1] for words in installed if "install" in words]
    assert names == ["mosquitto", "chromium-headless-shell"]


def test_a_browser_under_another_name_will_do(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.prepare.shutil.which", lambda name, **_: name == "google-chrome")
    assert prepare.main(["chromium"]) is None
    assert installed == []


def test_node_is_installed_with_npm(installed: list[list[str]]) -> None:
    assert prepare.main(["node"]) is None
    assert installed[-1][-2:] == ["nodejs", "npm"]


def test_without_permission_only_the_tests_of_examples_lack_node(
    installed: list[list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tools.prepare.os.geteuid", lambda: 1000)
    assert prepare.main(["node"]) is None
    assert "sudo apt-get install nodejs npm" in capsys.readouterr().err
    assert installed == []
