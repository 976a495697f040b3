"""
What `doctor` says of a camera and of the pictures that it keeps.
"""

from __future__ import annotations

import json
import socket
from pathlib import Path

from click.testing import CliRunner

from shoe_daemon.cli import main
from tests.camera.profiles import simulated_profile
from tests.camera.simulated_tables import settings


def _findings(folder: Path, *options: str) -> dict[str, list[tuple[str, str]]]:
    """
    Look at a table whose camera is a folder with a picture of the empty table.
    """
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


def test_a_camera_that_gives_pictures_is_good_and_so_is_where_they_are_kept(
    tmp_path: Path,
) -> None:
    (tmp_path / "evidence").mkdir()
    (tmp_path / "evidence" / "20250101-120000.000-P1-AS.jpg").write_bytes(b"x")
    (opened, kept) = _findings(tmp_path)["reader eye"]
    assert opened[0] == kept[0] == "good"
    assert kept[1] == f"keeps pictures of what it reads in {tmp_path}/evidence: 1 there"


def test_a_folder_that_cannot_be_is_bad(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    verdict, text = _findings(tmp_path, 'evidence = "file/below"')["reader eye"][1]
    assert verdict == "bad"
    assert text == (
        f"cannot keep pictures of what it reads: {tmp_path}/file is no folder that can be written"
    )


def test_that_none_are_kept_is_said(tmp_path: Path) -> None:
    verdict, text = _findings(tmp_path, 'evidence = ""')["reader eye"][1]
    assert verdict == "note"
    assert "no dispute can be looked at" in text


def test_a_program_can_read_it_also_where_the_views_port_is_taken(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        view = f'view = "127.0.0.1:{other.getsockname()[1]}"'
        assert _findings(tmp_path, view)["reader eye"][0][0] == "good"
