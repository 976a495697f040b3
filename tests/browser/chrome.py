"""The machine's own Chromium, and what happens on its pages that nobody should see."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Response, sync_playwright

from tools.prepare import BROWSERS

__all__ = ["PATIENCE", "SIZES", "Watched", "browse", "watch"]

PATIENCE = 60_000
"""Milliseconds that a page has for anything: the machine may be slow and loaded."""

SIZES = {
    "kiosk": (1920, 1080),
    "portrait": (1080, 1920),
    "small": (1280, 720),
    "phone": (390, 844),
}

_ARGUMENTS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
)

# Before any script of the page: whatever breaks the policy or moves the layout is written down.
_NOTES = """
window.notes = {violations: [], shifts: 0, layout: []};
document.addEventListener("securitypolicyviolation", function (event) {
  window.notes.violations.push(event.violatedDirective + " " + event.blockedURI);
});
new PerformanceObserver(function (list) {
  list.getEntries().forEach(function (entry) {
    window.notes.shifts += entry.value;
    window.notes.layout.push(entry.sources.map(function (source) {
      var node = source.node;
      return node && (node.id || node.className || node.nodeName) + " " +
        JSON.stringify(source.previousRect) + " -> " + JSON.stringify(source.currentRect);
    }).join("; "));
  });
}).observe({type: "layout-shift", buffered: true});
"""


class Notes(NamedTuple):
    """Faults that the page itself noticed."""

    violations: list[str]
    shifts: float
    layout: list[str]


class Watched:
    """
    A page, and all that went wrong on it.

    Attributes:
        page: The page.
        troubles: Errors of its scripts, complaints on its console, dialogs.
    """

    def __init__(self, page: Page) -> None:
        self.page = page
        self.troubles: list[str] = []
        self._answers: list[Response] = []
        page.set_default_timeout(PATIENCE)
        page.add_init_script(_NOTES)
        page.on("pageerror", lambda error: self.troubles.append(f"script: {error}"))
        page.on("console", self._hear)
        page.on("dialog", self._refuse)
        page.on("response", self._keep)

    def _hear(self, message: Any) -> None:  # noqa: ANN401 - Playwright's
        # That a server is away is said by the browser itself, and is what some tests are about.
        if message.type in {"error", "warning"} and "net::ERR_" not in message.text:
            self.troubles.append(f"console: {message.text}")

    def _keep(self, response: Response) -> None:
        self._answers.append(response)

    def _refuse(self, dialog: Any) -> None:  # noqa: ANN401 - Playwright's
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    @property
    def notes(self) -> Notes:
        """Faults that the page noticed since it was loaded."""
        return Notes(**self.page.evaluate("window.notes"))

    def loaded(self) -> dict[str, int]:
        """
        Return what was fetched so far, by its path, in bytes as they went over the line.

        Streams, which never end, are left out.
        """
        return {
            response.url: self._weight(response)
            for response in self._answers
            if not response.url.split("?")[0].endswith("/live")
        }

    @staticmethod
    def _weight(response: Response) -> int:
        sizes = response.request.sizes()
        return sizes["responseBodySize"] + sizes["responseHeadersSize"]

    def until(self, condition: str, argument: object = None) -> None:
        """Wait until JavaScript is true on the page."""
        self.page.wait_for_function(condition, arg=argument, polling=50)

    def assert_clean(self) -> None:
        """Nothing went wrong: no error, no dialog, nothing that the policy forbids."""
        assert self.troubles == []
        assert self.notes.violations == []


@contextmanager
def browse() -> Iterator[Browser]:
    """Start the browser; without one the test is skipped, `make test` sees to it."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        pytest.skip(f"no browser is installed (apt-get install {BROWSERS[0]})")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*_ARGUMENTS])
        yield browser
        browser.close()


@contextmanager
def watch(browser: Browser, size: str = "kiosk", **more: Any) -> Iterator[Watched]:  # noqa: ANN401
    """
    Open an empty page of one of the sizes, in a context of its own.

    Without `reduced_motion="no-preference"` nothing moves: this machine draws each frame itself.
    """
    width, height = SIZES[size]
    options = {"reduced_motion": "reduce", **more}
    context: BrowserContext = browser.new_context(
        viewport={"width": width, "height": height}, **options
    )
    try:
        yield Watched(context.new_page())
    finally:
        # A request may still be on its way through a route of the test.
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")
        context.close()
