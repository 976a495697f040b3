"""Findings of `doctor` on a camera and its evidence folder."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from tests.camera.profiles import simulated_profile
from tests.camera.simulated_tables import settings


def _findings(folder: Path, *options: str) -> dict[str, list[tuple[str, str]]]:
    """Check a table whose camera is a folder with an image of the empty table."""
    pictures = folder / "profile"
    profile = simulated_profile(settings(seed=1), pictures)
    file = folder / "table.toml"
    file.write_text(
        f'site = "casino"\n[journal]\npath = "{folder}/journal.db"\n'
        f'[[reader]]\nid = "eye"\ndriver = "camera"\nport = "camera:folder:{pictures}"\n'
        f'[reader.options]\nprofile = "{profile}"\n' + "\n".join(options) + "\n"
    )
    done = CliRunner().invoke(main, ["doctor", "--config", str(file), "--json"])
    told: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(done.stdout):
        told.setdefault(finding["about"], []).append((finding["verdict"], finding["text"]))
    return told


def test_a_working_camera_and_its_evidence_folder_pass(
    tmp_path: Path,
) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "20250101-120000.000-P1-AS.jpg").write_bytes(b"x")
    (opened, kept) = _findings(tmp_path)["reader eye"]
    assert opened[0] == kept[0] == "good"
    assert kept[1] == f"keeps pictures and clips in {tmp_path}/evidence: 1 there"


@pytest.mark.parametrize(
    ("evidence", "verdict", "text"),
    [
        ("file/below", "bad", "cannot keep pictures: {}/file is no folder that can be written"),
        ("", "note", "no dispute can be looked at"),
    ],
)
def test_an_impossible_evidence_folder_fails_and_none_is_noted(
    evidence: str, verdict: str, text: str, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("no folder")
    found, told = _findings(tmp_path, f'evidence = "{evidence}"')["reader eye"][1]
    assert found == verdict
    assert text.format(tmp_path) in told


def test_a_used_preview_port_does_not_fail_the_camera(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        view = f'view = "127.0.0.1:{other.getsockname()[1]}"'
        assert _findings(tmp_path, view)["reader eye"][0][0] == "good"
