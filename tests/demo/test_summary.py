"""The summary says how each irregularity was resolved, and how fast."""

from __future__ import annotations

from drivers.simulators.angel_eye import Mode
from drivers.simulators.shoe import Fault
from shoe_daemon.demo.summary import ResultCheck, summary
from shoe_daemon.demo.view_model import Health
from shoe_daemon.table import Irregularity
from tests.demo.test_auto_supervisor import ROUNDS, performed, settings


def test_what_was_irregular_and_what_became_of_it() -> None:
    sample, referee = performed(settings(Fault.OVERDRAW, Fault.MISSED_DRAW, mode=Mode.HIDDEN))
    lines = list(summary(referee, 8, Health(), 0))
    caught = sum(isinstance(event.data, Irregularity) for event in sample.events)
    assert lines[0] == f"{ROUNDS} rounds dealt from 1 shoe, {ROUNDS} of them shown with a result"
    assert f"irregularities caught: {caught}, all dealt with" in lines
    rows = [line.split(":")[0].split() for line in lines if line.startswith("  ")][3:]
    assert sum(int(row[0]) for row in rows) == caught
    assert any("keep it for the next hand, Supervisor, after" in line for line in lines)
    assert any("draw the card now, Supervisor, after" in line for line in lines)
    (decided,) = (line for line in lines if line.startswith("decisions: "))
    held = int(decided.split()[3].rstrip(","))
    assert decided == f"decisions: results held {held}, released {held}"


def test_what_is_still_open() -> None:
    sample, _ = performed(settings(Fault.MISSED_DRAW))
    referee = ResultCheck()
    place = next(n for n, event in enumerate(sample.events) if event.type == "irregularity")
    for event in sample.events[: place + 1]:
        referee.show(event)
    lines = list(summary(referee, 8, Health(), 0))
    assert "irregularities caught: 1, 1 still open" in lines
    assert "  1 missing draw: still open" in lines
