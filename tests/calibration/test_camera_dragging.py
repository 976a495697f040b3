"""Boxes are dragged and corners clicked in a real browser, within the page's policy."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, expect

from calibration.camera.layout import layout_named
from calibration.camera.plane import plane_from_points, projection_of
from calibration.camera.wizard_page import WizardState, serve_page
from drivers.camera.image import Image
from tests.browser.chrome import PATIENCE, browse, watch

SIZE = (1280, 720)
PLANE = plane_from_points([(580, 320), (700, 320), (700, 400), (580, 400)], (80, 53), SIZE)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as browser:
        yield browser


def test_a_box_is_dragged_and_a_step_is_left(browser: Browser) -> None:
    desk = WizardState(lambda: np.full((720, 1280, 3), 90, np.uint8), 36.0)
    desk.place_boxes(PLANE, layout_named("six"))
    desk.begin_step("The boxes", "Drag them.", "boxes")
    page = serve_page(desk)
    try:
        with watch(browser) as watched:
            watched.page.goto(page.url)
            expect(watched.page.locator("polygon")).to_have_count(6, timeout=PATIENCE)
            expect(watched.page.locator("#budget tr")).to_have_count(6, timeout=PATIENCE)
            before = projection_of(PLANE).to_pixels([(box.x, box.y) for box in desk.boxes])
            area = watched.page.locator("#over").bounding_box(timeout=PATIENCE)
            assert area is not None
            scale = area["width"] / SIZE[0]
            x, y = area["x"] + before[0][0] * scale, area["y"] + before[0][1] * scale
            mouse = watched.page.mouse
            mouse.move(x, y)
            mouse.down()
            mouse.move(x + 30 * scale, y - 10 * scale, steps=4)
            with watched.page.expect_response("**/do", timeout=PATIENCE):
                mouse.up()
            after = projection_of(PLANE).to_pixels([(box.x, box.y) for box in desk.boxes])
            assert np.abs(after[0] - before[0] - (30, -10)).max() < 2
            assert np.abs(after[1:] - before[1:]).max() < 0.2
            watched.page.locator("#next").click(timeout=PATIENCE)
            assert desk.answers.get(timeout=30) == ""
            assert watched.troubles == []
            assert watched.page.evaluate("window.notes.violations") == []
    finally:
        page.close()


def test_corners_are_clicked_under_a_loupe_and_an_unplugged_camera_is_seen(
    browser: Browser,
) -> None:
    pictures: list[Image | None] = [np.full((720, 1280, 3), 90, np.uint8)]
    desk = WizardState(lambda: pictures[0], 36.0)
    desk.begin_step("Four points", "Click them.", "points")
    page = serve_page(desk)
    try:
        with watch(browser) as watched:
            watched.page.goto(page.url)
            expect(watched.page.locator("#over.points")).to_be_visible(timeout=PATIENCE)
            area = watched.page.locator("#over").bounding_box(timeout=PATIENCE)
            assert area is not None
            scale = area["width"] / SIZE[0]
            x, y = area["x"] + 400 * scale, area["y"] + 300 * scale
            watched.page.mouse.move(x, y)
            expect(watched.page.locator("#loupe")).to_be_visible(timeout=PATIENCE)
            with watched.page.expect_response("**/do", timeout=PATIENCE):
                watched.page.mouse.click(x, y)
            assert np.abs(np.array(desk.clicked_points) - (400, 300)).max() < 1
            expect(watched.page.locator("#dark")).to_be_hidden(timeout=PATIENCE)
            pictures[0] = None
            expect(watched.page.locator("#dark")).to_be_visible(timeout=PATIENCE)
            desk.finish("Calibrated", "All is written.", good=True, timeout_s=30)
            expect(watched.page.locator("h1.good")).to_have_text("Calibrated", timeout=PATIENCE)
            assert watched.troubles == []
            assert watched.page.evaluate("window.notes.violations") == []
    finally:
        page.close()
