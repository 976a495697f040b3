"""The documents point to what is there: links, headings and files."""

from __future__ import annotations

import re
from pathlib import Path

from tests.each_case import each_case

ROOT = Path(__file__).parents[1]
FOLDERS = ("*.md", "docs/**/*.md", "systemd/*.md", "examples/*.md", "examples/*/*.md")
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(folder))
LINK = re.compile(r"\]\(([^)\s]+)\)")
OURS = r"shoe_daemon|drivers|calibration|tests|bench|systemd|tools|packaging|examples|docs"
OUR_PATH = re.compile(rf"`((?:{OURS})/[\w./-]+)[:`]")
PLACEHOLDER = re.compile(r"NAME|ID|KIND|CODE|version-N")
CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings."""
    text = CODE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", each.lower()).replace(" ", "-") for each in headings}


@each_case("page", PAGES)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("http:", "https:")):
            continue
        name, _, anchor = link.partition("#")
        target = page.parent / name if name else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


@each_case("page", [page for page in PAGES if page.name != "CHANGELOG.md"])
def test_every_file_that_a_page_names_is_there(page: Path) -> None:
    for name in OUR_PATH.findall(page.read_text(encoding="utf-8")):
        if not PLACEHOLDER.search(name):
            assert (ROOT / name).exists() or (ROOT / f"{name}.py").exists(), name
