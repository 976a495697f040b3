"""
The felt: both hands, their totals, and what is to happen next or has come of it.
"""

from __future__ import annotations

from typing import Final

from rich.style import Style

from shoe_daemon.demo import palette
from shoe_daemon.demo.board import Board, Burning
from shoe_daemon.demo.canvas import Canvas
from shoe_daemon.demo.cards import LARGE, Box, Size, draw_card, draw_place, draw_total
from shoe_daemon.game.round import Hand, Outcome, Slot
from shoe_daemon.narration import WINNERS, card_text, extras
from shoe_daemon.table.events import HandResult, RoundFinished
from shoe_daemon.table.snapshot import CardView, RoundView

__all__ = ["draw_hands", "is_held"]

_SLOTS: Final = {
    Hand.PLAYER: (Slot.P1, Slot.P2, Slot.P3),
    Hand.BANKER: (Slot.B1, Slot.B2, Slot.B3),
}
_THIRD: Final = frozenset({Slot.P3, Slot.B3})
_STYLES: Final = {Hand.PLAYER: palette.PLAYER, Hand.BANKER: palette.BANKER}
_GAP: Final = 3
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


def draw_hands(canvas: Canvas, felt: Box, size: Size, board: Board) -> None:
    """
    Draw the round on the table, or what there is before one.
    """
    air = 1 if size is LARGE else 0
    result = _result(board)
    middle = felt.width // 2
    row = felt.y + air
    for hand, x in ((Hand.PLAYER, 0), (Hand.BANKER, middle)):
        side = Box(x, row, middle if hand is Hand.PLAYER else felt.width - middle, 0)
        _draw_hand(canvas, side, hand, size, board)
    below = row + 1 + air + size.height
    _draw_remarks(canvas, Box(0, below, felt.width, 1), board, result)
    _draw_headline(canvas, Box(0, below + 1 + air, felt.width, 2), board, result)


def _result(board: Board) -> RoundFinished | None:
    round_, last = board.table.round, board.table.last_result
    if round_ is None or not round_.finished or last is None or is_held(board):
        return None
    return last.data if last.round == round_.number else None


def is_held(board: Board) -> bool:
    """
    Tell whether the result of the round on the table waits for a person.
    """
    round_ = board.table.round
    return round_ is not None and round_.finished and round_.number in board.table.held


def _draw_hand(canvas: Canvas, side: Box, hand: Hand, size: Size, board: Board) -> None:
    """
    Draw a hand's name, its cards, and its total on the side of the other hand.
    """
    round_ = board.table.round
    air = 1 if size is LARGE else 0
    digit = Box(0, 0, 6, 5) if size is LARGE else Box(0, 0, 3, 3)
    cards_width = 2 * (size.width + 1) + size.lying_width
    width = cards_width + _GAP + digit.width
    x = side.x + (side.width - width) // 2
    y = side.y + 1 + air
    _draw_title(canvas, Box(x, side.y, width, 1), hand, board)
    cards_x, total_x = x, x + cards_width + _GAP
    if hand is Hand.BANKER:
        cards_x, total_x = x + digit.width + _GAP, x
    _draw_cards(canvas, Box(cards_x, y, 0, 0), hand, size, round_)
    total = None
    if round_ is not None:
        total = round_.player_total if hand is Hand.PLAYER else round_.banker_total
    total_y = y + (size.height - digit.height) // 2
    draw_total(canvas, digit._replace(x=total_x, y=total_y), total, _total_style(board, hand))


def _total_style(board: Board, hand: Hand) -> Style:
    result = _result(board)
    if result is None or result.outcome in {None, Outcome.TIE}:
        return palette.FELT_TEXT
    return palette.DUE if result.outcome.value == hand.value else palette.FELT_DIM


def _draw_title(canvas: Canvas, box: Box, hand: Hand, board: Board) -> None:
    result = _result(board)
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
            draw_card(canvas, size, box, cards[slot].card)
        elif not lying or slot is due:
            draw_place(canvas, box, due=slot is due)


def _due_slot(round_: RoundView | None, hand: Hand) -> Slot | None:
    if round_ is None or round_.draw_due is None or round_.draw_due.hand is not hand:
        return None
    taken = {card.slot for card in round_.cards}
    return next((slot for slot in _SLOTS[hand] if slot not in taken), None)


def _draw_remarks(canvas: Canvas, row: Box, board: Board, result: RoundFinished | None) -> None:
    round_ = board.table.round
    if round_ is None:
        return
    half = row.width // 2
    if result is not None:
        canvas.centre(0, row.y, half, _remark(result.player), palette.DUE)
        canvas.centre(half, row.y, row.width - half, _remark(result.banker), palette.DUE)
    aside = _aside(round_)
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


def _draw_headline(canvas: Canvas, box: Box, board: Board, result: RoundFinished | None) -> None:
    if result is not None:
        style = palette.OUTCOMES[result.outcome]
        canvas.fill(box.x, box.y, box.width, 1, style)
        canvas.centre(box.x, box.y, box.width, _verdict(result), style)
        sentence = _sentence(board)
    elif is_held(board):
        canvas.fill(box.x, box.y, box.width, 1, palette.HELD)
        canvas.centre(box.x, box.y, box.width, "RESULT HELD", palette.HELD)
        sentence = "Nothing is settled before the supervisor has decided."
    else:
        headline, sentence = _headline(board), _sentence(board)
        canvas.centre(box.x, box.y, box.width, headline, palette.DUE)
    canvas.centre(box.x, box.y + 1, box.width, sentence, palette.FELT_TEXT)


def _verdict(result: RoundFinished) -> str:
    score = ""
    if result.player.total is not None and result.banker.total is not None:
        totals = sorted((result.player.total, result.banker.total), reverse=True)
        score = f"  {totals[0]} to {totals[1]}"
    more = extras(result)
    return f"{WINNERS[result.outcome].upper()}{score}{f'  ·  {more}' if more else ''}"


def _headline(board: Board) -> str:
    round_ = board.table.round
    if round_ is not None:
        return _DUE[round_.draw_due.code] if round_.draw_due else ""
    if board.table.shoe is None:
        return "Waiting for the shoe"
    if board.burned is not None and board.burned.remaining:
        return "Burning"
    return "Place your bets" if board.burned or board.aborted else "A new shoe"


def _sentence(board: Board) -> str:
    round_ = board.table.round
    if round_ is not None:
        return round_.draw_due.text if round_.draw_due else ""
    if board.burned is not None:
        return _burned(board.burned)
    if board.aborted:
        return "The last round came to nothing; the next one begins with its first card."
    return "No card has been drawn yet."


def _burned(burned: Burning) -> str:
    first = f"{card_text(burned.first)} was turned up" if burned.first else "Cards are burned"
    if burned.remaining is None:
        return f"{first}."
    if burned.remaining:
        return f"{first}: {burned.remaining} more to burn."
    return f"{first}, and as many burned as it counts."
