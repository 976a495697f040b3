"""Content of a board in a terminal, and its texts."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from shoe_daemon.display.freshness import Freshness, Link
from shoe_daemon.display.languages import BASE, language
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.hands import Announcement, verdict
from shoe_daemon.event_text import aborted_text, card_text
from shoe_daemon.mqtt.documents_and_replies import History, RoadsNow, State
from shoe_daemon.table import PastRound, RoundFinished

__all__ = [
    "TableView",
    "announcement",
    "connection_error",
    "headline",
    "limits",
    "past_round_line",
    "title",
    "warning",
]

_WARNINGS: Final = {
    "stale": "NOT CURRENT",
    "stopping": "THE TABLE IS BEING SWITCHED OFF",
    "offline": "THE TABLE IS OFFLINE",
    "no_broker": "NO CONNECTION TO THE BROKER",
    "unknown": "NOTHING WAS HEARD OF THIS TABLE",
}
_ERRNO: Final = re.compile(r"^\[Errno -?\d+\] ")
_MAIN_WAGERS: Final = frozenset({"player", "banker", "tie"})


class TableView(Struct, frozen=True, kw_only=True):
    """
    Content of a board at one moment.

    Attributes:
        name: The name that the user asked for.
        broker: Host and port.
        link: State of the connection to the broker.
        fresh: Whether the table's documents are current.
        since: Local time since when they are not, and how long ago that is; empty if unknown.
        state: The table's state; None before it is received.
        roads: Its roads, likewise.
        history: Its past rounds, likewise.
        recent_result: The last result was received a few seconds ago.
        hint: Text in the last row.
    """

    name: str
    broker: str
    link: Link = Link()
    fresh: Freshness = Freshness("unknown")
    since: str = ""
    state: State | None = None
    roads: RoadsNow | None = None
    history: History | None = None
    recent_result: bool = False
    hint: str = "Ctrl-C ends"


def title(view: TableView) -> str:
    """Return the name of the table."""
    return view.name if view.state is None else view.state.name or view.state.table


def warning(view: TableView) -> tuple[str, str] | None:
    """Say in two lines why the board may be out of date, or which alarm is raised."""
    alarm = view.state.alarm if view.state is not None else None
    if view.fresh.state == "live":
        return None if alarm is None else ("ALARM", alarm)
    head = _WARNINGS[view.fresh.state]
    if view.since:
        head += f"  since {view.since}"
    return head, _detail(view)


def _detail(view: TableView) -> str:
    match view.fresh.state:
        case "no_broker":
            return f"{view.broker}: {connection_error(view.link)}"
        case "stale":
            return "Its daemon has not said anything since; what stands here may be no more so."
        case "unknown":
            return f"The broker {view.broker} is there; the board appears as soon as it is heard."
        case _:
            return "The board comes back by itself."


def connection_error(link: Link) -> str:
    """Write the reason of a failed connection, without its error number."""
    return _ERRNO.sub("", link.detail or "it has not answered yet")


def headline(state: State) -> str:
    """Write shoe, round and state of the table in one line."""
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
    """Write the limits in one line."""
    names = language(BASE).words
    return " · ".join(
        f"{names.get(f'wager_{wager}', wager)} {text}" for wager, text in state.limits.items()
    )


def announcement(view: TableView) -> Announcement:
    """Choose the text below the cards."""
    state = view.state
    if state is None or state.shoe is None:
        return Announcement("Waiting for the shoe")
    last = state.last_result
    result = last.data if last is not None and last.shoe == state.shoe.number else None
    wins = _wins(result) if result is not None else ""
    if result is not None and view.recent_result:
        return Announcement(verdict(result), wins, wins, appearance.OUTCOMES[result.outcome])
    before = f"Round {last.round}: {verdict(result).lower()}" if last and result else ""
    return Announcement(_between_rounds(state), before.capitalize(), wins)


def _between_rounds(state: State) -> str:
    if state.on_hold:
        return "The table is on hold"
    return "No more bets" if state.betting == "closed" else "Place your bets"


def _wins(result: RoundFinished) -> str:
    """Write the side wagers that won, with their odds."""
    names = language(BASE).words
    return " · ".join(
        f"{names.get(f'wager_{each.wager}', each.wager)} {each.pays or 'wins'}"
        for each in result.wagers
        if each.result == "win" and each.wager not in _MAIN_WAGERS
    )


def past_round_line(past: PastRound) -> str:
    """Write a past round in one line."""
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
