"""
The felt: both hands, their totals, and what is to happen next or has come of it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Box, Canvas
from shoe_daemon.display.terminal.cards import (
    LARGE,
    Size,
    draw_card,
    draw_place,
    draw_total,
    draw_unread_card,
)
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.event_text import WINNERS, card_text, result_notes
from shoe_daemon.game import Hand, Outcome, Slot
from shoe_daemon.table import CardView, HandResult, PublicTable, RoundFinished, RoundView

__all__ = ["Words", "draw_hands", "is_held", "is_unread", "result_of", "verdict"]

_SLOTS: Final = {
    Hand.PLAYER: (Slot.P1, Slot.P2, Slot.P3),
    Hand.BANKER: (Slot.B1, Slot.B2, Slot.B3),
}
_THIRD: Final = frozenset({Slot.P3, Slot.B3})
_STYLES: Final = {Hand.PLAYER: palette.PLAYER, Hand.BANKER: palette.BANKER}
_GAP: Final = 3
_REMARKED: Final = 3
"""Rows below the cards that leave one for remarks."""

_DUE: Final = {
    "dealing": "Dealing",
    "natural": "Natural",
    "player_draws": "A third card for the Player",
    "player_stands": "The Player stands",
    "banker_draws": "A third card for the Banker",
    "banker_stands": "The Banker stands",
    "complete": "Complete",
    "faces_hidden": "Face down",
}


class Words(NamedTuple):
    """
    What is said below the cards.

    Attributes:
        headline: While no round is on the table.
        sentence: Below that.
        wins: Below a result, in place of what the rules said last; empty for nothing.
        bar: The colours of the headline, where it goes across the felt.
    """

    headline: str
    sentence: str = ""
    wins: str = ""
    bar: Style | None = None


def draw_hands(canvas: Canvas, felt: Box, size: Size, table: PublicTable, words: Words) -> None:
    """
    Draw the round on the table, or what there is before one.

    Where the felt has no row for remarks, they take the sentence's place.
    """
    air = 1 if size is LARGE else 0
    middle = felt.width // 2
    row = felt.y + air
    for hand, x in ((Hand.PLAYER, 0), (Hand.BANKER, middle)):
        side = Box(x, row, middle if hand is Hand.PLAYER else felt.width - middle, 0)
        _draw_hand(canvas, side, hand, size, table)
    below = row + 1 + air + size.height
    tight = felt.y + felt.height - below < _REMARKED
    headline = Box(0, below if tight else below + 1 + air, felt.width, 2)
    _draw_headline(canvas, headline, table, words)
    remarks = Box(0, headline.y + 1 if tight else below, felt.width, 1)
    _draw_remarks(canvas, remarks, table, tight=tight)


def result_of(table: PublicTable) -> RoundFinished | None:
    """
    Return the result of the round on the table, where it has one and it is told.
    """
    round_, last = table.round, table.last_result
    if round_ is None or not round_.finished or last is None or is_held(table):
        return None
    return last.data if last.round == round_.number else None


def is_held(table: PublicTable) -> bool:
    """
    Tell whether the result of the round on the table waits for a person.
    """
    round_ = table.round
    return round_ is not None and round_.finished and round_.number in table.held


def _draw_hand(canvas: Canvas, side: Box, hand: Hand, size: Size, table: PublicTable) -> None:
    """
    Draw a hand's name, its cards, and its total on the side of the other hand.
    """
    round_ = table.round
    air = 1 if size is LARGE else 0
    digit = Box(0, 0, 6, 5) if size is LARGE else Box(0, 0, 3, 3)
    cards_width = 2 * (size.width + 1) + size.lying_width
    width = cards_width + _GAP + digit.width
    x = side.x + (side.width - width) // 2
    y = side.y + 1 + air
    _draw_title(canvas, Box(x, side.y, width, 1), hand, table)
    cards_x, total_x = x, x + cards_width + _GAP
    if hand is Hand.BANKER:
        cards_x, total_x = x + digit.width + _GAP, x
    _draw_cards(canvas, Box(cards_x, y, 0, 0), hand, size, round_)
    total = None
    if round_ is not None:
        total = round_.player_total if hand is Hand.PLAYER else round_.banker_total
    total_y = y + (size.height - digit.height) // 2
    draw_total(canvas, digit._replace(x=total_x, y=total_y), total, _total_style(table, hand))


def _total_style(table: PublicTable, hand: Hand) -> Style:
    result = result_of(table)
    if result is None or result.outcome in {None, Outcome.TIE}:
        return palette.FELT_TEXT
    return palette.DUE if result.outcome.value == hand.value else palette.FELT_DIM


def _draw_title(canvas: Canvas, box: Box, hand: Hand, table: PublicTable) -> None:
    result = result_of(table)
    name = hand.value.upper()
    style = _STYLES[hand]
    text = " ".join(name)
    if result is not None and result.outcome is not None:
        if result.outcome.value == hand.value:
            text = f"★  {text}   W I N S  ★"
        else:
            style = palette.TIE if result.outcome is Outcome.TIE else palette.FADED
    canvas.fill(*box, style)
    canvas.centre(box.x, box.y, box.width, text, style)


def _draw_cards(
    canvas: Canvas, corner: Box, hand: Hand, size: Size, round_: RoundView | None
) -> None:
    cards = {card.slot: card for card in (round_.cards if round_ else ())}
    due = _due_slot(round_, hand)
    for number, slot in enumerate(_SLOTS[hand]):
        lying = slot in _THIRD
        box = size.box(corner.x + number * (size.width + 1), corner.y, lying=lying)
        if slot in cards:
            if is_unread(cards[slot], round_):
                draw_unread_card(canvas, box)
            else:
                draw_card(canvas, size, box, cards[slot].card)
        elif not lying or slot is due:
            draw_place(canvas, box, due=slot is due)


def is_unread(card: CardView, round_: RoundView | None) -> bool:
    """
    Tell whether nobody could read a card, in place of it lying face down.
    """
    over = round_ is not None and round_.finished
    return card.card is None and (card.unreadable or over)


def _due_slot(round_: RoundView | None, hand: Hand) -> Slot | None:
    if round_ is None or round_.draw_due is None or round_.draw_due.hand is not hand:
        return None
    taken = {card.slot for card in round_.cards}
    return next((slot for slot in _SLOTS[hand] if slot not in taken), None)


def _draw_remarks(canvas: Canvas, row: Box, table: PublicTable, *, tight: bool) -> None:
    round_, result = table.round, result_of(table)
    if round_ is None:
        return
    half = row.width // 2
    if result is not None and not tight:
        canvas.centre(0, row.y, half, _remark(result.player), palette.DUE)
        canvas.centre(half, row.y, row.width - half, _remark(result.banker), palette.DUE)
    aside = _aside(round_)
    if aside and tight:
        canvas.fill(*row, palette.FELT)
    if aside:
        canvas.centre(0, row.y, row.width, f" {aside} ", palette.UNKNOWN)


def _remark(hand: HandResult) -> str:
    found = [text for text, holds in (("natural", hand.natural), ("pair", hand.pair)) if holds]
    return " and ".join(found)


def _aside(round_: RoundView) -> str:
    """
    Name what has no place on the layout: cards nobody could place, missing parts.
    """
    lost = [card for card in round_.cards if card.slot is None]
    parts = []
    if lost:
        parts.append(f"place unknown: {' '.join(map(_name, lost))}")
    if round_.partial:
        parts.append("partial: not all of this round was seen")
    return "; ".join(parts)


def _name(card: CardView) -> str:
    return card_text(card.card)


def _next(round_: RoundView) -> str:
    due = round_.draw_due
    if due is None:
        return ""
    stuck = due.code == "faces_hidden" and any(card.unreadable for card in round_.cards)
    return "A card could not be read" if stuck else _DUE[due.code]


def _draw_headline(canvas: Canvas, box: Box, table: PublicTable, words: Words) -> None:
    result, round_ = result_of(table), table.round
    due = round_.draw_due if round_ is not None else None
    sentence = due.text if due else ""
    if result is not None:
        _draw_bar(canvas, box, verdict(result), palette.OUTCOMES[result.outcome])
        sentence = words.wins or sentence
    elif is_held(table):
        _draw_bar(canvas, box, "RESULT HELD", palette.HELD)
        sentence = "Nothing is settled before the supervisor has decided."
    elif round_ is not None:
        canvas.centre(box.x, box.y, box.width, _next(round_), palette.DUE)
    else:
        if words.bar is not None:
            canvas.fill(box.x, box.y, box.width, 1, words.bar)
        canvas.centre(box.x, box.y, box.width, words.headline, words.bar or palette.DUE)
        sentence = words.sentence
    canvas.centre(box.x, box.y + 1, box.width, sentence, palette.FELT_TEXT)


def _draw_bar(canvas: Canvas, box: Box, text: str, style: Style) -> None:
    canvas.fill(box.x, box.y, box.width, 1, style)
    canvas.centre(box.x, box.y, box.width, text, style)


def verdict(result: RoundFinished) -> str:
    """
    Say who wins, by how much, and with what: ``BANKER WINS  7 to 3  ·  Player pair``.
    """
    score = ""
    if result.player.total is not None and result.banker.total is not None:
        totals = sorted((result.player.total, result.banker.total), reverse=True)
        score = f"  {totals[0]} to {totals[1]}"
    more = result_notes(result)
    return f"{WINNERS[result.outcome].upper()}{score}{f'  ·  {more}' if more else ''}"
