"""No text from the broker becomes markup; only files of the folder are served."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from shoe_daemon.display.pages import (
    PAGES,
    STATIC,
    Brand,
    FileCache,
    Modules,
    PageTemplates,
    data_block,
)
from tests.display.display_process import Answer
from tests.each_case import each_case
from tests.floor.table_messages import PATIENT
from tests.report.test_html_report import read

NASTY = "</script><script>alert(1)</script><!--\u2028\u2029&quot;'\"]]>"
NAMES = sorted(path.stem for path in PAGES.glob("*.html") if path.stem != "layout")


def templates(static: FileCache) -> PageTemplates:
    return PageTemplates(static, Modules(STATIC), Brand(None, None, None))


@PATIENT
@given(st.dictionaries(st.text(max_size=30), st.text(max_size=60)))
def test_no_text_ends_the_data_block(facts: dict[str, str]) -> None:
    block = data_block({"nasty": NASTY, **facts})
    assert not set("<>&\u2028\u2029") & set(block)
    assert json.loads(block) == {"nasty": NASTY, **facts}


@each_case("name", NAMES)
def test_every_page_is_filled_in_and_gains_no_tag(name: str) -> None:
    pages = templates(FileCache(STATIC))
    plain, nasty = (
        pages.render(name, "en", data_block({"name": text})) or b"" for text in ("Table", NASTY)
    )
    found = read(nasty.decode())
    assert found.tags == read(plain.decode()).tags
    assert not [each for each, _ in found.attributes if each.startswith("on") or each == "style"]
    assert Answer(200, {}, nasty).block == {"name": NASTY}


@each_case("name", NAMES)
def test_every_file_that_a_page_names_is_there(name: str) -> None:
    static = FileCache(STATIC)
    page = (templates(static).render(name, "en", "{}") or b"").decode()
    # Files that are there have a version.
    assert re.findall(r'"(/static/(?!modules/)[^"?]*)"', page) == []
    assert len(re.findall(r'"/static/[^"]*[.](?:css|js)[?]v=', page)) >= 5
    assert len(set(re.findall(r'"/static/modules/(\w+)/', page))) == 1


@each_case(
    "name",
    [
        "",
        "x" * 5000 + ".js",
        "..",
        "/",
        "../app.py",
        "/etc/passwd",
        "a/../../app.py",
        "board.css/",
        "board.css\x00",
        "./board.js",
        "%2e%2e/app.py",
        "board.CSS",
        "nothing.js",
        "fonts/../board.css",
    ],
)
def test_only_files_of_the_folder_are_given(name: str) -> None:
    assert FileCache(STATIC).get(name) is None


def test_the_addresses_of_a_page_change_with_each_of_its_modules(tmp_path: Path) -> None:
    """So a browser that keeps them never runs an old module with a new one."""
    texts = {
        "a.js": 'import { b } from "./b.js";\nimport {\n  c\n} from "./c.js";\n',
        "b.js": 'import * as a from "./a.js";\n',
        "c.js": "",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    modules = Modules(tmp_path)
    before = modules.addresses("a.js")
    assert [address.rpartition("/")[2] for address in before] == ["a.js", "b.js", "c.js"]
    (tmp_path / "c.js").write_text("const c = 1;\n", encoding="utf-8")
    after = modules.addresses("a.js")
    assert not set(before) & set(after)
    versions = [addresses[0].split("/")[-2] for addresses in (before, after)]
    assert [modules.get(each, "a.js") is None for each in versions] == [True, False]


def test_a_file_that_has_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.js"
    path.write_text("one" * 200, encoding="utf-8")
    files = FileCache(tmp_path)
    first = files.get("a.js")
    path.write_text("two" * 200, encoding="utf-8")
    os.utime(path, ns=(1, 1))
    second = files.get("a.js")
    assert first is not None
    assert second is not None
    assert (first.content[:3], second.content[:3]) == (b"one", b"two")
    assert first.version != second.version
    assert second.gzipped is not None
    path.unlink()
    assert files.get("a.js") is None


def test_the_house_has_its_name_logo_and_colour_on_the_board(tmp_path: Path) -> None:
    logo = tmp_path / "logo.svg"
    logo.write_text("<svg/>")
    static = FileCache(STATIC)
    modules = Modules(STATIC)

    def board(brand: Brand) -> str:
        page = PageTemplates(static, modules, brand).render("table", "en", "{}")
        assert page is not None
        return page.decode()

    assert "/brand/" not in board(Brand(None, None, None))
    assert '<p id="house">A &amp; B</p>' in board(Brand("A & B", None, None))
    brand = Brand("A & B", "#7fd0ff", logo)
    page = board(brand)
    found = re.findall(r'"(/brand/([\w.]+)\?v=\w+)"', page)
    assert sorted(name for _, name in found) == ["brand.css", "logo.svg"]
    assert 'alt="A &amp; B"' in page
    style = brand.get("brand.css")
    assert style is not None
    assert b"--gold: #7fd0ff;" in style.content
    assert brand.get("../palette.css") is None
