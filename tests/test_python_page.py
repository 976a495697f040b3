"""The examples of docs/python.md run, in the page's order, and print what the page says."""

from __future__ import annotations

import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/python.md").read_text(encoding="utf-8")
CAPTURE = ROOT / "tests/captures/angel-eye-ii/open.hex"
EXAMPLES = re.findall(
    r"^```python\n(.*?)^```\n\n```text\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE
)


def test_the_examples_print_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = re.search(r"^```json\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert log is not None
    (tmp_path / "log.jsonl").write_text(log[1], encoding="utf-8")
    shutil.copy(CAPTURE, tmp_path)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    assert len(EXAMPLES) == PAGE.count("```python") > 0
    for code, expected in EXAMPLES:
        printed = StringIO()
        with redirect_stdout(printed):
            exec(code, names)  # noqa: S102 - the page's own examples
        assert printed.getvalue() == expected
