"""After a frame its events are published first; everything else waits for a pause."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from drivers.driver import Frame, FrameKind
from shoe_daemon.config.sections import Config, JournalSettings
from shoe_daemon.config.table import set_up
from shoe_daemon.game.cards import DECK
from shoe_daemon.service import Daemon
from shoe_daemon.table.observations import CardDrawn


class ManualDaemon(Daemon):
    """
    A daemon that is turned by hand, on a clock that the test manual.

    Attributes:
        now: Seconds of the monotonic clock.
        checks: Number of checks.
    """

    def __init__(self, folder: Path) -> None:
        journal = JournalSettings(path=str(folder / "journal.db"))
        super().__init__(set_up(Config(site="test", journal=journal), folder))
        self.now = 1000.0
        self.checks = 0
        self.core.record_start()
        self._run_once()

    def _check(self) -> None:
        super()._check()
        self.checks += 1

    def run_loop(self, number: int | None = None, *, took: float = 0.0) -> int:
        """Run the loop once, with this card in the queue or none; return the number of checks."""
        before = self.checks
        if number is not None:
            card = CardDrawn(card=DECK[number])
            self._receive("shoe", Frame(b"bytes", FrameKind.FRAME, (card,), self.now))
        self.now += took
        self._run_once()
        return self.checks - before


@pytest.fixture
def manual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ManualDaemon]:
    """A daemon that has started and checked once."""
    clock = SimpleNamespace(monotonic=lambda: 1000.0)
    monkeypatch.setattr("shoe_daemon.service.daemon.time", clock)
    daemon = ManualDaemon(tmp_path)
    clock.monotonic = lambda: daemon.now
    yield daemon
    daemon.core.close()


@pytest.mark.parametrize("silence", [0.01, 0.06, 3600.0])
def test_after_a_silence_a_card_is_published_before_the_checks(
    manual: ManualDaemon, silence: float
) -> None:
    manual.now += silence
    assert manual.run_loop(1) == 0
    assert manual.run_loop() == 1


def test_frames_without_a_pause_do_not_suppress_the_checks(manual: ManualDaemon) -> None:
    checked = [manual.run_loop(number, took=0.02) for number in range(9)]
    assert checked == [0, 0, 0, 1, 0, 0, 0, 1, 0]
    assert manual.run_loop() == 1
