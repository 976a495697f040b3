"""
The pit acts: a supervisor resolves a misdeal on a phone in three taps and a PIN, a dealer gives
orders on the table's own screen, and nothing is carried out twice or without an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

from drivers.simulators.simulated_shoe import Excess, Fault
from shoe_daemon.game import Action, IrregularityKind, Slot
from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.table.commands.rulings import ACTION_KINDS
from shoe_daemon.table.observations import Command
from tests.brokers import wait_for
from tests.browser.chrome import Watched, watch
from tests.browser.live_tables import Stage, Table, set_stage, simulated
from tests.browser.test_corrections import play
from tests.browser.test_page_standards import assert_accessible
from tests.display.test_order_routes import OPERATORS, OTHER_PIN, PIN
from tests.volume import volume

pytestmark = pytest.mark.mosquitto

LANGUAGES = ("en", "zh-hans", "zh-hant")
NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
_numbers = count(1)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A display whose pages take orders."""
    folder = tmp_path_factory.mktemp("orders")
    (folder / "operators.toml").write_text(OPERATORS)
    with set_stage(folder, '[display.orders]\noperators_file = "operators.toml"') as stage:
        yield stage


def configuration(stage: Stage, policy: str) -> str:
    """Write the section of a table with a policy and the stage's operators."""
    return f'policy = "{policy}"\n[orders]\noperators_file = "{stage.folder}/operators.toml"'


@pytest.fixture
def table(stage: Stage) -> Iterator[Table]:
    """A table with the same operators, and the French order's proposals."""
    with stage.table(configuration(stage, "fr_2007")) as table:
        yield table


@pytest.fixture
def phone(browser: Browser) -> Iterator[Watched]:
    with watch(browser, "phone") as watched:
        yield watched


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
        """Log in where the sheet asks for it."""
        self.page.fill("#sheet-pin", pin)
        self.page.click("#sheet-do")

    def step(self, *steps: str) -> str:
        """Wait for one of these steps of the sheet; return it."""
        some = ",".join(f'#sheet[data-step="{step}"]' for step in steps)
        return str(self.page.locator(some).get_attribute("data-step"))

    def enter_pin(self, pin: str = PIN) -> None:
        """Enter the PIN, if the sheet asks for one."""
        self.step("preview")
        if self.page.locator("#sheet-pin").count():
            self.page.fill("#sheet-pin", pin)


def commands(table: Table) -> list[Command]:
    """Return the commands in the journal."""
    with JournalReader(table.journal) as reader:
        return [each for each in reader.observations() if isinstance(each, Command)]


def alerts(table: Table) -> list[dict[str, Any]]:
    heard = table.of("alert/active")
    return [each["data"] for each in heard[-1].json["alerts"]] if heard else []


def one_card_too_many(table: Table) -> None:
    table.deal(*NATURAL)
    table.deal("P3:4C")
    wait_for(lambda: alerts(table), "an alert")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_misdeal_is_resolved_in_three_taps(
    stage: Stage, table: Table, phone: Watched, language: str
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table, language)
    hand.tap(".proposal .order-button")
    hand.log_in()
    assert hand.step("preview") == "preview"
    assert hand.page.locator(".would li").count() > 0
    assert_accessible(hand.page)
    hand.tap("#sheet-do")
    hand.step("done")
    hand.tap("#sheet-do")
    assert hand.taps == 3
    wait_for(lambda: not alerts(table), "no alert")
    (command,) = commands(table)
    assert (command.name, command.operator, command.claimed, command.refused) == (
        *("rule", "Maria", False),
        None,
    )
    phone.assert_clean()


def test_a_corrected_card_is_seen_before_and_after(
    stage: Stage, table: Table, phone: Watched
) -> None:
    play(table, "P")
    hand = Hand(phone, stage, table)
    hand.tap('[data-order="correct-card"]')
    hand.tap('[data-choice="P1"]')
    hand.tap('[data-choice="8H"]')
    hand.log_in()
    hand.step("preview")
    shown = {
        name: hand.page.locator(f'.{name} [data-slot="P1"]').get_attribute("data-card")
        for name in ("before", "after")
    }
    assert shown["after"] == "8H"
    assert shown["before"] not in {None, "8H"}
    hand.tap("#sheet-do")
    hand.step("done")
    (command,) = commands(table)
    assert (command.name, command.slot, command.card) == ("correct_card", "P1", "8H")
    phone.assert_clean()


@pytest.fixture
def opened(stage: Stage) -> Iterator[Callable[[str], Table]]:
    """Opens a table with the same operators, and another policy."""
    with ExitStack() as stack:
        yield lambda policy: stack.enter_context(stage.table(configuration(stage, policy)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_misread_card_is_put_right_in_three_taps(
    stage: Stage, table: Table, phone: Watched, language: str
) -> None:
    """The card on the table is tapped, then the right one; what it caused is closed with it."""
    table.deal(*NATURAL)
    table.shoe.call(Outcome.TIE)  # the Banker's three is a seven
    wait_for(lambda: alerts(table), "an alert")
    hand = Hand(phone, stage, table, language)
    shown = hand.page.locator(".wrong-cards [data-card-of]")
    assert [each.get_attribute("data-card-of") for each in shown.all()] == ["P1", "P2", "B1", "B2"]
    assert_accessible(hand.page)
    hand.tap('[data-card-of="B2"]')
    hand.tap('[data-choice="7C"]')
    hand.log_in()
    hand.step("preview")
    assert "Tie" in hand.page.inner_text(".would") or language != "en"
    hand.tap("#sheet-do")
    hand.step("done")
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
    assert [each.get_attribute("data-choice") for each in places.all()] == [*map(str, Slot)]
    assert page.locator(".slots svg").count() == 0
    phone.assert_clean()


def test_the_proposal_to_enter_a_card_asks_for_the_card(
    stage: Stage, opened: Callable[[str], Table], phone: Watched
) -> None:
    table = opened("live_studio")
    table.deal(*NATURAL[:3])
    table.shoe.say("E", 0x81)
    wait_for(lambda: alerts(table), "an alert")
    hand = Hand(phone, stage, table)
    hand.tap('.proposal[data-action="manual_entry"] .order-button')
    hand.tap('[data-choice="3C"]')
    hand.log_in()
    hand.step("preview")
    hand.tap("#sheet-do")
    hand.step("done")
    assert hand.taps == 3
    (command,) = commands(table)
    assert (command.name, command.card) == ("enter_card", "3C")
    wait_for(lambda: not alerts(table), "no alert")


def test_a_ruling_that_the_policy_does_not_propose_takes_three_taps(
    stage: Stage, opened: Callable[[str], Table], phone: Watched
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
    hand.tap('[data-choice="burn_card"]')
    hand.log_in()
    hand.step("preview")
    assert hand.page.inner_text("#sheet-do").lower() == "burn the card"
    hand.tap("#sheet-do")
    hand.step("done")
    assert hand.taps == 3
    (command,) = commands(table)
    assert (command.name, command.action) == ("rule", "burn_card")
    phone.assert_clean()


def test_an_order_is_refused_once_the_table_has_moved_on(
    stage: Stage, table: Table, phone: Watched
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    hand.tap(".proposal .order-button")
    hand.log_in()
    hand.step("preview")
    assert table.order("hold", kind="card_off_table", slot="B2")["ok"]
    hand.tap("#sheet-do")
    hand.step("refused")
    assert len(alerts(table)) == 2
    hand.tap("#sheet-do")  # look again
    hand.enter_pin()
    hand.tap("#sheet-do")
    hand.step("done")
    ruled = [each for each in commands(table) if each.name == "rule"]
    assert [each.refused is None for each in ruled] == [False, True]


def test_a_lost_answer_is_asked_for_again_and_the_order_carried_out_once(
    stage: Stage, table: Table, phone: Watched
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    lost: list[str] = []

    def lose(route: Route) -> None:
        body = str(route.request.post_data)
        if "dry_run" in body or lost:
            route.continue_()
        else:
            lost.append(body)
            route.fetch()  # the display and the table got it; the answer is lost
            route.abort()

    hand.page.route("**/orders/*/rule", lose)
    hand.tap(".proposal .order-button")
    hand.log_in()
    hand.step("preview")
    hand.tap("#sheet-do")
    hand.step("done")
    assert len(lost) == 1
    assert [each.refused is None for each in commands(table)] == [True, False]
    assert len({each.id for each in commands(table)}) == 1


def test_two_supervisors_at_once_decide_once(
    stage: Stage, table: Table, browser: Browser, phone: Watched
) -> None:
    one_card_too_many(table)
    with watch(browser, "small") as other:
        hands = [Hand(each, stage, table) for each in (phone, other)]
        for hand in hands:
            hand.tap(".proposal .order-button")
            hand.log_in()
            hand.step("preview")
        for hand in hands:
            hand.page.click("#sheet-do")
        ends = sorted(hand.step("done", "refused") for hand in hands)
    assert ends == ["done", "refused"]
    assert sum(each.refused is None for each in commands(table)) == 1


def test_an_ended_session_asks_who_it_is_and_keeps_the_selection(
    stage: Stage, table: Table, phone: Watched
) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    hand.tap(".proposal .order-button")
    hand.log_in()
    hand.step("preview")
    hand.page.context.clear_cookies()
    hand.page.click("#sheet-do")
    hand.step("log-in")
    hand.log_in()
    hand.step("preview")
    hand.page.click("#sheet-do")
    hand.step("done")
    wait_for(lambda: not alerts(table), "no alert")


def test_the_pin_is_nowhere_on_the_page(stage: Stage, table: Table, phone: Watched) -> None:
    one_card_too_many(table)
    hand = Hand(phone, stage, table)
    hand.tap(".proposal .order-button")
    hand.log_in()
    hand.step("preview")
    hand.tap("#sheet-do")
    hand.step("done")
    hand.tap("#sheet-do")
    kept = hand.page.evaluate(
        "() => [document.documentElement.outerHTML, document.cookie, location.href,"
        " JSON.stringify(localStorage), JSON.stringify(sessionStorage)].join()"
    )
    assert PIN not in kept
    assert "shoe_operator" not in kept
    assert hand.page.locator("#sheet-pin").count() == 0


def test_without_the_broker_the_buttons_are_off_and_say_why(
    tmp_path: Path, browser: Browser
) -> None:
    (tmp_path / "operators.toml").write_text(OPERATORS)
    with (
        set_stage(tmp_path, '[display.orders]\noperators_file = "operators.toml"') as own,
        own.table('policy = "fr_2007"') as table,
        watch(browser, "phone") as watched,
    ):
        one_card_too_many(table)
        page = Hand(watched, own, table).page
        page.wait_for_selector(".order-button:enabled")
        own.broker.kill()
        page.wait_for_selector("#broker-banner:not(.hidden)")
        page.wait_for_function("() => !document.querySelector('.order-button:not(:disabled)')")
        own.broker.start()
        page.wait_for_selector(".order-button:enabled")


class TestDealer:
    @pytest.fixture
    def screen(self, browser: Browser, stage: Stage, table: Table) -> Iterator[Watched]:
        with watch(browser) as watched:
            watched.page.set_viewport_size({"width": 800, "height": 480})
            watched.page.goto(f"{stage.display.url}/table/{table.name}/dealer?lang=en")
            yield watched

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

    def test_a_misdeal_stops_the_game_and_everything_stays_in_place(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        one_card_too_many(table)
        assert say('[data-say="stop"]') == "Card too many"
        assert "Leave everything as it lies." in screen.page.inner_text("#more")
        table.order("acknowledge", operator="Kim")
        say(':not([data-say="stop"])')

    def test_nothing_is_cut_off(
        self, table: Table, screen: Watched, say: Callable[[str], str]
    ) -> None:
        one_card_too_many(table)
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

    def test_a_dealer_signs_on_and_off(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.click("#sign")
        page.fill("#sheet-name", "Kim")
        page.fill("#sheet-pin", OTHER_PIN)
        page.click("#sheet-do")
        page.wait_for_function(
            "() => document.getElementById('dealer-name').textContent.includes('Kim')"
        )
        page.click("#sign")
        page.wait_for_function(
            "() => !document.getElementById('dealer-name').textContent.includes('Kim')"
        )
        # The page may hear of it before this test does.
        changed = "event/dealer_changed"
        wait_for(lambda: len(table.of(changed)) == 2, "two changes of the dealer")
        assert [each.json["data"]["dealer"] for each in table.of(changed)] == ["Kim", None]
        # Who signs off is logged out too.
        page.click("#sign")
        page.wait_for_selector('#sheet[data-step="log-in"]')
        screen.assert_clean()

    def test_a_dealer_gives_an_order_with_one_tap(self, table: Table, screen: Watched) -> None:
        page = screen.page
        page.click('[data-order="betting-open"]')
        page.fill("#sheet-name", "Kim")
        page.fill("#sheet-pin", OTHER_PIN)
        page.click("#sheet-do")
        page.wait_for_selector('[data-betting="open"]')
        page.wait_for_selector("#sheet.hidden", state="attached")
        page.click('[data-order="no-more-bets"]')
        page.wait_for_selector('[data-betting="closed"]')
        told = [(each.name, each.operator, each.refused) for each in commands(table)]
        assert told == [("betting_open", "Kim", None), ("no_more_bets", "Kim", None)]
        screen.assert_clean()


ROUNDS = volume(12, 200)


def test_a_supervisor_decides_every_misdeal_of_a_shoe_on_the_page(
    stage: Stage, table: Table, phone: Watched
) -> None:
    """The journal, the page and the published results agree in the end."""
    hand = Hand(phone, stage, table)
    decided: list[int] = []
    faults = (Fault.OVERDRAW, Fault.MISREAD, Fault.UNREADABLE)
    dealt = simulated(
        table.shoe, seed=7, rounds=ROUNDS, faults=faults, fault_rate=0.4, excess=Excess.EITHER
    )
    for scene in dealt:
        if scene.round is None:
            continue
        number = scene.round.number
        wait_for(lambda: _is_over(table, number), f"round {number}")  # noqa: B023 - now
        settle(table)
        while open_alerts := alerts(table):
            if decide(hand, table, open_alerts[0]):
                decided.append(open_alerts[0]["id"])
    assert decided
    carried_out = [each for each in commands(table) if each.refused is None]
    assert len(carried_out) >= len(decided)
    assert {each.operator for each in carried_out} == {"Maria"}
    # The PIN goes to the table with the orders that take it.
    assert all(each.claimed is (each.name == "acknowledge") for each in carried_out)
    ledger = table.ledger()
    hand.page.wait_for_function(
        "(seq) => document.querySelector(`#event-log > li[data-seq='${seq}']`)",
        arg=max(each.json["seq"] for each in table.heard if "/event/" in each.topic),
    )
    assert ledger.rounds
    phone.assert_clean()


def settle(table: Table) -> None:
    """Wait until all that the shoe has said is dealt with: it may close an alert."""
    table.shoe.drain()
    assert not table.order("acknowledge", irregularity=10**9)["ok"]


def _is_over(table: Table, number: int) -> bool:
    over = {"round_finished", "round_aborted", "round_held", "round_voided"}
    return any(each.json["round"] >= number for kind in over for each in table.of(f"event/{kind}"))


def decide(hand: Hand, table: Table, alert: dict[str, Any]) -> bool:
    """
    Take the first proposal that closes the alert; acknowledge it where there is none.

    Returns:
        Whether it was decided here; some are closed by what the shoe reports next.
    """
    article = hand.page.locator(f'[data-alert-id="{alert["id"]}"]')
    wait_for(lambda: article.count() or not _is_open(table, alert), "the alert on the page")
    if not _is_open(table, alert):
        return False
    closing = [
        each["action"]
        for each in alert["proposals"]
        if each["action"] not in {"draw_now", "rescan", "manual_entry", "supervisor"}
    ]
    within = f'[data-alert-id="{alert["id"]}"]'
    hand.taps = 0
    if closing:
        hand.tap(f'{within} .proposal[data-action="{closing[0]}"] .order-button')
    else:
        if article.locator(".others.hidden").count():
            hand.tap(f"{within} .unfold")
        hand.tap(f'{within} [data-order="acknowledge"]')
    if hand.step("log-in", "preview", "refused") == "log-in":
        hand.log_in()
    hand.enter_pin()
    hand.tap("#sheet-do")
    assert hand.step("done", "refused") == "done", hand.page.inner_text("#sheet")
    assert hand.taps <= 3
    hand.page.click("#sheet-close")
    wait_for(lambda: not _is_open(table, alert), f"{alert['id']} closed")
    return True


def _is_open(table: Table, alert: dict[str, Any]) -> bool:
    return any(each["id"] == alert["id"] for each in alerts(table))
