"""
What a board in a terminal shows at one moment, and in which words.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from shoe_daemon.display.freshness import Freshness, Link
from shoe_daemon.display.languages import BASE, language
from shoe_daemon.display.terminal import palette
from shoe_daemon.display.terminal.hands import Words, verdict
from shoe_daemon.event_text import aborted_text, card_text
from shoe_daemon.mqtt.messages import History, RoadsNow, State
from shoe_daemon.table import PastRound, RoundFinished

__all__ = ["Seen", "headline", "limits", "past_line", "title", "trouble", "why", "words_of"]

_TROUBLES: Final = {
    "stale": "NOT CURRENT",
    "stopping": "THE TABLE IS BEING SWITCHED OFF",
    "offline": "THE TABLE IS OFFLINE",
    "no_broker": "NO CONNECTION TO THE BROKER",
    "unknown": "NOTHING WAS HEARD OF THIS TABLE",
}
_NUMBER: Final = re.compile(r"^\[Errno -?\d+\] ")
_MAIN: Final = frozenset({"player", "banker", "tie"})


class Seen(Struct, frozen=True, kw_only=True):
    """
    All that is shown of one table.

    Attributes:
        name: What was asked for.
        broker: Host and port.
        link: How our line to it is.
        fresh: How fresh the table is.
        since: The same moment by a clock on the wall, and how long ago; empty where it
            is not known.
        state: The table; None while nothing was heard of it.
        roads: Its roads; None likewise.
        history: What lies behind; None likewise.
        lately: The last result came some seconds ago.
        hint: What stands at the lower edge.
    """

    name: str
    broker: str
    link: Link = Link()
    fresh: Freshness = Freshness("unknown")
    since: str = ""
    state: State | None = None
    roads: RoadsNow | None = None
    history: History | None = None
    lately: bool = False
    hint: str = "Ctrl-C ends"


def title(seen: Seen) -> str:
    """
    Name the table as people do.
    """
    return seen.name if seen.state is None else seen.state.name or seen.state.table


def trouble(seen: Seen) -> tuple[str, str] | None:
    """
    Say, in two lines, why what is shown may be no more so; None where it is.
    """
    alarm = seen.state.alarm if seen.state is not None else None
    if seen.fresh.state == "live":
        return None if alarm is None else ("ALARM", alarm)
    head = _TROUBLES[seen.fresh.state]
    if seen.since:
        head += f"  since {seen.since}"
    return head, _detail(seen)


def _detail(seen: Seen) -> str:
    match seen.fresh.state:
        case "no_broker":
            return f"{seen.broker}: {why(seen.link)}"
        case "stale":
            return "Its daemon has not said anything since; what stands here may be no more so."
        case "unknown":
            return f"The broker {seen.broker} is there; the board appears as soon as it is heard."
        case _:
            return "The board comes back by itself."


def why(link: Link) -> str:
    """
    Say why there is no connection, without the system's number for it.
    """
    return _NUMBER.sub("", link.detail or "it has not answered yet")


def headline(state: State) -> str:
    """
    Say at which shoe and round a table is, and what holds it up.
    """
    shoe, round_ = state.shoe, state.round
    parts = [f"Shoe {shoe.number}" if shoe else "No shoe"]
    if round_:
        parts.append(f"round {round_.number}")
    if shoe and shoe.last_round:
        parts.append("last round")
    elif shoe and shoe.cut_card:
        parts.append("cut card out")
    if state.on_hold:
        parts.append("on hold")
    if state.curator is not None:
        parts.append(f"seat {state.curator} draws")
    if state.betting != "unknown":
        parts.append(f"bets {state.betting}")
    return " · ".join(parts)


def limits(state: State) -> str:
    """
    Write the limits on one line.
    """
    names = language(BASE).words
    return " · ".join(
        f"{names.get(f'wager_{wager}', wager)} {text}" for wager, text in state.limits.items()
    )


def words_of(seen: Seen) -> Words:
    """
    Say what is to be read below the cards.
    """
    state = seen.state
    if state is None or state.shoe is None:
        return Words("Waiting for the shoe")
    last = state.last_result
    result = last.data if last is not None and last.shoe == state.shoe.number else None
    wins = _wins(result) if result is not None else ""
    if result is not None and seen.lately:
        return Words(verdict(result), wins, wins, palette.OUTCOMES[result.outcome])
    before = f"Round {last.round}: {verdict(result).lower()}" if last and result else ""
    return Words(_lull(state), before.capitalize(), wins)


def _lull(state: State) -> str:
    if state.on_hold:
        return "The table is on hold"
    return "No more bets" if state.betting == "closed" else "Place your bets"


def _wins(result: RoundFinished) -> str:
    """
    Name the side wagers that won, and what they pay.
    """
    names = language(BASE).words
    return " · ".join(
        f"{names.get(f'wager_{each.wager}', each.wager)} {each.pays or 'wins'}"
        for each in result.wagers
        if each.result == "win" and each.wager not in _MAIN
    )


def past_line(past: PastRound) -> str:
    """
    Write a round that lies behind on one line.
    """
    if past.aborted is not None:
        return f"{past.round:>4}  aborted: {aborted_text(past.aborted)}"
    if past.held:
        return f"{past.round:>4}  the result waits for a decision"
    player, banker = (
        f"{' '.join(map(card_text, cards))} = {'?' if total is None else total}"
        for cards, total in (
            (past.player, past.player_total),
            (past.banker, past.banker_total),
        )
    )
    outcome = "void" if past.voided else past.outcome.value if past.outcome else "?"
    entered = ", by hand" if past.entered else ""
    return f"{past.round:>4}  Player {player:<16} Banker {banker:<16} {outcome}{entered}"
