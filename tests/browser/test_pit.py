"""
Alerts come first in the pit, with everything needed for a decision; and nothing moves while it is
touched.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.detail_texts import DETAIL_VALUES
from tests.brokers import Listener
from tests.browser.chrome import Watched, module
from tests.browser.live_tables import Stage, Table, play_rounds, set_stage
from tests.browser.published_table import FoldedTable
from tests.commands.command_table import SITE
from tests.display.display_process import first_of
from tests.volume import sample
from tests.waiting import wait_for

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
    """A table where the French order proposes what to do."""
    with stage.table('policy = "fr_2007"') as table:
        yield table


def key_of(table: Table) -> str:
    return f"{SITE}.{table.name}"


def one_card_too_many(table: Table) -> dict[str, Any]:
    """Deal a card after a natural, and return the irregularity that the table publishes."""
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
    age = first.locator(".age").inner_text()
    kiosk.until("(age) => document.querySelector('#alarms .age').textContent !== age", age)
    french.shoe.call(Outcome.PLAYER)
    assert french.order("rule", irregularity=alert["id"], action="burn_card")["ok"]
    kiosk.until("() => !document.querySelector('#alarms > li')")
    kiosk.page.wait_for_selector(f'{tile(french)}[data-severity="0"]')
    kiosk.assert_clean()


def test_a_table_leads_to_proposals_and_the_command_shown_carries_one_out(
    stage: Stage, french: Table, kiosk: Watched
) -> None:
    alert = one_card_too_many(french)
    visit(kiosk, stage)
    kiosk.page.focus(tile(french))
    kiosk.page.keyboard.press("Enter")
    kiosk.page.wait_for_selector("#alerts-list > article")
    shown = kiosk.page.locator("#alerts-list .proposal").all()
    for each, proposal in zip(shown, alert["proposals"], strict=True):
        assert each.get_attribute("data-action") == proposal["action"]
        assert each.get_attribute("data-verified") == str(proposal["verified"]).lower()
        for part in ("authority", "section", "text"):
            assert proposal[part] in each.inner_text()
    kiosk.page.fill("#operator", "Maria O'Neil")
    kiosk.page.context.grant_permissions(["clipboard-read"])
    kiosk.page.click('[data-action="burn_card"] .copy')
    line = kiosk.page.evaluate("navigator.clipboard.readText()")
    assert shlex.split(line)[:3] == ["shoe-daemon", "cmd", "rule"]
    done = in_a_shell(line)
    assert done.returncode == 0, done.stderr
    kiosk.until("() => document.body.dataset.open === '0'")
    closed = kiosk.page.locator('#event-log [data-type="irregularity_closed"]').first
    assert "Maria O'Neil" in closed.inner_text()
    kiosk.assert_clean()


def in_a_shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run a line as a person does who pastes it, word for word."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    return subprocess.run(
        ["/bin/sh", "-c", line], env={"PATH": path}, capture_output=True, text=True, check=False
    )


def test_the_command_names_the_broker_as_the_page_is_reached(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    """A broker on the display's loopback is, for another computer, where the page comes from."""
    table = folded(hold_from=3)
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
    show_room(kiosk, stage, table, host="localhost")
    line = kiosk.page.locator("[data-command]").first.inner_text()
    assert f"--host localhost --port {stage.broker.port} " in line
    assert kiosk.page.is_hidden("#order-access")
    kiosk.assert_clean()


def show_room(
    watched: Watched, stage: Stage, table: FoldedTable, code: str = "en", host: str = "127.0.0.1"
) -> None:
    """Publish a table, and open its page for staff once the display has all of it."""
    table.publish()
    alerts = len(table.table.public().alerts)
    path = f"/pit{table.path}"
    wait_for(
        lambda: (
            len(first_of(stage.display.url + path).get("alerts", {}).get("alerts", ())) == alerts
        ),
        "the alerts at the display",
    )
    url = stage.display.url.replace("127.0.0.1", host)
    watched.page.goto(f"{url}{path}?lang={code}")
    watched.until("() => document.body.dataset.known === 'true'")


def test_an_unread_card_is_drawn_as_one_and_its_alert_names_the_place(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded()
    table.deal("P1 6S, B1 --")
    table.error("unreadable")
    table.say(seen.Unreadable(slot=Slot.P2))
    show_room(kiosk, stage, table)
    for path in (f"/pit{table.path}", table.path):
        kiosk.page.goto(f"{stage.display.url}{path}?lang=en")
        drawn = kiosk.page.locator("[data-slot=P2] svg.card")
        assert drawn.get_attribute("data-card") == "?"
        assert drawn.text_content() == "?"
        assert kiosk.page.locator("[data-slot=B1] svg.card").get_attribute("data-card") == ""
    kiosk.page.goto(f"{stage.display.url}/pit{table.path}?lang=en")
    assert "Player's second card" in kiosk.page.locator(".alert .concerns").inner_text()
    kiosk.assert_clean()


_CUT_SHORT = """
(key) => [...document.querySelectorAll(`[data-key="${key}"]`)]
  .flatMap((tile) => [...tile.querySelectorAll(".name, .now")])
  .filter((each) => each.scrollWidth > each.clientWidth
    || each.scrollHeight > each.clientHeight * 1.3)
  .map((each) => each.textContent)
"""


def test_a_tile_cuts_no_text_short_while_there_is_room(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded(name="High Limit Salon 12", hold_from=3)
    table.deal("P1 6S, B1 2H")
    table.say(seen.Unreadable(slot=Slot.P2))
    show_room(kiosk, stage, table)
    visit(kiosk, stage)
    key = f"{SITE}.{table.id}"
    kiosk.page.wait_for_selector(f'.tile[data-key="{key}"]')
    kiosk.until("() => document.fonts.status === 'loaded'")
    for width, height in ((1920, 1080), (1024, 768), (768, 1024), (390, 844)):
        kiosk.page.set_viewport_size({"width": width, "height": height})
        kiosk.until(f"(key) => ({_CUT_SHORT})(key).length === 0", key)
    kiosk.assert_clean()


_FLOOR = """
(count) => {
  const floor = document.getElementById("floor");
  const boxes = [...floor.querySelectorAll(".tile")].map((tile) => tile.getBoundingClientRect());
  const used = boxes.reduce((sum, box) => sum + box.width * box.height, 0);
  return boxes.length === count && {
    filled: used / (floor.clientWidth * floor.clientHeight),
    fits: floor.scrollHeight <= floor.clientHeight,
  };
}
"""


def test_three_tables_fill_a_large_screen_and_forty_fit_on_a_usual_one(
    tmp_path: Path, own_kiosk: Watched
) -> None:
    page = own_kiosk.page
    with (
        set_stage(tmp_path, "[display.pit]\nbehind_proxy = true") as stage,
        Listener(stage.broker.port, "nothing") as listener,
    ):
        visit(own_kiosk, stage)
        opened = 0
        for count, width, height in ((3, 3840, 2160), (40, 1920, 1080)):
            for number in range(opened, count):
                table = FoldedTable(listener, f"floor-{number:02}", name=f"Table {number}")
                table.deal("P1 6S, B1 2H, P2 3D, B2 QC")
                table.publish()
            opened = count
            page.set_viewport_size({"width": width, "height": height})
            own_kiosk.until(f"(count) => ({_FLOOR})(count)", count)
            found = page.evaluate(_FLOOR, count)
            assert found["fits"], count
            assert found["filled"] > 0.5, count
    own_kiosk.assert_clean()


def test_a_table_that_is_off_keeps_its_name_and_is_found_by_the_filter(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    """Also at a display that has come after the broker dropped the table's `state`."""
    table, other = folded(name="High Limit Salon 12"), folded()
    table.publish("offline", expired=True)
    other.publish()
    visit(kiosk, stage)
    mine = kiosk.page.locator(f'.tile[data-key="{SITE}.{table.id}"].grey[data-fresh="offline"]')
    mine.wait_for()
    kiosk.page.wait_for_selector('.tile[data-fresh="live"]')
    kiosk.page.click("#filter-offline")
    assert mine.is_visible()
    assert kiosk.page.locator('.tile[data-fresh="live"]:visible').count() == 0
    assert mine.locator(".name").inner_text() == "High Limit Salon 12"
    for path in (f"/pit{table.path}", table.path):
        visit(kiosk, stage, path)
        assert kiosk.page.locator("h1:visible").first.inner_text() == "High Limit Salon 12"
    assert "offline" in kiosk.page.inner_text("#unknown")
    kiosk.assert_clean()


@pytest.mark.parametrize(
    ("code", "word"), [("en", "Simulated"), ("zh-hant", "模擬"), ("zh-hans", "模拟")]
)
def test_a_table_without_real_cards_is_marked_on_its_board_and_for_staff(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched, code: str, word: str
) -> None:
    table, real = folded(simulated=True, name="Salon"), folded()
    for each in (table, real):
        each.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
        each.publish()
    page = kiosk.page
    for path, place in (
        (table.path, "#tags"),
        (f"{table.path}/dealer", "#where"),
        (f"/pit{table.path}", "#where"),
        ("/pit", f'.tile[data-key="{SITE}.{table.id}"] .tags'),
    ):
        page.goto(f"{stage.display.url}{path}?lang={code}")
        page.locator(place, has_text=word).wait_for()
    page.wait_for_selector(f'.tile[data-key="{SITE}.{real.id}"]')
    assert page.locator(".tag.simulated").count() == 1
    page.goto(f"{stage.display.url}{real.path}?lang={code}")
    page.wait_for_selector('body[data-fresh="live"]')
    assert word not in page.inner_text("#head")
    kiosk.assert_clean()


# A command is typed in English, and a card's rank and a device's name are not translated.
_LATIN = r"[A-Za-z]{2,}"
CHINESE = ("zh-hant", "zh-hans")


@pytest.mark.parametrize("code", sample(CHINESE, 2))
def test_the_chinese_pit_says_nothing_in_english(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched, code: str
) -> None:
    table = folded(house="seven-feathers", policy="fr_2007", hold_from=3)
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
    table.say(seen.Command(name="acknowledge", operator="安", irregularity=table.alert_id()))
    table.result("player")
    table.deal("P1 2S, B1 3H")
    table.say(seen.Unreadable(slot=Slot.P2))
    table.deal("B2 3S")
    table.result("banker")
    table.deal("P1 6C, B1 2D, P2 KC, B2 3D, P3 4C")
    show_room(kiosk, stage, table, code)
    kiosk.until("() => document.querySelectorAll('#alerts-list > article').length > 0")
    for part in kiosk.page.locator(".kind, .concerns, .detail, .says, #round-why, .said").all():
        assert not re.search(_LATIN, part.inner_text()), part.inner_text()
    assert not re.search("[a-z]", kiosk.page.inner_text("#facts"))
    kiosk.assert_clean()


_SENTENCE = f"""
async ([code, values]) =>
  (await {module("translations")}).sentence({{detail_code: code, detail_values: values}}, 'EN')
"""


@pytest.mark.parametrize("code", CHINESE)
def test_every_sentence_can_be_said_in_the_language_of_the_page(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched, code: str
) -> None:
    show_room(kiosk, stage, folded(), code)
    known: dict[str, str | int] = {"hand": "banker", "slot": "P3", "laid": "B1", "card": "10H"}
    known |= {
        "because": "player_stood_banker_draws",
        "source": "7",
        "text": "8",
        "reason": "9",
        "next_seq": 7,
    }
    for key, names in DETAIL_VALUES.items():
        values = {"player": 6, "banker": 4} | {
            name: known.get(name, "tie" if "_" in name else 5) for name in names
        }
        said = kiosk.page.evaluate(_SENTENCE, [key, values])
        assert said["lang"] is None, key
        assert not re.search(r"[{}\[\]a-z]|undefined|null", said["text"]), said["text"]
    unknown = kiosk.page.evaluate(_SENTENCE, ["not_yet_known", {}])
    assert unknown == {"text": "EN", "lang": "en"}
    lacking = kiosk.page.evaluate(_SENTENCE, ["player_draws", {}])
    assert lacking == {"text": "EN", "lang": "en"}


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


_THERE = "(seq) => document.querySelector(`#event-log > [data-seq='${seq}']`)"
_TOP = f"(seq) => ({_THERE})(seq).getBoundingClientRect().top"


def test_events_stand_still_while_somebody_reads_them(
    stage: Stage, table: Table, kiosk: Watched
) -> None:
    """New ones come on top, and say that they did; what is read stays where it is."""
    play_rounds(table, "PBPBPB")
    visit(kiosk, stage, f"/pit/table/{table.name}")
    seq = table.ledger().seq
    kiosk.until(_THERE, seq)
    kiosk.page.evaluate("() => { document.getElementById('event-log-box').scrollTop = 300; }")
    before = kiosk.page.evaluate(_TOP, seq - 20)
    table.deal(*_NATURAL)
    kiosk.until(_THERE, table.ledger().seq)
    kiosk.until("() => document.getElementById('events-new').offsetHeight > 0")
    assert abs(kiosk.page.evaluate(_TOP, seq - 20) - before) <= 1
    kiosk.page.click("#events-new")
    assert kiosk.page.evaluate("document.getElementById('event-log-box').scrollTop") == 0
    assert kiosk.page.is_hidden("#events-new")
    kiosk.assert_clean()


_OUTSIDE = """
() => [...document.querySelectorAll("#spots .spot")].filter((spot) =>
  spot.getBoundingClientRect().right > spot.closest("#spots").getBoundingClientRect().right + 1
).length
"""


def test_six_cards_fit_beside_the_alerts(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded()
    table.deal("P1 2S, B1 3S, P2 3H, B2 2H, P3 6D, B3 9C")
    show_room(kiosk, stage, table)
    for width in (1920, 1440, 1366, 1280, 1024, 390):
        kiosk.page.set_viewport_size({"width": width, "height": 900})
        assert kiosk.page.evaluate(_OUTSIDE) == 0, width
    kiosk.assert_clean()


def test_an_alert_for_staff_is_marked_in_the_pit_until_it_is_public_and_never_on_the_board(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    page = kiosk.page
    table = folded(house="curator", policy="fr_2007")
    table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 5D")
    table.publish()
    visit(kiosk, stage)
    (number,) = [each.data.id for each in table.table.staff_alerts()]
    marked = f'[data-alert-id="{number}"][data-staff] .staff-only'
    page.wait_for_selector(f"#alarms {marked}")
    page.wait_for_selector(f'.tile[data-key="{SITE}.{table.id}"][data-severity="3"] .staff-only')
    visit(kiosk, stage, f"/pit{table.path}")
    page.wait_for_selector(f"#alerts-list {marked}")
    assert page.locator("#alerts-list .discreet").count() == 1
    page.goto(f"{stage.display.url}{table.path}?lang=en")
    kiosk.until("() => document.body.dataset.round === '1'")
    assert "5D" not in page.content()
    visit(kiosk, stage)
    page.wait_for_selector(f"#alarms {marked}")
    table.say(seen.Command(name="reveal", operator="maria", reason="turned over"))
    table.publish()
    page.wait_for_selector(f'#alarms [data-alert-id="{number}"]:not([data-staff])')
    assert page.locator(".staff-only").count() == 0
    kiosk.assert_clean()


def test_an_event_outside_a_round_names_no_round(
    stage: Stage, folded: Callable[..., FoldedTable], kiosk: Watched
) -> None:
    table = folded()
    # The display keeps the events of tables that it knows.
    show_room(kiosk, stage, table, "zh-hant")
    table.deal("P1 2S")
    table.publish()
    kiosk.until("() => document.querySelectorAll('#event-log .number').length >= 2")
    numbers = kiosk.page.locator("#event-log .number").all_inner_texts()
    assert numbers[-1] == "1"
    assert "第1局" in numbers[0]
    kiosk.assert_clean()
