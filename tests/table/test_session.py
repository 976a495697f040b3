"""Sessions: who and where a table is, its house and its options."""

from __future__ import annotations

import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.game.house_rules import house_to_mapping, load_house
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import ResultOn, RoundEnd
from shoe_daemon.table.table import Table
from tests.table.dealer import NATURAL, SIX, SQUEEZE, Dealer, house, one, types

AT = "2026-11-21T09:34:46.000Z"


def test_a_bare_log_uses_the_defaults() -> None:
    dealer = Dealer(session=False)
    dealer.deal(NATURAL)
    event = dealer.events[0]
    assert (event.site, event.table, event.schema) == ("site", "table", "1.0")
    assert one(dealer.events, "shoe_started").house is None
    finished = one(dealer.events, "round_finished")
    assert [each.wager for each in finished.wagers] == ["player", "banker", "tie"]
    assert [each.pays for each in finished.wagers] == ["1:1", None, None]


@pytest.mark.parametrize("name", ["chickasaw", "curator", "seven-feathers", "single-deck"])
def test_a_house_by_name_and_in_full_are_the_same(name: str) -> None:
    by_name, in_full = Dealer(name), Dealer(load_house(name))
    for dealer in (by_name, in_full):
        dealer.order("new_shoe")
        dealer.deal(SIX)
        dealer.result("player")
    assert [event.data for event in by_name.events] == [event.data for event in in_full.events]
    assert by_name.finished()


def test_the_rules_of_a_log_hold_whatever_has_become_of_the_house() -> None:
    rules = house_to_mapping(house(id="chickasaw", decks=3, dealing_style="squeeze"))
    table = Table()
    table.apply(seen.Session(at=AT, house="chickasaw", rules=rules))
    (started,) = table.apply(seen.Command(at=AT, name="new_shoe"))
    assert started.data.decks == 3  # type: ignore[attr-defined]


class TestChange:
    @pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.QUIET, RoundEnd.RULES])
    def test_between_rounds_it_takes_effect_at_once(self, mode: RoundEnd) -> None:
        dealer = Dealer(round_end=mode)
        dealer.deal(NATURAL)
        dealer.result("player")
        dealer.wait(60)
        dealer.say(Dealer.session(table="other", round_end=mode))
        assert dealer.table.public().table == "other"

    @pytest.mark.parametrize("mode", list(RoundEnd))
    def test_in_a_round_it_waits_for_the_next(self, mode: RoundEnd) -> None:
        dealer = Dealer(round_end=mode)
        dealer.deal("P1 9S, B1 2H, P2 KD")
        dealer.say(Dealer.session(house(dealing_style=SQUEEZE), table="other", round_end=mode))
        dealer.deal("B2 3C")
        dealer.order("confirm_result")
        assert {event.table for event in dealer.events} == {"table"}
        assert dealer.finished()[0].outcome == "player"
        said = dealer.draw("9S", "P1")
        assert {event.table for event in said} == {"other"}
        assert one(said, "card_dealt").card is None

    @pytest.mark.parametrize("mode", [RoundEnd.DEVICE, RoundEnd.QUIET])
    def test_the_next_round_has_it_even_where_its_own_card_ends_the_one_before(
        self, mode: RoundEnd
    ) -> None:
        dealer = Dealer(round_end=mode, result_on=ResultOn.CONFIRMED)
        dealer.deal(NATURAL)
        dealer.say(Dealer.session(table="other", round_end=mode))
        said = dealer.draw("9D", "P1", after=60)
        tables = [(event.type, event.table) for event in said]
        assert tables[0] == ("round_finished", "table")
        assert {table for _, table in tables[1:]} == {"other"}

    def test_another_way_to_end_rounds(self) -> None:
        dealer = Dealer()  # auto: the device
        dealer.deal(NATURAL)
        dealer.say(Dealer.session(round_end=RoundEnd.BUTTON))
        dealer.result("player")
        dealer.deal(SIX)
        dealer.draw("9S", "P1")
        assert dealer.kinds() == ["excess_card"]
        dealer.say(Dealer.session(round_end=RoundEnd.AUTO))
        dealer.result("player")
        dealer.deal(NATURAL, slots=False)
        assert dealer.table.mode is RoundEnd.QUIET

    def test_the_clock_of_quiet_runs_on_and_ends_in_the_old_round(self) -> None:
        dealer = Dealer(round_end=RoundEnd.QUIET, result_on=ResultOn.CONFIRMED)
        dealer.deal(NATURAL)
        dealer.say(Dealer.session(round_end=RoundEnd.QUIET, quiet_gap=100))
        assert types(dealer.wait(9)) == ["round_finished"]
        dealer.deal(NATURAL)
        dealer.wait(99)
        assert dealer.table.deadline is not None
        dealer.wait(1)
        assert dealer.table.deadline is None


def test_a_session_that_cannot_be_leaves_the_table_as_it_was() -> None:
    dealer = Dealer()
    dealer.deal("P1 9S, B1 2H")
    before = dealer.table.checkpoint()
    for bad in (seen.Session(at=AT, house="nowhere"), seen.Session(at=AT, rules={"decks": 99})):
        with pytest.raises(UserError):
            dealer.table.apply(bad)
    assert Table.restore(before).public().round == dealer.table.public().round
    assert dealer.table.state.next_session is None


def test_seconds_have_an_end() -> None:
    line = b'{"at":"2026-11-21T09:34:46Z","type":"session","options":{"quiet_gap":1e300}}'
    with pytest.raises(UserError, match="quiet_gap"):
        seen.decode_observation(line)
