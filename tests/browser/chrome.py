"""The installed Chromium, and the faults of its pages: scripts, dialogs, shifts of the layout."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    Dialog,
    Error,
    Page,
    Response,
    sync_playwright,
)

from tools.prepare import BROWSERS

__all__ = [
    "BLOCK",
    "HEARD",
    "PATIENCE",
    "SIZES",
    "SharedPage",
    "Watched",
    "browse",
    "module",
    "watch",
]

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


HEARD = """
window.heard = {};
window.received = {};
EventSource.prototype.addEventListener = function (name, action) {
  window.heard[name] = (found) => action({data: JSON.stringify(found)});
  EventTarget.prototype.addEventListener.call(this, name, function (event) {
    window.received[name] = true;
    action(event);
  });
};
"""
"""
Before any script of the page: a test gives it documents with `heard.row(found)`, and sees in
`received.row` that the display has sent one.
"""

BLOCK = 'JSON.parse(document.getElementById("page").textContent)'
"""JavaScript: the data block of a page."""


def module(name: str) -> str:
    """Return JavaScript for a module as the page has it, to `await`."""
    return f"""import(
      document.querySelector("script[type=module]").src.replace(/[^/]+$/, "{name}.js"))"""


# Of the same site as all pages, so that the process goes on; no request leaves the browser.
_EMPTY_PAGE = "http://127.0.0.1/empty"


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
        self._listeners: dict[Any, Callable[[Any], None]] = {
            "pageerror": self._fail,
            "console": self._hear,
            "dialog": self._refuse,
            "response": self._keep,
        }
        for event, listener in self._listeners.items():
            page.on(event, listener)

    def stop(self) -> None:
        """Watch no longer: another test uses the page next."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)

    def _fail(self, error: Error) -> None:
        self.troubles.append(f"script: {error}")

    def _hear(self, message: Any) -> None:  # noqa: ANN401 - Playwright's
        # That a server is away is said by the browser itself, and is what some tests are about.
        if message.type in {"error", "warning"} and "net::ERR_" not in message.text:
            self.troubles.append(f"console: {message.text}")

    def _keep(self, response: Response) -> None:
        self._answers.append(response)

    def _refuse(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def origins(self) -> set[str]:
        """Return the origins that it has loaded anything from."""
        addresses = [urlsplit(response.url) for response in self._answers]
        return {f"{each.scheme}://{each.netloc}" for each in addresses if each.netloc}

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
    context = _new_context(browser, size, **more)
    try:
        yield Watched(_new_page(context))
    finally:
        # A request may still be on its way through a route of the test.
        for page in context.pages:
            page.unroute_all(behavior="ignoreErrors")
        context.close()


class SharedPage:
    """
    A page that tests use one after the other: a context of its own takes a process each time.

    It forgets cookies, storage, permissions, routes and viewport after each use, but neither added
    scripts nor a clock nor its cache: a test of these needs `watch`.
    """

    def __init__(self, browser: Browser, script: str = "") -> None:
        """
        Args:
            browser: Where it is opened.
            script: JavaScript that runs before any script of each page that is loaded.
        """
        self._browser, self._script = browser, script
        self._page: Page | None = None
        self._in_use = False

    @contextmanager
    def use(self, size: str = "kiosk") -> Iterator[Watched]:
        """Give the page to one test, empty and of one of the sizes."""
        assert not self._in_use, "a second page needs a context of its own"
        if self._page is None:
            self._page = _new_page(_new_context(self._browser, size))
            if self._script:
                self._page.add_init_script(self._script)
        page, self._in_use = self._page, True
        width, height = SIZES[size]
        page.set_viewport_size({"width": width, "height": height})
        watched = Watched(page)
        try:
            yield watched
        finally:
            watched.stop()
            self._in_use = False
            try:
                _clear(page, watched.origins())
            except Error:  # it crashed, or was closed
                self.close()

    def close(self) -> None:
        """Close the page; the next use opens a new one."""
        if self._page is not None:
            self._page.context.close()
            self._page = None


def _new_context(browser: Browser, size: str, **more: Any) -> BrowserContext:  # noqa: ANN401
    width, height = SIZES[size]
    options = {"reduced_motion": "reduce", **more}
    return browser.new_context(viewport={"width": width, "height": height}, **options)


def _new_page(context: BrowserContext) -> Page:
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    page.add_init_script(_NOTES)
    return page


def _clear(page: Page, origins: set[str]) -> None:
    """Take away all that a test has left on its page, and in its context."""
    context = page.context
    for each in context.pages:
        if each is not page:
            each.close()
    # A request may still be on its way through a route of the test.
    page.unroute_all(behavior="ignoreErrors")
    if page.url.startswith("http"):
        page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    page.route(_EMPTY_PAGE, lambda route: route.fulfill(content_type="text/html", body=""))
    page.goto(_EMPTY_PAGE)
    page.unroute_all()
    page.mouse.move(-1, -1)
    page.emulate_media(media="null", reduced_motion="reduce")
    context.clear_cookies()
    context.clear_permissions()
    session = context.new_cdp_session(page)
    for origin in origins:
        session.send(
            "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "local_storage"}
        )
    session.detach()
