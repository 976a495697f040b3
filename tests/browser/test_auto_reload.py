"""
Open pages reload after an upgrade of the display: once, never in a loop, and never while in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Route

from tests.brokers import free_port
from tests.browser.chrome import Watched
from tests.display.display_process import Display
from tests.volume import sample

PATCH = """
import pathlib
import shoe_daemon.display.streams as browser_streams
browser_streams.StreamRegistry._version = property(
    lambda self: pathlib.Path({file!r}).read_bytes(), lambda self, version: None
)
browser_streams.BrowserStream.__init__.__kwdefaults__["heartbeat"] = 0.2
"""
PAGES = ("/table/x", "/table/x/history", "/pit", "/pit/table/x")
VERSION = "Shoe.page().first.beat.version"
_COUNT = """
() => {
  const renew = Shoe.autoReload;
  window.beats = 0;
  Shoe.autoReload = (beat) => {
    window.beats += 1;
    renew(beat);
  };
}
"""


class Upgradable:
    """A display whose version a test chooses, also while it runs. It needs no broker for that."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "version"
        self._file.write_text("1", encoding="ascii")
        self.version = 1
        patch = PATCH.format(file=str(self._file))
        self.display = Display(folder, free_port(), patch=patch)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.display.port}"

    def set_version(self, version: int) -> None:
        self.version = version
        self._file.write_text(str(version), encoding="ascii")

    def upgrade(self) -> None:
        self.set_version(self.version + 1)


class Followed:
    """A page whose clock the test holds, and how often it was loaded."""

    def __init__(self, kiosk: Watched, url: str) -> None:
        self.kiosk, self.page = kiosk, kiosk.page
        self.loads = 0
        self.page.on("request", lambda request: self._count(request.resource_type))
        self.page.clock.install(time=1_700_000_000)
        self.page.clock.pause_at(1_700_000_100)
        self.page.goto(url)
        self.hear()
        self.version = self.page.evaluate(VERSION)

    def _count(self, kind: str) -> None:
        self.loads += kind == "document"

    def hear(self) -> None:
        """Wait until some signs of life have come to this page, and it is the same page still."""
        self.page.evaluate(_COUNT)
        self.kiosk.until("() => window.beats >= 3")

    def pass_time(self, seconds: int = 120) -> None:
        """
        Let time pass on the page, as a rule more than anything waits for, between signs of life.
        """
        self.hear()
        self.page.clock.run_for(seconds * 1000)
        self.hear()

    def follow(self) -> None:
        """
        Wait until the page has reloaded itself, some seconds after the news of another version.
        """
        with self.page.expect_event("load"):
            self.hear()
            self.page.clock.run_for(5000)
        assert self.page.evaluate(VERSION) != self.version
        self.version = self.page.evaluate(VERSION)


@pytest.fixture
def kiosk(own_kiosk: Watched) -> Watched:
    """A page whose clock the test holds."""
    return own_kiosk


@pytest.fixture(scope="module")
def upgradable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Upgradable]:
    upgradable = Upgradable(tmp_path_factory.mktemp("display"))
    with upgradable.display:
        yield upgradable


@pytest.mark.parametrize("path", sample(PAGES, 4))
def test_a_page_takes_itself_anew_once(upgradable: Upgradable, kiosk: Watched, path: str) -> None:
    followed = Followed(kiosk, f"{upgradable.url}{path}?lang=zh-hant")
    upgradable.display.stop()
    upgradable.display.start()
    followed.pass_time()
    assert followed.loads == 1
    upgradable.display.stop()
    upgradable.upgrade()
    upgradable.display.start()
    followed.follow()
    followed.pass_time()
    assert followed.loads == 2
    assert followed.page.url == f"{upgradable.url}{path}?lang=zh-hant"
    kiosk.assert_clean()


def test_what_is_upgraded_and_taken_back_is_followed(
    upgradable: Upgradable, kiosk: Watched
) -> None:
    followed = Followed(kiosk, f"{upgradable.url}/table/x")
    before = upgradable.version
    for loads, version in enumerate((before + 1, before), 2):
        upgradable.set_version(version)
        followed.follow()
        assert followed.loads == loads


def test_a_page_with_an_open_order_stays(upgradable: Upgradable, kiosk: Watched) -> None:
    """It may wait for an answer, which is lost with the page."""
    followed = Followed(kiosk, f"{upgradable.url}/pit/table/x")
    followed.page.evaluate("Shoe.orderSheet.open('x', 'hold', {}, 'Hold')")
    upgradable.upgrade()
    followed.pass_time()
    assert followed.loads == 1
    followed.page.evaluate("Shoe.orderSheet.close()")
    followed.follow()


def test_a_clock_that_is_set_back_hides_no_loss(upgradable: Upgradable, kiosk: Watched) -> None:
    followed = Followed(kiosk, f"{upgradable.url}/table/x")
    upgradable.display.stop()
    followed.page.clock.set_system_time(1_600_000_000)
    followed.page.clock.run_for(20_000)
    lost = followed.page.get_attribute("body", "data-fresh")
    upgradable.display.start()
    assert lost == "lost"


def rewritten(route: Route, version: str) -> None:
    answer = route.fetch()
    route.fulfill(response=answer, body=answer.text().replace(version, "another"))


def test_a_page_that_would_be_as_old_as_before_stays(
    upgradable: Upgradable, kiosk: Watched
) -> None:
    version = upgradable.display.ask("/table/x").block["first"]["beat"]["version"]
    kiosk.page.route("**/table/x", lambda route: rewritten(route, version))
    followed = Followed(kiosk, f"{upgradable.url}/table/x")
    assert followed.version == "another"
    followed.pass_time()
    followed.pass_time()
    assert followed.loads == 1


def test_a_page_that_stays_old_though_it_should_not_is_taken_once(
    upgradable: Upgradable, kiosk: Watched
) -> None:
    version = upgradable.display.ask("/table/x").block["first"]["beat"]["version"]

    def mislead(route: Route) -> None:
        if route.request.resource_type == "document":
            rewritten(route, version)
        else:
            route.continue_()

    kiosk.page.route("**/table/x", mislead)
    followed = Followed(kiosk, f"{upgradable.url}/table/x")
    with kiosk.page.expect_event("load"):
        kiosk.page.clock.run_for(5000)
    followed.pass_time()
    followed.pass_time()
    assert followed.loads == 2


def test_a_page_that_somebody_uses_is_left_alone_for_a_minute(
    upgradable: Upgradable, kiosk: Watched
) -> None:
    followed = Followed(kiosk, f"{upgradable.url}/pit")
    kiosk.page.keyboard.press("Tab")
    upgradable.upgrade()
    followed.pass_time(50)
    assert followed.loads == 1
    followed.page.clock.run_for(10_000)
    followed.follow()
    assert followed.loads == 2


def test_a_pit_that_may_sound_is_not_silenced(upgradable: Upgradable, kiosk: Watched) -> None:
    followed = Followed(kiosk, f"{upgradable.url}/pit")
    kiosk.page.locator("#sound").click()
    kiosk.page.wait_for_selector('#sound[data-sound="on"]')
    upgradable.upgrade()
    followed.pass_time()
    assert followed.loads == 1
    kiosk.page.locator("#sound").click()
    followed.page.clock.run_for(60_000)
    followed.follow()
    assert followed.loads == 2
