"""
The board of a table in a terminal, for 80 columns and 24 rows or more.

Smaller terminals get the most important facts as lines of text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from msgspec import Struct
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.layout import Layout
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from shoe_daemon.display.languages import BASE, language
from shoe_daemon.display.terminal import appearance
from shoe_daemon.display.terminal.appearance import LETTERS, Symbols, Theme
from shoe_daemon.display.terminal.hands import (
    Announcement,
    felt,
    is_unread,
    result_of,
    verdict,
)
from shoe_daemon.display.terminal.road_grid import HEIGHT
from shoe_daemon.display.terminal.road_layout import board_rows, counts_line, next_round
from shoe_daemon.display.terminal.text import (
    MIN_SIZE,
    centred,
    facts,
    line,
    line_with_end,
    part,
    stacked,
)
from shoe_daemon.floor.table import Freshness, Link
from shoe_daemon.game import card_text
from shoe_daemon.mqtt.documents import History, RoadsNow, State
from shoe_daemon.table import CardView, PublicTable, RoundFinished, RoundView

_FELT: Final = 9
_TIGHT_FELT: Final = 8
_MAX_ROAD_ROWS: Final = 3
_MAX_AIR: Final = 2
_SHOWN_OUTCOMES: Final = 60
_WARNINGS: Final = {
    "stale": "NOT CURRENT",
    "stopping": "THE TABLE IS BEING SWITCHED OFF",
    "offline": "THE TABLE IS OFFLINE",
    "no_broker": "NO CONNECTION TO THE BROKER",
    "unknown": "NOTHING WAS HEARD OF THIS TABLE",
}
_READER_REASONS: Final = {"fault": "reports a fault", "locked": "is locked"}
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
        notes: Rows above the last one, which another program adds.
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
    notes: tuple[Text, ...] = ()
    hint: str = "Ctrl-C ends"


class Plan(NamedTuple):
    """
    Heights of the parts of a board.

    Attributes:
        limits: The limits have a row of their own.
        road_rows: Number of rows of roads: one to three.
        air: Empty rows before each of them.
        spare: Empty rows after them.
    """

    limits: bool
    felt: int
    road_rows: int
    air: int
    spare: int


class Muted:
    """A picture in shades of grey."""

    def __init__(self, picture: RenderableType) -> None:
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Replace all colours."""
        for text, style, control in console.render(self._picture, options):
            yield Segment(text, style and appearance.grey(style), control)


def board(view: TableView, width: int, height: int, symbols: Symbols = LETTERS) -> RenderableType:
    """Draw the board for a terminal of this size."""
    if width < MIN_SIZE[0] or height < MIN_SIZE[1]:
        return facts(_facts(view))
    notes = view.notes[: height - 2 - _TIGHT_FELT - HEIGHT]
    plan, theme = _plan(height, len(notes)), Theme(symbols, appearance.ON_RAIL)
    head, roads = _head(view, plan, width), _roads(view, plan, theme, width)
    table, foot = _felt(view, plan, width), _foot(view, theme, width)
    below = part(Group(*notes), len(notes), margin=1)
    problem = warning(view)
    if problem is None:
        return stacked(*head, part(table, plan.felt, appearance.FELT), *roads, below, part(*foot))
    banner = [
        part(centred(text, style), 1, appearance.ALARM)
        for text, style in zip(problem, (appearance.ALARM_TITLE, appearance.ALARM), strict=True)
    ]
    shortened = part(table, plan.felt - len(problem), appearance.FELT)
    return stacked(*_muted(*head, shortened), *banner, *_muted(*roads), below, part(*foot))


def _muted(*parts: Layout) -> Iterator[Layout]:
    for each in parts:
        yield Layout(Muted(each.renderable), size=each.size)


def _plan(height: int, notes: int) -> Plan:
    spare = height - 2 - notes
    rows = min((spare - _TIGHT_FELT) // HEIGHT, _MAX_ROAD_ROWS)
    spare -= rows * HEIGHT
    table = _FELT if spare > _TIGHT_FELT else _TIGHT_FELT
    spare -= table
    own_row = spare > 0
    spare -= own_row
    air = min(spare // (rows + 1), _MAX_AIR)
    return Plan(own_row, table, rows, air, spare - rows * air)


def _head(view: TableView, plan: Plan, width: int) -> list[Layout]:
    """Write the names, and the limits beside them or in a row of their own."""
    state = view.state
    name = line(f"♠ {title(view)}", appearance.RAIL_TITLE)
    name.truncate(width // 2 - 4, overflow="ellipsis")
    right = line(headline(state) if state else "", appearance.RAIL_BRIGHT)
    allowed = limits(state) if state else ""
    if not plan.limits:
        name = Text.assemble(name, "  ", line(allowed, appearance.RAIL_DIM))
    name.truncate(width - right.cell_len - 5, overflow="ellipsis")
    head = [part(line_with_end(name, right, width - 2), 1, margin=1)]
    if plan.limits:
        head.append(part(line(allowed, appearance.RAIL_DIM), 1, margin=3))
    return head


def _felt(view: TableView, plan: Plan, width: int) -> RenderableType:
    if view.state is None:
        return ""
    return felt(view.state, announcement(view), width, tight=plan.felt == _TIGHT_FELT)


def _roads(view: TableView, plan: Plan, theme: Theme, width: int) -> list[Layout]:
    rows = (
        board_rows(view.roads, view.history, theme, width - 2, plan.road_rows)
        if view.state
        else []
    )
    parts = [each for row in rows for each in (part("", plan.air), part(row, HEIGHT, margin=1))]
    rest = plan.spare + (plan.road_rows - len(rows)) * (plan.air + HEIGHT)
    return [*parts, part("", rest)]


def _foot(view: TableView, theme: Theme, width: int) -> tuple[Text, int, Style, int]:
    """Write how fresh the board is, the lost readers, and the marks of the next round."""
    live = view.fresh.state == "live"
    style = appearance.RAIL if warning(view) is None else appearance.grey(appearance.RAIL)
    told = view.fresh.state.replace("_", " ")
    text = Text.assemble(
        Text("● " if live else "✗ ", appearance.GOOD if live else appearance.BAD),
        line(f"{told} · ", appearance.RAIL_DIM),
        *(line(f"{each} · ", appearance.BAD) for each in lost_readers(view)),
        line(f"{view.broker} · {view.hint}", appearance.RAIL_DIM),
        no_wrap=True,
    )
    marks = next_round(view.roads.ask, theme) if view.roads and live else Text()
    return line_with_end(text, marks, width - 2), 1, style, 1


def _facts(view: TableView) -> list[tuple[str, Style]]:
    """Write the most important facts first."""
    lines = [] if (problem := warning(view)) is None else [(" ".join(problem), appearance.BAD)]
    lines.append((title(view), appearance.RAIL_TITLE))
    state = view.state
    if state is not None:
        lines.append((headline(state), appearance.RAIL_BRIGHT))
        lines += [(text, appearance.BAD) for text in lost_readers(view)]
        lines += (
            [(text, appearance.RAIL) for text in hand_lines(state.round)] if state.round else []
        )
        result = result_of(state)
        if result is not None:
            lines.append((verdict(result), appearance.RAIL_TITLE))
    if view.roads is not None:
        letters = "".join(LETTERS.outcomes[each.outcome] for each in view.roads.bead)
        lines.append((letters[-_SHOWN_OUTCOMES:], appearance.RAIL))
        lines.append((counts_line(view.roads.counts), appearance.RAIL))
    lines += [(note.plain, appearance.RAIL) for note in view.notes]
    lines.append(("The whole board needs 80 columns and 24 rows.", appearance.RAIL_DIM))
    return lines


def hand_lines(round_: RoundView) -> list[str]:
    """Write both hands, a line each."""
    totals = {"P": ("Player", round_.player_total), "B": ("Banker", round_.banker_total)}
    lines = []
    for side, (name, total) in totals.items():
        cards = [each for each in round_.cards if each.slot and each.slot.value[0] == side]
        faces = " ".join(_face(each, round_) for each in cards)
        lines.append(f"{name}: {faces}{'' if total is None else f' = {total}'}")
    return lines


def _face(card: CardView, round_: RoundView) -> str:
    # A card that lies face down is drawn as its back; an unread card is "??".
    return "▚▚" if card.card is None and not is_unread(card, round_) else card_text(card.card)


def lost_readers(view: TableView) -> tuple[str, ...]:
    """Name the readers whose cards may be missing at present, and why; none of a stale table."""
    if view.state is None or view.fresh.state != "live":
        return ()
    lost = []
    for each in view.state.readers:
        reason = "disconnected" if each.link == "down" else _READER_REASONS.get(each.state)
        if reason is not None:
            lost.append(" ".join(filter(None, ("reader", each.source, reason))))
    return tuple(lost)


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
    """Write the reason of a failed connection."""
    return link.detail or "it has not answered yet"


def headline(table: PublicTable, no_shoe: str = "No shoe") -> str:
    """Write shoe, round and state of the table in one line."""
    shoe, round_ = table.shoe, table.round
    parts = ["SIMULATED"] if table.simulated is True else []
    parts.append(f"Shoe {shoe.number}" if shoe else no_shoe)
    if round_:
        parts.append(f"round {round_.number}")
    if shoe and shoe.last_round:
        parts.append("last round")
    elif shoe and shoe.cut_card:
        parts.append("cut card out")
    if table.on_hold:
        parts.append("on hold")
    if table.curator is not None:
        parts.append(f"seat {table.curator} draws")
    if table.betting != "unknown":
        parts.append(f"bets {table.betting}")
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
