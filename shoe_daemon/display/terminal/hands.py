"""The felt: both hands, their totals, and the announcement below them."""

from __future__ import annotations

from typing import Final, NamedTuple

from rich.align import Align
from rich.console import Group, RenderableType
from rich.style import Style
from rich.text import Text

from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.cards import (
    DIGIT_WIDTH,
    LYING_WIDTH,
    WIDTH,
    card_block,
    place_block,
    total_block,
)
from shoe_daemon.display.terminal.text import beside, centred
from shoe_daemon.event_text import WINNERS, result_notes
from shoe_daemon.game import Hand, Outcome, Slot, card_text
from shoe_daemon.table import CardView, HandResult, PublicTable, RoundFinished, RoundView

_SLOTS: Final = {
    Hand.PLAYER: (Slot.P1, Slot.P2, Slot.P3),
    Hand.BANKER: (Slot.B1, Slot.B2, Slot.B3),
}
_THIRD: Final = frozenset({Slot.P3, Slot.B3})
_STYLES: Final = {Hand.PLAYER: appearance.PLAYER, Hand.BANKER: appearance.BANKER}
_GAP: Final = 3
"""Columns between the cards and the total."""

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


class Announcement(NamedTuple):
    """
    Text below the cards.

    Attributes:
        headline: Shown while there is no round.
        sentence: Second line of it.
        wins: Second line below a result, in place of the last sentence about a draw.
        bar: Colours of a headline that fills the whole row.
    """

    headline: str
    sentence: str = ""
    wins: str = ""
    bar: Style | None = None


def felt(
    table: PublicTable, announcement: Announcement, width: int, *, tight: bool = False
) -> RenderableType:
    """
    Draw the round on the table, or the announcement while there is none.

    A tight felt has no row for remarks: they replace the second line of text.
    """
    half = width // 2
    hands = beside((_hand(Hand.PLAYER, table), half), (_hand(Hand.BANKER, table), width - half))
    headline, sentence = _announcement(table, announcement)
    remarks = _remarks(table, width, tight=tight)
    if tight:
        return Group(hands, headline, remarks or sentence)
    return Group(hands, remarks or "", headline, sentence)


def result_of(table: PublicTable) -> RoundFinished | None:
    """Return the published result of the round on the table."""
    round_, last = table.round, table.last_result
    if round_ is None or not round_.finished or last is None or is_held(table):
        return None
    return last.data if last.round == round_.number else None


def is_held(table: PublicTable) -> bool:
    """Tell whether the result of the round on the table is held back."""
    round_ = table.round
    return round_ is not None and round_.finished and round_.number in table.held


def is_unread(card: CardView, round_: RoundView | None) -> bool:
    """Tell whether a card without a face could not be read, rather than lies face down."""
    over = round_ is not None and round_.finished
    return card.card is None and (card.unreadable or over)


def verdict(result: RoundFinished) -> str:
    """Write the winner, the totals and the pairs: ``BANKER WINS  7 to 3  ·  Player pair``."""
    score = ""
    if result.player.total is not None and result.banker.total is not None:
        totals = sorted((result.player.total, result.banker.total), reverse=True)
        score = f"  {totals[0]} to {totals[1]}"
    more = result_notes(result)
    return f"{WINNERS[result.outcome].upper()}{score}{f'  ·  {more}' if more else ''}"


def _hand(hand: Hand, table: PublicTable) -> RenderableType:
    """Draw the name of a hand, its cards, and its total on the inner side."""
    round_ = table.round
    value = None
    if round_ is not None:
        value = round_.player_total if hand is Hand.PLAYER else round_.banker_total
    digit = total_block(value, _total_style(table, hand))
    first, second, third = _cards(hand, round_)
    parts: list[tuple[RenderableType, int]] = [(first, WIDTH + 1), (second, WIDTH + 1)]
    if hand is Hand.PLAYER:
        parts += [(third, LYING_WIDTH + _GAP), (digit, DIGIT_WIDTH)]
    else:
        parts = [(digit, DIGIT_WIDTH + _GAP), *parts, (third, LYING_WIDTH)]
    width = sum(width for _, width in parts)
    return Align.center(Group(_title(hand, table), beside(*parts)), width=width)


def _total_style(table: PublicTable, hand: Hand) -> Style:
    result = result_of(table)
    if result is None or result.outcome in {None, Outcome.TIE}:
        return appearance.FELT_TEXT
    return appearance.DUE if result.outcome.value == hand.value else appearance.FELT_DIM


def _title(hand: Hand, table: PublicTable) -> Text:
    result, text, style = result_of(table), " ".join(hand.value.upper()), _STYLES[hand]
    if result is not None and result.outcome is not None:
        if result.outcome.value == hand.value:
            text = f"★  {text}   W I N S  ★"
        else:
            style = appearance.TIE if result.outcome is Outcome.TIE else appearance.FADED
    return centred(text, style)


def _cards(hand: Hand, round_: RoundView | None) -> list[Text]:
    cards = {card.slot: card for card in (round_.cards if round_ else ())}
    due = _due_slot(round_, hand)
    drawn = []
    for slot in _SLOTS[hand]:
        lying, found = slot in _THIRD, cards.get(slot)
        if found is not None:
            unread = is_unread(found, round_)
            drawn.append(card_block(found.card, lying=lying, unread=unread))
        elif not lying or slot is due:
            drawn.append(place_block(lying=lying, due=slot is due))
        else:
            drawn.append(Text())
    return drawn


def _due_slot(round_: RoundView | None, hand: Hand) -> Slot | None:
    if round_ is None or round_.draw_due is None or round_.draw_due.hand is not hand:
        return None
    taken = {card.slot for card in round_.cards}
    return next((slot for slot in _SLOTS[hand] if slot not in taken), None)


def _remarks(table: PublicTable, width: int, *, tight: bool) -> RenderableType | None:
    """Write naturals and pairs below the hands, and between them what the layout cannot show."""
    result = None if tight else result_of(table)
    aside = "" if table.round is None else _aside(table.round)
    player, banker = (_remark(result.player), _remark(result.banker)) if result else ("", "")
    if not aside and not player and not banker:
        return None
    middle = centred(f" {aside} " if aside else "", appearance.UNKNOWN if aside else "")
    room = min(middle.cell_len, width)
    left = (width - room) // 2
    remarks = (centred(player, appearance.DUE), middle, centred(banker, appearance.DUE))
    return beside(*zip(remarks, (left, room, width - left - room), strict=True))


def _remark(hand: HandResult) -> str:
    found = [text for text, holds in (("natural", hand.natural), ("pair", hand.pair)) if holds]
    return " and ".join(found)


def _aside(round_: RoundView) -> str:
    """Name cards without a known place, and rounds that are partial."""
    lost = [card for card in round_.cards if card.slot is None]
    parts = []
    if lost:
        parts.append(f"place unknown: {' '.join(card_text(card.card) for card in lost)}")
    if round_.partial:
        parts.append("partial: not all of this round was seen")
    return "; ".join(parts)


def _announcement(table: PublicTable, announcement: Announcement) -> tuple[Text, Text]:
    result, round_ = result_of(table), table.round
    due = round_.draw_due if round_ is not None else None
    sentence = due.text if due else ""
    if result is not None:
        headline = centred(verdict(result), appearance.OUTCOMES[result.outcome])
        sentence = announcement.wins or sentence
    elif is_held(table):
        headline = centred("RESULT HELD", appearance.HELD)
        sentence = "Nothing is settled before the supervisor has decided."
    elif round_ is not None:
        headline = centred(_next(round_), appearance.DUE)
    else:
        headline = centred(announcement.headline, announcement.bar or appearance.DUE)
        sentence = announcement.sentence
    return headline, centred(sentence, appearance.FELT_TEXT)


def _next(round_: RoundView) -> str:
    due = round_.draw_due
    if due is None:
        return ""
    stuck = due.code == "faces_hidden" and any(card.unreadable for card in round_.cards)
    if due.detail_code == "player_may_draw":
        return "The Player may draw or stand"
    return "A card could not be read" if stuck else _DUE[due.code]
