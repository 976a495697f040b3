"""SIGUSR1, as an upgrade sends it: the daemon ends between two rounds, or when time is over."""

from __future__ import annotations

import signal
from pathlib import Path

from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.table import Event, RoundFinished, decode_event
from tests.service.conftest import Run
from tests.service.daemon_process import DaemonProcess, Shoe, configure
from tests.waiting import PATIENCE, wait_for


def events(daemon: DaemonProcess) -> list[Event]:
    with JournalReader(daemon.journal) as reader:
        return [decode_event(each.body) for each in reader.events(0, limit=1000)]


def dealt(daemon: DaemonProcess) -> int:
    return sum(each.type == "card_dealt" for each in events(daemon))


def started(run: Run, tmp_path: Path, shoe: Shoe, patch: str = "") -> DaemonProcess:
    """Return a daemon with a round in progress."""
    daemon = run(configure(tmp_path / "table", line=shoe.link), patch=patch).wait_ready()
    shoe.wait_heard()
    shoe.draw("P1:9S", "B1:2H")
    wait_for(lambda: dealt(daemon) == 2, "two cards")
    return daemon


def test_the_round_is_played_to_its_end(tmp_path: Path, run: Run, shoe: Shoe) -> None:
    daemon = started(run, tmp_path, shoe)
    daemon.process.send_signal(signal.SIGUSR1)
    shoe.draw("P2:KD", "B2:3C")
    wait_for(lambda: dealt(daemon) == 4, "all cards")
    # The dealer has not called the result: the round is still open.
    assert daemon.process.poll() is None
    shoe.call(Outcome.PLAYER)
    assert daemon.process.wait(PATIENCE) == 0
    (finished,) = (each.data for each in events(daemon) if isinstance(each.data, RoundFinished))
    assert not finished.partial
    # Between two rounds it ends without waiting, and the next round is whole.
    daemon.start().wait_ready()
    daemon.process.send_signal(signal.SIGUSR1)
    assert daemon.process.wait(PATIENCE) == 0
    shoe.wait_alone()
    daemon.start().wait_ready()
    shoe.wait_heard()
    shoe.draw("P1:8S", "B1:2D", "P2:KC", "B2:4C")
    shoe.call(Outcome.PLAYER)
    wait_for(lambda: events(daemon)[-1].type == "round_finished", "the next round")
    last = events(daemon)[-1].data
    assert isinstance(last, RoundFinished)
    assert not last.partial


def test_a_round_that_does_not_end_is_cut_after_a_time(
    tmp_path: Path, run: Run, shoe: Shoe
) -> None:
    patch = "import shoe_daemon.service.daemon as daemon\ndaemon._RESTART_WITHIN_S = 0.1\n"
    daemon = started(run, tmp_path, shoe, patch)
    daemon.process.send_signal(signal.SIGUSR1)
    assert daemon.process.wait(PATIENCE) == 0
    assert "restart_begun" in daemon.log.read_text()
    assert events(daemon)[-1].type != "round_finished"
