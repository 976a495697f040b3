"""
A tag is one physical card: again in its round it is the same card, later in the shoe it is none.
"""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import DECK
from shoe_daemon.table import Event, encode_event
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.public_json import encode_public_table
from tests.table.dealer import (
    BOTH_STAND,
    NATURAL,
    SQUEEZE,
    Burn,
    Dealer,
    DealingStyle,
    card,
    house,
    kinds,
    one,
    public_json,
    types,
)
from tests.volume import volume

MODES = list(RoundEnd)
ENDS = {
    RoundEnd.DEVICE: seen.Result(),
    RoundEnd.BUTTON: seen.Result(),
    RoundEnd.AUTO: seen.Tick(),
    RoundEnd.QUIET: seen.Tick(),
    RoundEnd.RULES: seen.Tick(),
}
"""What ends a round, after some seconds."""


def draw(dealer: Dealer, face: str | None, tag: str | None = None, **more: Any) -> list[Event]:  # noqa: ANN401 - any field of a card
    """Draw a tagged card; its tag is the face, in small letters, if none is given."""
    after = more.pop("after", 1)
    tag = tag or str(face).lower()
    return dealer.say(seen.CardDrawn(card=card(face), tag=tag, **more), after)


def deal(dealer: Dealer, text: str) -> list[Event]:
    """Deal a round of tagged cards without slots, and end it."""
    said = [event for each in text.split(", ") for event in draw(dealer, each.split()[1])]
    return said + dealer.say(ENDS[dealer.table.mode], 11)


def again(dealer: Dealer, *faces: str, after: float = 1) -> list[Event]:
    """Let the reader report cards again."""
    return [event for each in faces for event in draw(dealer, each, after=after)]


@each_case("mode", MODES)
def test_a_tag_that_passes_again_in_the_next_round_is_no_card(mode: RoundEnd) -> None:
    dealer = Dealer(round_end=mode)
    deal(dealer, NATURAL)
    again(dealer, "6S", after=30)
    said = again(dealer, "9S")
    assert kinds(said) == ["duplicate_card"]
    assert types(said) == ["irregularity"]
    data = one(said, "irregularity")
    assert (data.card, data.detail_code, data.detail_values) == (
        None,
        "card_in_play_before",
        {"round": 1},
    )
    again(dealer, "9S", "7H", "KC", "9S", "QC")
    assert [each.outcome for each in dealer.finished()] == ["player", "banker"]
    assert [str(each) for each in dealer.finished()[1].player.cards] == ["6S", "KC"]
    assert dealer.kinds() == ["duplicate_card"]


def test_three_in_a_row_propose_another_shoe_and_are_raised_no_more() -> None:
    dealer = Dealer()
    deal(dealer, NATURAL)
    deal(dealer, BOTH_STAND.replace("KD", "KC"))
    again(dealer, "9S", "2H", after=30)
    said = again(dealer, "6S")
    data = one(said, "irregularity")
    assert (data.detail_code, data.detail_values) == ("cards_in_play_before", {"cards": 3})
    assert "new_shoe" in data.detail
    assert again(dealer, "7H", "KC") == []
    assert dealer.kinds() == ["duplicate_card"] * 3
    dealer.order("new_shoe")
    deal(dealer, NATURAL)
    assert (len(dealer.finished()), dealer.kinds()) == (3, ["duplicate_card"] * 3)


@each_case("begin", ["order", "first", "cut_card", "finished"])
def test_a_new_shoe_forgets_the_tags(begin: str) -> None:
    dealer = Dealer()
    deal(dealer, NATURAL)
    if begin == "order":
        dealer.order("new_shoe")
    elif begin == "cut_card":
        dealer.say(seen.CutCardSeen())
        dealer.say(seen.Booted())
    elif begin == "finished":
        draw(dealer, "KD")
        (alert,) = dealer.table.public().alerts
        stop = seen.Command(name="rule", irregularity=alert.data.id, action="stop_shoe")
        dealer.say(replace(stop, operator="ann"))
        dealer.wait(30)
    if begin == "first":
        draw(dealer, "9S", role=seen.Role.FIRST, after=30)
        dealer.order("new_shoe")
    deal(dealer, NATURAL)
    assert len(dealer.finished()) == 2
    assert dealer.finished()[1].outcome == "player"


@each_case("how", ["in_round", "past"])
def test_a_card_of_a_void_round_may_come_again(how: str) -> None:
    dealer = Dealer()
    if how == "in_round":
        again(dealer, "9S", "2H")
        dealer.order("void_round")
        assert again(dealer, "2H", after=2) == []
        dealer.wait(30)
    else:
        deal(dealer, NATURAL)
        dealer.say(seen.Command(name="void_round", operator="ann", reason="x", round=1))
    deal(dealer, BOTH_STAND.replace("6S", "9S").replace("KD", "7D"))
    assert "duplicate_card" not in dealer.kinds()
    assert [str(each) for each in dealer.finished()[-1].player.cards] == ["9S", "7D"]


def test_the_undo_of_a_void_makes_them_cards_that_were_in_play_before() -> None:
    dealer = Dealer()
    deal(dealer, NATURAL)
    dealer.say(seen.Command(name="void_round", operator="ann", reason="x", round=1))
    dealer.say(seen.Command(name="undo", operator="ann", reason="y"))
    assert kinds(again(dealer, "9S", after=30)) == ["duplicate_card"]


def test_a_card_that_was_withdrawn_may_come_again() -> None:
    dealer = Dealer(round_end=RoundEnd.BUTTON)
    again(dealer, "9S", "2H", "KD", "3C", "5C")
    assert dealer.open_kinds() == ["excess_card"]
    dealer.say(seen.Withdrawn(card=card("5C")))
    assert again(dealer, "5C", after=2) == []
    dealer.result()
    again(dealer, "6S", "7H", "5C", "QC", after=12)
    assert dealer.kinds() == ["excess_card"]
    round_ = dealer.table.public().round
    assert round_ is not None
    assert [str(each.card) for each in round_.cards] == ["6S", "7H", "5C", "QC"]


@each_case("report", [True, False])
def test_a_card_that_was_carried_is_the_first_of_the_next_round(*, report: bool) -> None:
    dealer = Dealer(round_end=RoundEnd.BUTTON)
    again(dealer, "9S", "2H", "KD", "3C", "6C")
    (alert,) = dealer.table.public().alerts
    carry = seen.Command(name="rule", irregularity=alert.data.id, action="carry_to_next_hand")
    dealer.say(replace(carry, operator="ann"))
    dealer.result()
    if report:
        assert again(dealer, "6C", after=30) == []
    again(dealer, "7H", "KC", "6C", "QC", after=2)
    assert [str(each) for each in dealer.finished()[-1].player.cards] == ["6C", "KC"]
    dealer.result()
    assert kinds(again(dealer, "6C", after=30)) == ["duplicate_card"]


def test_a_tag_without_a_face_is_one_unread_card() -> None:
    dealer = Dealer()
    for _ in range(3):
        dealer.say(seen.Unreadable(tag="0400"), 2)
    assert (dealer.out(), dealer.kinds()) == (1, ["unreadable_card"])


def test_each_reader_reports_the_tags_for_itself() -> None:
    dealer = Dealer(checkers=("second",))
    for face in ["9S", "2H", "KD", "3C"]:
        for source in ["main", "second", "second", "main"]:
            draw(dealer, face, source=source)
    assert (dealer.out(), dealer.kinds()) == (4, [])
    dealer.wait(30)
    for source in ["main", "second"]:
        draw(dealer, "9S", source=source, after=10)
    assert dealer.kinds() == ["duplicate_card"]


def test_the_memory_of_tags_is_bounded() -> None:
    dealer = Dealer()
    for number in range(4000):
        draw(dealer, "AS", f"{number:0128}")
    assert len(dealer.table.checkpoint()) < 1_000_000


def test_a_tag_in_a_log_has_at_most_128_characters() -> None:
    line = b'{"at":"2026-11-21T20:00:00Z","card":"9S","tag":"%s","type":"card"}'
    longest = line % (b"0" * 128)
    assert seen.encode_observation(seen.decode_observation(longest)) == longest
    for tag in [b"", b"0" * 129]:
        with pytest.raises(UserError, match="tag"):
            seen.decode_observation(line % tag)


@st.composite
def logs(draw_: st.DrawFn) -> tuple[Dealer, list[tuple[seen.Observation, bool]]]:
    """Draw a table and its log of tagged cards; True for a report of a tag again in its round."""
    deck = Random(draw_(st.integers(0, 2**32))).sample(DECK, 52)
    style, mode = draw_(st.sampled_from(list(DealingStyle))), draw_(st.sampled_from(MODES))
    dealer = Dealer(house(dealing_style=style), round_end=mode)
    log: list[tuple[seen.Observation, bool]] = []
    for _ in range(draw_(st.integers(1, 4))):
        for _ in range(draw_(st.integers(1, 7))):
            face = deck.pop()
            drawn = seen.CardDrawn(card=face, tag=f"04{face}")
            log += [(drawn, False), *[(drawn, True)] * draw_(st.integers(0, 2))]
        end = st.sampled_from([seen.Result(), seen.Tick(), seen.Command(name="reveal")])
        log += [(draw_(end), False), *[(seen.Tick(), False)] * 6]
    return dealer, log


def _deal_log(dealer: Dealer, log: list[tuple[seen.Observation, bool]]) -> tuple[bytes, ...]:
    for observation, _ in log:
        dealer.say(observation, 2.5)
    return tuple(map(encode_event, dealer.events))


@settings(max_examples=volume(40, 800))
@given(logs())
def test_reports_of_a_tag_in_its_round_change_nothing(
    given_: tuple[Dealer, list[tuple[seen.Observation, bool]]],
) -> None:
    """The events are those of the log in which time passes instead, and no event has a tag."""
    dealer, log = given_
    silent, restarted = Dealer(session=False), Dealer(session=False)
    for other in (silent, restarted):
        other.say(replace(dealer.log[0]))
    kept = [(seen.Tick() if is_repeat else each, False) for each, is_repeat in log]
    events = _deal_log(dealer, log)
    assert events == _deal_log(silent, kept)
    for observation, _ in log:
        restarted.table = Table.restore(restarted.table.checkpoint())
        restarted.say(observation, 2.5)
    assert events == tuple(map(encode_event, restarted.events))
    public = encode_public_table(dealer.table.public())
    assert b'"04' not in b"".join(events) + public


@settings(max_examples=volume(40, 800))
@given(st.integers(0, 2**32))
def test_a_tag_shows_nothing_of_a_face_that_is_not_disclosed(seed: int) -> None:
    """Tags of earlier rounds raise the same, with the same bytes, whatever faces they have."""
    chance, public = Random(seed), []
    tags = [f"04{number}" for number in range(12)]
    for _ in range(2):
        faces = chance.sample(DECK, len(tags))
        burn = Burn(mode="fixed", fixed=3, face_down=True)
        dealer = Dealer(house(dealing_style=SQUEEZE, burn=burn), round_end=RoundEnd.BUTTON)
        for number in (0, 1, 1, 2):
            draw(dealer, faces[number], tags[number], role=seen.Role.BURN)
        for number in (1, 3, 0, 3, 4, 2, 1):
            draw(dealer, faces[number], tags[number], after=12)
        dealer.order("void_round")
        for number in (5, 6, 6, 2, 3, 7, 5, 8):
            draw(dealer, faces[number], tags[number], after=12)
        assert "duplicate_card" in dealer.kinds()
        public.append(public_json(dealer.events))
    for each in (*public[0], *public[1]):
        del each["seq"]
        if each["type"] == "irregularity":
            del each["data"]["id"]
    assert public[0] == public[1]
