"""
The pit acts: a supervisor resolves a misdeal on a phone in three taps and a PIN, a dealer gives
orders on the table's own screen, and nothing is carried out twice or without an answer.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from threading import Event, Thread
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from playwright.sync_api import APIResponse, Page, Route
from playwright.sync_api import TimeoutError as TimedOutError

from drivers.simulators.angel_eye import Mode, Scene, Settings, scenes
from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.demo.dealer import awaits_decision
from shoe_daemon.demo.shoe import DemoSettings, house_of, shoe_of
from shoe_daemon.game import Action, IrregularityKind
from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.table import decode_event
from shoe_daemon.table.commands.rulings import ACTION_KINDS
from shoe_daemon.table.observations import Command
from tests.brokers import Listener
from tests.browser.accounts import JournalAccount, PageAccount
from tests.browser.chrome import BLOCK, HEARD, SharedPage, Watched
from tests.browser.live_tables import Stage, Table, play_on_line, play_rounds, round_of, set_stage
from tests.browser.published_table import FoldedTable
from tests.browser.test_page_standards import assert_accessible
from tests.commands.command_table import SITE
from tests.demo.result_check import ResultCheck
from tests.display.display_process import first_of
from tests.display.test_order_routes import OPERATORS, OTHER_PIN, PIN
from tests.volume import sample, volume
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

LANGUAGES = ("en", "zh-hans", "zh-hant")
REASON = "seen on the camera"
NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
_numbers = count(1)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A display whose pages take orders."""
    folder = tmp_path_factory.mktemp("orders")
    (folder / "operators.toml").write_text(OPERATORS)
    with set_stage(folder, '[display.orders]\noperators_file = "operators.toml"') as stage:
        yield stage


def configuration(stage: Stage, policy: str, more: str = "") -> str:
    """Write the section of a table with a policy and the stage's operators."""
    return f'policy = "{policy}"\n{more}[orders]\noperators_file = "{stage.folder}/operators.toml"'


@pytest.fixture
def table(stage: Stage) -> Iterator[Table]:
    """A table with the same operators, and the French order's proposals."""
    with stage.table(configuration(stage, "fr_2007")) as table:
        yield table


@pytest.fixture
def opened(stage: Stage) -> Iterator[Callable[..., Table]]:
    """Opens a table with the same operators, another policy, and more of its section."""
    with ExitStack() as stack:
        yield lambda policy, more="": stack.enter_context(
            stage.table(configuration(stage, policy, more))
        )


@pytest.fixture
def phone(shared_page: SharedPage) -> Iterator[Watched]:
    with shared_page.use("phone") as watched:
        yield watched


_TABS = 300


class Hand:
    """A hand on a page: it taps, and enters a PIN; it counts its taps."""

    def __init__(self, watched: Watched, stage: Stage, table: Table, language: str = "en") -> None:
        self.page: Page = watched.page
        self.taps = 0
        self.page.goto(f"{stage.display.url}/pit/table/{table.name}?lang={language}")

    def tap(self, selector: str) -> None:
        """Tap the first that fits, where a thumb would."""
        found = self.page.locator(selector).first
        found.wait_for(state="visible")
        box = found.bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= 40, f"{selector} is too small for a thumb"
        found.click()
        self.taps += 1

    def log_in(self, pin: str = PIN) -> None:
        """Log in where the sheet asks for it: type the PIN and Enter, without a tap."""
        self.page.fill("#sheet-pin", pin)
        self.page.press("#sheet-pin", "Enter")

    def step(self, *steps: str) -> str:
        """Wait for one of these steps of the sheet, enter the reason it asks for; return it."""
        some = ",".join(f'#sheet[data-step="{step}"]' for step in steps)
        try:
            found = str(self.page.locator(some).get_attribute("data-step"))
        except TimedOutError as error:
            shown = self.page.locator("#sheet").evaluate("node => node.outerHTML")
            raise AssertionError(f"not {steps}: {shown}") from error
        if found == "preview" and self.page.locator("#sheet-reason").count():
            self.page.fill("#sheet-reason", REASON)
        return found

    def enter_pin(self) -> None:
        """Enter the PIN, if the sheet asks for one."""
        self.step("preview")
        if self.page.locator("#sheet-pin").count():
            self.page.fill("#sheet-pin", PIN)

    def preview(self, *selectors: str) -> None:
        """Tap these, log in, and wait for the preview."""
        for each in selectors:
            self.tap(each)
        self.log_in()
        self.step("preview")

    def confirm(self) -> None:
        """Give the order, and wait until it is carried out."""
        self.tap("#sheet-do")
        self.step("done")


class Keyboard(Hand):
    """A person without a mouse: Tab until it is there, then Enter."""

    def tap(self, selector: str) -> None:
        """Reach the first that fits with Tab, and press Enter."""
        found = self.page.locator(selector).first
        found.wait_for(state="visible")
        for _ in range(_TABS):
            if found.evaluate("node => node === document.activeElement"):
                self.page.keyboard.press("Enter")
                self.taps += 1
                return
            self.page.keyboard.press("Tab")
        raise AssertionError(f"{selector} is not reached with Tab")


def commands(table: Table) -> list[Command]:
    with JournalReader(table.journal) as reader:
        return [each for each in reader.observations() if isinstance(each, Command)]


def alerts(table: Table) -> list[dict[str, Any]]:
    heard = table.of("alert/active")
    return [each["data"] for each in heard[-1].json["alerts"]] if heard else []


PROPOSAL = ".proposal .order-button"


def one_card_too_many(table: Table) -> None:
    table.deal(*NATURAL)
    table.deal("P3:4C")
    wait_for(lambda: alerts(table), "an alert")


@pytest.mark.parametrize("language", sample(LANGUAGES, 3))
def test_a_misdeal_is_resolved_in_three_taps_and_the_pin_is_nowhere_on_the_page(
    stage: Stage, table: Table, phone: Watched, language: str
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table, language)
    hand.preview(PROPOSAL)
    assert hand.page.locator(".would li").count() > 0
    assert_accessible(hand.page)
    hand.confirm()
    hand.tap("#sheet-do")
    assert hand.taps == 3
    kept = hand.page.evaluate(
        "() => [document.documentElement.outerHTML, document.cookie, location.href,"
        " JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()"
    )
    assert PIN not in kept
    assert "shoe_operator" not in kept
    assert hand.page.locator("#sheet-pin").count() == 0
    wait_for(lambda: not alerts(table), "no alert")
    (command,) = commands(table)
    assert (command.name, command.operator, command.claimed, command.refused) == (
        *("rule", "Maria", False),
        None,
    )
    phone.assert_clean()


def test_an_answer_from_before_the_log_in_does_not_log_out(
    stage: Stage, table: Table, phone: Watched
) -> None:
    late: list[tuple[Route, APIResponse]] = []

    def hold(route: Route) -> None:
        if route.request.method == "GET":
            late.append((route, route.fetch()))
        else:
            route.continue_()

    one_card_too_many(table)
    phone.page.route("**/orders/session", hold)
    hand = Hand(phone, stage, table)
    hand.preview(PROPOSAL)
    ((route, answer),) = late
    with phone.page.expect_response("**/orders/session"):
        route.fulfill(response=answer)
    hand.confirm()


def test_a_correction_is_seen_before_and_after_and_takes_a_reason(
    stage: Stage, table: Table, phone: Watched
) -> None:
    play_rounds(table, "P")
    hand = Hand(phone, stage, table)
    page = hand.page
    hand.preview('[data-order="correct-card"]', '[data-choice="P1"]', '[data-choice="8H"]')
    shown = {
        name: page.locator(f'.{name} [data-slot="P1"]').get_attribute("data-card")
        for name in ("before", "after")
    }
    assert shown["after"] == "8H"
    assert shown["before"] not in {None, "8H"}
    page.fill("#sheet-reason", " ")
    hand.tap("#sheet-do")
    assert page.evaluate("document.activeElement.id") == "sheet-reason"
    assert_accessible(page)
    assert commands(table) == []
    page.fill("#sheet-reason", REASON)
    page.press("#sheet-reason", "Enter")
    hand.step("done")
    (command,) = commands(table)
    assert (command.name, command.slot, command.card) == ("correct_card", "P1", "8H")
    assert command.reason == REASON
    phone.assert_clean()


def test_an_alert_closes_behind_the_sheet_on_which_its_round_was_made_void(
    stage: Stage, opened: Callable[..., Table], phone: Watched
) -> None:
    table = opened("management")
    table.deal("P1:2S", "B1:2H", "P2:3D", "B2:3C")
    table.shoe.call(Outcome.PLAYER)
    hand = Hand(phone, stage, table)
    hand.preview('[data-kind="missing_draw"] [data-order="void-round"]')
    shown = [hand.page.locator(f".change.{name}").inner_text() for name in ("before", "after")]
    assert shown[0].startswith("Before: round 1")
    assert "5" in shown[0]
    assert shown[1].split() == ["After:", "round", "1", "Round", "void"]
    hand.confirm()
    # A finger that is down defers what would move under it, which is the sheet.
    hand.page.mouse.down()
    hand.page.wait_for_selector("#alerts-list > article", state="detached")
    hand.page.mouse.up()
    phone.assert_clean()


@pytest.mark.parametrize("language", sample(LANGUAGES, 3))
def test_a_dealer_calls_the_supervisor_who_decides_with_his_pin(
    stage: Stage, table: Table, phone: Watched, language: str
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table, language)
    page = hand.page
    page.locator(PROPOSAL).first.wait_for()
    hand.tap('#order-buttons [data-order="hold"]')
    hand.tap('[data-operator="Kim"]')
    hand.log_in(OTHER_PIN)
    page.wait_for_selector("#sheet.hidden", state="attached")
    page.wait_for_selector("#held:not(.hidden)")
    for verb in ("rule", "void-round", "correct-card", "new-shoe"):
        assert page.locator(f'[data-order="{verb}"]').count() == 0
    assert_accessible(page)
    hand.tap(".unfold")
    page.wait_for_selector(".others .hint")
    assert page.locator('.alert [data-order="acknowledge"]').count() == 0
    hand.tap("#log-out")
    hand.preview(".unfold", '.alert [data-order="acknowledge"]', '[data-operator="Maria"]')
    hand.confirm()
    wait_for(lambda: not alerts(table), "no alert")
    told = [(each.name, each.operator, each.claimed, each.refused) for each in commands(table)]
    # The refused preview is in no journal.
    assert told == [("hold", "Kim", True, None), ("acknowledge", "Maria", False, None)]
    phone.assert_clean()


def test_a_dealer_is_offered_what_he_may_decide(
    stage: Stage, table: Table, phone: Watched
) -> None:
    """What holds a result, or is another person's hold, is for the supervisor."""
    hand = Hand(phone, stage, table)
    page = hand.page
    hand.tap('#order-buttons [data-order="betting-open"]')
    hand.tap('[data-operator="Kim"]')
    hand.log_in(OTHER_PIN)
    hand.step("preview")
    hand.confirm()
    hand.tap("#sheet-close")
    table.deal("P1:9S")
    page.click('[data-severity="2"] .unfold')
    page.wait_for_selector('[data-severity="2"] [data-order="acknowledge"]')
    for operator, offered in (("Maria", False), ("Kim", True)):
        assert table.order("hold", operator=operator)["ok"]
        page.wait_for_selector(
            '#resume [data-order="resume"]' if offered else "#resume .hint:not(:empty)"
        )
        assert page.locator('#resume [data-order="resume"]').count() == int(offered)
        assert table.order("resume", operator="Maria", pin=PIN)["ok"]
        page.wait_for_selector("#held.hidden", state="attached")
    assert [each.refused for each in commands(table)] == [None] * 5
    phone.assert_clean()


@contextmanager
def dealing(table: Table) -> Iterator[None]:
    """Deal rounds on a thread, a card every quarter of a second, faster than any dealer."""
    ended = Event()

    def deal() -> None:
        while not ended.is_set():
            for card in round_of("P"):
                table.shoe.draw(card)
                ended.wait(0.25)
            table.shoe.call(Outcome.PLAYER)

    dealer = Thread(target=deal)
    dealer.start()
    try:
        yield
    finally:
        ended.set()
        dealer.join()


def test_results_are_held_with_one_tap_while_cards_are_dealt(
    stage: Stage, table: Table, phone: Watched
) -> None:
    hand = Hand(phone, stage, table)
    page = hand.page
    with dealing(table):
        for attempt in range(2):
            hand.tap('#order-buttons [data-order="hold"]')
            if attempt == 0:
                hand.log_in()
            page.wait_for_selector("#sheet.hidden", state="attached")
            page.wait_for_selector("#held:not(.hidden)")
            assert hand.taps == attempt + 1
            assert table.order("resume", operator="Maria", pin=PIN)["ok"]
            page.wait_for_selector("#held.hidden", state="attached")
    told = [(each.name, each.refused) for each in commands(table)]
    assert told == [("hold", None), ("resume", None)] * 2
    phone.assert_clean()


def test_a_fallen_card_is_reported_while_cards_are_dealt(
    stage: Stage, table: Table, phone: Watched
) -> None:
    hand = Hand(phone, stage, table)
    hand.tap('#order-buttons [data-order="report"]')
    assert_accessible(hand.page)
    with dealing(table):
        hand.page.wait_for_selector("#spots [data-slot]")
        hand.tap('[data-choice="card_off_table"]')
        hand.tap('[data-choice="P1"]')
        hand.tap('[data-operator="Kim"]')
        hand.log_in(OTHER_PIN)
        hand.step("preview")
        seq = table.ledger().seq
        wait_for(lambda: table.ledger().seq > seq, "another card")
        hand.tap("#sheet-do")
        assert hand.step("done", "refused") == "done"
    (command,) = commands(table)
    assert (command.name, command.kind, command.slot) == ("hold", "card_off_table", "P1")
    wait_for(lambda: alerts(table), "an alert")
    assert [(each["kind"], each["slot"]) for each in alerts(table)] == [("card_off_table", "P1")]
    phone.assert_clean()


def test_that_a_supervisor_decides_is_no_order(
    stage: Stage, opened: Callable[..., Table], phone: Watched
) -> None:
    """It is what a dealer has to know; who decides gives another order."""
    table = opened("nsw_star")
    table.deal(*NATURAL[:3])
    table.shoe.say("E", 0x87)
    hand = Hand(phone, stage, table)
    proposal = hand.page.locator('[data-kind="device_fault"] .proposal')
    proposal.first.wait_for()
    buttons = {
        each.get_attribute("data-action"): each.locator("button").count()
        for each in proposal.all()
    }
    assert buttons == {"continue": 1, "void_round": 1, "supervisor": 0}


@pytest.mark.parametrize("language", sample(LANGUAGES, 3))
def test_a_misread_card_is_put_right_in_three_taps(
    stage: Stage, table: Table, phone: Watched, language: str
) -> None:
    """The card on the table is tapped, then the right one; what it caused is closed with it."""
    table.deal(*NATURAL)
    table.shoe.call(Outcome.TIE)  # the Banker's three is a seven
    wait_for(lambda: alerts(table), "an alert")
    hand = Hand(phone, stage, table, language)
    shown = hand.page.locator(".wrong-cards [data-card-of]")
    shown.first.wait_for()
    assert [each.get_attribute("data-card-of") for each in shown.all()] == ["P1", "P2", "B1", "B2"]
    assert_accessible(hand.page)
    hand.preview('[data-card-of="B2"]', '[data-choice="7C"]')
    assert "Tie" in hand.page.inner_text(".would") or language != "en"
    hand.confirm()
    assert hand.taps == 3
    wait_for(lambda: not alerts(table), "no alert")
    assert [each.name for each in commands(table)] == ["correct_card"]
    wait_for(lambda: table.ledger().rounds, "the result")
    assert table.ledger().last["outcome"] == "tie"
    phone.assert_clean()


def test_the_wrong_card_is_offered_while_it_lies_there(
    stage: Stage, table: Table, phone: Watched
) -> None:
    """The buttons follow the cards on the table; of a past round, the place is asked for."""
    table.deal("P1:6S", "B1:2H", "P2:KD", "B2:3C")
    table.shoe.call(Outcome.PLAYER)
    wait_for(lambda: alerts(table), "a missing draw")
    page = Hand(phone, stage, table).page
    page.wait_for_selector('[data-kind="missing_draw"] [data-card-of="B2"]')
    table.deal("P1:9S")
    page.wait_for_function("() => !document.querySelector('[data-card-of]')")
    page.click('.wrong-cards [data-order="correct-card"]')
    places = page.locator(".slots [data-choice]")
    offered = ["P1", "P2", "P3", "B1", "B2", "B3"]
    assert [each.get_attribute("data-choice") for each in places.all()] == offered
    assert page.locator(".slots svg").count() == 0
    phone.assert_clean()


@pytest.mark.parametrize(
    ("policy", "cards", "error", "action", "card", "order"),
    [
        ("us_nj_pa", NATURAL, 0x82, "burn_card_plus_value", "7H", "rule"),
        ("live_studio", NATURAL[:3], 0x81, "manual_entry", "3C", "enter_card"),
    ],
)
def test_a_proposal_that_needs_the_card_asks_for_it(  # noqa: PLR0913, PLR0917 - case and fixtures
    stage: Stage,
    opened: Callable[..., Table],
    phone: Watched,
    policy: str,
    cards: tuple[str, ...],
    error: int,
    action: str,
    card: str,
    order: str,
) -> None:
    table = opened(policy)
    table.deal(*cards)
    table.shoe.say("E", error)
    wait_for(lambda: alerts(table), "an alert")
    hand = Hand(phone, stage, table)
    hand.preview(f'.proposal[data-action="{action}"] .order-button', f'[data-choice="{card}"]')
    hand.confirm()
    assert hand.taps == 3
    (command,) = commands(table)
    assert (command.name, command.card, command.refused) == (order, card, None)
    wait_for(lambda: not alerts(table), "no alert")


def test_a_ruling_that_the_policy_does_not_propose_takes_three_taps(
    stage: Stage, opened: Callable[..., Table], phone: Watched
) -> None:
    table = opened("management")
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    hand.tap('[data-order="rule"]')
    offered = [
        each.get_attribute("data-choice") for each in hand.page.locator("[data-choice]").all()
    ]
    kind = IrregularityKind.EXCESS_CARD
    assert offered[0] == "burn_card"
    assert all(kind in (ACTION_KINDS[Action(each)] or {kind}) for each in offered if each)
    hand.preview('[data-choice="burn_card"]')
    assert hand.page.inner_text("#sheet-do").lower() == "burn the card"
    hand.confirm()
    assert hand.taps == 3
    (command,) = commands(table)
    assert (command.name, command.action) == ("rule", "burn_card")
    phone.assert_clean()


@pytest.mark.parametrize(
    ("language", "reason"),
    sample([("zh-hant", "賭枱情況已變"), ("en", "the table has moved on: it was at ")], 2),
)
def test_an_order_is_refused_once_the_table_has_moved_on(
    stage: Stage, table: Table, phone: Watched, language: str, reason: str
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table, language)
    hand.preview(PROPOSAL)
    assert table.order("hold", kind="card_off_table", slot="B2")["ok"]
    hand.tap("#sheet-do")
    hand.step("refused")
    assert hand.page.get_attribute("#sheet-told", "role") == "alert"
    assert hand.page.inner_text("#sheet-told").startswith(reason)
    assert hand.page.get_attribute("#sheet-told", "lang") is None
    assert len(alerts(table)) == 2
    hand.tap("#sheet-do")  # look again
    hand.enter_pin()
    hand.confirm()
    ruled = [each for each in commands(table) if each.name == "rule"]
    assert [each.refused is None for each in ruled] == [False, True]


def test_a_key_that_is_held_down_confirms_nothing(
    stage: Stage, table: Table, phone: Watched
) -> None:
    hand = Hand(phone, stage, table)
    hand.preview('#order-buttons [data-order="betting-open"]')
    hand.page.click("#sheet-close")
    hand.page.focus('#order-buttons [data-order="betting-open"]')
    hand.page.keyboard.down("Enter")
    hand.step("preview")
    hand.page.keyboard.down("Enter")
    hand.page.keyboard.up("Enter")
    assert hand.step("preview", "asked", "done") == "preview"
    hand.page.keyboard.press("Enter")
    hand.step("done")


def test_an_ended_session_asks_who_it_is_and_keeps_the_selection(
    stage: Stage, table: Table, phone: Watched
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    hand.preview(PROPOSAL)
    hand.page.context.clear_cookies()
    hand.page.click("#sheet-do")
    hand.step("log-in")
    hand.log_in()
    hand.step("preview")
    hand.page.click("#sheet-do")
    hand.step("done")
    wait_for(lambda: not alerts(table), "no alert")


def is_unknown(url: str) -> bool:
    return first_of(url)["board"]["known"] is False


def test_a_page_that_was_opened_before_its_table_gives_it_orders(
    stage: Stage, kiosk: Watched
) -> None:
    """Screens start before the tables, or with them."""
    page, name = kiosk.page, f"early-{next(_numbers)}"
    with Listener(stage.broker.port, "nothing") as listener:
        table = FoldedTable(listener, name, policy="fr_2007")
        table.deal("P1 9S, B1 2H, P2 KD, B2 3C, P3 4C")
        for path, button in (
            (f"/table/{name}/dealer", '[data-order="hold"]'),
            (f"/pit/table/{name}", PROPOSAL),
        ):
            page.context.clear_cookies()
            page.goto(f"{stage.display.url}{path}?lang=en")
            page.wait_for_selector("body:not(.waiting)")
            table.publish()
            page.click(f"{button}:enabled")
            if page.locator("#sheet-name").count():
                page.fill("#sheet-name", "Maria")
            page.fill("#sheet-pin", PIN)
            with page.expect_request(f"**/orders/{SITE}.{name}/*"):
                page.click("#sheet-do")
            page.click("#sheet-close")
            table.clear()
            wait_for(partial(is_unknown, stage.display.url + path), "the table to be unknown")


def test_it_is_not_called_undone_while_nobody_knows(
    stage: Stage, table: Table, phone: Watched
) -> None:
    """The table has the order, the answer is lost, and then the broker is away for a while."""
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    steps: list[str] = []

    def lose(route: Route) -> None:
        if "dry_run" in str(route.request.post_data):
            route.continue_()
            return
        steps.append(str(hand.page.get_attribute("#sheet", "data-step")))
        if len(steps) == 1:
            route.fetch()
            route.abort()
        elif len(steps) <= 3:
            code = ("not_sent", "busy")[len(steps) - 2]
            route.fulfill(status=502, json={"refused": "not now", "code": code})
        else:
            route.continue_()

    hand.page.route("**/orders/*/rule", lose)
    hand.preview(PROPOSAL)
    hand.tap("#sheet-do")
    assert hand.step("done", "refused") == "done"
    assert steps == ["asked", "lost", "lost", "lost"]
    assert len({each.id for each in commands(table)}) == 1


def test_an_order_without_an_answer_is_followed_through_a_new_log_in(
    stage: Stage, table: Table, phone: Watched
) -> None:
    """The display restarts after it has passed the order on: its sessions are gone."""
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    lost: list[str] = []

    def lose(route: Route) -> None:
        body = str(route.request.post_data)
        if "dry_run" in body or lost:
            route.continue_()
        else:
            lost.append(body)
            route.fetch()
            hand.page.context.clear_cookies()
            route.abort()

    hand.page.route("**/orders/*/rule", lose)
    hand.preview(PROPOSAL)
    hand.tap("#sheet-do")
    hand.step("log-in")
    hand.log_in()
    assert hand.step("done", "preview", "refused") == "done"
    assert [each.refused is None for each in commands(table)] == [True]
    assert len({each.id for each in commands(table)}) == 1


def test_a_session_that_has_ended_is_not_shown_as_one(
    stage: Stage, table: Table, phone: Watched
) -> None:
    known = {"operator": "Maria", "roles": ["supervisor"], "csrf": "x", "ends_in_s": 1}
    answers: list[dict[str, Any]] = [known, {"operator": None}]
    phone.page.route("**/orders/session", lambda route: route.fulfill(json=answers.pop(0)))
    page = Hand(phone, stage, table).page
    page.wait_for_selector("#operator-now", state="visible")
    page.wait_for_selector("#operator-now", state="hidden")


def log_in(page: Page, name: str = "Kim", pin: str = OTHER_PIN) -> None:
    """Enter a name and a PIN on the sheet."""
    page.fill("#sheet-name", name)
    page.fill("#sheet-pin", pin)
    page.click("#sheet-do")


def wait_dealer(page: Page, name: str, *, named: bool = True) -> None:
    """Wait until the screen names a dealer, or does not."""
    page.wait_for_function(
        "([name, named]) =>"
        " document.getElementById('dealer-name').textContent.includes(name) === named",
        arg=[name, named],
    )


class TestDealer:
    @pytest.fixture
    def screen(self, kiosk: Watched, stage: Stage, table: Table) -> Watched:
        kiosk.page.set_viewport_size({"width": 800, "height": 480})
        kiosk.page.goto(f"{stage.display.url}/table/{table.name}/dealer?lang=en")
        return kiosk

    @pytest.fixture
    def say(self, screen: Watched) -> Callable[[str], str]:
        def wait(selector: str) -> str:
            screen.page.wait_for_selector(f"#say{selector}")
            return screen.page.inner_text("#main")

        return wait

    def test_it_tells_whose_draw_is_due(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        table.deal("P1:2S", "B1:2H", "P2:3D", "B2:3C")
        assert say('[data-hand="player"]') == "Player draws"
        table.deal("P3:4C")
        assert say('[data-hand="banker"]') == "Banker draws"
        table.deal("B3:9D")
        table.shoe.call(Outcome.PLAYER)
        assert say('[data-say="result"][data-hand="player"]') == "Player wins"
        screen.assert_clean()

    def test_a_ruling_that_waits_takes_the_place_of_the_misdeal_until_it_is_carried_out(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        table.deal("P1:6S", "B1:2H", "P2:KD", "B2:3C")
        table.shoe.call(Outcome.BANKER)
        say('[data-say="stop"]')
        table.order("rule", action="draw_now", operator="Maria", pin=PIN, reason="as ruled")
        assert say('[data-say="ordered"]') == "Draw the card now."
        told = screen.page.inner_text("#more")
        assert "Maria, since " in told
        assert "Leave everything" not in told
        assert "as ruled" not in screen.page.content()
        table.deal("B3:9D")
        say(':not([data-say="ordered"])')
        screen.assert_clean()

    def test_a_reader_that_is_lost_takes_the_place_of_the_due_card(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        table.deal("P1:2S", "B1:2H", "P2:3D", "B2:3C")
        say('[data-say="draw"]')
        table.shoe.unplug()
        assert "disconnected" in say('[data-say="stale"]')
        assert screen.page.inner_text("#more") == "Call the supervisor"
        table.shoe.plug()
        say(':not([data-say="stale"])')
        screen.assert_clean()

    def test_a_misdeal_stops_the_game_and_nothing_is_cut_off(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        one_card_too_many(table)
        assert say('[data-say="stop"]') == "Card too many"
        assert "Leave everything as it lies." in screen.page.inner_text("#more")
        for language in LANGUAGES:
            screen.page.goto(screen.page.url.partition("?")[0] + f"?lang={language}")
            say('[data-say="stop"]')
            cut = screen.page.evaluate(
                "() => ['say', 'order-buttons', 'content'].filter(function (id) {"
                " var node = document.getElementById(id);"
                " return node.scrollHeight > node.clientHeight + 1"
                "   || node.scrollWidth > node.clientWidth + 1; })"
            )
            assert cut == [], language
        table.order("acknowledge", operator="Maria", pin=PIN)
        say(':not([data-say="stop"])')

    def test_a_burn_of_which_events_are_lost_hides_no_draw(
        self, stage: Stage, table: Table, own_kiosk: Watched
    ) -> None:
        page = own_kiosk.page
        page.add_init_script(HEARD)
        page.goto(f"{stage.display.url}/table/{table.name}/dealer?lang=en")
        page.wait_for_function("() => window.received.events")
        board = page.evaluate(f"{BLOCK}.first.board")
        seq, at = board["state"]["seq"], board["state"]["published"]
        burned = {"type": "card_burned", "seq": seq + 1, "at": at, "data": {"remaining": 3}}
        page.evaluate("(found) => window.heard.event(found)", {"event": burned})
        page.wait_for_selector('#say[data-say="burn"]')
        for since, say in ((at, "burn"), ("2099-01-01T00:00:00Z", "betting"), (at, "burn")):
            events = {"events": [burned], "since": since}
            page.evaluate("(found) => window.heard.events(found)", events)
            page.wait_for_selector(f'#say[data-say="{say}"]')
        due = {"hand": "player", "code": "player_draws", "text": "", "detail_code": None}
        round_ = {"number": 1, "cards": [], "finished": False, "partial": False, "draw_due": due}
        dealing = board["state"] | {"seq": seq + 9, "round": round_}
        page.evaluate("(found) => window.heard.board(found)", board | {"state": dealing})
        page.wait_for_selector('#say[data-say="draw"]')

    def test_a_hold_hides_no_card_that_is_due(
        self, stage: Stage, table: Table, own_kiosk: Watched
    ) -> None:
        page = own_kiosk.page
        page.goto(f"{stage.display.url}/table/{table.name}/dealer?lang=en")
        table.deal("P1:2S", "B1:2H", "P2:3D", "B2:3C")
        page.wait_for_selector('#say[data-say="draw"]')
        assert table.order("hold", operator="Maria", pin=PIN)["ok"]
        page.wait_for_selector('#say[data-say="wait"]')
        assert page.inner_text("#more") == "The supervisor decides · The Player draws on 5."

    def test_a_dealer_signs_on_and_off(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.click("#sign")
        log_in(page)
        wait_dealer(page, "Kim")
        page.click("#sign")
        wait_dealer(page, "Kim", named=False)
        # The page may hear of it before this test does.
        changed = "event/dealer_changed"
        wait_for(lambda: len(table.of(changed)) == 2, "two changes of the dealer")
        assert [each.json["data"]["dealer"] for each in table.of(changed)] == ["Kim", None]
        # Who signs off is logged out too.
        page.click("#sign")
        page.wait_for_selector('#sheet[data-step="log-in"]')
        screen.assert_clean()

    def test_a_dealer_relieves_another_and_a_supervisor_signs_off_with_the_pin(
        self, table: Table, screen: Watched
    ) -> None:
        page = screen.page
        assert table.order("dealer", operator="Guessed", dealer="Guessed")["ok"]
        wait_dealer(page, "Guessed")
        page.click("#sign")
        log_in(page)
        wait_dealer(page, "Kim")
        page.wait_for_selector("#sheet.hidden", state="attached")
        page.context.clear_cookies()
        page.reload()
        wait_dealer(page, "Kim")
        page.click("#sign")
        log_in(page, "Maria", PIN)
        page.wait_for_selector('#sheet[data-step="preview"]')
        page.fill("#sheet-pin", PIN)
        page.click("#sheet-do")
        page.wait_for_selector("#sheet.hidden", state="attached")
        changed = table.of("event/dealer_changed")[-1].json["data"]
        assert (changed["before"], changed["dealer"], changed["operator"]) == (
            *("Kim", None),
            "Maria",
        )
        screen.assert_clean()

    def test_to_tap_log_in_twice_gives_the_order_once(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.click('[data-order="hold"]')
        page.fill("#sheet-name", "Kim")
        page.fill("#sheet-pin", OTHER_PIN)
        asked: list[str] = []
        page.on("request", lambda each: asked.append(each.url.rpartition("/")[2]))
        page.dblclick("#sheet-do")
        page.wait_for_selector('#say[data-say="wait"]')
        page.wait_for_selector("#sheet.hidden", state="attached")
        assert asked == ["session", "hold"]

    def test_a_dealer_reports_what_no_reader_sees(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.set_viewport_size({"width": 1024, "height": 600})
        table.deal(*NATURAL)
        kinds = ["card_off_table", "foreign_card", "double_feed", "face_up_in_shoe"]
        for slot, kind in zip(("P1", "B2", "", ""), kinds, strict=True):
            page.click('[data-order="report"]:enabled')
            offered = page.locator("[data-choice]").evaluate_all(
                "(all) => all.map((each) => each.dataset.choice)"
            )
            assert offered == kinds
            page.click(f'[data-choice="{kind}"]')
            page.click(f'[data-choice="{slot}"]')
            if page.locator("#sheet-name").count():
                log_in(page)
            page.wait_for_selector("#sheet.hidden", state="attached")
            wait_for(lambda kind=kind: kind in {each["kind"] for each in alerts(table)}, kind)  # type: ignore[misc]
        told = {each["kind"]: each["slot"] for each in alerts(table)}
        assert told == dict(zip(kinds, ("P1", "B2", None, None), strict=True))
        page.wait_for_selector('#say[data-say="stop"]')
        screen.assert_clean()

    def test_a_dealer_gives_an_order_with_one_tap(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.click('[data-order="betting-open"]')
        log_in(page)
        page.wait_for_selector('[data-betting="open"]')
        page.wait_for_selector("#sheet.hidden", state="attached")
        page.click('[data-order="no-more-bets"]')
        page.wait_for_selector('[data-betting="closed"]')
        told = [(each.name, each.operator, each.refused) for each in commands(table)]
        assert told == [("betting_open", "Kim", None), ("no_more_bets", "Kim", None)]
        screen.assert_clean()


ROUNDS_OF_A_LIST = 8
"""So many rounds at least are in a page's list of events."""

MISDEALS = (Fault.OVERDRAW, Fault.MISSED_DRAW, Fault.MISREAD, Fault.UNREADABLE)
"""Faults that a person has to decide; after the others the table goes on by itself, as a rule."""

OWN_RULINGS = {
    "excess_card": ("carry_to_next_hand", "burn_card"),
    "missing_draw": ("draw_now", "void_round"),
}
"""Rulings that a person chooses where the policy proposes nothing."""

# As the demo's own table.
TABLE = 'house = "seven-feathers"\nresult_on = "confirmed"\n'


class Decision(NamedTuple):
    """A misdeal that was resolved on the page: what it was, in which language, and how."""

    fault: Fault | None
    language: str
    order: str
    taps: int


class PageSupervisor:
    """
    Decides the misdeals of a table on a phone, as a person does who sees the cards.

    Attributes:
        decisions: All decisions so far.
        dealt: The rounds dealt so far.
        journal: The account of the table's journal.
        page: The account of the page's list of events.
    """

    def __init__(
        self,
        phone: Watched,
        stage: Stage,
        table: Table,
        journal: JournalReader,
        kind: type[Hand] = Hand,
    ) -> None:
        self._kind = kind
        self.decisions: list[Decision] = []
        self.dealt: list[DealtRound] = []
        self.journal = JournalAccount(journal)
        self.page = PageAccount("Maria")
        self._phone, self._stage, self._table = phone, stage, table
        self._turn, self._language = 0, LANGUAGES[0]
        self._hand = kind(phone, stage, table, self._language)
        self._sent = 0
        self._awaits_card: set[int] = set()

    def deal(self, settings: Settings) -> None:
        """Deal as the demo does: the dealer waits for the supervisor."""
        for _ in play_on_line(self._table.shoe, self._scenes(settings)):
            pass
        self._decide()
        self.page.read(self._hand.page, self.journal.seq)

    def _scenes(self, settings: Settings) -> Iterator[Scene]:
        for scene in scenes(settings):
            self._decide()
            if scene.round is not None:
                self._turn_language()
                self.dealt.append(scene.round)
            for number, step in enumerate(scene.steps):
                if number and awaits_decision(scene.round, step):
                    self._decide()
                self._table.shoe.wait_heard()
                # Noise is in no journal.
                plain = replace(step, noise=b"")
                self._sent += sum(len(data) for _, data in plain.writes(1))
                yield replace(scene, steps=(step,))

    def _turn_language(self) -> None:
        """Go on in the next language after each decision, before the list forgets an event."""
        turn = len(self.decisions) + len(self.dealt) // ROUNDS_OF_A_LIST
        if turn != self._turn:
            self.page.read(self._hand.page, self.journal.seq)
            self._turn, self._language = turn, LANGUAGES[turn % len(LANGUAGES)]
            self._hand = self._kind(self._phone, self._stage, self._table, self._language)

    def _decide(self) -> None:
        """Decide whatever is open now."""
        journal = self.journal
        wait_for(lambda: journal.bytes_read() >= self._sent, "all that the shoe has said")
        journal.read_on()
        self._awaits_card &= journal.open.keys()
        while decidable := sorted(journal.open.keys() - self._awaits_card):
            self._wait_for_page()
            self._resolve(journal.open[decidable[0]])
            journal.read_on()

    def _wait_for_page(self) -> None:
        """Wait until the page shows the open irregularities and the cards of the journal."""
        seq = self.journal.seq
        wait_for(lambda: self._table.of("state")[-1].json["seq"] >= seq, f"state {seq}")
        round_ = self._table.of("state")[-1].json["round"]
        self._phone.until(
            """([ids, cards]) => {
              const all = (selector) => [...document.querySelectorAll(selector)];
              const open = all("#alerts-list > article").map((each) => each.dataset.alertId);
              const shown = all("#spots [data-slot]").map(
                (each) => each.dataset.slot + each.dataset.card);
              return open.sort().join() === ids.join() && shown.sort().join() === cards.join();
            }""",
            [
                sorted(str(each) for each in self.journal.open),
                sorted(
                    f"{each['slot']}{each['card'] or ('?' if each['unreadable'] else '')}"
                    for each in round_["cards"]
                    if each["slot"]
                ),
            ],
        )

    def _cards_shown(self) -> dict[str, str]:
        spots = self._hand.page.locator("#spots [data-slot]")
        return dict(
            spots.evaluate_all(
                "(all) => all.map((each) => [each.dataset.slot, each.dataset.card])"
            )
        )

    def _resolve(self, alert: dict[str, Any]) -> None:
        hand, data, dealt = self._hand, alert["data"], self.dealt[-1]
        article = f'[data-alert-id="{data["id"]}"] '
        # Before its first card, the cards of the round before are on the page.
        taps = self._taps(data, {} if alert["round"] is None else self._cards_shown())
        hand.taps = 0
        for selector in taps:
            hand.tap(selector if selector.startswith("[data-choice") else article + selector)
        if hand.step("log-in", "preview", "refused") == "log-in":
            hand.log_in()
        hand.enter_pin()
        hand.tap("#sheet-do")
        assert hand.step("done", "refused") == "done", hand.page.inner_text("#sheet")
        verb = str(hand.page.get_attribute("#sheet", "data-verb"))
        self.decisions.append(Decision(dealt.fault, self._language, verb, hand.taps))
        hand.tap("#sheet-close")
        if "draw_now" in taps[-1]:
            self._awaits_card.add(data["id"])

    def _taps(self, data: dict[str, Any], shown: dict[str, str]) -> list[str]:
        """Choose what a person taps who compares the cards on the table with those on the page."""
        dealt = self.dealt[-1]
        true = {str(slot): str(card) for slot, card in dealt.cards}
        if data["kind"] == "unreadable_card":
            unread = [slot for slot in true if shown.get(slot, "?") == "?"]
            card = true[data["slot"] or unread[0]]
            return ['[data-order="enter-card"]', f'[data-choice="{card}"]']
        wrong = [slot for slot, card in true.items() if shown.get(slot, card) not in {card, ""}]
        if dealt.fault is Fault.MISREAD and wrong:
            return [f'[data-card-of="{wrong[0]}"]', f'[data-choice="{true[wrong[0]]}"]']
        for proposal in data["proposals"]:
            if _is_possible(proposal["action"], dealt):
                return [f'.proposal[data-action="{proposal["action"]}"] .order-button']
        if data["proposals"]:
            return [".unfold", '[data-order="acknowledge"]']
        for action in OWN_RULINGS.get(data["kind"], ()):
            if _is_possible(action, dealt):
                return ['[data-order="rule"]', f'[data-choice="{action}"]']
        return ['[data-order="acknowledge"]']


def _is_possible(action: str, dealt: DealtRound) -> bool:
    """Say whether the dealer can do this with the cards that lie there."""
    if action in {"carry_to_next_hand", "carry_as_dummy_hand"}:
        return dealt.carried
    if action == "burn_card":
        return not dealt.carried
    if action == "draw_now":
        return dealt.fault is Fault.MISSED_DRAW
    not_orders = {"burn_card_plus_value", "rescan", "manual_entry", "stop_shoe", "supervisor"}
    return action not in not_orders


def demo(rounds: int, seed: int, policy: str, mode: Mode = Mode.OPEN) -> DemoSettings:
    """Return a demo in which everything that can go wrong happens, with such a seed."""
    return DemoSettings(
        rounds=rounds,
        house="seven-feathers",
        seed=seed,
        faults=tuple(Fault),
        fault_rate=0.7,
        policy=policy,
        mode=mode,
    )


# A slow and loaded machine may need some seconds for each round.
@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    "wanted",
    sample(
        [
            demo(volume(12, 80), 213, "us_nj_pa"),
            demo(40, 30, "us_nj_pa", Mode.HIDDEN),
            *(demo(40, 23, policy) for policy in ("management", "fr_2007", "live_studio")),
        ],
        5,
    ),
    ids=lambda wanted: f"{wanted.rounds}-rounds-{wanted.policy}-{wanted.mode}",
)
def test_a_supervisor_decides_every_misdeal_of_a_shoe_on_the_page(
    stage: Stage, opened: Callable[..., Table], phone: Watched, wanted: DemoSettings
) -> None:
    """
    All that goes wrong in the demo is resolved on a phone, in three languages, in at most three
    taps and without typing anything but the PIN, and the reason of a correction. In the end the
    journal and the page tell the same, and the rounds published are those dealt.
    """
    table = opened(wanted.policy, TABLE)
    with JournalReader(table.journal) as journal:
        supervisor = PageSupervisor(phone, stage, table, journal)
        supervisor.deal(shoe_of(wanted, house_of(wanted)))
    account, decisions = supervisor.journal, supervisor.decisions
    assert account.open == {}
    assert {each.fault for each in supervisor.dealt} >= set(Fault)
    assert {each.fault for each in decisions} >= set(MISDEALS)
    assert {each.language for each in decisions} == set(LANGUAGES)
    assert max(each.taps for each in decisions) <= 3
    phone.assert_clean()
    orders = commands(table)
    assert [each.name.replace("_", "-") for each in orders] == [each.order for each in decisions]
    assert all(each.refused is None and each.operator == "Maria" for each in orders)
    # The PIN goes to the table with the orders that take it: what these decided held a result.
    assert not any(each.claimed for each in orders)
    assert supervisor.page.lines() == account.lines()
    check = ResultCheck()
    for dealt in supervisor.dealt:
        check.deal(dealt)
    for event in account.events:
        check.show(decode_event(json.dumps(event).encode()))
    check.finish(interrupted=False)
    assert check.passed


@pytest.mark.timeout(1800)
def test_every_misdeal_can_be_decided_with_the_keyboard_alone(
    stage: Stage, opened: Callable[..., Table], phone: Watched
) -> None:
    many = volume(0, 1)
    wanted = demo(30, 23, "fr_2007") if many else demo(12, 213, "us_nj_pa")
    table = opened(wanted.policy, TABLE)
    with JournalReader(table.journal) as journal:
        supervisor = PageSupervisor(phone, stage, table, journal, Keyboard)
        supervisor.deal(shoe_of(wanted, house_of(wanted)))
    assert supervisor.journal.open == {}
    assert len(supervisor.decisions) >= (8 if many else 4)
    assert {each.fault for each in supervisor.decisions} >= set(MISDEALS)
    phone.assert_clean()
