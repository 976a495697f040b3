"""Shows the state of the table on its lamps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from shoe_daemon.lamps.pattern import LampAlert, TableView
from shoe_daemon.mqtt.topics import TableIdentity
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import Event, Irregularity, IrregularityClosed, RulingGiven

if TYPE_CHECKING:
    from shoe_daemon.lamps.thread import Lamps


def make(daemon: Surroundings) -> Part | None:
    """Return the lamps, if some are configured."""
    config = daemon.setup.config
    if not config.lamp:
        return None
    # Tables without a lamp need not the memory.
    from shoe_daemon.lamps.thread import Lamps  # noqa: PLC0415

    identity = TableIdentity(config.site, config.table.id, daemon.session)
    return _Lamps(daemon, Lamps(config.lamp, config.mqtt, identity.client_id()))


class _Lamps(Part):
    name = "lamps"

    def __init__(self, daemon: Surroundings, lamps: Lamps) -> None:
        self._daemon = daemon
        self._lamps = lamps

    @property
    def working(self) -> Mapping[str, bool]:
        return self._lamps.working

    def start(self) -> None:
        self.check()
        self._lamps.start()

    def on_events(self, events: Sequence[Event]) -> None:
        # A lawful card changes no lamp, and the publisher waits for this thread.
        kinds = Irregularity | IrregularityClosed | RulingGiven
        if not events or any(isinstance(each.data, kinds) for each in events):
            self.check()

    def check(self) -> None:
        state = self._daemon.core.table.state
        alerts = tuple(
            LampAlert(each.data.id, each.data.severity, each.chosen is not None)
            for each in state.alerts
            # Players see the lamp too.
            if not each.staff_only
        )
        has_line = all(each.ages.link is not None for each in self._daemon.readers)
        fault = self._daemon.state.alarm is not None or not has_line
        is_writable = self._daemon.core.alarm is None
        self._lamps.show(TableView(alerts, is_writable, fault, state.on_hold))
        self.alerts = self._lamps.alerts

    def stop(self) -> None:
        self._lamps.stop()
