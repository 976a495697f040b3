"""
Events as a person at the table would tell them, one line each.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game.round import Outcome
from shoe_daemon.table.events import (
    CardBurned,
    Event,
    HandResult,
    Irregularity,
    IrregularityClosed,
    LastRound,
    ReaderStatus,
    RoundAborted,
    RoundFinished,
    ShoeFinished,
    ShoeStarted,
)

WINNERS: Final = {
    Outcome.PLAYER: "Player wins",
    Outcome.BANKER: "Banker wins",
    Outcome.TIE: "Tie",
    None: "no result known",
}
SUIT_SIGNS: Final = {"S": "♠", "H": "♥", "D": "♦", "C": "♣"}
_ABORTED: Final[dict[str, str]] = {
    "reset": "the reader was reset",
    "restart": "the daemon was away",
    "forced": "ended by force",
    "new_round": "another round began",
}


def card_text(card: str | None) -> str:
    """
    Write a card with the sign of its suit, ``10♥``; a face not known is ``??``.
    """
    return "??" if card is None else card[:-1] + SUIT_SIGNS[card[-1]]


def hand_text(hand: HandResult) -> str:
    """
    Write a hand and its total: ``K♠ 9♥ = 9``.
    """
    cards = " ".join(card_text(card) for card in hand.cards)
    return f"{cards} = {'?' if hand.total is None else hand.total}"


def extras(data: RoundFinished) -> str:
    """
    Name the naturals and pairs of a result, or nothing: ``natural, Player pair``.
    """
    natural = data.player.natural or data.banker.natural
    found = [
        text
        for text, holds in (
            ("natural", natural),
            ("Player pair", data.player.pair),
            ("Banker pair", data.banker.pair),
            ("partial", data.partial),
        )
        if holds
    ]
    return ", ".join(found)


def narrate(event: Event) -> str | None:
    """
    Tell an event in a line; None where it goes without saying.
    """
    data = event.data
    match data:
        case ShoeStarted():
            return f"Shoe {event.shoe}: {data.decks} decks, {data.house or 'no house configured'}"
        case RoundFinished():
            more = extras(data)
            return (
                f"{event.round:>4}  Player {hand_text(data.player):<15} "
                f"Banker {hand_text(data.banker):<15} "
                f"{WINNERS[data.outcome]}{f' ({more})' if more else ''}"
            )
        case RoundAborted():
            return f"{event.round:>4}  came to nothing: {_ABORTED[data.cause]}"
        case _:
            return _aside(event)


def _aside(event: Event) -> str | None:  # noqa: PLR0911 - one for each kind of event
    data = event.data
    match data:
        case Irregularity():
            return f"   !  {data.kind.replace('_', ' ')}: {data.detail}"
        case IrregularityClosed():
            return f"   ·  irregularity {data.id} closed: {data.reason}"
        case CardBurned() if data.remaining is not None:
            return f"   ·  burned {card_text(data.card)}, {data.remaining} to go"
        case LastRound():
            return "   ·  last round of this shoe"
        case ShoeFinished():
            return (
                f"Shoe {event.shoe} ended: {data.rounds} rounds, "
                f"Player {data.player}, Banker {data.banker}, tie {data.tie}"
            )
        case ReaderStatus():
            link = "" if data.link == "unknown" else f", link {data.link}"
            return f"   ·  reader {data.source or ''}: {data.state}{link}".replace(" :", ":")
        case _:
            return None
