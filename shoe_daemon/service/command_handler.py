"""
Operators' orders: read on the publisher's thread, judged and written down on the
core's, answered once.

A PIN takes a tenth of a second to check, so a thread of its own does that: no
card waits for it.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.config import Setup
from shoe_daemon.journal import JournalUnwritable
from shoe_daemon.mqtt.commands import Draft, read_order
from shoe_daemon.mqtt.messages import Earlier, Reply, encode_message
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.publisher_context import Order
from shoe_daemon.service.processing_core import Core
from shoe_daemon.table import ORDERS, Command, Event, from_microseconds, to_microseconds

__all__ = ["MOST_REPLAYED", "Orders", "Ticket"]

_log = structlog.get_logger(__name__)

_ROOM: Final = 50
"""Orders that may wait to be judged; a pit gives a few in an hour."""

_REMEMBERED: Final = 1000
"""So many ids are known again."""

_MOST_TOLD: Final = 800
"""Numbers of events that fit into an answer."""

MOST_REPLAYED: Final = 5000
"""Events that one order publishes again."""

_STOPPING: Final = "the daemon is stopping"
_CROWDED: Final = "too many orders at once: give it again"


class Ticket(Struct, eq=False):
    """
    An order on its way to the core.

    Attributes:
        draft: As it was read.
        refused: Why it is refused already.
        proven: The operator's PIN was right.
    """

    draft: Draft
    refused: str | None = None
    proven: bool = False


class Orders:
    """
    The orders of one table, from the broker to their answers.

    Attributes:
        publisher: Who answers; set before the first order can come.
    """

    def __init__(
        self, core: Core, setup: Setup, session: str, enter: Callable[[Ticket], None]
    ) -> None:
        """
        Args:
            core: Judges and writes down.
            setup: Who may give orders.
            session: The start of the daemon, for the answers.
            enter: Lays a ticket before the core's thread, which calls `judge`;
                raises `queue.Full` where there is no room.
        """
        self.publisher: Publisher | None = None
        self._core = core
        self._session = session
        self._enter = enter
        self._in_topic = setup.config.orders.operator_in_topic
        self._operators = setup.operators
        self._clerk = ThreadPoolExecutor(1, "orders") if setup.operators else None
        self._known = _Known(core.last_orders())
        self._lock = Lock()
        self._waiting: set[Ticket] = set()
        self._shut: str | None = None

    def receive(self, order: Order) -> None:
        """
        Take an order as it came; for the publisher's thread.
        """
        draft = read_order(order, operator_in_topic=self._in_topic)
        ticket = Ticket(draft, draft.command.refused)
        with self._lock:
            alarm = self._core.alarm
            why = self._shut if alarm is None else alarm.text
            if why is None and len(self._waiting) >= _ROOM:
                why = _CROWDED
            if why is None:
                self._waiting.add(ticket)
        if why is not None:
            self._refuse(ticket, why)
        elif self._clerk is None:
            self._lay_down(ticket)
        else:
            self._clerk.submit(self._vouch, ticket)

    def judge(self, ticket: Ticket) -> list[Event]:
        """
        Judge an order, write it down and answer it; for the core's thread.

        Returns:
            What was written with it; nothing where it cannot be written: it is
            then refused, and was never given.
        """
        if not self._take(ticket):
            return []
        order = ticket.draft.command
        earlier = self._known.find(order.id)
        refused = self._objection(ticket, earlier)
        try:
            given = self._core.give(
                replace(order, claimed=order.claimed and not ticket.proven, refused=refused)
            )
        except JournalUnwritable as error:
            self._refuse(ticket, f"nothing can be recorded: {error}")
            return []
        self._known.add(given.order)
        replayed = self._replay(given.order)
        self._answer(ticket, given.order, given.caused, earlier=earlier, replayed=replayed)
        return given.events

    def refuse_waiting(self, why: str) -> None:
        """
        Refuse all that wait: the core cannot come to them.
        """
        with self._lock:
            waiting, self._waiting = self._waiting, set()
        for ticket in waiting:
            self._refuse(ticket, why)

    def close(self) -> None:
        """
        Refuse what waits and what is to come.
        """
        self._shut = _STOPPING
        self.refuse_waiting(_STOPPING)
        if self._clerk is not None:
            self._clerk.shutdown(wait=False)

    def _vouch(self, ticket: Ticket) -> None:
        order, operators = ticket.draft.command, self._operators
        known = ORDERS.get(order.name)
        if operators is not None and known is not None and order.operator and not ticket.refused:
            try:
                vouched = operators.vouch(order.operator, ticket.draft.pin, weighty=known.weighty)
            except Exception as error:  # noqa: BLE001 - nobody else would hear of it
                _log.error("pin_not_checked", reason=type(error).__name__)
                ticket.refused = "the PIN cannot be checked"
            else:
                ticket.refused, ticket.proven = vouched
        self._lay_down(ticket)

    def _lay_down(self, ticket: Ticket) -> None:
        try:
            self._enter(ticket)
        except queue.Full:
            if self._take(ticket):
                self._refuse(ticket, _CROWDED)

    def _take(self, ticket: Ticket) -> bool:
        """
        Take it from those that wait; False where somebody has done so before.
        """
        with self._lock:
            waits = ticket in self._waiting
            self._waiting.discard(ticket)
        return waits

    def _objection(self, ticket: Ticket, earlier: Earlier | None) -> str | None:
        """
        Say why an order is refused whatever the table would say.
        """
        order, expires = ticket.draft.command, ticket.draft.expires
        if earlier is not None:
            was = "carried out" if earlier.ok else f"refused: {earlier.refused}"
            return f"its id was given before, at {earlier.at}, and {was}"[:_MOST_TOLD]
        if ticket.refused is not None:
            return ticket.refused
        if expires is not None and expires < to_microseconds(self._core.clock.at()):
            return f"it expired at {from_microseconds(expires)}"
        return self._no_replay(order) if order.name == "replay" else None

    def _no_replay(self, order: Command) -> str | None:
        seq = self._core.table.state.seq
        if order.from_seq is None:
            return "from which event on? give from_seq"
        if order.from_seq > seq:
            return f"the last event is {seq}"
        if self.publisher is not None and self.publisher.replaying:
            return "a replay is under way: wait for its end"
        return None

    def _replay(self, order: Command) -> int | None:
        if order.name != "replay" or order.refused is not None or order.from_seq is None:
            return None
        until = min(self._core.table.state.seq, order.from_seq + MOST_REPLAYED - 1)
        if self.publisher is not None:
            self.publisher.replay(order.from_seq, until)
        return until - order.from_seq + 1

    def _refuse(self, ticket: Ticket, why: str) -> None:
        """
        Refuse what is not written down.
        """
        self._answer(ticket, replace(ticket.draft.command, refused=why), [])

    def _answer(
        self,
        ticket: Ticket,
        order: Command,
        caused: list[Event],
        *,
        earlier: Earlier | None = None,
        replayed: int | None = None,
    ) -> None:
        _log.info(
            "order", verb=order.name, operator=order.operator, id=order.id, refused=order.refused
        )
        seq = self._core.table.state.seq
        reply = Reply(
            earlier=earlier,
            events=tuple(event.seq for event in caused[:_MOST_TOLD]),
            id=order.id,
            name=order.name,
            ok=order.refused is None,
            refused=order.refused,
            replayed=replayed,
            seq=seq,
            session=self._session,
        )
        if self.publisher is not None:
            self.publisher.answer(
                encode_message(reply),
                seq,
                order=order.id,
                response_topic=ticket.draft.response_topic,
                correlation=ticket.draft.correlation,
            )


class _Known:
    """
    The ids that were given, and what became of the first order with each.
    """

    def __init__(self, latest_first: Iterable[Command]) -> None:
        self._first: dict[str, Earlier] = {}
        for order in reversed(list(latest_first)):
            self.add(order)

    def find(self, order_id: str | None) -> Earlier | None:
        return None if order_id is None else self._first.get(order_id)

    def add(self, order: Command) -> None:
        if order.id is None or order.id in self._first:
            return
        self._first[order.id] = Earlier(
            at=order.at, name=order.name, ok=order.refused is None, refused=order.refused
        )
        if len(self._first) > _REMEMBERED:
            del self._first[next(iter(self._first))]
