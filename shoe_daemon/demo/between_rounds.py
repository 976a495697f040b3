"""
What is said while no round is on the demo's table.
"""

from __future__ import annotations

from shoe_daemon.demo.view_model import Board, Burning
from shoe_daemon.display.terminal.hands import Words
from shoe_daemon.event_text import card_text

__all__ = ["words_of"]


def words_of(board: Board) -> Words:
    """
    Say what the table waits for.
    """
    if board.table.shoe is None:
        headline = "Waiting for the shoe"
    elif board.burned is not None and board.burned.remaining:
        headline = "Burning"
    else:
        headline = "Place your bets" if board.burned or board.aborted else "A new shoe"
    return Words(headline, _sentence(board))


def _sentence(board: Board) -> str:
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
