"""
The board in words, for a terminal that has no room for more.
"""

from __future__ import annotations

import textwrap

from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.canvas import Canvas, fit
from shoe_daemon.display.terminal.hands import is_unread, result_of, verdict
from shoe_daemon.display.terminal.road_counts import counts_line
from shoe_daemon.display.terminal.styles import Style
from shoe_daemon.display.terminal.symbols import LETTERS
from shoe_daemon.display.terminal.view_model import Seen, headline, title, trouble
from shoe_daemon.event_text import card_text
from shoe_daemon.mqtt.messages import State
from shoe_daemon.table import CardView, RoundView

__all__ = ["draw_brief"]


def draw_brief(canvas: Canvas, seen: Seen) -> None:
    """
    Write down what is most important first, as far as there is room.
    """
    row = 0
    for text, style in _lines(seen):
        for line in textwrap.wrap(text, max(canvas.width, 1)):
            canvas.put(0, row, fit(line, canvas.width), style)
            row += 1


def _lines(seen: Seen) -> list[tuple[str, Style]]:
    wrong = trouble(seen)
    lines = [] if wrong is None else [(" ".join(wrong), palette.BAD)]
    lines.append((title(seen), palette.RAIL_TITLE))
    state = seen.state
    if state is not None:
        lines.append((headline(state), palette.RAIL_BRIGHT))
        lines += [(line, palette.RAIL) for line in _cards(state)]
        result = result_of(state)
        if result is not None:
            lines.append((verdict(result), palette.RAIL_TITLE))
    if seen.roads is not None:
        letters = "".join(LETTERS.outcomes[each.outcome] for each in seen.roads.bead)
        lines.append((letters[-60:], palette.RAIL))
        lines.append((counts_line(seen.roads.counts), palette.RAIL))
    lines.append(("The whole board needs 80 columns and 24 rows.", palette.RAIL_DIM))
    return lines


def _face(card: CardView, round_: RoundView) -> str:
    # A card that lies face down is drawn as its back; one that nobody could read is "??".
    return "▚▚" if card.card is None and not is_unread(card, round_) else card_text(card.card)


def _cards(state: State) -> list[str]:
    if state.round is None:
        return []
    totals = {"P": ("Player", state.round.player_total), "B": ("Banker", state.round.banker_total)}
    lines = []
    for side, (name, total) in totals.items():
        cards = [each for each in state.round.cards if each.slot and each.slot.value[0] == side]
        faces = " ".join(_face(each, state.round) for each in cards)
        lines.append(f"{name}: {faces}{'' if total is None else f' = {total}'}")
    return lines
