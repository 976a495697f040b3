"""The configurations of `docs/readers.md`, as printed there, are accepted by `check-config`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main

PAGE = Path(__file__).resolve().parents[2] / "docs" / "readers.md"
HEAD, *READERS = re.findall(
    r"^```toml\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("reader", READERS, ids=lambda text: re.sub(r"\W+", "-", text)[9:40])
def test_each_configuration_is_accepted(reader: str, tmp_path: Path) -> None:
    file = tmp_path / "table.toml"
    file.write_text(f"{HEAD}\n{reader}", encoding="utf-8")
    result = CliRunner().invoke(main, ["check-config", str(file)])
    assert (result.exit_code, result.stderr) == (0, "")
    assert re.search(r"(?m)^rounds    end by (button|device|quiet) \(auto\)", result.output)
    assert "never tried on a real reader" in result.output
