"""
The log in a browser: a search is an address, a row leads to its round with its video clips, and
paper is white.
"""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser

from drivers import ClipWriter, Picture, encode_picture
from tests.brokers import free_port
from tests.browser.chrome import SIZES, Watched, watch
from tests.browser.contrast import poorly_readable
from tests.browser.test_page_standards import assert_accessible
from tests.display.display_process import Display
from tests.display.test_history_pages import (
    CONFIG,
    SHORT,
    EvidenceDisplay,
    clip_name,
    evidence,
    evidence_display,
    fill,
)

__all__ = ["evidence", "evidence_display"]


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
    assert_accessible(kiosk.page)
    for size in ("kiosk", "phone"):
        width, height = SIZES[size]
        kiosk.page.set_viewport_size({"width": width, "height": height})
        assert poorly_readable(kiosk) == []
        assert kiosk.page.evaluate("document.documentElement.scrollWidth") <= width
    kiosk.page.set_viewport_size({"width": 800, "height": 480})  # three cards of each hand
    assert kiosk.page.evaluate("document.documentElement.scrollWidth") <= 800
    kiosk.assert_clean()


def test_paper_is_white(display: Display, kiosk: Watched) -> None:
    kiosk.page.emulate_media(media="print")
    for path in ("/", "/pit", "/pit/log", "/table/x", "/table/x/history", "/pit/table/x"):
        kiosk.page.goto(url(display) + path)
        ground = kiosk.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert ground in {"rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"}, path
        assert kiosk.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)", path


PIT = {"username": "pit", "password": "secret"}
FRAMES, RATE = 15, 5


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three seconds, as a witness records them."""
    folder = tmp_path_factory.mktemp("clip")
    begin = datetime(2026, 11, 20, 4, 0, 2, tzinfo=UTC)
    writer = ClipWriter(folder, "ceiling", "hall.table-7", RATE, (320, 180), begin)
    for number in range(FRAMES):
        image = np.full((180, 320, 3), (40, 90, 40), np.uint8)
        image[60:120, 20 + 10 * number : 60 + 10 * number] = 255
        writer.add(Picture(begin + timedelta(seconds=number / RATE), encode_picture(image, 320)))
    return writer.finish().path.read_bytes()


@pytest.fixture
def page_of_clips(
    browser: Browser, evidence: EvidenceDisplay, recording: bytes
) -> Iterator[Watched]:
    """The page of a round with two clips, of which the second was cut."""
    evidence.write(clip_name(2, 3, recording, "ceiling"), recording)
    evidence.write(clip_name(5, 3, recording, "rail"), recording[: len(recording) // 2])
    with watch(browser, http_credentials=PIT) as watched:
        watched.page.goto(round_url(evidence))
        yield watched


def round_url(evidence: EvidenceDisplay) -> str:
    return f"http://127.0.0.1:{evidence.display.port}{SHORT}?lang=en"


def test_a_clip_plays_and_can_be_wound(page_of_clips: Watched) -> None:
    page_of_clips.until("() => document.querySelector('#clips video').readyState >= 2")
    duration = page_of_clips.page.evaluate("() => document.querySelector('video').duration")
    assert duration == pytest.approx(FRAMES / RATE, abs=0.3)
    page_of_clips.page.evaluate("() => document.querySelector('video').play()")
    page_of_clips.until("() => document.querySelector('video').currentTime > 0.2")
    page_of_clips.page.evaluate("() => { document.querySelector('video').currentTime = 2.5; }")
    page_of_clips.until("() => document.querySelector('video').ended")
    caption = page_of_clips.page.locator("#clips figcaption").first.inner_text().split()
    assert caption == ["ceiling", "04:00:02", "0:03", "Download"]
    page_of_clips.assert_clean()


def test_a_changed_clip_has_a_warning_and_no_player(
    page_of_clips: Watched, evidence: EvidenceDisplay, recording: bytes
) -> None:
    page = page_of_clips.page
    changed = page.locator("#clips [data-state=changed]")
    assert changed.locator("video").count() == 0
    assert changed.locator(".warning").inner_text() == (
        "This clip was changed or cut after it was recorded: do not rely on it."
    )
    with page.expect_download() as started:
        changed.locator("a").click()
    assert started.value.suggested_filename == clip_name(5, 3, recording, "rail")
    half = recording[: len(recording) // 2]
    assert Path(started.value.path()).read_bytes() == half
    page_of_clips.assert_clean()


def test_a_button_downloads_everything(page_of_clips: Watched, recording: bytes) -> None:
    page = page_of_clips.page
    with page.expect_download() as started:
        page.click("#everything")
    assert started.value.suggested_filename == "casino.short-shoe-1-round-1.zip"
    with zipfile.ZipFile(started.value.path()) as archive:
        content = archive.read(f"clips/{clip_name(2, 3, recording, 'ceiling')}")
    assert hashlib.sha256(content).digest() == hashlib.sha256(recording).digest()
    page_of_clips.assert_clean()


def test_clips_are_readable_at_every_size(
    page_of_clips: Watched, evidence: EvidenceDisplay
) -> None:
    page = page_of_clips.page
    for lang in ("en", "zh-hant", "zh-hans"):
        page.goto(round_url(evidence).replace("lang=en", f"lang={lang}"))
        page_of_clips.until("() => document.fonts.status === 'loaded'")
        for size in ("kiosk", "phone"):
            width, height = SIZES[size]
            page.set_viewport_size({"width": width, "height": height})
            assert poorly_readable(page_of_clips) == [], (lang, size)
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page_of_clips.assert_clean()
