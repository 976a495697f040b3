"""
The pages are light, readable, usable by keyboard, and without motion if that is preferred; in all
languages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import axe_playwright_python
import pytest
from playwright.sync_api import Page

from shoe_daemon.display import languages as room
from shoe_daemon.display.languages import languages
from tests.browser.chrome import SIZES, SharedPage, Watched
from tests.browser.contrast import poorly_readable
from tests.browser.live_tables import Stage, Table, play_rounds
from tests.display.display_process import first_of
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

SHEETS = sorted((Path(room.__file__).parent / "static").glob("*.css"))
# Bytes of a whole page. The pages for staff bring the characters of every ruling and refusal, too.
LIMIT = 150_000
STAFF_LIMIT = 205_000
TABLETS = ((768, 1024), (1024, 768))
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
PAGES = ("/table/{0}", "/table/{0}/history", "/table/{0}/dealer", "/pit", "/pit/table/{0}", "/")
# What Chromium 69 does not know.
YOUNG_STYLE = re.compile(
    r"[\s;{]aspect-ratio\s*:|\bclamp\(|:is\(|:where\(|:has\(|\binset\s*:|"
    r"\b(?:min|max)\(|:focus-visible|\bdisplay:\s*contents|@layer|@container"
)


@pytest.fixture(scope="module")
def busy(stage: Stage) -> Iterator[Table]:
    """A table with some rounds, an alert and a name, on which nothing happens any more."""
    text = 'name = "Table 7"\nlimits = { player = "25-5000", tie = "10-500" }'
    with stage.table(text) as table:
        play_rounds(table, "TPPPBBPTB")
        table.order("hold", kind="card_off_table", slot="B1", reason="it fell")
        wait_for(lambda: _is_known(stage, table), "all of it at the display")
        yield table


def _is_known(stage: Stage, table: Table) -> bool:
    board = first_of(f"{stage.display.url}/table/{table.name}")
    room = first_of(f"{stage.display.url}/pit/table/{table.name}")
    if not (board["roads"] and room["alerts"]):
        return False
    return len(board["roads"]["bead"]) == 9 and len(room["alerts"]["alerts"]) == 1


def open_page(stage: Stage, watched: Watched, path: str, table: Table, query: str = "") -> None:
    watched.page.goto(stage.display.url + path.format(table.name) + query)
    watched.page.wait_for_load_state("load")
    watched.until("() => document.fonts.status === 'loaded'")


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda path: path.name)
def test_a_style_sheet_asks_for_nothing_young(sheet: Path) -> None:
    """
    A rule that takes an outline away again may be lost on an old browser: it keeps the outline.
    """
    text = re.sub(r"/\*.*?\*/", "", sheet.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not YOUNG_STYLE.search(text.replace(":focus:not(:focus-visible)", ""))


def assert_accessible(page: Page) -> None:
    """Axe-core finds no violation: contrast, names, roles, order, landmarks and more."""
    page.evaluate(AXE)
    found = page.evaluate("() => axe.run()")
    assert len(found["passes"]) > 20
    assert [(each["id"], each["nodes"][0]["target"]) for each in found["violations"]] == []


@pytest.mark.parametrize(("code", "path"), sample(product(languages(), PAGES), 7))
def test_a_page_is_light_speaks_its_language_and_fits_every_screen(
    stage: Stage, busy: Table, own_kiosk: Watched, path: str, code: str
) -> None:
    open_page(stage, own_kiosk, path, busy, f"?lang={code}")
    loaded = own_kiosk.loaded()
    assert any(".woff2" in url for url in loaded)
    assert all(url.startswith((stage.display.url, "data:")) for url in loaded)
    announced = own_kiosk.page.evaluate(_ANNOUNCED)
    assert {url for url in loaded if "/modules/" in url} == set(announced)
    for_staff = "/pit" in path or path.endswith("dealer")
    assert sum(loaded.values()) < (STAFF_LIMIT if for_staff else LIMIT), loaded
    assert own_kiosk.page.evaluate("document.documentElement.lang") == languages()[code].lang
    shown = own_kiosk.page.inner_text("body")
    assert not re.search(r"\{\w+\}", shown), "a placeholder was not filled in"
    assert not re.search(r"\b[a-z]+_[a-z_]+\b|undefined|NaN", shown), "a word has no translation"
    for width, height in (*SIZES.values(), *TABLETS):
        own_kiosk.page.set_viewport_size({"width": width, "height": height})
        assert own_kiosk.page.evaluate("document.documentElement.scrollWidth") <= width
    own_kiosk.assert_clean()


@pytest.mark.parametrize("code", sample(languages(), 3))
def test_a_board_is_seen_whole_on_a_phone(
    stage: Stage, busy: Table, shared_page: SharedPage, code: str
) -> None:
    width, height = SIZES["phone"]
    with shared_page.use("phone") as watched:
        open_page(stage, watched, "/table/{0}", busy, f"?lang={code}")
        for across, down in ((width, height), (height, width)):
            watched.page.set_viewport_size({"width": across, "height": down})
            assert watched.page.evaluate("document.documentElement.scrollHeight") <= down
            assert watched.page.evaluate(
                "[...document.querySelectorAll('.road-box, .hand, #centre, #counts, #asks')]"
                ".every(each => each.getBoundingClientRect().bottom <= window.innerHeight)"
            )


_SMALL_TARGETS = """
() => [...document.querySelectorAll("button, select, input, summary, .bar a, #foot a, nav a")]
  .map((node) => [node, (node.closest("label") || node).getBoundingClientRect()])
  .filter(([, box]) => box.width && (box.width < 44 || box.height < 44))
  .map(([node, box]) => `${node.id || node.textContent} ${box.width} x ${box.height}`)
"""


@pytest.mark.parametrize("path", PAGES)
def test_a_thumb_hits_every_button(
    stage: Stage, busy: Table, shared_page: SharedPage, path: str
) -> None:
    with shared_page.use("phone") as watched:
        open_page(stage, watched, path, busy)
        assert watched.page.evaluate(_SMALL_TARGETS) == []


@pytest.mark.parametrize("path", PAGES)
def test_a_page_shuts_nobody_out(stage: Stage, busy: Table, kiosk: Watched, path: str) -> None:
    """Whoever has only a keyboard, a screen reader, weak eyes, or wants nothing to move."""
    open_page(stage, kiosk, path, busy)
    assert_reached_by_keyboard(kiosk.page)
    for size in ("kiosk", "phone"):
        width, height = SIZES[size]
        kiosk.page.set_viewport_size({"width": width, "height": height})
        assert kiosk.page.evaluate(_MOVING) == []
        if size in sample(["phone", "kiosk"], 2):
            assert_accessible(kiosk.page)
        for severity in range(1, 6):
            kiosk.page.evaluate(_SET_SEVERITY, severity)
            assert poorly_readable(kiosk) == [], (size, severity)


def assert_reached_by_keyboard(page: Page) -> None:
    """Everything that can be clicked is reached by Tab, and is seen to be reached."""
    wanted = page.evaluate(_CLICKABLE)
    reached = set()
    for _ in range(wanted + 5):
        page.keyboard.press("Tab")
        number, outlined = page.evaluate(_FOCUS)
        if number >= 0:
            assert outlined, page.evaluate("document.activeElement.outerHTML")
            reached.add(number)
    assert reached == set(range(wanted))


# A module that only another one names would be asked for late.
_ANNOUNCED = """
() => [...document.querySelectorAll("link[rel=modulepreload], script[type=module]")].map(
  (each) => each.href || each.src)
"""


_SET_SEVERITY = """
(severity) => document.querySelectorAll("[data-severity]").forEach(
  (each) => each.setAttribute("data-severity", severity))
"""


# Fading is allowed: it moves nothing.
_MOVING = """
() => document.getAnimations().filter((each) => each.playState === "running"
    && each.effect.getComputedTiming().duration > 10
    && each.effect.getKeyframes().some((frame) => "transform" in frame || "left" in frame
      || "top" in frame)).map((each) => each.animationName || each.transitionProperty)
"""


_CLICKABLE = """
() => {
  window.clickable = [...document.querySelectorAll("a, button, input, select, summary")]
    .filter((each) => each.getClientRects().length && !each.disabled
      && getComputedStyle(each).visibility === "visible");
  return window.clickable.length;
}
"""
_FOCUS = """
() => {
  const node = document.activeElement;
  const style = getComputedStyle(node);
  return [window.clickable.indexOf(node),
    style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2];
}
"""


def test_a_board_takes_up_where_it_was_without_a_flash(
    stage: Stage, busy: Table, kiosk: Watched
) -> None:
    """The first painting is complete: the page brings its data along."""
    kiosk.page.route(re.compile(r"/live(\?.*)?$"), lambda route: route.abort())
    open_page(stage, kiosk, "/table/{0}", busy)
    assert kiosk.page.inner_text("[data-count=rounds]") == "9"
    assert kiosk.page.locator("svg.road[data-road=bead] g.cell").count() == 9
    assert kiosk.page.evaluate("document.body.dataset.fresh") == "live"
