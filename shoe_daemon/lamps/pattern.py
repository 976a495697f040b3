"""
Which channels of a lamp are lit: from open irregularities and the time, without any device.

A channel that may not be dark by mistake is lit: while the journal cannot be written nothing is
known of the table, and all channels are on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

Channel = int | str

_FAULT: Final = frozenset({0})
"""Stands for the fault in place of an irregularity's id; ids begin at 1."""

_HOLD: Final = frozenset({-1})
"""Stands for a table on hold."""

_HOLD_SEVERITY: Final = 3


class LampAlert(NamedTuple):
    """
    An open irregularity that the players may know of.

    Attributes:
        id: Its id.
        severity: 1 to 5.
        ruled: A person has ruled; it is open until a card was drawn, read or entered.
    """

    id: int
    severity: int
    ruled: bool = False


class TableView(NamedTuple):
    """
    Everything that a lamp knows of its table.

    Attributes:
        alerts: The open irregularities.
        recording: The journal can be written.
        fault: The journal cannot be written, frames come too fast, or a reader has no line.
        on_hold: A person has put the table on hold, or a button has called the supervisor: it
            counts as an irregularity of severity 3.
    """

    alerts: tuple[LampAlert, ...] = ()
    recording: bool = True
    fault: bool = False
    on_hold: bool = False


class Rule(NamedTuple):
    """
    A condition on which a channel is lit; as in `LampRuleSettings`, without a severity for a
    fault.
    """

    channel: Channel
    severity: int | None
    up_to: int = 5
    blink: tuple[float, float] | None = None

    def matching(self, view: TableView) -> frozenset[int]:
        """Return the ids of the irregularities to which it applies; empty for none."""
        if self.severity is None:
            return _FAULT if view.fault else frozenset()
        alerts = frozenset(
            each.id for each in view.alerts if self.severity <= each.severity <= self.up_to
        )
        is_hold = view.on_hold and self.severity <= _HOLD_SEVERITY <= self.up_to
        return alerts | _HOLD if is_hold else alerts


class _Shown:
    """State of a rule: since when it shows, and whether it blinks."""

    def __init__(self) -> None:
        self.matching: frozenset[int] = frozenset()
        self.blinks = False
        self.since = 0.0


class LampPattern:
    """
    The state of each channel at any time; `now` is always of one monotonic clock.

    A blinking channel begins lit with every new irregularity. It is steady once a person has
    ruled on all of its irregularities, and dark once they are closed.
    """

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = [(rule, _Shown()) for rule in rules]
        self._channels = tuple(dict.fromkeys(rule.channel for rule in rules))
        self._recording = True

    def show(self, view: TableView, now: float) -> None:
        """Take over the state of the table."""
        self._recording = view.recording
        ruled = {each.id for each in view.alerts if each.ruled}
        for rule, shown in self._rules:
            matching = rule.matching(view)
            if matching - shown.matching:
                shown.since = now
            shown.matching = matching
            shown.blinks = rule.blink is not None and not matching <= ruled

    def states(self, now: float) -> dict[Channel, bool]:
        """Return whether each channel is lit."""
        return {channel: self._state(channel, now)[0] for channel in self._channels}

    def seconds_until_change(self, now: float) -> float | None:
        """Return the seconds until a channel changes if the table does not; None for never."""
        waits = [self._state(channel, now)[1] for channel in self._channels]
        return min((each for each in waits if each is not None), default=None)

    def _state(self, channel: Channel, now: float) -> tuple[bool, float | None]:
        """Return whether a channel is lit, and the seconds until that changes by itself."""
        if not self._recording:
            return True, None
        applying = [(r, s) for r, s in self._rules if r.channel == channel and s.matching]
        if not applying:
            return False, None
        rule, shown = applying[0]
        if rule.blink is None or not shown.blinks:
            return True, None
        phase = (now - shown.since) % sum(rule.blink)
        is_lit = phase < rule.blink[0]
        return is_lit, (rule.blink[0] if is_lit else sum(rule.blink)) - phase
