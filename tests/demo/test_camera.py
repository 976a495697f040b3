"""The demo with a camera: what is dealt before it is what the board gets."""

from __future__ import annotations

import contextlib
import re
import signal
import urllib.request
from pathlib import Path

import pytest

from tests.demo import demo_process
from tests.demo.result_check import check_folder
from tests.waiting import wait_for


@pytest.mark.timeout(demo_process.LONGEST + 60)
def test_a_round_is_read_as_it_was_dealt_and_its_picture_can_be_seen(tmp_path: Path) -> None:
    # A machine that is held up for a moment may miss one of them, and says so.
    kept = tmp_path / "kept"
    words = ("--camera", "--plain", "--rounds", "2", "--fault-rate", "0", "--seed", "14")
    process = demo_process.start(tmp_path, *words, "--keep", str(kept))
    assert process.stdout is not None
    page = ""
    while not page:
        line = process.stdout.readline()
        assert line, process.communicate()[1]
        if line.startswith("Camera:"):
            page = line.split()[1]
    wait_for(lambda: _picture(page), "a picture")
    while not re.match(" +[12]  Player .* Banker ", line := process.stdout.readline()):
        assert line, process.communicate()[1]
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=demo_process.LONGEST)
    assert process.returncode == 0, out + err
    check = check_folder(kept, interrupted=True)
    assert check.passed
    assert check.same
    assert err == ""


def _picture(page: str) -> bool:
    with (
        contextlib.suppress(OSError),
        urllib.request.urlopen(f"{page}picture.jpg", timeout=30) as answer,  # noqa: S310 - loopback
    ):
        return bool(answer.read().startswith(b"\xff\xd8"))
    return False


def test_a_missing_camera_extra_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "cv2.py").write_text("raise ImportError('not here')\n")
    done = demo_process.run(tmp_path, "--camera")
    assert done.status == 2
    assert done.err.strip().endswith(
        "the demo's camera needs cv2, an extra: pip install 'shoe-daemon[camera]'"
    )
