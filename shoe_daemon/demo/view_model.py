"""
What the view shows: the public table, what happened lately, and how the parts are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from shoe_daemon.demo.auto_supervisor import OPERATOR
from shoe_daemon.demo.supervisor_client import Said
from shoe_daemon.event_text import event_line
from shoe_daemon.game import Card, IrregularityKind, Kind, Result
from shoe_daemon.table import (
    CardBurned,
    Event,
    Irregularity,
    IrregularityClosed,
    PublicTable,
    ResultRevised,
    RoundAborted,
    RoundFinished,
    RoundStarted,
    RoundVoided,
    ShoeStarted,
    to_microseconds,
)

__all__ = [
    "NO_BOARD",
    "Board",
    "Burning",
    "Health",
    "Keeper",
    "Places",
    "Settled",
    "name_of",
    "order_line",
    "seconds_between",
]

_STAYS: Final = 8.0
"""Seconds for which what was dealt with is still told."""

_LINES: Final = 30

NO_BOARD: Final = "no board for a browser: pip install 'shoe-daemon[display]' adds one"


class Burning(Struct, frozen=True):
    """
    What was burned for a new shoe: its first card, and how many are to follow.
    """

    first: Card | None
    remaining: int | None


class Settled(Struct, frozen=True):
    """
    An irregularity that was dealt with a moment ago, and how.

    Attributes:
        kind: One of the closed list.
        detail: What it was, in a sentence.
        reason: Why it was closed.
        action: What was done.
        operator: Who decided; None where the equipment did.
        seconds: For how long it was open.
        order: The order that put it right, where closing it was not all; with who
            gave it.
    """

    kind: str
    detail: str
    reason: str | None
    action: str
    operator: str | None
    seconds: float
    order: str | None = None


class Places(Struct, frozen=True):
    """
    Where everything is, for who wants to look for himself.

    Attributes:
        board: Where the display is, without a path; empty where there is none.
        no_board: Why there is none.
        camera: Where people see what the camera sees; empty where there is none.
    """

    shoe: str
    journal: str
    host: str
    port: int
    topics: str
    board: str = ""
    no_board: str = NO_BOARD
    camera: str = ""

    @property
    def table_page(self) -> str:
        """
        The board of the table.
        """
        return f"{self.board}/table/{self.topics.split('/')[-2]}"

    @property
    def pit_page(self) -> str:
        """
        All tables, for staff.
        """
        return f"{self.board}/pit"

    @property
    def subscribe(self) -> str:
        """
        The command that shows every message.
        """
        return f"mosquitto_sub -h {self.host} -p {self.port} -v -t '{self.topics}'"


class Health(Struct, frozen=True):
    """
    How the parts are.

    Attributes:
        reader_up: Whether the line to the shoe is open.
        reader_detail: Why it is not; empty where it is.
        silence: Whole seconds since the shoe was last heard; None before.
        frames: Reports heard, repeats not counted.
        broker_up: Whether the broker has accepted us.
        published: Events that it acknowledged.
        queued: Events that it has yet to acknowledge.
        seen: Events that reached a subscriber.
        board_up: Whether the display for browsers is there.
        alarm: Why the daemon cannot do its work; None where it can.
    """

    reader_up: bool = False
    reader_detail: str = ""
    silence: int | None = None
    frames: int = 0
    broker_up: bool = False
    published: int = 0
    queued: int = 0
    seen: int = 0
    board_up: bool = False
    alarm: str | None = None


class Board(Struct, frozen=True):
    """
    All that the view shows at one moment.

    Attributes:
        table: What the players may know.
        house: What people call the house.
        health: How the parts are.
        places: Where they are.
        beads: The finished rounds of this shoe that are on the roads.
        burned: What was burned, while the shoe's first round is to come.
        aborted: The last round came to nothing, and none has begun since.
        settled: What was dealt with a moment ago, the newest last.
        orders: The last order about each irregularity that is open.
        caught: Irregularities since the start.
        lines: What happened lately, in words.
    """

    table: PublicTable
    house: str
    health: Health
    places: Places
    beads: tuple[Result, ...] = ()
    burned: Burning | None = None
    aborted: bool = False
    settled: tuple[Settled, ...] = ()
    orders: dict[int, str] = {}
    caught: int = 0
    lines: tuple[str, ...] = ()


class Keeper:
    """
    Keeps of the events what a display of a single moment would forget.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._beads: dict[int, Result] = {}
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._open: dict[int, tuple[str, Irregularity]] = {}
        self._orders: dict[int, str] = {}
        self._settled: deque[tuple[float, Settled]] = deque(maxlen=_LINES)
        self._burned: Burning | None = None
        self._aborted = False
        self._caught = 0

    def note(self, event: Event) -> None:
        """
        Take the next event.
        """
        line = event_line(event)
        if line is not None:
            self._lines.append(line)
        self._note_result(event)
        match event.data:
            case ShoeStarted():
                self._beads.clear()
                self._burned, self._aborted = None, False
            case CardBurned() as burned:
                first = self._burned.first if self._burned else burned.card
                self._burned = Burning(first, burned.remaining)
            case RoundStarted():
                self._burned, self._aborted = None, False
            case RoundAborted():
                self._aborted = True
            case Irregularity() as found:
                self._caught += 1
                self._open[found.id] = (event.at, found)
            case IrregularityClosed() as closed:
                self._close(event.at, closed)

    def note_order(self, said: Said) -> None:
        """
        Take an order of the supervisor's that was answered.
        """
        if (line := order_line(said)) is not None:
            self._lines.append(line)
        if said.about in self._open and said.refused is None:
            self._orders[said.about] = f"{OPERATOR}: {said.order.words}"

    def _note_result(self, event: Event) -> None:
        # A person may take a result back, or enter one, long after its round.
        match event.data:
            case RoundFinished() as result:
                after: RoundFinished | None = result
            case RoundVoided(after=after) | ResultRevised(after=after):
                pass
            case _:
                return
        self._beads.pop(event.round or 0, None)
        bead = None if after is None else _bead(after)
        if bead is not None:
            self._beads = dict(sorted({**self._beads, event.round or 0: bead}.items()))

    def _close(self, at: str, closed: IrregularityClosed) -> None:
        since, found = self._open.pop(closed.id, (at, None))
        order = self._orders.pop(closed.id, None)
        if found is not None:
            settled = Settled(
                found.kind,
                found.detail,
                closed.reason,
                closed.action,
                closed.operator,
                seconds_between(since, at),
                order,
            )
            self._settled.append((self._clock(), settled))

    def board(self, table: PublicTable, house: str, health: Health, places: Places) -> Board:
        """
        Give what is to be shown now.
        """
        now = self._clock()
        return Board(
            table=table,
            house=house,
            health=health,
            places=places,
            beads=tuple(self._beads.values()),
            burned=self._burned,
            aborted=self._aborted,
            orders=dict(self._orders),
            settled=tuple(each for at, each in self._settled if now - at < _STAYS),
            caught=self._caught,
            lines=tuple(self._lines),
        )


def _bead(finished: RoundFinished) -> Result | None:
    if finished.outcome is None or finished.kind is not Kind.NORMAL:
        return None
    return Result(
        finished.outcome,
        player_pair=bool(finished.player.pair),
        banker_pair=bool(finished.banker.pair),
        natural=bool(finished.player.natural or finished.banker.natural),
    )


def order_line(said: Said) -> str | None:
    """
    Tell an order that no event tells: it was refused, or waits for the table.
    """
    if said.refused is not None:
        return f"   ·  {OPERATOR}: {said.order.words}; refused: {said.refused}"
    return f"   ·  {OPERATOR}: {said.order.words}" if said.waits else None


def seconds_between(since: str, until: str) -> float:
    """
    Count the seconds between two moments of events.
    """
    return (to_microseconds(until) - to_microseconds(since)) / 1_000_000


def name_of(kind: str) -> str:
    """
    Write the name of a kind of irregularity as people say it.
    """
    return IrregularityKind(kind).value.replace("_", " ")
