"""Every command has a manual page that man formats without a complaint."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from shoe_daemon.cli import COMMANDS
from tools.make_man_pages import main


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("man1")
    main(folder, "2026-01-01")
    return folder


def test_every_command_has_a_page_that_shows_its_options(pages: Path) -> None:
    for name in COMMANDS:
        assert (pages / f"shoe-daemon-{name}.1").exists()
    page = (pages / "shoe-daemon-journal-verify.1").read_text()
    assert "\\-h, \\-\\-help" in page
    assert "shoe\\-daemon\\-journal\\fR(1)" in page


def test_groff_formats_every_page(pages: Path) -> None:
    if not shutil.which("groff"):
        pytest.skip("groff is missing: apt-get install groff-base")
    files = sorted(str(page) for page in pages.iterdir())
    command = ["groff", "-man", "-Kutf8", "-Tutf8", "-ww", "-Wbreak", "-z", *files]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.stderr == ""
