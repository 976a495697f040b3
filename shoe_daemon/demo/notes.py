"""Rows below the demo's board: the open irregularity, the cards really dealt, and the pages."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import Final, NamedTuple

from rich.text import Text

from drivers.simulators.shoe import DealtRound, Fault, Placed
from shoe_daemon.demo.parts import PERSON, PIN, Links
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.text import line, line_with_end
from shoe_daemon.event_text import action_text, kind_text
from shoe_daemon.game import card_text
from shoe_daemon.mqtt.documents import State
from shoe_daemon.table import Alert

_FAULTS: Final = {
    Fault.OVERDRAW: "a card too many",
    Fault.MISSED_DRAW: "a card was not drawn",
    Fault.MISREAD: "misread",
    Fault.UNREADABLE: "unreadable",
}
_GAP: Final = 2


class Told(NamedTuple):
    """
    What the rows are made of.

    Attributes:
        links: The pages.
        lying: The round on the table.
        seconds_left: Seconds that a person has for the open decision; None while none is open.
        caught: Irregularities so far.
        last: The last decision.
    """

    links: Links
    lying: DealtRound | None = None
    seconds_left: float | None = None
    caught: int = 0
    last: str = ""


def note_rows(told: Told, state: State | None, width: int) -> tuple[Text, ...]:
    """Write the rows, as many for one width at any time."""
    alerts = state.alerts if state is not None else ()
    first, second = _open(alerts, told, width) if alerts else _calm(told)
    decide = line(
        f"Decide: {told.links.decide} as {PERSON}, PIN {PIN}",
        appearance.RAIL_BRIGHT if alerts else appearance.RAIL,
    )
    links = told.links
    shown = (links.board, links.camera, links.dealer, links.pit, links.log, links.report)
    return (first, second, decide, _dealt(told.lying, state), *_wrapped(shown, width))


def _calm(told: Told) -> tuple[Text, Text]:
    caught = f", {told.caught} caught so far" if told.caught else ""
    first = line(f"Every draw is checked. No irregularity is open{caught}.", appearance.RAIL)
    return first, line(f"Last decision: {told.last}" if told.last else "", appearance.RAIL_DIM)


def _open(alerts: tuple[Alert, ...], told: Told, width: int) -> tuple[Text, Text]:
    newest = alerts[-1]
    found, more = newest.data, len(alerts) - 1
    title = f"⚠ {kind_text(found.kind).upper()}{f' and {more} more' if more else ''}: "
    first = Text.assemble(line(title, appearance.BAD), line(found.detail, appearance.RAIL_BRIGHT))
    first.truncate(width, overflow="ellipsis")
    if newest.ordered:
        text = f"{newest.ordered.operator}: {action_text(newest.ordered.action)}"
    elif found.proposals:
        text = " or ".join(action_text(each.action) for each in found.proposals)
        text = f"Proposed: {text} ({found.proposals[0].authority})"
    else:
        text = "The policy proposes nothing."
    left = told.seconds_left
    waits = "" if left is None else f"decided for you in {left:.0f} s"
    second = line_with_end(
        line(text, appearance.RAIL_TITLE), line(waits, appearance.RAIL_BRIGHT), width
    )
    return first, second


def _dealt(lying: DealtRound | None, state: State | None) -> Text:
    """Write the cards that lie on the table, as many as the daemon knows of."""
    text = Text("Really on the table: ", appearance.RAIL_DIM, no_wrap=True, overflow="ellipsis")
    round_ = state.round if state is not None else None
    if lying is None or round_ is None:
        return text.append("no cards")
    cards = lying.cards[: len(round_.cards)]
    for hand, placed in groupby(sorted(cards, key=_hand, reverse=True), _hand):
        faces = " ".join(card_text(card) for _, card in placed)
        text.append(f"{hand} ").append(f"{faces}   ", appearance.RAIL_BRIGHT)
    if lying.fault in _FAULTS and (round_.finished or (state is not None and state.alerts)):
        excess = f" {card_text(lying.excess)}" if lying.excess else ""
        text.append(f"{_FAULTS[lying.fault]}{excess}", appearance.BAD)
    return text


def _hand(placed: Placed) -> str:
    return "Player" if placed[0].startswith("P") else "Banker"


def _wrapped(links: Iterable[str], width: int) -> list[Text]:
    """Arrange links in rows."""
    rows: list[Text] = []
    for link in filter(None, links):
        if not rows or rows[-1].cell_len + _GAP + len(link) > width:
            rows.append(Text(no_wrap=True))
        elif rows[-1]:
            rows[-1].append(" " * _GAP)
        rows[-1].append(link, appearance.RAIL)
    return rows
