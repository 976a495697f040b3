"""
What the core does after a frame: its events go out first, and all else waits for a lull.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivers.driver_interface import Frame, FrameKind
from shoe_daemon.config import Config, JournalSettings, set_up
from shoe_daemon.game.cards import DECK
from shoe_daemon.service import Daemon
from shoe_daemon.table.observations import CardDrawn


class Turns(Daemon):
    """
    A daemon that is turned by hand, on a clock that the test turns.

    Attributes:
        now: Seconds of the monotonic clock.
        looks: How often it has looked around.
    """

    def __init__(self, folder: Path) -> None:
        journal = JournalSettings(path=str(folder / "journal.db"))
        super().__init__(set_up(Config(site="test", journal=journal), folder))
        self.now = 1000.0
        self.looks = 0
        self.core.begin()
        self._turn()

    def _look_around(self) -> None:
        super()._look_around()
        self.looks += 1

    def turn(self, number: int | None = None, *, took: float = 0.0) -> int:
        """
        Turn, with this card in the inbox or with none; return how often it looked around.
        """
        before = self.looks
        if number is not None:
            card = CardDrawn(card=DECK[number])
            self._receive("shoe", Frame(b"bytes", FrameKind.FRAME, (card,), self.now))
        self.now += took
        self._turn()
        return self.looks - before


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Turns]:
    """
    A daemon that has begun and looked around.
    """
    clock = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr("shoe_daemon.service.daemon.time", clock)
    daemon = Turns(tmp_path)
    clock.monotonic = lambda: daemon.now
    yield daemon
    daemon.core.close()


@pytest.mark.parametrize("silence", [0.01, 0.06, 3600.0])
def test_after_a_silence_a_card_goes_out_before_the_core_looks_around(
    turns: Turns, silence: float
) -> None:
    turns.now += silence
    assert turns.turn(1) == 0
    assert turns.turn() == 1


def test_where_frames_come_without_a_lull_it_looks_around_all_the_same(turns: Turns) -> None:
    looked = [turns.turn(number, took=0.02) for number in range(9)]
    assert looked == [0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert turns.turn() == 1
