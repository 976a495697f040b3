"""The log in a browser: a search is an address, a row leads to its round, and paper is white."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.brokers import free_port
from tests.browser.chrome import SIZES, Watched
from tests.browser.contrast import poorly_readable
from tests.display.display_process import Display
from tests.display.test_history_pages import CONFIG, fill


@pytest.fixture(scope="module")
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Display]:
    """A display without a broker, with a log."""
    folder = tmp_path_factory.mktemp("log")
    fill(folder / "history.db", folder / "journals")
    with Display(folder, free_port(), CONFIG) as display:
        yield display


def url(display: Display) -> str:
    return f"http://127.0.0.1:{display.port}"


def kinds(watched: Watched) -> set[str]:
    rows = watched.page.locator("#rows tbody tr")
    return {rows.nth(number).get_attribute("data-kind") or "" for number in range(rows.count())}


def test_a_search_is_an_address_and_leads_to_a_round(display: Display, kiosk: Watched) -> None:
    page = kiosk.page
    page.goto(f"{url(display)}/pit/log?lang=en")
    assert len(kinds(kiosk)) > 1
    page.select_option("#field-kind", "excess_card")
    page.fill("#field-operator", "ann")
    page.press("#field-operator", "Enter")
    page.wait_for_url("**/pit/log?lang=en&kind=excess_card&operator=ann")
    assert kinds(kiosk) == {"excess_card"}
    assert page.input_value("#field-operator") == "ann"
    page.locator("#languages a[lang=zh-hant]").click()
    page.wait_for_url("**kind=excess_card&operator=ann")
    assert kinds(kiosk) == {"excess_card"}
    row = page.locator("#rows tbody tr").first
    number = row.get_attribute("data-round")
    row.locator("a").click()
    page.wait_for_url(f"**/pit/round/*/*/{number}?lang=zh-hant")
    assert page.get_attribute("body", "data-known") == "true"
    assert page.locator("#hand-player .big-card").count() >= 2
    assert page.locator("#entries tr[data-kind=excess_card]").count() == 1
    assert page.locator("#log-events tr[data-type=round_started]").count() == 1
    kiosk.assert_clean()


def test_rounds_are_found_by_cards(display: Display, kiosk: Watched) -> None:
    page = kiosk.page
    page.goto(f"{url(display)}/pit/log?view=rounds")
    page.fill("#field-cards", "9h")
    page.click("#search .primary")
    page.wait_for_url("**cards=9h")
    rows = page.locator("#rows tbody tr")
    assert rows.count() > 1
    assert all("9♥" in rows.nth(number).inner_text() for number in range(rows.count()))
    kiosk.assert_clean()


@pytest.mark.parametrize("path", ["/pit/log", "/pit/log?view=rounds&lang=zh-hans", "round"])
def test_every_size_is_readable(display: Display, kiosk: Watched, path: str) -> None:
    if path == "round":
        kiosk.page.goto(f"{url(display)}/pit/log?kind=excess_card")
        path = kiosk.page.locator("#rows a").first.get_attribute("href") or ""
    kiosk.page.goto(url(display) + path)
    kiosk.until("() => document.fonts.status === 'loaded'")
    for size in ("kiosk", "phone"):
        width, height = SIZES[size]
        kiosk.page.set_viewport_size({"width": width, "height": height})
        assert poorly_readable(kiosk) == []
        assert kiosk.page.evaluate("document.documentElement.scrollWidth") <= width
    kiosk.assert_clean()


def test_paper_is_white(display: Display, kiosk: Watched) -> None:
    kiosk.page.emulate_media(media="print")
    for path in ("/", "/pit", "/pit/log", "/table/x", "/table/x/history", "/pit/table/x"):
        kiosk.page.goto(url(display) + path)
        ground = kiosk.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground in {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}, path
        assert kiosk.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)", path
