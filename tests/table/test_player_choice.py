"""
A house that lets the Player draw or stand on 5: every lawful deal gives its result, every unlawful
one is reported, and what the Player chose is never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import pytest

from shoe_daemon.table import Event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.table import reference_rules
from tests.table.dealer import (
    FACE_UP,
    SQUEEZE,
    TUCKED,
    Dealer,
    DealingStyle,
    Slot,
    card,
    house,
    of_type,
    one,
    public_json,
    types,
)

RANKS = ("K", "A", "2", "3", "4", "5", "6", "7", "8", "9")
"""The rank of a card by its points."""

Thirds = tuple[tuple[str, int], ...]
"""The slots of the third cards, with their points, in the order drawn."""


class Deal(NamedTuple):
    """A round by the totals of both first two cards, and the cards after them."""

    player: int
    banker: int
    thirds: Thirds

    @property
    def text(self) -> str:
        """The round as a dealer deals it."""
        first = [(self.player + 7) % 10, (self.banker + 8) % 10, 3, 2]
        drawn = [*zip(("P1", "B1", "P2", "B2"), first, strict=True), *self.thirds]
        return ", ".join(f"{slot} {RANKS[points]}{slot_suit(slot)}" for slot, points in drawn)

    @property
    def totals(self) -> tuple[int, int]:
        """The totals at the end."""
        thirds = dict(self.thirds)
        player, banker = self.player + thirds.get("P3", 0), self.banker + thirds.get("B3", 0)
        return player % 10, banker % 10

    @property
    def winner(self) -> str:
        """The outcome."""
        player, banker = self.totals
        return "tie" if player == banker else "player" if player > banker else "banker"


def slot_suit(slot: str) -> str:
    """Give each place a suit of its own, so that no card comes twice."""
    return {"P": "S", "B": "H"}[slot[0]] if slot[1] == "1" else {"2": "D", "3": "C"}[slot[1]]


def lawful_thirds(player: int, banker: int) -> Iterator[Thirds]:
    """Enumerate all third cards that the rules allow, from a printed drawing table."""
    if max(player, banker) > 7:
        yield ()
        return
    if player <= 5:
        for third in range(10):
            if third not in reference_rules.BANKER_DRAWS_ON[banker]:
                yield (("P3", third),)
                continue
            for last in range(10):
                yield ("P3", third), ("B3", last)
    if player >= 5:
        if banker > 5:
            yield ()
            return
        for last in range(10):
            yield (("B3", last),)


LAWFUL = {
    (player, banker): list(lawful_thirds(player, banker))
    for player in range(10)
    for banker in range(10)
}


def deals(*players: int) -> Iterator[Deal]:
    """Enumerate the lawful deals in which the Player has one of these totals."""
    for (player, banker), all_thirds in LAWFUL.items():
        if player in players:
            yield from (Deal(player, banker, thirds) for thirds in all_thirds)


def choices() -> Iterator[Deal]:
    """Enumerate the lawful deals with a Player on 5; of the Banker's third cards only some."""
    for deal in deals(5):
        slot, points = deal.thirds[-1] if deal.thirds else ("", 0)
        if slot != "B3" or points % 4 == 0:
            yield deal


def next_slots(deal: Deal) -> set[str | None]:
    """Return the places on which the next card may lie; None if the round may be over."""
    dealt = len(deal.thirds)
    return {
        each[dealt][0] if len(each) > dealt else None
        for each in LAWFUL[deal.player, deal.banker]
        if each[:dealt] == deal.thirds
    }


def table(style: DealingStyle = FACE_UP, mode: RoundEnd = RoundEnd.DEVICE) -> Dealer:
    """Open a table whose Player chooses on 5."""
    return Dealer(house(dealing_style=style, player_on_5="chooses"), round_end=mode)


def check_result(dealer: Dealer, deal: Deal) -> None:
    """Check that the round has the result of its cards, and that nothing else was reported."""
    (result,) = dealer.finished()
    assert (result.player.total, result.banker.total) == deal.totals, deal
    assert (result.outcome, result.partial) == (deal.winner, False), deal
    assert (len(result.player.cards), len(result.banker.cards)) == tuple(
        2 + sum(slot[0] == hand for slot, _ in deal.thirds) for hand in "PB"
    )
    assert dealer.kinds() == []
    assert "round_aborted" not in types(dealer.events)


@each_case("player", range(10))
def test_every_lawful_deal_gives_its_result(player: int) -> None:
    for deal in deals(player):
        dealer = table()
        dealer.deal(deal.text)
        dealer.result(deal.winner)
        check_result(dealer, deal)


ENDS: dict[str, tuple[RoundEnd, Callable[[Dealer], object]]] = {
    "a button": (RoundEnd.BUTTON, lambda dealer: dealer.order("confirm_result")),
    "betting": (RoundEnd.DEVICE, lambda dealer: dealer.say(seen.BettingOpen())),
    "cleared cards": (RoundEnd.DEVICE, lambda dealer: dealer.say(seen.TableCleared())),
    "a new shoe": (RoundEnd.DEVICE, lambda dealer: dealer.order("new_shoe")),
    "the first card of a shoe": (RoundEnd.DEVICE, lambda dealer: dealer.burn("3S")),
    "the next round": (RoundEnd.DEVICE, lambda dealer: dealer.draw("QD", "P1")),
}


@each_case("end", ENDS)
def test_any_end_of_the_round_shows_that_the_player_stood(end: str) -> None:
    mode, tell = ENDS[end]
    for deal in choices():
        dealer = table(mode=mode)
        dealer.deal(deal.text)
        tell(dealer)
        check_result(dealer, deal)


@each_case("player", [4, 5, 6])
def test_after_every_card_it_is_published_who_may_draw(player: int) -> None:
    for deal in deals(player):
        dealer = table()
        dealer.deal(", ".join(deal.text.split(", ")[:3]))
        for dealt, drawn in enumerate(deal.text.split(", ")[3:]):
            slots = next_slots(deal._replace(thirds=deal.thirds[:dealt]))
            due = one(dealer.deal(drawn), "draw_due")
            if len(slots) > 1:
                assert (due.hand, due.detail_code) == ("player", "player_may_draw")
            else:
                hand = {"P3": "player", "B3": "banker", None: "none"}[slots.pop()]
                assert (due.hand, due.detail_code == "player_may_draw") == (hand, False)


def test_a_restored_table_knows_what_the_player_may_choose() -> None:
    for deal in choices():
        dealer = table()
        for drawn in deal.text.split(", "):
            slot, face = drawn.split()
            copy = Table.restore(dealer.table.checkpoint())
            said = dealer.draw(face, slot)
            assert copy.apply(dealer.log[-1]) == said
        copy = Table.restore(dealer.table.checkpoint())
        assert dealer.result(deal.winner) == copy.apply(dealer.log[-1])


@each_case("player", [4, 5, 6, 9])
def test_every_card_too_many_is_reported_and_changes_no_result(player: int) -> None:
    for deal in deals(player):
        for slot in ("P3", "B3"):
            more = (*deal.thirds, (slot, 4))
            if slot in next_slots(deal) or more.count(more[-1]) > 1:
                continue
            dealer = table()
            dealer.deal(Deal(player, deal.banker, more).text)
            assert dealer.kinds() == ["excess_card"], (deal, slot)
            dealer.result(deal.winner)
            (result,) = dealer.finished()
            assert (result.player.total, result.banker.total) == deal.totals
            assert dealer.kinds() == ["excess_card"]


@each_case("player", [4, 5, 6])
def test_every_missing_card_is_reported_until_it_is_drawn(player: int) -> None:
    for deal in deals(player):
        if not deal.thirds:
            continue
        before = deal._replace(thirds=deal.thirds[:-1])
        slots = next_slots(before)
        if None in slots:
            continue
        dealer = table()
        dealer.deal(before.text)
        found = one(dealer.result("tie"), "irregularity")
        assert found.kind == "missing_draw"
        assert found.slot == (slots.pop() if len(slots) == 1 else None)
        assert ("of the " in found.detail) is (found.slot is not None)
        dealer.deal(deal.text.rpartition(", ")[2])
        assert dealer.open_kinds() == []
        (result,) = dealer.finished()
        assert (result.player.total, result.banker.total) == deal.totals


@each_case("corrected", [True, False])
def test_an_end_before_the_fourth_card_shows_no_choice(*, corrected: bool) -> None:
    for deal in choices():
        dealer = table()
        texts = deal.text.split(", ")
        dealer.deal(", ".join(texts[:3]))
        dealer.say(seen.BettingOpen())
        if corrected:
            dealer.say(
                seen.Command(name="correct_card", operator="ann", slot=Slot.P1, card=card("9S"))
            )
            face = texts[0].split()[1]
            dealer.say(
                seen.Command(name="correct_card", operator="ann", slot=Slot.P1, card=card(face))
            )
        dealer.deal(", ".join(texts[3:]))
        dealer.result(deal.winner)
        assert dealer.kinds() == ["missing_draw"]
        assert dealer.open_kinds() == []
        (result,) = dealer.finished()
        assert (result.player.total, result.banker.total) == deal.totals


def test_a_result_that_no_choice_gives_is_reported() -> None:
    for deal in choices():
        for declared in {"player", "banker", "tie"} - {deal.winner}:
            dealer = table()
            dealer.deal(deal.text)
            dealer.result(declared)
            assert dealer.kinds() == ["result_mismatch"], (deal, declared)


def _due_codes(events: Iterable[Event]) -> list[str]:
    return [each.detail_code for each in of_type(events, "draw_due")]


@each_case("style", [TUCKED, SQUEEZE])
@each_case("end", ["reveal", "result"])
def test_cards_face_down_do_not_show_that_the_player_may_choose(
    style: DealingStyle, end: str
) -> None:
    for deal in choices():
        dealer = table(style)
        dealer.deal(deal.text)
        if style is SQUEEZE:
            player = 4 if deal.thirds[:1] and deal.thirds[0][0] == "P3" else 6
            other = table(style)
            other.deal(deal._replace(player=player).text)
            assert public_json(other.events) == public_json(dealer.events)
        assert "player_may_draw" not in _due_codes(dealer.events)
        if end == "reveal":
            codes = _due_codes(dealer.order("reveal"))
            assert (codes[-1:] == ["player_may_draw"]) is (deal.thirds == () and deal.banker < 8)
        dealer.result(deal.winner)
        check_result(dealer, deal)


@each_case("first", ["result", "faces"])
def test_faces_that_come_late_give_the_same_result(first: str) -> None:
    for deal in choices():
        dealer = table()
        dealer.deal(deal.text, hidden=True)
        if first == "result":
            dealer.result(deal.winner)
        dealer.disclose(deal.text)
        if first == "faces":
            dealer.result(deal.winner)
        last = dealer.table.public().last_result
        assert last is not None
        assert (last.data.player.total, last.data.banker.total) == deal.totals
        assert dealer.kinds() == []


@each_case("unread", ["a card", "an error"])
def test_an_unread_card_is_of_either_hand(unread: str) -> None:
    dealer = table()
    dealer.deal(Deal(5, 3, ()).text)
    if unread == "a card":
        dealer.say(seen.Unreadable())
    else:
        dealer.error("unreadable")
    dealer.result("banker")
    (result,) = dealer.finished()
    assert (result.outcome, result.partial) == ("banker", True)
    assert dealer.kinds() == ["unreadable_card"]


@pytest.mark.parametrize(("slot", "accepted"), [("P3", True), ("B3", False), (None, False)])
def test_a_person_enters_the_unread_card_where_it_may_lie(
    slot: str | None, *, accepted: bool
) -> None:
    dealer = table()
    dealer.deal(Deal(5, 6, ()).text)
    dealer.error("unreadable")
    place = None if slot is None else Slot(slot)
    order = seen.Command(name="enter_card", operator="ann", slot=place, card=card("2S"))
    assert (dealer.table.refusal(order) is None) is accepted
    if accepted:
        dealer.say(order)
        dealer.result("player")
        (result,) = dealer.finished()
        assert (result.player.total, result.banker.total, result.partial) == (7, 6, False)


def test_without_slots_the_hand_of_the_fifth_card_is_unknown() -> None:
    for deal in choices():
        dealer = table()
        dealer.deal(deal.text, slots=False)
        dealer.result(deal.winner)
        (result,) = dealer.finished()
        assert result.outcome == deal.winner
        assert result.partial is bool(deal.thirds)
        assert dealer.kinds() == []


STOOD = Deal(5, 6, ())


@pytest.mark.parametrize(
    ("dealt", "slot", "face", "then"),
    [
        (Deal(6, 7, ()), "P2", "2D", Deal(5, 7, ())),
        (Deal(5, 6, ()), "P2", "4D", Deal(6, 6, ())),
        (Deal(5, 3, (("B3", 4),)), "P2", "4D", Deal(6, 3, (("B3", 4),))),
        (Deal(4, 6, (("P3", 0),)), "P2", "4D", Deal(5, 6, (("P3", 0),))),
    ],
)
@each_case("when", ["before the result", "after it"])
def test_a_corrected_round_has_the_result_of_its_cards(
    dealt: Deal, slot: str, face: str, then: Deal, when: str
) -> None:
    dealer = table()
    dealer.deal(dealt.text)
    if when == "after it":
        dealer.result(then.winner)
    dealer.say(seen.Command(name="correct_card", operator="ann", slot=Slot(slot), card=card(face)))
    if when == "before the result":
        dealer.result(then.winner)
    last = dealer.table.public().last_result
    assert last is not None
    assert (last.data.player.total, last.data.banker.total) == then.totals
    assert dealer.open_kinds() == []


@pytest.mark.parametrize(("slot", "face"), [("P2", "2D"), ("B2", "AD")])
def test_a_corrected_round_may_lack_a_card(slot: str, face: str) -> None:
    dealer = table()
    dealer.deal(STOOD.text)
    dealer.result(STOOD.winner)
    dealer.say(seen.Command(name="correct_card", operator="ann", slot=Slot(slot), card=card(face)))
    assert dealer.open_kinds() == ["missing_draw"]
    assert dealer.table.public().last_result is None


def test_a_reset_in_mid_choice_gives_no_result() -> None:
    dealer = table()
    dealer.deal(STOOD.text)
    dealer.say(seen.Booted())
    assert dealer.finished() == []
    assert "round_aborted" in types(dealer.events)
