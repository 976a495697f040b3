"""
Moments of a simulated table without a line, a thread or a clock: for pictures and tests.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from drivers.angel_eye_ii import AngelEyeII
from drivers.replay import observations_of
from drivers.simulators.angel_eye_ii import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.demo.board import Board, Health, Keeper, Places
from shoe_daemon.demo.stage import NAME, SITE, TABLE
from shoe_daemon.game.house import load_house
from shoe_daemon.game.round import Slot
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table.machine import Table
from shoe_daemon.table.observations import Session
from shoe_daemon.table.options import Options
from shoe_daemon.table.snapshot import PublicTable
from shoe_daemon.table.state import TableState

__all__ = ["boards", "showpiece"]

_PLACES: Final = Places(
    shoe="/dev/pts/3",
    journal="/tmp/shoe-demo-k3v0x9qd/journal.db",  # noqa: S108 - shown, never opened
    host="127.0.0.1",
    port=1883,
    topics=Topics(SITE, TABLE).root + "/#",
)
_SHOWPIECE: Final = Settings(
    mode=Mode.OPEN,
    rounds=34,
    seed=108,
    faults=(Fault.OVERDRAW, Fault.MISSED_DRAW),
    fault_rate=0.12,
    cut_behind=16,
)
_MANY: Final = 20


def boards(settings: Settings, house: str = "seven-feathers") -> Iterator[Board]:
    """
    Deal a scenario that ends, and give the board after each report that says anything.
    """
    options = Options(name=NAME)
    table = Table(TableState(session=Session(SITE, TABLE, house=house, options=options)))
    keeper = Keeper(lambda: 0.0)
    name = load_house(house).name
    stream = scenario(settings).stream()
    for number, observation in enumerate(observations_of(AngelEyeII(), stream)):
        events = table.apply(observation)
        for event in events:
            keeper.note(event)
        if events:
            seq = table.state.seq
            health = Health(
                reader_up=True,
                silence=0,
                frames=number,
                broker_up=True,
                published=seq,
                seen=seq,
            )
            yield keeper.board(table.public(), name, health, _PLACES)


def showpiece() -> Board:
    """
    Give the moment that the README shows: a round just won, and a card too many.
    """
    return next(board for board in boards(_SHOWPIECE) if _is_telling(board.table))


def _is_telling(table: PublicTable) -> bool:
    round_ = table.round
    if round_ is None or not round_.finished or len(round_.cards) < len(Slot):
        return False
    return table.counts.rounds > _MANY and bool(table.alerts)
