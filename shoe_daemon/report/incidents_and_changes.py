"""Irregularities with their rulings, and changes made by operators."""

from __future__ import annotations

from shoe_daemon.report.report_model import Change, Incident, Person
from shoe_daemon.report.shoe_events import CausedEvent
from shoe_daemon.table import RoundFinished, events, to_microseconds


class IncidentFold:
    """Collects `incidents` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.incidents: list[Incident] = []
        self._open: dict[int, Incident] = {}
        self._known: dict[int, Incident] = {}
        self._claimed: set[str] = set()

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event, order = caused.event, caused.order
        if order is not None and order.claimed and order.operator is not None:
            self._claimed.add(order.operator)
        match event.data:
            case events.Irregularity() as data if data.id in self._known:
                self._known[data.id].detail = data.detail  # known to staff before it became public
            case events.IrregularityData() as data:
                incident = Incident(
                    data.id,
                    event.at,
                    event.round,
                    data.kind,
                    data.severity,
                    data.slot,
                    data.card,
                    data.detail,
                )
                self.incidents.append(incident)
                self._open[data.id] = self._known[data.id] = incident
            case events.ClosedData() as data if data.id in self._open:
                self._close(self._open.pop(data.id), caused, data)

    def _close(self, incident: Incident, caused: CausedEvent, data: events.ClosedData) -> None:
        incident.action, incident.why = data.action, data.reason
        incident.closed_at = caused.event.at
        span = to_microseconds(caused.event.at) - to_microseconds(incident.at)
        incident.seconds = span / 1_000_000
        if data.operator is not None:
            reason = caused.order.reason if caused.order is not None else None
            claimed = data.operator in self._claimed
            incident.by = Person(data.operator, claimed, reason or data.reason)


class ChangeFold:
    """Collects `changes` from the events of one shoe, in order."""

    def __init__(self) -> None:
        self.changes: list[Change] = []

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        match caused.event.data:
            case events.RoundVoided() as data:
                self._add(caused, "void", data, _result(data.before), None)
            case events.ResultRevised(before=None) as data:
                self._add(caused, "restored", data, None, _result(data.after))
            case events.ResultRevised() as data:
                self._add(caused, "result", data, _result(data.before), _result(data.after))
            case events.CardCorrected() as data:
                self._add(caused, "card", data, data.before, data.after)
            case events.RoundFinished() as data:
                if caused.order is not None and caused.order.name == "enter_result":
                    self._add(caused, "entered", None, None, _result(data))

    def _add(
        self,
        caused: CausedEvent,
        what: str,
        data: events.RoundVoided | events.ResultRevised | events.CardCorrected | None,
        before: str | None,
        after: str | None,
    ) -> None:
        event, order = caused.event, caused.order
        slot = data.slot if isinstance(data, events.CardCorrected) else None
        operator = None if data is None else data.operator
        reason = None if data is None else data.reason
        claimed = False
        if order is not None:
            operator, reason = operator or order.operator, reason or order.reason
            claimed = order.claimed
        person = Person(operator, claimed, reason)
        change = Change(event.seq, event.at, event.round, what, slot, before, after, person)  # type: ignore[arg-type]  # one of its words
        self.changes.append(change)


def _result(data: RoundFinished | None) -> str | None:
    if data is None:
        return None
    outcome = "no outcome" if data.outcome is None else data.outcome.value
    totals = (data.player.total, data.banker.total)
    return outcome if None in totals else f"{outcome} {totals[0]}:{totals[1]}"
