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


def test_after_no_more_bets_a_card_is_lawful() -> None:
    dealer = Dealer()
    for _ in range(3):
        dealer.say(OPEN)
        assert one(dealer.say(CLOSE), "betting_closed").cause == "no_more_bets"
        dealer.deal(NATURAL)
        dealer.result("player")
    assert dealer.kinds() == []
    assert types(dealer.events).count("betting_closed") == 3


def test_a_table_that_gives_no_signals_draws_when_it_likes() -> None:
    dealer = Dealer()
    for _ in range(3):
        dealer.deal(NATURAL)
        dealer.result("player")
    assert dealer.kinds() == []
    assert dealer.table.public().betting == "unknown"
    causes = {data.cause for data in of_type(dealer.events, "betting_closed")}
    assert causes == {"first_card"}


def test_after_a_restart_nobody_knows_whether_bets_are_open() -> None:
    dealer = Dealer()
    dealer.say(OPEN)
    dealer.gap("restart")
    assert dealer.table.public().betting == "unknown"
    dealer.draw("9S", "P1")
    assert dealer.kinds() == []
