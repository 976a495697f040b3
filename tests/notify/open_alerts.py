"""Open irregularities for the tests."""

from __future__ import annotations

from shoe_daemon.game import IrregularityKind
from shoe_daemon.notify.decisions import OpenAlert
from shoe_daemon.table import Alert, Irregularity

__all__ = ["open_alert"]


def open_alert(number: int, *, severity: int = 3, name: str | None = "Baccarat 7") -> OpenAlert:
    """Return an irregularity of table-7 with this id."""
    data = Irregularity(
        card=None,
        detail="The Player drew on 6.",
        detail_code="x",
        detail_values={},
        id=number,
        kind=IrregularityKind.WRONG_HAND,
        proposals=(),
        severity=severity,
        slot=None,
    )
    alert = Alert(at=f"2026-11-23T11:00:{number:02}.000Z", data=data, round=31, shoe=2)
    return OpenAlert("casino", "table-7", alert, name)
