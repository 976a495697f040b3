"""
The view of a round: where each card lies and which card is due, a pure function of its facts.

`interpret` is a loop over `lay`, the only place that decides where a card lies. With `masked` it
reads no face that the players have not seen: what follows from such a view may be published.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, IrregularityKind, Slot
from shoe_daemon.table.next_card import (
    B3_SPOT,
    FIRST_FOUR_DUE,
    HIDDEN_POINTS,
    P3_SPOT,
    CardDue,
    OnFive,
    card_due,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoe_daemon.table.drawn_card import DrawnCard

SPOTS: Final = {slot: spot for spot, slot in enumerate(DEALING_ORDER)}
"""The index of each slot in dealing order."""

# Constants: in Python 3.11 looking up an enumeration's member takes longer than a call.
_EXCESS: Final = IrregularityKind.EXCESS_CARD
_WRONG_HAND: Final = IrregularityKind.WRONG_HAND
_PLAYER_THIRD: Final = IrregularityKind.PLAYER_THIRD_UNAUTHORISED
_P3, _B3 = Slot.P3, Slot.B3
_TUCKED_SLOTS: Final = (Slot.B1, Slot.B2)
"""The slots that are dealt face down on a table with the Banker's cards tucked."""


class Style(IntEnum):
    """The cards whose faces the players see at the draw: all, all but the Banker's two, none."""

    FACE_UP = 0
    TUCKED = 1
    SQUEEZED = 2


_FACE_UP, _TUCKED = Style.FACE_UP, Style.TUCKED


class Odd(NamedTuple):
    """
    A card that was not drawn or laid as due.

    Attributes:
        card: The card.
        kind: The irregularity.
        slot: The slot on which the rules place it; None as an excess card.
        due: What was due before it.
    """

    card: DrawnCard
    kind: IrregularityKind
    slot: Slot | None
    due: CardDue


class View:
    """
    Where each card lies, and what is due.

    Attributes:
        spots: The cards by slot, in dealing order; None for an empty slot.
        dealt: The cards of both hands, those without a known slot included, in the order drawn.
        excess: The cards of neither hand.
        odd: The cards that were not drawn or laid as due.
        due: The card that is due now.
        hidden: How many cards of `dealt` have no face in this view.
        misplaced: A card was laid to the wrong hand; the order out of the shoe governs.
        on_five: What a Player with 5 does.
    """

    __slots__ = ("dealt", "due", "excess", "hidden", "misplaced", "odd", "on_five", "spots")

    def __init__(self, *, partial: bool, on_five: OnFive = OnFive.DRAWS) -> None:
        self.spots: list[DrawnCard | None] = [None] * 6
        self.dealt: list[DrawnCard] = []
        self.excess: list[DrawnCard] = []
        self.odd: list[Odd] = []
        self.due: CardDue = card_due((None,) * 6, partial=partial)
        self.hidden = 0
        self.misplaced = False
        self.on_five = on_five

    @property
    def complete(self) -> bool:
        """No further card is due."""
        return self.due.known and self.due.spot is None


def interpret(
    drawn: Iterable[DrawnCard], *, masked: bool, partial: bool, on_five: OnFive = OnFive.DRAWS
) -> View:
    """Return the view of these cards; `masked` without the faces that are not public."""
    view = View(partial=partial, on_five=OnFive.CHOOSES if on_five else OnFive.DRAWS)
    if partial:
        _lay_partial(view, drawn, masked=masked)
    else:
        for card in drawn:
            lay(view, card, masked=masked, partial=False)
    if on_five is OnFive.STANDS:
        view.on_five = on_five
        view.due = _next_due(view, masked=masked, partial=partial)
    return view


def _lay_partial(view: View, drawn: Iterable[DrawnCard], *, masked: bool) -> None:
    # It became partial at the first card that is not sure.
    view.due, is_sure = FIRST_FOUR_DUE[0], True
    for card in drawn:
        if is_sure and not card.sure:
            is_sure, view.due = False, _next_due(view, masked=masked, partial=True)
        lay(view, card, masked=masked, partial=not card.sure)
    view.due = _next_due(view, masked=masked, partial=True)


def lay(
    view: View, card: DrawnCard, *, masked: bool, partial: bool, style: Style | None = None
) -> None:
    """
    Lay one more card.

    `style` is given for a card that is drawn now, and decides whether the players see its face.
    """
    due = view.due
    spot, problem = due.spot, None
    if spot is None or not card.sure or card.out:
        problem, spot = _place(view, card)
    elif card.declared is not None and card.declared is not DEALING_ORDER[spot]:
        problem = _slot_problem(view, card, spot)
    slot = None if spot is None else DEALING_ORDER[spot]
    if style is not None and card.face is not None and not card.public:
        if style == _FACE_UP:
            card.public = True
        elif problem is not _EXCESS:
            card.public = is_seen_at_draw(card, slot, style, partial=partial)
    if masked:
        card.slot = slot
    if problem is not None:
        view.odd.append(Odd(card, problem, slot or card.slot, due))
        if problem is _EXCESS:
            view.excess.append(card)
            return
    if spot is not None:
        view.spots[spot] = card
    view.dealt.append(card)
    view.hidden += card.face is None or (masked and not card.public)
    view.due = _next_due(view, masked=masked, partial=partial)


def is_seen_at_draw(card: DrawnCard, slot: Slot | None, style: Style, *, partial: bool) -> bool:
    """
    Return whether the players see the face of a card of the hands at the draw.

    A tucked card that is due to another slot lies face down where the reader reports it.
    """
    if style == _FACE_UP:
        return True
    if slot is None and partial:
        return False  # the card may be one of the Banker's first two
    return style == _TUCKED and slot not in _TUCKED_SLOTS and card.declared not in _TUCKED_SLOTS


def _next_due(view: View, *, masked: bool, partial: bool) -> CardDue:
    dealt = len(view.dealt)
    if dealt < FOUR_CARDS and not partial:
        return FIRST_FOUR_DUE[dealt]
    points = points_of(view.spots, masked=masked)
    return card_due(points, partial=partial, on_five=view.on_five)


def points_of(spots: Iterable[DrawnCard | None], *, masked: bool) -> list[int | None]:
    """Return the points of the cards by spot; `HIDDEN_POINTS` for a face not in the view."""
    return [
        None
        if card is None
        else HIDDEN_POINTS
        if card.face is None or (masked and not card.public)
        else card.face.points
        for card in spots
    ]


def _place(view: View, card: DrawnCard) -> tuple[IrregularityKind | None, int | None]:
    """Return the irregularity of a card that is not simply the due one, and its spot."""
    if card.out:
        return _EXCESS, None
    due = view.due
    if card.laid is not None and not (card.sure and due.known):
        return None, SPOTS[card.laid]
    if not card.sure:
        return _place_as_declared(view, card, due)
    if due.spot is not None:
        return _slot_problem(view, card, due.spot), due.spot
    return (_EXCESS, None) if due.known else _place_unchecked(view, card)


def _slot_problem(view: View, card: DrawnCard, spot: int) -> IrregularityKind | None:
    # Only the first difference is an irregularity.
    declared = card.declared
    if declared is None or declared is DEALING_ORDER[spot] or view.misplaced:
        return None
    if spot == B3_SPOT and declared is _P3 and view.spots[P3_SPOT] is None:
        return _PLAYER_THIRD
    view.misplaced = True
    return _WRONG_HAND


def _place_as_declared(
    view: View, card: DrawnCard, due: CardDue
) -> tuple[IrregularityKind | None, int | None]:
    # Cards were missed: only the reader's report shows the slot.
    if due.known and due.spot is None:
        return _EXCESS, None
    if card.declared is None:
        return None, None
    if due.spot == B3_SPOT:
        # The Player stands, so no card of the Player can be missing.
        return _slot_problem(view, card, B3_SPOT), B3_SPOT
    spot = SPOTS[card.declared]
    return None, spot if view.spots[spot] is None else None


def _place_unchecked(view: View, card: DrawnCard) -> tuple[IrregularityKind | None, int | None]:
    # The deciding faces are not in this view, or the Player chooses: the reported slot stands
    # until they are, or shows the choice. A card that was published as an excess card stays one
    # until it is certain that it is due.
    is_excess = card.told is None and card.order >= 0
    if is_excess or len(view.dealt) >= len(DEALING_ORDER):
        return _EXCESS, None
    if card.declared is _P3 or card.declared is _B3:
        spot, choice = SPOTS[card.declared], view.due.choice
        may_lie = view.spots[spot] is None and (not choice or spot in choice)
        return (None, spot) if may_lie else (_EXCESS, None)
    is_banker = view.spots[P3_SPOT] is not None and view.spots[B3_SPOT] is None
    own = B3_SPOT if is_banker else None
    if card.declared is None or view.misplaced:
        return None, own
    view.misplaced = True
    return _WRONG_HAND, own


def totals(view: View) -> tuple[int | None, int | None]:
    """
    Return the totals of the Player and of the Banker by what was published, 0 to 9.

    A hand that is empty, or has a card face down or a missed one, has None.
    """
    first, second, third, fourth, fifth, sixth = view.spots
    return _total(first, third, fifth), _total(second, fourth, sixth)


def _total(
    first: DrawnCard | None, second: DrawnCard | None, third: DrawnCard | None
) -> int | None:
    if first is None or first.face is None or not first.told:
        return None
    if second is None:
        return first.face.points if third is None else None
    if second.face is None or not second.told:
        return None
    total = first.face.points + second.face.points
    if third is not None:
        if third.face is None or not third.told:
            return None
        total += third.face.points
    return total % 10
