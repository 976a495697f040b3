"""Betting: when it is open, and a card drawn too early."""

from __future__ import annotations

from shoe_daemon.table import observations as seen
from tests.table.dealer import NATURAL, Dealer, of_type, one, types

OPEN = seen.BettingOpen()
CLOSE = seen.NoMoreBets()


def test_a_card_while_betting_is_open_is_premature() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    said = dealer.draw("9S", "P1")
    assert types(said)[-5:] == [
        "betting_closed", "round_started", "card_dealt", "irregularity", "draw_due",
    ]  # fmt: skip
    found = one(said, "irregularity")
    assert (found.kind, found.severity) == ("premature_draw", 2)
    assert one(said, "betting_closed").cause == "first_card"


def test_it_is_said_once_a_round() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.deal(NATURAL)
    assert dealer.kinds() == ["premature_draw"]
    assert len(dealer.finished()) == 1


def test_after_no_more_bets_a_card_is_lawful() -> None:
    dealer = Dealer()
    for _ in range(3):
        dealer.say(OPEN)
        assert one(dealer.say(CLOSE), "betting_closed").cause == "no_more_bets"
        dealer.deal(NATURAL)
        dealer.result("player")
    assert dealer.kinds() == []
    assert types(dealer.events).count("betting_closed") == 3


def test_bets_are_open_again_when_the_round_is_over() -> None:
    dealer = Dealer()
    dealer.say(CLOSE)
    dealer.deal(NATURAL)
    assert dealer.table.public().betting == "closed"
    dealer.result("player")
    assert dealer.table.public().betting == "open"
    dealer.draw("9S", "P1")
    assert dealer.kinds() == ["premature_draw"]


def test_a_table_that_gives_no_signals_draws_when_it_likes() -> None:
    dealer = Dealer()
    for _ in range(3):
        dealer.deal(NATURAL)
        dealer.result("player")
    assert dealer.kinds() == []
    assert dealer.table.public().betting == "unknown"
    causes = {data.cause for data in of_type(dealer.events, "betting_closed")}
    assert causes == {"first_card"}


def test_no_more_bets_said_twice_is_said_once() -> None:
    dealer = Dealer()
    dealer.say(CLOSE)
    assert dealer.say(CLOSE) == []


def test_orders_say_the_same_as_signals() -> None:
    dealer = Dealer()
    dealer.order("betting_open")
    assert types(dealer.order("no_more_bets")) == ["betting_closed"]
    dealer.deal(NATURAL)
    dealer.order("betting_open")
    dealer.draw("9S", "P1")
    assert dealer.kinds() == ["premature_draw"]


def test_a_refused_order_opens_nothing() -> None:
    dealer = Dealer()
    dealer.order("betting_open", refused="expired")
    dealer.draw("9S", "P1")
    assert dealer.kinds() == []


def test_bets_closed_before_the_first_shoe_stay_closed() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.say(CLOSE)
    assert "betting_closed" not in types(dealer.draw("9S", "P1"))
    assert dealer.kinds() == []


def test_burned_cards_are_no_premature_draw() -> None:
    dealer = Dealer()
    dealer.order("new_shoe")
    dealer.say(OPEN)
    dealer.burn("2S 4C 5C")
    dealer.say(CLOSE)
    dealer.draw("9S", "P1")
    assert dealer.kinds() == []


def test_an_unreadable_first_card_is_premature_too() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.say(seen.Unreadable())
    assert dealer.kinds() == ["premature_draw", "unreadable_card"]


def test_after_a_restart_nobody_knows_whether_bets_are_open() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.gap("restart")
    assert dealer.table.public().betting == "unknown"
    dealer.draw("9S", "P1")
    assert dealer.kinds() == []


def test_a_gap_of_the_reader_says_nothing_of_the_bets() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.gap("lost_frames")
    dealer.draw("9S", "P1")
    assert dealer.kinds() == ["premature_draw"]
