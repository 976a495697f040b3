"""
After any failure the board says so within its limits, keeps its content, and recovers by itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from shoe_daemon.game.coup import Outcome
from tests.brokers import wait_for
from tests.browser.chrome import SharedPage, Watched
from tests.browser.live_tables import Stage, Table, set_stage
from tests.browser.painted_board import cards, see, wait_shows
from tests.browser.test_corrections import play
from tests.display.test_order_routes import OPERATORS

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
        play(table, "PBT")
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
    play(table, "B")
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
