"""
Two readers of one table are heard each in its own time: as long as they read
the same cards, however their streams interleave, nothing is wrong; and one that
reads another card is found out, in its own round.
"""

from __future__ import annotations

from random import Random
from typing import NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.options import RoundEnd
from tests.misdeals.supervised_table import SupervisedTable
from tests.table import reference_rules
from tests.table.dealer import SQUEEZE, house
from tests.volume import volume

PACE = 1.0
"""Seconds between two cards; a reader is heard within less than that."""
SHOES = st.integers(0, 2**32).map(lambda seed: Random(seed).sample(DECK * 8, 60))
DELAYS = st.lists(st.floats(0, 0.9), min_size=50, max_size=50)
MODES = st.sampled_from([RoundEnd.DEVICE, RoundEnd.BUTTON, RoundEnd.QUIET, RoundEnd.RULES])
SILENCE = 15


class Said(NamedTuple):
    """A report, and the time at which it was made."""

    at: float
    order: int
    what: seen.Observation


def deal(
    shoe: list[Card], delays: list[float], *, button: float = 0.5
) -> tuple[list[Said], list[list[str]]]:
    """
    Deal four rounds that a shoe tells at once and a scanner after a while; the
    dealer presses the button so many seconds after the last card.
    """
    said: list[Said] = []
    dealt: list[list[str]] = []
    now = 0.0
    late, faces = iter(delays), [str(card.value) for card in shoe]
    for _ in range(4):
        expected = reference_rules.deal(faces)
        dealt.append(expected.cards)
        for face in expected.cards:
            now += PACE
            card = Card(face)
            said.append(Said(now, len(said), seen.CardDrawn(card=card, source="shoe")))
            twin = seen.CardDrawn(card=card, source="scanner")
            said.append(Said(now + next(late), len(said), twin))
        said.append(Said(now + button, len(said), seen.Result(outcome=expected.outcome)))
        faces = faces[expected.used :]
        now += SILENCE
    return said, dealt


def tell(
    said: list[Said], mode: RoundEnd, swap: dict[str, float] | None = None
) -> SupervisedTable:
    """Tell a table all of it, each source earlier or later by so much."""
    pit = SupervisedTable(round_end=mode, checkers=("scanner",))
    for source in ("shoe", "scanner"):
        pit.say(seen.Link(up=True, source=source))
    shift = swap or {}
    moved = [each._replace(at=each.at + shift.get(each.what.source or "", 0)) for each in said]
    now = 0.0
    for each in sorted(moved):
        pit.say(each.what, each.at - now)
        now = each.at
    return pit


@given(SHOES, DELAYS, MODES, st.booleans())
@settings(deadline=None, max_examples=volume(12, 30))
def test_a_scanner_that_is_late_or_early_is_no_conflict(
    shoe: list[Card],
    delays: list[float],
    mode: RoundEnd,
    early: bool,  # noqa: FBT001
) -> None:
    said, dealt = deal(shoe, delays)
    if mode is RoundEnd.RULES:
        said = [each for each in said if not isinstance(each.what, seen.Result)]
    pit = tell(said, mode, {"scanner": -0.9} if early else None)
    assert pit.kinds() == []
    assert pit.out() == sum(map(len, dealt))
    assert len(pit.finished()) == 4


@given(SHOES, DELAYS, MODES, st.integers(0, 3), st.integers(0, 3))
@settings(deadline=None, max_examples=volume(12, 30))
def test_a_misread_card_is_found_in_its_round(
    shoe: list[Card], delays: list[float], mode: RoundEnd, number: int, place: int
) -> None:
    said, dealt = deal(shoe, delays)
    if mode is RoundEnd.RULES:
        said = [each for each in said if not isinstance(each.what, seen.Result)]
    scans = [n for n, each in enumerate(said) if each.what.source == "scanner"]
    at = scans[sum(map(len, dealt[:number])) + place]
    other = next(card for card in DECK if card is not said[at].what.card)  # type: ignore[attr-defined]
    said[at] = said[at]._replace(what=seen.CardDrawn(card=other, source="scanner"))
    pit = tell(said, mode)
    assert pit.kinds() == ["source_conflict"]
    assert pit.table.state.alerts[0].round == number + 1


@given(SHOES, DELAYS, st.integers(0, 20), st.integers(0, 12))
@settings(deadline=None, max_examples=volume(12, 30))
def test_the_shoe_may_go_away_at_any_card(
    shoe: list[Card], delays: list[float], gone: int, unheard: int
) -> None:
    said, dealt = deal(shoe, delays, button=1)
    told = sorted(said)
    at = min(gone, len(told) - 1)
    heard, rest = told[:at], told[at:]
    # What the shoe read last before the link was found to be down was never heard.
    ends = [n for n, each in enumerate(heard) if isinstance(each.what, seen.Result)]
    latest = heard[max(ends, default=-1) + 1 :]
    lost = [each for each in latest if each.what.source == "shoe"][::-1][: unheard % 2]
    kept = [each for each in heard if each not in lost]
    down = Said(told[at].at, -1, seen.Link(up=False, source="shoe"))
    after = [each for each in rest if each.what.source != "shoe"]
    pit = tell([*kept, down, *after], RoundEnd.BUTTON)
    assert pit.kinds() == []
    assert pit.out() == sum(map(len, dealt))
    assert all(not each.partial for each in pit.finished())
    hands = [[*each.player.cards, *each.banker.cards] for each in pit.finished()]
    assert list(map(sorted, hands)) == [sorted(cards) for cards in dealt]


@given(SHOES, DELAYS, st.booleans())
@settings(deadline=None, max_examples=volume(10, 20))
def test_a_camera_that_is_late_is_no_conflict(
    shoe: list[Card],
    delays: list[float],
    hidden: bool,  # noqa: FBT001 - drawn
) -> None:
    rules = house(dealing_style=SQUEEZE) if hidden else None
    pit = SupervisedTable(rules, round_end=RoundEnd.BUTTON)
    faces, now, late = [str(card.value) for card in shoe], 0.0, iter(delays)
    told: list[Said] = []
    for _ in range(3):
        expected = reference_rules.deal(faces)
        for face, slot in zip(expected.cards, expected.slots, strict=True):
            now += PACE
            card = Card(face)
            told.append(Said(now, len(told), seen.CardDrawn(card=card, source="shoe")))
            place = seen.Placed(slot=Slot(slot), card=card, source="camera")
            told.append(Said(now + 0.05 + next(late), len(told), place))
        told.append(Said(now + 1.5, len(told), seen.Result(outcome=expected.outcome)))
        faces = faces[expected.used :]
        now += SILENCE
    before = 0.0
    for each in sorted(told):
        pit.say(each.what, each.at - before)
        before = each.at
    assert pit.kinds() == []
    assert len(pit.finished()) == 3
