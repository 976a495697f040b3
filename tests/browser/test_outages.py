"""
After any failure the board says so within its limits, keeps its content, and recovers by itself.
After an upgrade of the display open pages reload: once, never in a loop, and never while in use.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Route

from shoe_daemon.game.coup import Outcome
from tests.brokers import free_port
from tests.browser.chrome import BLOCK, SharedPage, Watched, module
from tests.browser.live_tables import Stage, Table, play_rounds, set_stage
from tests.browser.painted_board import cards, see, wait_shows
from tests.display.display_process import Display
from tests.display.test_order_routes import OPERATORS
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

HEARTBEAT = 1
STALE = timedelta(seconds=3 * HEARTBEAT)
# The fourth round: the Player has nine, the Banker two.
BEGINNING = ("P1:9S", "B1:2D")
REST = ("P2:KH", "B2:JC")
_FRESH = "(is) => document.body.dataset.fresh === is"
_GREY = """
() => {
  const veil = document.getElementById("veil");
  return [
    document.body.classList.contains("grey"),
    !veil.hidden && veil.innerText.trim() !== "",
  ];
}
"""


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage whose every part may be killed, with pages that take orders."""
    folder = tmp_path_factory.mktemp("losses")
    (folder / "operators.toml").write_text(OPERATORS)
    orders = '[display.orders]\noperators_file = "operators.toml"'
    with set_stage(folder, orders, lasting=True) as stage:
        yield stage


@pytest.fixture
def heartbeat() -> int:
    """Seconds; a short one takes a slow machine for a table that hangs."""
    return 10


@pytest.fixture
def table(stage: Stage, heartbeat: int) -> Iterator[Table]:
    """A table with three rounds behind it."""
    with stage.table(mqtt=f"heartbeat = {heartbeat}", killable=True) as table:
        play_rounds(table, "PBT")
        yield table


@pytest.fixture
def kiosk(own_kiosk: Watched) -> Watched:
    """A page whose clock the test holds."""
    return own_kiosk


@pytest.fixture
def board(stage: Stage, table: Table, kiosk: Watched) -> Watched:
    """Its board, in the middle of the fourth round."""
    kiosk.page.clock.install()
    kiosk.page.goto(stage.display.url + table.path)
    table.deal(*BEGINNING)
    kiosk.until("() => document.querySelectorAll('[data-slot][data-card]').length === 2")
    assert_fresh(kiosk)
    return kiosk


def assert_fresh(board: Watched) -> None:
    board.until(_FRESH, "live")
    assert board.page.evaluate(_GREY) == [False, False]


def assert_greyed(board: Watched, why: str) -> None:
    """It is grey and says why; and what it showed is still there."""
    board.until(_FRESH, why)
    assert board.page.evaluate(_GREY) == [True, True]
    assert cards(see(board)) == {"P1": "9S", "B1": "2D"}


def finish(table: Table, board: Watched) -> None:
    """Let the round end, and see that the board goes on as if nothing had been."""
    table.deal(*REST)
    table.shoe.call(Outcome.PLAYER)
    wait_for(lambda: len(table.ledger().rounds) == 4, "the fourth round")
    seen = wait_shows(board, table.ledger())
    assert seen["body"]["fresh"] == "live"
    board.assert_clean()


@pytest.mark.parametrize("heartbeat", [HEARTBEAT])
def test_a_daemon_that_hangs_is_stale_after_three_heartbeats(table: Table, board: Watched) -> None:
    table.freeze()
    assert_greyed(board, "stale")
    silent = datetime.now(UTC) - datetime.fromisoformat(table.of("state")[-1].json["published"])
    # A slow machine may take longer to paint.
    assert STALE <= silent <= STALE + timedelta(seconds=10)
    table.thaw()
    assert_fresh(board)
    finish(table, board)


def test_a_killed_daemon_is_offline_also_on_a_new_page_and_comes_back(
    table: Table, board: Watched
) -> None:
    table.daemon.kill()
    assert_greyed(board, "offline")
    assert "offline" in str(board.page.text_content("#spoken"))
    board.page.reload(wait_until="commit")
    # The first body that can be seen: right after the commit there may be none yet. A function,
    # because the page's policy forbids to evaluate an expression a second time.
    seen = board.page.wait_for_function("() => document.body && [document.body.dataset.fresh]")
    assert seen.json_value() != ["live"]
    assert_greyed(board, "offline")
    table.shoe.wait_alone()
    table.daemon.start()
    assert_fresh(board)
    assert "offline" not in str(board.page.text_content("#spoken"))
    wait_shows(board, table.ledger())
    table.shoe.wait_heard()
    play_rounds(table, "B")
    wait_shows(board, table.ledger())
    board.assert_clean()


def test_a_killed_broker_greys_every_board_and_switches_every_button_off(
    stage: Stage, table: Table, board: Watched, shared_page: SharedPage
) -> None:
    with shared_page.use("phone") as pit:
        pit.page.goto(f"{stage.display.url}/pit/table/{table.name}?lang=en")
        pit.page.wait_for_selector(".order-button:enabled")
        stage.broker.kill()
        assert_greyed(board, "no_broker")
        pit.page.wait_for_selector("#broker-banner:not(.hidden)")
        pit.until("() => !document.querySelector('.order-button:not(:disabled)')")
        stage.broker.start()
        assert_fresh(board)
        pit.page.wait_for_selector(".order-button:enabled")
    finish(table, board)


def test_a_killed_display_is_noticed_by_the_page_itself(
    stage: Stage, table: Table, board: Watched
) -> None:
    stage.display.kill()
    board.page.clock.fast_forward("00:16")
    assert_greyed(board, "lost")
    # What happens meanwhile is on the board when the display is back.
    table.deal(*REST)
    stage.display.start()
    assert_fresh(board)
    table.shoe.call(Outcome.PLAYER)
    wait_for(lambda: len(table.ledger().rounds) == 4, "the fourth round")
    wait_shows(board, table.ledger(), lambda seen: seen["outcome"] == "player")
    board.assert_clean()


PATCH = """
import pathlib
import shoe_daemon.display.streams as browser_streams
browser_streams.StreamRegistry._version = property(
    lambda self: pathlib.Path({file!r}).read_bytes(), lambda self, version: None
)
browser_streams.BrowserStream.__init__.__kwdefaults__["heartbeat"] = 0.2
"""
PAGES = ("/table/x", "/table/x/history", "/pit", "/pit/table/x")
VERSION = f"{BLOCK}.first.beat.version"
SHEET = f"async () => (await {module('order_sheet')})"
_COUNT = """
window.beats = 0;
const listen = EventSource.prototype.addEventListener;
EventSource.prototype.addEventListener = function (name, action) {
  listen.call(this, name, (event) => {
    action(event);
    window.beats += name === "beat";
  });
};
"""


class Upgradable:
    """A display whose version a test chooses, also while it runs. It needs no broker for that."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "version"
        self.set_version(1)
        patch = PATCH.format(file=str(self._file))
        self.display = Display(folder, free_port(), patch=patch)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.display.port}"

    def set_version(self, version: int) -> None:
        self.version = version
        # The tests replace it in a page: no other text there is the same.
        self._file.write_text(f"version-{version}", encoding="ascii")

    def upgrade(self) -> None:
        self.set_version(self.version + 1)


class Followed:
    """A page whose clock the test holds, and how often it was loaded."""

    def __init__(self, kiosk: Watched, url: str) -> None:
        self.kiosk, self.page = kiosk, kiosk.page
        self.loads = 0
        self.page.on("request", lambda request: self._count(request.resource_type))
        self.page.add_init_script(_COUNT)
        self.page.clock.install(time=1_700_000_000)
        self.page.clock.pause_at(1_700_000_100)
        self.page.goto(url)
        self.hear()
        self.version = self.page.evaluate(VERSION)

    def _count(self, kind: str) -> None:
        self.loads += kind == "document"

    def hear(self) -> None:
        """Wait until some signs of life have come to this page, and it is the same page still."""
        self.page.evaluate("window.beats = 0")
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


def test_a_page_without_its_modules_is_loaded_again(
    upgradable: Upgradable, kiosk: Watched
) -> None:
    """The display may be upgraded after it has sent the page: it has other modules then."""
    kiosk.page.clock.install()
    kiosk.page.route("**/dom.js", lambda route: route.fulfill(status=404))
    kiosk.page.goto(f"{upgradable.url}/table/x")
    assert "waiting" in (kiosk.page.get_attribute("body", "class") or "")
    kiosk.page.unroute("**/dom.js")
    with kiosk.page.expect_event("load"):
        kiosk.page.clock.run_for(5000)
    kiosk.until("() => !document.body.classList.contains('waiting')")


def test_a_page_with_an_open_order_stays(upgradable: Upgradable, kiosk: Watched) -> None:
    """It may wait for an answer, which is lost with the page."""
    followed = Followed(kiosk, f"{upgradable.url}/pit/table/x")
    followed.page.evaluate(SHEET + ".open({table: 'x', verb: 'hold', title: 'Hold'})")
    upgradable.upgrade()
    followed.pass_time()
    assert followed.loads == 1
    followed.page.evaluate(SHEET + ".close()")
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
