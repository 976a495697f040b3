"""The sections ``[[witness]]``: each fault in one line that says what to write."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from shoe_daemon.config.table import load_config
from shoe_daemon.doctor import examine
from shoe_daemon.errors import UserError
from tests.camera.fake_cameras import NetworkCamera, Visit

READERS = """
[[reader]]
driver = "angel-eye-ii"
port = "/dev/shoe/table-7"
"""


def load(folder: Path, witness: str) -> str:
    """Return the fault of a configuration; empty if there is none."""
    path = folder / "table.toml"
    path.write_text(f'site = "hall"\n{READERS}{witness}', encoding="utf-8")
    try:
        load_config(path)
    except UserError as error:
        return str(error).removeprefix(f"{path}: ")
    return ""


@pytest.mark.parametrize(
    ("keys", "fault"),
    [
        ('source = "rtsp://10.0.0.9/1"', ""),
        ('source = "/dev/v4l/by-id/usb-pit"\nsize = "640x480"', ""),
        ("", "neither source nor reader; expected exactly one of source and reader"),
        ('source = "/dev/video0"\nreader = "shoe"', "source and reader; expected exactly one"),
        ('reader = "shoe"', "reader: 'shoe'; expected a reader whose driver is camera: none"),
        ('source = "ftp://10.0.0.9"', "expected /dev/…, rtsp://…"),
        (
            'source = "rtsp://10.0.0.9/1"\nsize = "large"',
            "size: 'large'; expected width and height",
        ),
        (
            'source = "rtsp://10.0.0.9/1"\nbefore = 60\nlongest = 30',
            "longest: 30; expected at least before and after together, 65",
        ),
        ('source = "rtsp://10.0.0.9/1"\nfps = 100', "fps"),
        ('source = "rtsp://10.0.0.9/1"\nid = "The Pit"', "id"),
        ('source = "rtsp://10.0.0.9/1"\nshoe = 1', "shoe"),
        ('source = "rtsp://10.0.0.9/1"\npassword_file = "none"', "needs options.username"),
        (
            'source = "/dev/shoe/table-7"',
            "'/dev/shoe/table-7' is the camera of reader 'shoe' too; expected reader = 'shoe'",
        ),
        (
            'source = "rtsp://10.0.0.9/1"\n[[witness]]\nsource = "rtsp://10.0.0.9/2"',
            "witness 2: id: 'witness' is another witness's; expected each id once",
        ),
    ],
)
def test_faults_are_named(tmp_path: Path, keys: str, fault: str) -> None:
    found = load(tmp_path, f"[[witness]]\n{keys}\n")
    assert fault in found
    assert "\n" not in found
    assert bool(found) is bool(fault)


def test_missing_packages_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    monkeypatch.setattr("shoe_daemon.witness.config.find_spec", lambda _name: None)
    found = load(tmp_path, '[[witness]]\nsource = "rtsp://10.0.0.9/1"\n')
    assert "expected the package shoe-daemon-camera" in found


def test_doctor_opens_the_camera(tmp_path: Path) -> None:
    def behave(visit: Visit) -> None:
        visit.answer()
        visit.pictures()

    with NetworkCamera(behave) as camera:
        assert load(tmp_path, f'[[witness]]\nsource = "{camera.url[7:]}"\n') == ""
        findings = examine(load_config(tmp_path / "table.toml"))
        about = {each.text: each.verdict for each in findings if each.about == "witness witness"}
    (seen, kept) = about
    assert set(about.values()) == {"good"}
    assert seen.endswith("gives 1280x720")
    assert kept.startswith("keeps pictures and clips in ")


def test_doctor_names_a_camera_that_is_gone(tmp_path: Path) -> None:
    load(tmp_path, '[[witness]]\nsource = "/dev/no-such-camera"\n')
    findings = examine(load_config(tmp_path / "table.toml"))
    (bad,) = (each for each in findings if each.text.startswith("sees nothing: "))
    assert bad.verdict == "bad"
    assert "/dev/no-such-camera: no such device" in bad.text
