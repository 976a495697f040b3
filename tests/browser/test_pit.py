"""
What needs a person stands first in the pit, with all that they need to decide, until they have;
and nothing moves under a finger.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser

from shoe_daemon.game.round import Outcome
from tests.brokers import wait_for
from tests.browser.chrome import Watched, watch
from tests.browser.stage import Stage, Table
from tests.browser.test_changes import play
from tests.orders.pit import SITE
from tests.service.running import cli

pytestmark = pytest.mark.mosquitto

_NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
_FIRST = """
(key) => {
  const first = document.querySelector("#alarms > li");
  return first && first.dataset.key === key;
}
"""


@pytest.fixture
def french(stage: Stage) -> Iterator[Table]:
    """
    A table where the French order proposes what to do; nothing is open when it goes.
    """
    with stage.table('policy = "fr_2007"') as table:
        yield table
        for alert in alerts_of(table):
            assert table.order("acknowledge", irregularity=alert["id"])["ok"]
        wait_for(lambda: not alerts_of(table), "no alert")


def key_of(table: Table) -> str:
    return f"{SITE}.{table.name}"


def one_card_too_many(table: Table) -> dict[str, Any]:
    """
    Deal a card after a natural, and return the irregularity as the table tells it.
    """
    table.deal(*_NATURAL)
    table.deal("P3:4C")
    wait_for(lambda: alerts_of(table), "an alert")
    (alert,) = alerts_of(table)
    return alert


def alerts_of(table: Table) -> list[dict[str, Any]]:
    heard = table.of("alert/active")
    return [each["data"] for each in heard[-1].json["alerts"]] if heard else []


def tile(table: Table) -> str:
    return f'.tile[data-key="{key_of(table)}"]'


def visit(watched: Watched, stage: Stage, path: str = "/pit") -> None:
    watched.page.goto(f"{stage.display.url}{path}?lang=en")


def test_an_alert_stands_first_until_it_is_ruled_upon(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    visit(kiosk, stage)
    kiosk.page.wait_for_selector(f'{tile(french)}[data-fresh="live"][data-severity="0"]')
    alert = one_card_too_many(french)
    kiosk.until(_FIRST, key_of(french))
    first = kiosk.page.locator("#alarms > li").first
    assert first.get_attribute("data-severity") == "3"
    assert first.locator(f'[data-alert-id="{alert["id"]}"]').count() == 1
    assert alert["detail"] in first.inner_text()
    kiosk.page.wait_for_selector(f'{tile(french)}[data-severity="3"]')
    assert kiosk.page.title().startswith("(1!)")
    french.shoe.call(Outcome.PLAYER)
    assert french.order("rule", irregularity=alert["id"], action="burn_card")["ok"]
    kiosk.until("() => !document.querySelector('#alarms > li')")
    kiosk.page.wait_for_selector(f'{tile(french)}[data-severity="0"]')
    kiosk.assert_clean()


def test_the_time_since_it_came_runs(stage: Stage, french: Table, kiosk: Watched) -> None:
    one_card_too_many(french)
    visit(kiosk, stage)
    before = kiosk.page.locator("#alarms .age").first.inner_text()
    kiosk.until(
        "(before) => document.querySelector('#alarms .age').textContent !== before", before
    )
    kiosk.assert_clean()


def test_a_table_leads_to_its_alerts_with_the_whole_of_every_proposal(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    alert = one_card_too_many(french)
    visit(kiosk, stage)
    kiosk.page.focus(tile(french))
    kiosk.page.keyboard.press("Enter")
    kiosk.page.wait_for_selector("#alerts-list > article")
    shown = kiosk.page.locator("#alerts-list .proposal")
    assert [
        (each.get_attribute("data-action"), each.get_attribute("data-verified"))
        for each in shown.all()
    ] == [(each["action"], str(each["verified"]).lower()) for each in alert["proposals"]]
    for said, proposal in zip(shown.all(), alert["proposals"], strict=True):
        for part in ("authority", "section", "text"):
            assert proposal[part] in said.inner_text()
    kiosk.assert_clean()


def test_the_command_shown_carries_the_proposal_out(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    one_card_too_many(french)
    visit(kiosk, stage, f"/pit/table/{french.name}")
    kiosk.page.fill("#operator", "Maria O'Neil")
    line = kiosk.page.locator('[data-action="burn_card"] [data-command]').inner_text()
    program, *arguments = shlex.split(line.replace("BROKER", "127.0.0.1"))
    assert (program, arguments[:2]) == ("shoe-daemon", ["cmd", "rule"])
    done = cli(*arguments, "--port", stage.broker.port)
    assert done.returncode == 0, done.stderr
    kiosk.until("() => document.body.dataset.open === '0'")
    closed = kiosk.page.locator('#diary [data-type="irregularity_closed"]').first
    assert "Maria O'Neil" in closed.inner_text()
    kiosk.assert_clean()


def test_nothing_moves_while_a_button_is_held_down(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    visit(kiosk, stage)
    kiosk.page.wait_for_selector(tile(french))
    kiosk.page.mouse.move(200, 900)
    kiosk.page.mouse.down()
    one_card_too_many(french)
    kiosk.page.wait_for_selector(f'{tile(french)}[data-severity="3"]')
    assert kiosk.page.locator("#alarms > li").count() == 0
    kiosk.page.mouse.up()
    kiosk.until(_FIRST, key_of(french))
    kiosk.assert_clean()


def test_sound_is_a_matter_of_the_person_and_remembered(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    visit(kiosk, stage)
    sound = kiosk.page.locator("#sound")
    assert sound.get_attribute("data-sound") == "off"
    sound.focus()
    kiosk.page.keyboard.press("Enter")
    kiosk.page.wait_for_selector('#sound[data-sound="on"][data-played="1"]')
    one_card_too_many(french)
    kiosk.page.wait_for_selector('#sound[data-played="2"]')
    kiosk.page.reload()
    assert sound.get_attribute("aria-pressed") == "true"
    kiosk.assert_clean()


def test_a_table_that_hangs_is_grey_and_found_by_the_filter(stage: Stage, kiosk: Watched) -> None:
    with stage.table(mqtt="heartbeat = 1") as table:
        visit(kiosk, stage)
        kiosk.page.wait_for_selector(f'{tile(table)}[data-fresh="live"]')
        table.freeze()
        kiosk.page.wait_for_selector(f'{tile(table)}.grey[data-fresh="stale"]')
        kiosk.page.click("#filter-offline")
        assert kiosk.page.is_visible(tile(table))
        assert kiosk.page.locator('.tile[data-fresh="live"]:visible').count() == 0
        table.thaw()
        kiosk.page.wait_for_selector(f'{tile(table)}[data-fresh="live"]', state="attached")
    kiosk.assert_clean()


_THERE = "(seq) => document.querySelector(`#diary > [data-seq='${seq}']`)"
_TOP = f"(seq) => ({_THERE})(seq).getBoundingClientRect().top"


def test_events_stand_still_while_somebody_reads_them(
    stage: Stage, table: Table, browser: Browser
) -> None:
    """
    New ones come on top, and say that they did; what is read stays where it is.
    """
    play(table, "PBPBPB")
    with watch(browser) as watched:
        visit(watched, stage, f"/pit/table/{table.name}")
        seq = table.ledger().seq
        watched.until(_THERE, seq)
        watched.page.evaluate("() => { document.getElementById('diary-box').scrollTop = 300; }")
        before = watched.page.evaluate(_TOP, seq - 20)
        table.deal(*_NATURAL)
        watched.until(_THERE, table.ledger().seq)
        watched.until("() => document.getElementById('events-new').offsetHeight > 0")
        assert abs(watched.page.evaluate(_TOP, seq - 20) - before) <= 1
        watched.page.click("#events-new")
        assert watched.page.evaluate("document.getElementById('diary-box').scrollTop") == 0
        assert watched.page.is_hidden("#events-new")
        watched.assert_clean()
