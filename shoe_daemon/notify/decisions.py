"""
Decides which open irregularities are sent to which recipient, and when. Pure: no I/O, the time
is an argument.

An irregularity is sent once it is open, and again after `repeat_every` until it is no longer open:
it was acknowledged, ruled upon or voided. What quiet hours, the rate limit or a failing recipient
hold back stays due, and is sent later if it is still open.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Final, NamedTuple, Self

from msgspec import Meta, Struct

from shoe_daemon.limits import exponential_delay
from shoe_daemon.table import Alert

RATE_WINDOW_S: Final = 3600.0

MAX_ALERTS: Final = 20
"""Irregularities in one notification; further ones are sent in the next."""

FIRST_RETRY_S: Final = 5.0
LAST_RETRY_S: Final = 300.0

_HOURS: Final = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d|2[0-3]):([0-5]\d)")


class QuietHours(NamedTuple):
    """A time of day, from `start` until before `end`; it may include midnight."""

    start: dt.time
    end: dt.time

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Parse ``22:00-08:00``; None if it is invalid or empty."""
        found = _HOURS.fullmatch(text)
        if found is None:
            return None
        hours = [int(each) for each in found.groups()]
        start, end = dt.time(hours[0], hours[1]), dt.time(hours[2], hours[3])
        return None if start == end else cls(start, end)

    def contains(self, moment: dt.time) -> bool:
        """Return whether a time of day is within."""
        if self.start < self.end:
            return self.start <= moment < self.end
        return moment >= self.start or moment < self.end


class RecipientRules(Struct, frozen=True, kw_only=True):
    """Rules of one recipient: which alerts, and when; as in `RecipientSettings`."""

    id: str
    severity: int = 1
    tables: tuple[str, ...] = ()
    quiet_hours: tuple[QuietHours, ...] = ()
    quiet_severity: int = 4
    repeat_every: float = 300.0
    at_most: int = 30

    def selects(self, alert: OpenAlert) -> bool:
        """Return whether an irregularity is for this recipient at all."""
        names = {alert.table, f"{alert.site}.{alert.table}"}
        named = not self.tables or not names.isdisjoint(self.tables)
        return named and alert.severity >= self.severity

    def is_quiet(self, alert: OpenAlert, moment: dt.time) -> bool:
        """Return whether quiet hours hold an irregularity back."""
        quiet = any(each.contains(moment) for each in self.quiet_hours)
        return quiet and alert.severity < self.quiet_severity


class OpenAlert(Struct, frozen=True):
    """
    An open irregularity of a table.

    Attributes:
        name: Name of the table for people; None if it has none.
    """

    site: str
    table: str
    alert: Alert
    name: str | None = None

    @property
    def key(self) -> str:
        """Text that is unique among all irregularities, also after a new journal."""
        return f"{self.site}/{self.table}/{self.alert.data.id}/{self.alert.at}"

    @property
    def severity(self) -> int:
        """From 1 to 5."""
        return self.alert.data.severity


class DueAlert(NamedTuple):
    """
    An irregularity in a notification.

    Attributes:
        repeat: 0 the first time, then counting up.
    """

    open: OpenAlert
    repeat: int


class Notification(NamedTuple):
    """
    Irregularities that are sent to a recipient together, the most severe first; none in a test.
    """

    recipient: str
    alerts: tuple[DueAlert, ...]


FAILED: Final = "notify_failed"
"""Code of a failure that is of no other kind."""


class Failure(NamedTuple):
    """
    Reason why a notification was not accepted.

    Attributes:
        reason: One line for technicians: the log, the unit's status and `doctor`. It may name an
            address or a file.
        code: Which of `senders.FAILURES` it is, for the pit.
        values: What stands in that sentence.
    """

    reason: str
    code: str = FAILED
    values: Mapping[str, int] = MappingProxyType({})


class Sent(Struct):
    """The messages sent of an irregularity: their number, and the time of the last, Unix time."""

    count: int
    last: float


class RecipientState(Struct):
    """
    Alerts that were sent to a recipient; kept over restarts.

    Attributes:
        sent: By the key of the irregularity.
        attempts: Times of the attempts within the last hour, oldest first.
        failures: Failed attempts since the last success.
        failing_since: Time of the first of them.
        error: Reason of the last one.
        code: Which of `senders.FAILURES` it is.
        values: What stands in that sentence.
        retry_at: Earliest time of the next attempt.
        accepted: Notifications that were accepted, ever.
    """

    sent: dict[str, Sent] = {}
    attempts: list[float] = []
    failures: Annotated[int, Meta(ge=0)] = 0
    failing_since: float | None = None
    error: str | None = None
    code: str = FAILED
    values: dict[str, int] = {}
    retry_at: float = 0.0
    accepted: int = 0


class Decisions:
    """
    The open irregularities of all tables, and what was sent of them; `states` has what earlier
    starts have sent, by recipient.
    """

    def __init__(
        self,
        recipients: Sequence[RecipientRules],
        states: Mapping[str, RecipientState] | None = None,
    ) -> None:
        self._rules = {each.id: each for each in recipients}
        known = states or {}
        self.states = {name: known.get(name) or RecipientState() for name in self._rules}
        self._open: dict[tuple[str, str], tuple[OpenAlert, ...]] = {}
        self._complete: set[tuple[str, str]] = set()

    def set_alerts(
        self, site: str, table: str, alerts: Iterable[OpenAlert], *, complete: bool = True
    ) -> None:
        """
        Set the open irregularities of a table.

        They are not `complete` if the table has left some out: these may still be open.
        """
        self._open[site, table] = tuple(alerts)
        self._complete.discard((site, table))
        if not complete:
            return
        self._complete.add((site, table))
        keys = {each.key for each in self._open[site, table]}
        for state in self.states.values():
            for key in [each for each in state.sent if each.startswith(f"{site}/{table}/")]:
                if key not in keys:
                    del state.sent[key]

    def keep_tables(self, keys: frozenset[str]) -> None:
        """Drop the irregularities of all tables but these, ``SITE.TABLE``."""
        for site, table in [each for each in self._open if ".".join(each) not in keys]:
            self.set_alerts(site, table, ())

    def forget_open(self) -> None:
        """Forget what is open, but not what was sent: the broker will send it again."""
        self._open.clear()
        self._complete.clear()

    @property
    def open_count(self) -> int:
        """Number of open irregularities."""
        return sum(map(len, self._open.values()))

    def due(self, recipient: str, now: dt.datetime) -> list[DueAlert]:
        """
        Return the irregularities that are to be sent, whether or not an attempt is permitted now:
        the most severe first, then the oldest. `now` is in the zone of the quiet hours.
        """
        rules, state = self._rules[recipient], self.states[recipient]
        due: list[DueAlert] = []
        for alerts in self._open.values():
            for alert in alerts:
                sent = state.sent.get(alert.key)
                if not rules.selects(alert) or rules.is_quiet(alert, now.time()):
                    continue
                if sent is None or _is_repeat_due(rules, sent, now.timestamp()):
                    due.append(DueAlert(alert, 0 if sent is None else sent.count))
        return sorted(due, key=lambda each: (-each.open.severity, each.open.alert.at))

    def take(self, recipient: str, now: dt.datetime) -> Notification | None:
        """
        Return what to send to a recipient now, and count the attempt; None for nothing. `finish`
        must follow before the next call.
        """
        rules, state, at = self._rules[recipient], self.states[recipient], now.timestamp()
        # A clock that was set back must not block a recipient for long.
        if state.retry_at > at + LAST_RETRY_S:
            state.retry_at = at
        state.attempts = [each for each in state.attempts if at - RATE_WINDOW_S < each <= at]
        if at < state.retry_at or len(state.attempts) >= rules.at_most:
            return None
        due = self.due(recipient, now)[:MAX_ALERTS]
        if not due:
            return None
        state.attempts.append(at)
        return Notification(recipient, tuple(due))

    def finish(
        self, notification: Notification, now: dt.datetime, failure: Failure | None
    ) -> None:
        """Record the result of an attempt: None for success."""
        state, at = self.states[notification.recipient], now.timestamp()
        if failure is not None:
            delay = exponential_delay(FIRST_RETRY_S, LAST_RETRY_S, state.failures)
            state.failures += 1
            state.failing_since = at if state.failing_since is None else state.failing_since
            state.error, state.retry_at = failure.reason, at + delay
            state.code, state.values = failure.code, dict(failure.values)
            return
        state.failures, state.failing_since, state.error, state.retry_at = 0, None, None, 0.0
        state.accepted += 1
        still_open = {each.key for alerts in self._open.values() for each in alerts}
        for alert, repeat in notification.alerts:
            # While the broker is away it may still be open: it must not be sent as new then.
            is_over = (alert.site, alert.table) in self._complete and alert.key not in still_open
            if not is_over:
                state.sent[alert.key] = Sent(repeat + 1, at)


def _is_repeat_due(rules: RecipientRules, sent: Sent, at: float) -> bool:
    # After the clock was set back, an interval begins now.
    sent.last = min(sent.last, at)
    return rules.repeat_every > 0 and at - sent.last >= rules.repeat_every
