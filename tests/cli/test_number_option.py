"""Number options: all commands reject values that are no numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main


@pytest.mark.parametrize(
    "line",
    [
        "calibrate print-markers --out m.html --size nan",
        "calibrate rehearse --out m.avi --fps nan",
        "calibrate camera --check --profile p.toml --at nan",
        "calibrate camera --source file:m.avi --out p.toml --size nan",
        "calibrate evaluate --labels {here} --photos . --threshold nan",
        "calibrate serial --seconds nan",
        "simulate camera --out m.avi --rounds 1 --pause nan",
        "simulate camera --out m.avi --rounds 1 --fps nan",
        "simulate camera --out m.avi --rounds 1 --fault-rate nan",
        "demo --speed nan",
        "watch --once --wait nan",
        "replay --quiet-gap nan {here}",
    ],
)
def test_what_is_no_number_is_refused(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, line.format(here=__file__).split())
    assert done.exit_code == 2
    assert "'nan' is not a number" in done.output
