"""
Text from the broker stays text: no markup, no script, no dialog, no broken page; and the pit
counts messages that no table sends.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.brokers import Listener
from tests.browser.chrome import Watched, watch
from tests.browser.live_tables import Stage, Table, play_rounds, set_stage
from tests.browser.painted_board import wait_shows
from tests.browser.published_table import FoldedTable
from tests.commands.command_table import SITE

pytestmark = pytest.mark.mosquitto

EVIL = "</script><img src=x onerror=alert(1)><svg onload=alert(2)>'\"\u2028<b id=arisen>&lt;"
# What no page has where nobody's text became markup.
_ARISEN = "() => document.querySelectorAll('#arisen, img, svg[onload], [onerror]').length"
_TEXT = "(text) => document.body.innerText.includes(text)"


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A stage of its own: the pit reports invalid messages for a long time."""
    with set_stage(tmp_path_factory.mktemp("hostile")) as stage:
        yield stage


@pytest.fixture
def mallory(stage: Stage) -> Iterator[Listener]:
    """Somebody on the broker who may publish what they like."""
    with Listener(stage.broker.port, "nothing", name="mallory") as mallory:
        yield mallory


def root(name: str) -> str:
    return f"shoe/v1/{SITE}/{name}"


def last(table: Table, topic: str) -> dict[str, Any]:
    """Return the last document of a topic."""
    document: dict[str, Any] = table.wait(topic)[-1].json
    return document


def poisoned(value: Any) -> Any:  # noqa: ANN401 - JSON
    """Return a document with every text that people chose replaced by markup."""
    if isinstance(value, dict):
        return {key: EVIL if key in _NAMED else poisoned(each) for key, each in value.items()}
    return [poisoned(each) for each in value] if isinstance(value, list) else value


_NAMED = {
    "name",
    "text",
    "detail",
    "alarm",
    "reason",
    "operator",
    "authority",
    "section",
    "policy",
}


PAGES = ("/table/{0}", "/table/{0}/history", "/pit", "/pit/table/{0}")


def test_markup_in_names_is_shown_as_text(
    stage: Stage, table: Table, mallory: Listener, browser: Browser
) -> None:
    """Over the stream to open pages, and in the data that a page begins with."""
    play_rounds(table, "PB")
    table.order("hold", kind="card_off_table", slot="B1", reason=EVIL)
    table.wait("alert/active", 2)
    with ExitStack() as stack:
        pages = [stack.enter_context(watch(browser)) for _ in PAGES]
        for watched, address in zip(pages, PAGES, strict=True):
            watched.page.goto(stage.display.url + address.format(table.name))
        poison(table, mallory)
        for watched in pages:
            watched.until(_TEXT, "onerror=alert(1)")
            assert watched.page.evaluate(_ARISEN) == 0
            watched.page.reload()
            watched.until(_TEXT, "onerror=alert(1)")
            assert watched.page.evaluate(_ARISEN) == 0
            watched.assert_clean()


def poison(table: Table, mallory: Listener) -> None:
    """Publish what the table says of itself, with markup for every name."""
    for topic in ("state", "alert/active"):
        evil = poisoned(last(table, topic))
        if topic == "state":
            evil["limits"] = {EVIL: EVIL, "player": "<i>1</i>"}
        evil["seq"] += 1000
        mallory.publish(f"{root(table.name)}/{topic}", json.dumps(evil).encode(), retain=True)


HOSTILE: dict[str, bytes] = {
    "no JSON": b"{]",
    "not UTF-8": b'{"name": "\xff\xfe"}',
    "huge": b'{"name": "' + b"x" * 3_000_000 + b'"}',
    "deep": b"[" * 200_000,
    "a number": b"17",
    "wrong types": b'{"seq": "one", "shoe": [], "round": 5, "limits": 1, "alerts": {}}',
    "nothing": b"null",
    "endless number": b'{"seq": ' + b"9" * 5000 + b"}",
}


def test_what_no_table_sends_changes_no_board_and_is_counted_in_the_pit(
    stage: Stage, table: Table, mallory: Listener, kiosk: Watched, browser: Browser
) -> None:
    play_rounds(table, "PBT")
    kiosk.page.goto(stage.display.url + table.path)
    kiosk.until("(seq) => document.body.dataset.seq === seq", str(table.ledger().seq))
    wait_shows(kiosk, table.ledger())
    before = kiosk.page.inner_text("#board")
    with watch(browser) as pit:
        pit.page.goto(stage.display.url + "/pit?lang=en")
        for payload in HOSTILE.values():
            for topic in ("state", "roads", "history", "status", "alert/active", "device/shoe"):
                mallory.publish(f"{root(table.name)}/{topic}", payload)
        mallory.publish(f"{root('<b>')}/state", b"{}")
        pit.until("(n) => document.querySelectorAll('#faults-list > li').length >= n", 10)
        pit.assert_clean()
    assert kiosk.page.inner_text("#board") == before
    play_rounds(table, "B")
    kiosk.until("() => document.querySelector('[data-count=rounds]').textContent === '4'")
    kiosk.assert_clean()


def test_an_unknown_table_says_so_and_appears_when_it_is_heard_of(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded()
    kiosk.page.goto(f"{stage.display.url}{table.path}?lang=en")
    kiosk.until(_TEXT, "There is no table")
    assert kiosk.page.evaluate("document.body.dataset.fresh") == "unknown"
    assert kiosk.page.is_hidden("#board")
    table.publish()
    kiosk.until("() => document.body.dataset.fresh === 'live'")
    assert kiosk.page.is_visible("#board")
    kiosk.assert_clean()


def test_an_address_that_is_none_is_answered_without_echo(stage: Stage, kiosk: Watched) -> None:
    for path in (
        "/table/%3Cscript%3Ealert(77)%3C%2Fscript%3E",
        "/nothing",
        "/table/..%2f..%2fetc",
    ):
        answer = kiosk.page.goto(stage.display.url + path)
        assert answer is not None
        assert answer.status == 404
        assert "alert(77)" not in answer.text()
        # The browser itself complains on the console of an answer that is no page.
        assert all("status of 404" in trouble for trouble in kiosk.troubles)
        assert kiosk.notes.violations == []
