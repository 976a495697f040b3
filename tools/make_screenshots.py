"""
Takes the screenshots in docs/pictures: a real simulated shoe in a real browser.

    python -m tools.make_screenshots     all of them anew

The same seed deals the same cards, so pictures change only with the pages and the time of day. The
browser is that of the tests.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC
from io import BytesIO
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.sync_api import Browser, Page

from drivers.simulators.angel_eye import Scene, Settings
from drivers.simulators.shoe import Fault
from shoe_daemon.game.coup import Outcome
from shoe_daemon.operators import hash_pin
from shoe_daemon.report.journal import read_shift
from shoe_daemon.report.period import Period
from shoe_daemon.report.shift_page import shift_page
from shoe_daemon.table import make_detail
from shoe_daemon.table.observations import Command, Link
from tests.brokers import Listener, free_port
from tests.browser.chrome import SIZES, browse, watch
from tests.browser.live_tables import Stage, Table, set_stage, simulated
from tests.browser.test_notifications import RECORDER
from tests.demo.demo_process import demo, listens
from tests.display.display_process import Display
from tests.display.test_history_pages import CONFIG, fill
from tests.notify.test_failures_in_the_pit import TOPIC as NOTIFIER_TOPIC
from tests.notify.test_failures_in_the_pit import status
from tests.report.report_shoes import START, Writer
from tests.waiting import wait_for

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"

# In round 62 the Banker wins with a natural and a pair, after ties and a dragon tail.
SEED: Final = 135
ROUND: Final = 62
_LIMITS: Final = '{ player = "500-50,000", tie = "100-10,000", player_pair = "100-5,000" }'
_MORE_WAGERS: Final = """
[wagers.player_pair]
pair = "11:1"
[wagers.banker_pair]
pair = "11:1"
[wagers.dragon_7]
win = "40:1"
[wagers.panda_8]
win = "25:1"
"""
# Tables of the pit view, and their finished rounds.
TABLES: Final = {
    "Baccarat 1": 41, "Baccarat 2": 27, "Baccarat 3": 53, "Baccarat 4": 8,
    "Baccarat 5": 70, "Baccarat 6": 33, "VIP 8": 62, "VIP 9": 19,
}  # fmt: skip
_FOR_STAFF: Final = "[display.pit]\nbehind_proxy = true\nstaff_alerts = true"
_WITH_ORDERS: Final = '[display.orders]\noperators_file = "operators.toml"'
_PIN: Final = "246813"
_OPERATORS: Final = """
[[operator]]
name = "Maria"
pin = "{pin}"

[[operator]]
name = "Robin"
pin = "{pin}"
"""
_SQUEEZED: Final = "VIP 9"
"""A table whose cards stay face down until the result."""

_DEALERS: Final = ("Ann Lee", "Bo Chan", "Ann Lee", "Bo Chan", "Ann Lee")
_FAULTS: Final = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.UNREADABLE, Fault.MISREAD)

_COLOURS: Final = 255
_GAP: Final = 16
"""Pixels between pictures beside each other."""
_BOARDS: Final = ("en", "zh-hant")
"""The languages of the boards, one for each kind of script."""

_SETTLED: Final = 400
"""Duration of animations in milliseconds."""


def main() -> None:
    """Take all screenshots."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browse() as browser:
        house = _house(Path(folder), "house")
        for name, text, take in (
            ("boards", _FOR_STAFF, _boards),
            ("pit", _FOR_STAFF, _pit),
            ("orders", _WITH_ORDERS, _orders),
        ):
            place = Path(folder) / name
            place.mkdir()
            (place / "operators.toml").write_text(_OPERATORS.format(pin=hash_pin(_PIN)))
            with set_stage(place, text) as stage:
                take(stage, browser, house)
        _demo(Path(folder), browser)
        _shift(Path(folder), browser)
        _log(Path(folder) / "log", browser)


def _demo(folder: Path, browser: Browser) -> None:
    """Take the pages of the demo, which waits for a decision about a card too many."""
    words = ("--fault", "overdraw", "--fault-rate", "1", "--seed", "12", "--decide-after", "600")
    with (
        demo(folder, *words) as (_, rows),
        watch(browser, device_scale_factor=1, reduced_motion="reduce") as watched,
    ):
        page = watched.page
        wait_for(lambda: listens(rows["Pit"]), "the display")
        decide = rows["Decide"].partition(" as ")[0]
        page.goto(decide)
        page.locator("#alerts-list > article").first.wait_for()
        for name, url in (("board", rows["Board"]), ("pit", decide), ("dealer", rows["Dealer"])):
            page.goto(url)
            for size in ("small", "phone"):
                _take(page, f"demo-{name}-{size}", SIZES[size])


def _log(folder: Path, browser: Browser) -> None:
    """Take the log, and one of its rounds, of simulated shoes with many faults."""
    folder.mkdir()
    fill(folder / "history.db", folder / "journals")
    with (
        Display(folder, free_port(), CONFIG) as display,
        watch(browser, device_scale_factor=1) as watched,
    ):
        page, url = watched.page, f"http://127.0.0.1:{display.port}"
        page.goto(f"{url}/pit/log?lang=en&table=casino-north.table-7")
        _take(page, "pit-log", SIZES["small"])
        page.goto(f"{url}/pit/log?lang=en&kind=excess_card")
        page.goto(url + (page.locator("#rows a").last.get_attribute("href") or ""))
        _take(page, "pit-round", SIZES["small"])


def _house(folder: Path, name: str, style: str = "face_up") -> Path:
    """Write a house with more wagers than the included ones."""
    own = ROOT / "shoe_daemon" / "game" / "houses" / "seven-feathers.toml"
    text = re.sub("(?m)^dealing_style = .*", f'dealing_style = "{style}"', own.read_text("utf-8"))
    path = folder / f"{name}.toml"
    path.write_text(text + _MORE_WAGERS, encoding="utf-8")
    return path


def _boards(stage: Stage, browser: Browser, house: Path) -> None:
    """Play up to the best moment, and take the board in all sizes."""
    text = f'name = "VIP 8"\nhouse_file = "{house}"\nlimits = {_LIMITS}'
    with ExitStack() as stack:
        table = stack.enter_context(stage.table(text))
        rounds = simulated(table.shoe, seed=SEED, rounds=ROUND)
        _deal(table, rounds, ROUND - 1)
        pages = {
            code: stack.enter_context(_board(stage, browser, table, code)) for code in _BOARDS
        }
        _deal(table, rounds, ROUND)
        for code, page in pages.items():
            _wait_for_rounds(page, ROUND)
            for name, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                _take(page, f"board-{name}-{code}")
        page = pages["en"]
        page.goto(f"{stage.display.url}/table/{table.name}/history?lang=en")
        _take(page, "history", SIZES["small"])


@contextmanager
def _board(stage: Stage, browser: Browser, table: Table, code: str) -> Iterator[Page]:
    """Open a board with a stopped clock, so that a result stays on screen."""
    with watch(browser, device_scale_factor=1) as watched:
        watched.page.goto(f"{stage.display.url}/table/{table.name}?lang={code}")
        _wait_for_rounds(watched.page, ROUND - 1)
        watched.page.clock.set_fixed_time(watched.page.evaluate("Date.now()"))
        yield watched.page


def _pit(stage: Stage, browser: Browser, house: Path) -> None:
    """
    Play at several tables: excess cards at two, one of them face down; a fallen card; a lost
    table.
    """
    squeezed = _house(house.parent, "squeezed", "squeeze")
    houses = {name: squeezed if name == _SQUEEZED else house for name in TABLES}
    with ExitStack() as stack:
        tables = [
            stack.enter_context(
                stage.table(f'name = "{name}"\nhouse_file = "{own}"\npolicy = "fr_2007"')
            )
            for name, own in houses.items()
        ]
        for number, (table, rounds) in enumerate(zip(tables, TABLES.values(), strict=True)):
            _deal(table, simulated(table.shoe, seed=SEED + number, rounds=rounds), rounds)
        _trouble(tables)
        page = stack.enter_context(watch(browser, reduced_motion="reduce")).page
        page.goto(f"{stage.display.url}/pit?lang=en")
        page.wait_for_function(_PIT_IS_READY)
        _take(page, "pit", SIZES["kiosk"])
        _notifications(stage, browser)
        page.goto(f"{stage.display.url}/pit/table/{tables[2].name}?lang=en")
        page.wait_for_function("() => document.querySelectorAll('#event-log > li').length > 20")
        _take(page, "pit-table", (1440, 1080))
        page.goto(f"{stage.display.url}/pit/table/{tables[7].name}?lang=en")
        page.wait_for_selector("#alerts-list > [data-staff]")
        _take(page, "pit-staff-only", (1440, 900))


def _notifications(stage: Stage, browser: Browser) -> None:
    """The panel of the browser's notifications, and a recipient that fails."""
    with (
        watch(browser, reduced_motion="reduce") as watched,
        Listener(stage.broker.port, "nothing") as notifier,
    ):
        page = watched.page
        page.context.grant_permissions(["notifications"])
        page.add_init_script(RECORDER)
        notifier.publish(NOTIFIER_TOPIC, status("floor", heartbeat=600), retain=True)
        page.goto(f"{stage.display.url}/pit?lang=en")
        page.wait_for_function(_PIT_IS_READY)
        page.click("#sound")
        page.click("#notices-button")
        page.click("#notices")
        page.click("#alert-test")
        _take(page, "pit-notifications", SIZES["small"])
        notifier.publish(NOTIFIER_TOPIC, b"", retain=True)


def _orders(stage: Stage, browser: Browser, house: Path) -> None:
    """A supervisor's phone, from the alert to the answer; and a dealer's screen."""
    text = f'name = "VIP 8"\nhouse_file = "{house}"\npolicy = "fr_2007"\n[orders]\n'
    with ExitStack() as stack:
        table = stack.enter_context(
            stage.table(f'{text}operators_file = "{stage.folder}/operators.toml"')
        )
        _deal(table, simulated(table.shoe, seed=SEED, rounds=8), 8)
        phone = stack.enter_context(watch(browser, "phone", reduced_motion="reduce")).page
        dealer = stack.enter_context(watch(browser, reduced_motion="reduce")).page
        dealer.set_viewport_size({"width": 800, "height": 480})
        dealer.goto(f"{stage.display.url}/table/{table.name}/dealer?lang=en")
        table.deal("P1:2S", "B1:2H", "P2:3D", "B2:3C")
        dealer.wait_for_selector('[data-say="draw"]')
        screens = [_picture(dealer)]
        table.deal("P3:4C", "B3:9D")
        table.shoe.call(Outcome.PLAYER)
        table.deal("P1:9S", "B1:2H", "P2:KD", "B2:3C")
        table.deal("P3:4C")
        dealer.wait_for_selector('[data-say="stop"]')
        _save(_beside([*screens, _picture(dealer)]), "dealer")
        phone.goto(f"{stage.display.url}/pit/table/{table.name}?lang=en")
        phone.wait_for_selector(".proposal .order-button")
        steps = [_picture(phone)]
        phone.click(".proposal .order-button")
        phone.fill("#sheet-pin", _PIN)
        phone.click("#sheet-do")
        phone.wait_for_selector('[data-step="preview"]')
        phone.click("#sheet-close")
        phone.click(".unfold")
        phone.click('.others [data-order="void-round"]')
        phone.wait_for_selector('[data-step="preview"]')
        phone.fill("#sheet-reason", "It cannot be restored")
        steps.append(_picture(phone))
        phone.fill("#sheet-pin", _PIN)
        phone.click("#sheet-do")
        phone.wait_for_selector('[data-step="done"]')
        _save(_beside([*steps, _picture(phone)]), "pit-order")


def _shift(folder: Path, browser: Browser) -> None:
    """Take the first page of the report on a shift with faults and two dealers."""
    path = folder / "journal.db"
    with Writer(path) as writer:
        writer.session("chickasaw", hold_from=3)
        writer.say(Link(up=True))
        for number, dealer in enumerate(_DEALERS):
            writer.order("dealer", dealer=dealer)
            writer.deal(Settings(shoes=1, seed=SEED + number, faults=_FAULTS, fault_rate=0.08))
            writer.say(Link(up=number != 1), after=150)
        for _ in range(2):
            wrong = make_detail("refused_wrong_pin").text
            writer.say(Command(name="void_round", operator="ann", refused=wrong), after=8)
        writer.order("void_round", after=8, reason="A card fell to the floor.")
        writer.order("undo", after=30, reason="It was the round before.")
    period = Period(START, writer.now + 1_000_000, UTC)
    page_file = folder / "shift.html"
    page_file.write_text(shift_page(read_shift([path], period), UTC), encoding="utf-8")
    with watch(browser, device_scale_factor=1) as watched:
        watched.page.goto(page_file.as_uri())
        _take(watched.page, "shift-report", (860, 1250))


def _trouble(tables: list[Table]) -> None:
    """
    Cause irregularities that need staff.

    The fifth table's last card exceeds the copies in eight decks. At the last table the natural
    and the card after it are face down.
    """
    tables[5].daemon.kill()
    tables[1].order("hold", kind="card_off_table", slot="B2", reason="It fell to the floor.")
    tables[2].deal("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    tables[2].deal("P3:4C")
    tables[4].deal("P1:3S", "B1:2H", "P2:2D", "B2:3C")
    tables[7].deal("P1:9S", "B1:2H", "P2:KD", "B2:3C")
    tables[7].deal("P3:5D")


_PIT_IS_READY: Final = """
() => document.querySelectorAll("#alarms > li").length === 4
  && document.querySelectorAll("#tiles > a").length === 8
  && document.querySelectorAll("#tiles > [data-fresh=offline]").length > 0
"""


def _deal(table: Table, rounds: Iterator[Scene], until: int) -> None:
    """Deal until the table has published this many rounds."""
    for scene in rounds:
        if scene.round is not None and scene.round.number == until:
            break

    def told() -> bool:
        states = table.of("state")
        return bool(states) and states[-1].json["counts"]["rounds"] >= until

    wait_for(told, f"{until} rounds", timeout=120)


def _wait_for_rounds(page: Page, count: int) -> None:
    page.wait_for_function(
        "(n) => document.querySelectorAll('[data-road=bead] g.cell').length === n", arg=count
    )


def _take(page: Page, name: str, size: tuple[int, int] | None = None) -> None:
    """Save a screenshot with a palette."""
    if size is not None:
        page.set_viewport_size({"width": size[0], "height": size[1]})
    _save(_picture(page), name)


def _picture(page: Page) -> Image.Image:
    page.wait_for_function("() => document.fonts.status === 'loaded'")
    page.wait_for_timeout(_SETTLED)
    return Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")


def _beside(pictures: list[Image.Image]) -> Image.Image:
    """Return pictures of one size beside each other."""
    width, height = pictures[0].size
    joined = Image.new("RGB", ((width + _GAP) * len(pictures) - _GAP, height), "white")
    for number, picture in enumerate(pictures):
        joined.paste(picture, (number * (width + _GAP), 0))
    return joined


def _save(picture: Image.Image, name: str) -> None:
    small = picture.quantize(_COLOURS, method=Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    path = PICTURES / f"{name}.png"
    small.save(path, optimize=True)
    print(f"{path.stat().st_size:9,}  {path.relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    main()
