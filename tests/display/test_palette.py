"""All colours of the pages are in one file, and each of them is used."""

from __future__ import annotations

import re
from pathlib import Path

from shoe_daemon.display.pages import PAGES, STATIC
from tests.each_case import each_case

PALETTE_FILE = STATIC / "palette.css"
LITERAL = re.compile(
    r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})(?![\w-])|\b(?:rgb|hsl)a?\(", re.IGNORECASE
)
OTHERS = [
    path
    for folder in (STATIC, PAGES)
    for path in sorted(folder.iterdir())
    if path.suffix in {".css", ".js", ".html"} and path != PALETTE_FILE
]
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in OTHERS}
SCREEN, PRINT = (
    re.findall(r"--([a-z0-9-]+):", part)
    for part in PALETTE_FILE.read_text(encoding="utf-8").split("@media print")
)


@each_case("path", OTHERS)
def test_no_other_file_contains_a_colour(path: Path) -> None:
    text = re.sub(r"/\*.*?\*/", "", TEXTS[path.name], flags=re.DOTALL)
    if path.suffix == ".css":  # `#name {` is a selector
        text = "\n".join(re.findall(r":[^;{}]*[;}]", text))
    assert LITERAL.findall(text) == []


def test_every_colour_is_defined_once_and_used() -> None:
    used = {name for text in TEXTS.values() for name in re.findall(r"var\(--([a-z0-9-]+)\)", text)}
    for defined in (SCREEN, PRINT):
        assert len(defined) == len(set(defined))
    assert set(SCREEN) == used
    assert set(PRINT) < used
