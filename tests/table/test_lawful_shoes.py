"""Lawful shoes, in every mode, against the oracle: the same rounds, and nothing wrong."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table.options import ResultOn, RoundEnd
from tests.table import reference_rules
from tests.table.dealer import FACE_UP, Dealer, house, of_type, public_json, types
from tests.volume import volume

if TYPE_CHECKING:
    from tests.table.reference_rules import ExpectedRound

MODES = [mode for mode in RoundEnd if mode is not RoundEnd.AUTO]
CARDS = [card.value for card in DECK]
SHOES = st.integers(0, 2**32).map(lambda seed: Random(seed).sample(CARDS, 52))


class Way(NamedTuple):
    """A way to deal a table, with what its reader reports."""

    mode: RoundEnd
    style: DealingStyle
    slots: bool
    hidden: bool
    result_on: ResultOn
    declares: bool

    def table(self) -> Dealer:
        """Open a table of this kind."""
        return Dealer(
            house(dealing_style=self.style), round_end=self.mode, result_on=self.result_on
        )


@st.composite
def ways(draw: st.DrawFn) -> Way:
    """Draw a way; a shoe that hides faces names the places."""
    hidden = draw(st.booleans())
    return Way(
        draw(st.sampled_from(MODES)),
        draw(st.sampled_from(list(DealingStyle))),
        hidden or draw(st.booleans()),
        hidden,
        draw(st.sampled_from(list(ResultOn))),
        draw(st.booleans()),
    )


def text(expected: ExpectedRound) -> str:
    """Write a round as the dealer reads it."""
    return ", ".join(map(" ".join, zip(expected.slots, expected.cards, strict=True)))


def tell(dealer: Dealer, way: Way, expected: ExpectedRound) -> None:
    """Deal one round in one way, to its end."""
    dealer.deal(text(expected), slots=way.slots, hidden=way.hidden)
    if way.hidden:
        dealer.disclose(text(expected))
    elif way.style is not FACE_UP:
        dealer.order("reveal")
    if way.mode is RoundEnd.DEVICE or way.declares:
        pairs = "p" * expected.player_pair + "b" * expected.banker_pair
        dealer.result(expected.outcome, pairs=pairs)
    elif way.mode is RoundEnd.BUTTON:
        dealer.order("confirm_result")
    if way.mode is RoundEnd.QUIET:
        dealer.wait(10)


@given(SHOES, ways())
@settings(deadline=None, max_examples=volume(30, 60))
def test_a_lawful_shoe_gives_the_oracles_rounds(shoe: list[str], way: Way) -> None:
    dealer = way.table()
    rounds = reference_rules.expected_rounds(shoe)
    for number, expected in enumerate(rounds, 1):
        tell(dealer, way, expected)
        assert len(dealer.finished()) == number
    said = public_json(dealer.events)
    assert [e["data"] for e in said if e["type"] == "round_finished"] == [
        reference_rules.expected_event(expected) for expected in rounds
    ]
    assert [e["round"] for e in said if e["type"] == "round_finished"] == list(
        range(1, len(rounds) + 1)
    )
    assert dealer.kinds() == []
    assert types(dealer.events).count("round_aborted") == 0
    assert dealer.out() == sum(expected.used for expected in rounds)
    counts = dealer.table.public().counts
    assert counts.rounds == len(rounds)
    assert counts.player == sum(each.outcome == "player" for each in rounds)
    assert counts.natural == sum(each.natural for each in rounds)
    assert counts.player_pair == sum(each.player_pair for each in rounds)
    assert counts.banker_pair == sum(each.banker_pair for each in rounds)


def due_after(expected: ExpectedRound, dealt: int) -> tuple[str, str]:
    """Say who draws after so many cards of a round, and in which code."""
    if dealt < 4:
        return ("player" if dealt % 2 == 0 else "banker", "dealing")
    if dealt == expected.used:
        return ("none", expected.code)
    slot = expected.slots[dealt]
    return ("player", "player_draws") if slot == "P3" else ("banker", "banker_draws")


@given(SHOES, st.booleans(), st.sampled_from(MODES))
@settings(deadline=None, max_examples=volume(10, 20))
def test_after_every_card_it_is_said_who_draws(
    shoe: list[str],
    slots: bool,  # noqa: FBT001 - drawn by hypothesis
    mode: RoundEnd,
) -> None:
    way = Way(mode, FACE_UP, slots, hidden=False, result_on=ResultOn.COMPLETE, declares=False)
    dealer = way.table()
    for expected in reference_rules.expected_rounds(shoe):
        before = len(dealer.events)
        tell(dealer, way, expected)
        said = dealer.events[before:]
        dues = [(data.hand.value, data.code) for data in of_type(said, "draw_due")]
        assert dues == [due_after(expected, dealt) for dealt in range(1, expected.used + 1)]
        order = [each for each in types(said) if each in {"card_dealt", "draw_due"}]
        assert order == ["card_dealt", "draw_due"] * expected.used
        dealt = of_type(said, "card_dealt")
        assert [data.slot for data in dealt] == expected.slots
        last = dealt[-1]
        assert (last.player_total, last.banker_total) == (
            expected.player_total,
            expected.banker_total,
        )
