"""
The pit shows when notifications do not arrive; and this browser notifies of each new alert once,
with public text only, where the person and the browser allow it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from playwright.sync_api import Browser

from shoe_daemon.display.languages import languages
from shoe_daemon.table import observations as seen
from tests.brokers import Listener
from tests.browser.chrome import BLOCK, HEARD, SIZES, SharedPage, Watched
from tests.browser.contrast import poorly_readable
from tests.browser.live_tables import Stage
from tests.browser.published_table import FoldedTable
from tests.browser.test_page_standards import assert_accessible
from tests.browser.test_pit import show_room, visit
from tests.commands.command_table import SITE
from tests.floor.table_messages import alert
from tests.notify.test_failures_in_the_pit import TOPIC, status
from tests.volume import sample

pytestmark = pytest.mark.mosquitto


@pytest.fixture
def notifier(stage: Stage) -> Iterator[Callable[[bytes], None]]:
    """Publishes the status of a notifier, and clears it in the end."""
    with Listener(stage.broker.port, "nothing", name="notifier") as listener:
        yield lambda payload: listener.publish(TOPIC, payload, retain=True)
        listener.publish(TOPIC, b"", retain=True)


# --- whether notifications arrive ---

_FAILS = r"Notifications to floor fail since (\S+ )?\S+ \(attempt 7\): connection refused"


def test_failing_notifications_are_in_the_pit_and_nowhere_else(
    stage: Stage,
    folded: Callable[..., FoldedTable],
    kiosk: Watched,
    notifier: Callable[[bytes], None],
) -> None:
    table, page = folded(), kiosk.page
    table.publish()
    visit(kiosk, stage)
    assert page.is_hidden("#notify-banner")
    notifier(status("floor", heartbeat=600))
    page.wait_for_selector("#notify-banner p")
    assert re.fullmatch(_FAILS, page.inner_text("#notify-banner"))
    show_room(kiosk, stage, table)
    assert re.fullmatch(_FAILS, page.inner_text("#notify-banner"))
    for path in ("", "/history", "/dealer"):
        page.goto(f"{stage.display.url}{table.path}{path}")
        assert page.locator("#notify-banner").count() == 0
        assert "floor" not in page.inner_text("body")
        assert '"notifications"' not in page.content()
    visit(kiosk, stage)
    notifier(status(state="offline"))
    kiosk.until("() => /are off/.test(document.getElementById('notify-banner').textContent)")
    notifier(b"")
    page.wait_for_selector("#notify-banner", state="hidden")
    kiosk.assert_clean()


def test_tables_that_the_database_is_behind_are_in_the_pit(
    stage: Stage, own_kiosk: Watched
) -> None:
    page = own_kiosk.page
    page.add_init_script(HEARD)
    visit(own_kiosk, stage)
    pit = page.evaluate(f"() => {BLOCK}.first.pit")
    late = {"table": f"{SITE}.table-7", "events": 320, "since": "2026-11-21T20:00:00.000Z"}
    # At once: the display may publish its own at any time.
    show = "(pit) => { window.heard.pit(pit); return document.querySelector('#notify-banner')%s; }"
    told = page.evaluate(show % ".innerText", pit | {"copies": [late]})
    assert re.match(rf"The database lacks 320 events of {SITE}.table-7 since \S+", told)
    assert "hidden" in page.evaluate(show % ".className", pit | {"copies": []})
    own_kiosk.assert_clean()


@pytest.mark.parametrize("code", sample(languages(), 2))
def test_every_failure_is_told_in_the_language_of_the_page(
    stage: Stage, kiosk: Watched, notifier: Callable[[bytes], None], code: str
) -> None:
    page = kiosk.page
    notifier(status(*(f"r-{number}" for number in range(5)), heartbeat=600))
    page.goto(f"{stage.display.url}/pit?lang={code}")
    page.wait_for_selector("#notify-banner p")
    lines = page.locator("#notify-banner p").all_inner_texts()
    assert len(lines) == 4
    if code != "en":
        assert not re.search(r"[A-Za-z_]{3,}", " ".join(lines)), lines
    strange = status("floor", heartbeat=600).replace(b"notify_refused", b"notify_not_yet_known")
    notifier(strange)
    kiosk.until("() => document.querySelectorAll('#notify-banner p').length === 1")
    assert "connection refused" in page.inner_text("#notify-banner")
    kiosk.assert_clean()


# --- notifications of this browser ---

# A headless browser has no place for notifications, and always calls them denied; the answer to
# the question is its own.
RECORDER = """
(() => {
  const Real = window.Notification;
  window.shown = [];
  window.Notification = class {
    constructor(title, options) {
      Object.assign(this, {title, ...options});
      window.shown.push(this);
    }
    close() { this.closed = true; }
    static get permission() { return sessionStorage.getItem("answer") || "default"; }
    static async requestPermission() {
      const answer = await Real.requestPermission();
      sessionStorage.setItem("answer", answer);
      return answer;
    }
  };
})();
"""
_SHOWN = "() => window.shown.map((each) => [each.title, each.body, Boolean(each.closed)])"


@pytest.fixture(scope="module")
def recording_page(browser: Browser) -> Iterator[SharedPage]:
    """A page that records its notifications, for one test after the other."""
    recording_page = SharedPage(browser, RECORDER)
    yield recording_page
    recording_page.close()


@pytest.fixture
def granted(recording_page: SharedPage) -> Iterator[Watched]:
    """A page whose browser grants notifications when it is asked."""
    with recording_page.use() as watched:
        watched.page.context.grant_permissions(["notifications"])
        yield watched


@pytest.fixture
def own_granted(own_kiosk: Watched) -> Watched:
    """The same in a context of its own, for further scripts of a test."""
    own_kiosk.page.context.grant_permissions(["notifications"])
    own_kiosk.page.add_init_script(RECORDER)
    return own_kiosk


def turn_on(watched: Watched) -> None:
    watched.page.click("#notices-button")
    watched.page.click("#notices")
    watched.page.wait_for_selector('#notices-button[data-notices="on"]')


def excess(table: FoldedTable) -> None:
    """Publish a round with a card too many."""
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
    table.publish()


def shown(watched: Watched, count: int) -> list[Any]:
    watched.until("(count) => window.shown.length >= count", count)
    found: list[Any] = watched.page.evaluate(_SHOWN)
    assert len(found) == count
    return found


def row_of(table: FoldedTable) -> str:
    return f'.tile[data-key="{SITE}.{table.id}"]'


def test_each_alert_is_notified_once(
    stage: Stage, folded: Callable[..., FoldedTable], granted: Watched
) -> None:
    table, page = folded(hold_from=3, name="Baccarat 7"), granted.page
    table.publish()
    visit(granted, stage)
    page.wait_for_selector(row_of(table))
    assert page.get_attribute("#notices-button", "data-notices") == "off"
    turn_on(granted)
    excess(table)
    assert shown(granted, 1) == [["Baccarat 7", "Card too many · Round 1", False]]
    assert page.evaluate("window.shown[0].requireInteraction")
    page.wait_for_selector(f'#alarms [data-key="{SITE}.{table.id}"]')
    page.evaluate("window.shown[0].onclick()")
    granted.until("() => document.activeElement.closest('#alarms')")
    # The same alert of a table that went and came back, and after a load of the page.
    table.clear()
    page.wait_for_selector(row_of(table), state="detached")
    table.publish()
    page.wait_for_selector(f'{row_of(table)}[data-severity="3"]')
    page.reload()
    page.wait_for_selector('#notices-button[data-notices="on"]')
    page.wait_for_selector(f'{row_of(table)}[data-severity="3"]')
    other = folded(hold_from=3, name="Baccarat 8")
    other.publish()
    page.wait_for_selector(row_of(other))
    excess(other)
    assert [each[0] for each in shown(granted, 1)] == ["Baccarat 8"]
    # Who has decided needs it no more.
    other.say(seen.Command(name="acknowledge", operator="Maria", irregularity=other.alert_id()))
    other.publish()
    granted.until("() => window.shown[0].closed")
    granted.assert_clean()


def test_a_supervisor_who_is_called_hears_and_sees_it(
    stage: Stage, folded: Callable[..., FoldedTable], granted: Watched
) -> None:
    table, page = folded(name="Baccarat 7"), granted.page
    table.publish()
    visit(granted, stage)
    page.wait_for_selector(row_of(table))
    turn_on(granted)
    page.click("#sound")
    page.wait_for_selector('#sound[data-sound="on"]')
    played = int(page.get_attribute("#sound", "data-played") or 0)
    table.say(seen.Command(name="hold", source="box"))
    table.publish()
    assert shown(granted, 1) == [["Baccarat 7", "The table is on hold", False]]
    page.wait_for_selector(f'#sound[data-played="{played + 1}"]')
    # Once, also for who comes later.
    table.publish()
    page.reload()
    page.wait_for_selector(f"{row_of(table)} .tag.wait")
    assert page.evaluate(_SHOWN) == []
    table.say(seen.Command(name="resume", operator="Maria"))
    table.publish()
    page.wait_for_selector(f"{row_of(table)} .tag.wait", state="detached")
    table.say(seen.Command(name="hold", source="box"))
    table.publish()
    shown(granted, 1)
    table.say(seen.Command(name="resume", operator="Maria"))
    table.publish()
    granted.until("() => window.shown[0].closed")
    granted.assert_clean()


def test_an_alert_for_staff_tells_no_card_and_no_kind(
    stage: Stage, folded: Callable[..., FoldedTable], granted: Watched
) -> None:
    table = folded(house="curator", policy="fr_2007")
    table.publish()
    visit(granted, stage)
    granted.page.wait_for_selector(row_of(table))
    turn_on(granted)
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 5D")
    table.publish()
    assert shown(granted, 1)[0][1] == "Staff only · Round 1"
    table.say(seen.Command(name="reveal", operator="maria", reason="turned over"))
    table.publish()
    granted.page.wait_for_selector("#alarms .alert:not([data-staff])")
    shown(granted, 1)
    granted.assert_clean()


@pytest.mark.parametrize("code", sample(languages(), 3))
def test_the_test_does_what_an_alert_would_do(stage: Stage, granted: Watched, code: str) -> None:
    page = granted.page
    page.goto(f"{stage.display.url}/pit?lang={code}")
    words = languages()[code].words
    page.click("#notices-button")
    page.click("#alert-test")
    assert page.inner_text("#notices-state") == f"{words['sound_off']} · {words['notices_off']}"
    assert page.evaluate(_SHOWN) == []
    page.click("#notices")
    page.wait_for_selector('#notices-button[data-notices="on"]')
    page.click("#sound")
    page.wait_for_selector('#sound[data-sound="on"]')
    page.click("#notices-button")
    played = int(page.get_attribute("#sound", "data-played") or 0)
    page.click("#alert-test")
    page.wait_for_selector(f'#sound[data-played="{played + 1}"]')
    assert shown(granted, 1)[0][1] == words["notices_test_text"]
    assert page.inner_text("#notices-state") == f"{words['sound_on']} · {words['notices_on']}"
    page.click("#notices")
    page.wait_for_selector('#notices-button[data-notices="off"]')
    granted.assert_clean()


_NO_STORAGE = """
Object.defineProperty(window, "localStorage", {get() { throw new Error("none"); }});
"""


_REASONS = {
    # Whatever the browser of these tests does by itself: the headless shell denies, Chromium asks.
    "denied": "Object.defineProperty(window.Notification, 'permission', {get: () => 'denied'});",
    "insecure": "Object.defineProperty(window, 'isSecureContext', {value: false});",
    "missing": "delete window.Notification;",
}


@pytest.mark.parametrize(("reason", "code"), sample(product(_REASONS, languages()), 4))
def test_a_browser_without_notifications_says_why(
    stage: Stage, own_kiosk: Watched, reason: str, code: str
) -> None:
    page = own_kiosk.page
    page.add_init_script(_REASONS[reason])
    page.goto(f"{stage.display.url}/pit?lang={code}")
    page.wait_for_selector(f'#notices-button[data-notices="{reason}"]')
    page.click("#notices-button")
    assert page.is_disabled("#notices")
    text = languages()[code].words[f"notices_{reason}"]
    assert page.inner_text("#notices-state") == text
    page.click("#alert-test")
    assert text in page.inner_text("#notices-state")
    own_kiosk.assert_clean()


_ILLEGAL = """
window.Notification = class extends window.Notification {
  constructor() { throw new TypeError("Illegal constructor"); }
};
"""
_ANSWER = """
window.Notification.requestPermission = async () => {
  sessionStorage.setItem("answer", "%s");
  return "%s";
};
"""


@pytest.mark.parametrize(
    ("script", "state"),
    [
        (_ANSWER % ("default", "default"), "off"),
        (_ANSWER % ("denied", "denied"), "denied"),
        (_ILLEGAL, "missing"),
        (_NO_STORAGE, "on"),
    ],
    ids=["no-answer", "denied", "refused-to-pages", "no-storage"],
)
def test_what_the_browser_does_with_a_notification_is_said(
    stage: Stage, own_granted: Watched, script: str, state: str
) -> None:
    """Some telephones refuse them to pages; without storage they are on until the next load."""
    page = own_granted.page
    page.add_init_script(script)
    visit(own_granted, stage)
    page.click("#notices-button")
    page.click("#notices")
    own_granted.until("() => sessionStorage.getItem('answer')")
    page.click("#alert-test")
    page.wait_for_selector(f'#notices-button[data-notices="{state}"]')
    own_granted.until("(count) => window.shown.length === count", int(state == "on"))
    own_granted.assert_clean()


_SMALL = """
() => [...document.querySelectorAll(".bar button")].filter((each) => each.offsetHeight)
  .filter((each) => each.offsetHeight < 44 || each.offsetWidth < 44).map((each) => each.id)
"""
_INSIDE = """
() => {
  const box = document.getElementById("notices-panel").getBoundingClientRect();
  const bar = document.querySelector(".bar").getBoundingClientRect();
  return box.left >= 0 && box.right <= innerWidth && box.top >= bar.bottom - 2
    && box.bottom <= innerHeight;
}
"""


@pytest.mark.parametrize("code", sample(languages(), 3))
def test_the_buttons_are_for_thumbs_and_the_panel_is_readable_on_every_screen(
    stage: Stage, kiosk: Watched, notifier: Callable[[bytes], None], code: str
) -> None:
    notifier(status("floor", heartbeat=600))
    page = kiosk.page
    page.goto(f"{stage.display.url}/pit?lang={code}")
    page.wait_for_selector("#notify-banner p")
    page.click("#notices-button")
    for width, height in (*SIZES.values(), (1024, 768)):
        page.set_viewport_size({"width": width, "height": height})
        assert page.evaluate(_SMALL) == []
        assert page.evaluate(_INSIDE), (width, height)
        assert poorly_readable(kiosk) == []
    assert_accessible(page)
    kiosk.assert_clean()


def test_a_call_that_comes_with_an_alert_is_told_too(
    stage: Stage, folded: Callable[..., FoldedTable], own_granted: Watched
) -> None:
    """After a lost connection, or of one moment: a page gets the latest row only."""
    table, page = folded(name="Baccarat 7"), own_granted.page
    page.add_init_script(HEARD)
    table.publish()
    visit(own_granted, stage)
    page.wait_for_selector(row_of(table))
    page.reload()
    page.wait_for_selector(row_of(table))
    turn_on(own_granted)
    row = page.evaluate(
        f"(key) => {BLOCK}.first.rows.find((each) => each.key === key)", f"{SITE}.{table.id}"
    )
    slight = alert(7, kind="excess_card", severity=1)
    called = row | {"alerts": [slight], "state": row["state"] | {"on_hold": True}}
    page.evaluate("(row) => window.heard.row(row)", called)
    assert [each[1].partition(" · ")[0] for each in shown(own_granted, 2)] == [
        "Card too many",
        "The table is on hold",
    ]
    said = "Baccarat 7: Card too many · The table is on hold"
    assert page.inner_text("#spoken-now") == said
    # What is said once more is another text: a screen reader speaks it.
    for again in (row, called | {"alerts": [alert(9, kind="excess_card", severity=1)]}):
        page.evaluate("(row) => window.heard.row(row)", again)
    assert page.text_content("#spoken-now") == f"{said}\u00a0"
