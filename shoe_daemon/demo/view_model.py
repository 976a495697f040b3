"""Content of the demo's view: the public table, recent events, and the state of the parts."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.demo.clients import AnsweredOrder
from shoe_daemon.demo.supervisor import OPERATOR
from shoe_daemon.event_text import event_line
from shoe_daemon.game import Card, Kind, Result
from shoe_daemon.report.cards import received
from shoe_daemon.report.rounds import Incident, RoundLine, TableFold
from shoe_daemon.table import (
    CardBurned,
    Event,
    IrregularityClosed,
    PublicTable,
    RoundAborted,
    RoundStarted,
    ShoeStarted,
    is_staff,
)

_CLOSED_SHOWN_S: Final = 8.0
"""Seconds for which a closed irregularity is shown."""

_MAX_LINES: Final = 30

NO_BOARD: Final = "no board for a browser: pip install 'shoe-daemon[display]' adds one"


class BurnedCards(Struct, frozen=True):
    """Cards burned for a new shoe: the first one, and the number to follow."""

    first: Card | None
    remaining: int | None


class ClosedIrregularity(Struct, frozen=True):
    """
    An irregularity that was closed a moment ago.

    Attributes:
        incident: The irregularity, with its decision.
        order: Command that corrected the round, and who gave it.
    """

    incident: Incident
    order: str | None = None


class Addresses(Struct, frozen=True):
    """
    Addresses of the parts.

    Attributes:
        board: URL of the display without a path; empty without a display.
        no_board: Reason why there is no display.
        camera: URL of the camera's preview; empty without a camera.
        decide: Where a person decides, and as whom; empty if the scripted supervisor does.
    """

    shoe: str
    journal: str
    host: str
    port: int
    topics: str
    board: str = ""
    no_board: str = NO_BOARD
    camera: str = ""
    decide: str = ""

    @property
    def table_page(self) -> str:
        """URL of the table's board."""
        return f"{self.board}/table/{self.topics.split('/')[-2]}"

    @property
    def pit_page(self) -> str:
        """URL of the pit view."""
        return f"{self.board}/pit"

    @property
    def subscribe(self) -> str:
        """Command that prints every message."""
        return f"mosquitto_sub -h {self.host} -p {self.port} -v -t '{self.topics}'"


class Health(Struct, frozen=True):
    """
    State of the parts.

    Attributes:
        reader_up: The line to the shoe is open.
        reader_detail: Reason why it is not open.
        silence: Whole seconds since the last report of the shoe.
        broker_up: The daemon is connected to the broker.
        published: Events acknowledged by the broker.
        queued: Events not yet acknowledged.
        seen: Events received by a subscriber.
        board_up: The display for browsers is running.
        alarm: Reason why the daemon cannot work.
    """

    reader_up: bool = False
    reader_detail: str = ""
    silence: int | None = None
    broker_up: bool = False
    published: int = 0
    queued: int = 0
    seen: int = 0
    board_up: bool = False
    alarm: str | None = None


class DemoView(Struct, frozen=True):
    """
    Content of the view at one moment.

    Attributes:
        table: Public state of the table.
        house: Name of the house.
        health: State of the parts.
        addresses: Addresses of the parts.
        beads: Results of this shoe.
        burned: Burned cards, until the first round of a shoe.
        aborted: The last round was aborted, and no round has started since.
        closed: Irregularities closed a moment ago, the newest last.
        orders: Last command about each open irregularity.
        caught: Number of irregularities since the start.
        lines: Recent events in words.
    """

    table: PublicTable
    house: str
    health: Health
    addresses: Addresses
    beads: tuple[Result, ...] = ()
    burned: BurnedCards | None = None
    aborted: bool = False
    closed: tuple[ClosedIrregularity, ...] = ()
    orders: dict[int, str] = {}
    caught: int = 0
    lines: tuple[str, ...] = ()


class RecentEvents:
    """Recent events that the public state of the table no longer contains."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._table = TableFold()
        self._lines: deque[str] = deque(maxlen=_MAX_LINES)
        self._orders: dict[int, str] = {}
        self._closed: deque[tuple[float, ClosedIrregularity]] = deque(maxlen=_MAX_LINES)
        self._burned: BurnedCards | None = None
        self._aborted = False

    def note(self, event: Event) -> None:
        """Process the next event."""
        line = event_line(event)
        if line is not None:
            self._lines.append(line)
        if is_staff(event.type):
            return
        self._table.take(received(event))
        match event.data:
            case ShoeStarted():
                self._burned, self._aborted = None, False
            case CardBurned() as burned:
                first = self._burned.first if self._burned else burned.card
                self._burned = BurnedCards(first, burned.remaining)
            case RoundStarted():
                self._burned, self._aborted = None, False
            case RoundAborted():
                self._aborted = True
            case IrregularityClosed(id=identifier):
                self._close(identifier)

    def note_order(self, said: AnsweredOrder) -> None:
        """Process an answered command of the supervisor."""
        if (line := order_line(said)) is not None:
            self._lines.append(line)
        if said.refused is not None:
            return
        words = f"{OPERATOR}: {said.order.words}"
        if any(each.id == said.about and each.action is None for each in self._table.incidents):
            self._orders[said.about] = words
        for number, (at, closed) in enumerate(self._closed):
            # A correction may close it before the answer to the order arrives.
            if closed.incident.id == said.about and closed.order is None:
                self._closed[number] = at, replace(closed, order=words)

    def _close(self, identifier: int) -> None:
        order = self._orders.pop(identifier, None)
        for each in self._table.incidents:
            if each.id == identifier:
                self._closed.append((self._clock(), ClosedIrregularity(each, order)))

    def view(
        self, table: PublicTable, house: str, health: Health, addresses: Addresses
    ) -> DemoView:
        """Return the content of the view now."""
        now = self._clock()
        shoe = self._table.shoes[None if table.shoe is None else table.shoe.number]
        rounds = [line for _, line in sorted(shoe.rounds.items())]
        return DemoView(
            table=table,
            house=house,
            health=health,
            addresses=addresses,
            beads=tuple(filter(None, map(_bead, rounds))),
            burned=self._burned,
            aborted=self._aborted,
            orders=dict(self._orders),
            closed=tuple(each for at, each in self._closed if now - at < _CLOSED_SHOWN_S),
            caught=len(self._table.incidents),
            lines=tuple(self._lines),
        )


def _bead(line: RoundLine) -> Result | None:
    if line.status != "finished" or line.outcome is None or line.kind is not Kind.NORMAL:
        return None
    return Result(
        line.outcome,
        player_pair=bool(line.player.pair),
        banker_pair=bool(line.banker.pair),
        natural=bool(line.player.natural or line.banker.natural),
    )


def order_line(said: AnsweredOrder) -> str | None:
    """Write a refused command, which has no event; None for any other."""
    if said.refused is None:
        return None
    return f"   ·  {OPERATOR}: {said.order.words}; refused: {said.refused}"
