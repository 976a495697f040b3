"""The running program: receives alerts, asks `decisions`, and sends on a thread per recipient."""

from __future__ import annotations

import datetime as dt
import queue
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

import msgspec
import structlog
from msgspec import Struct
from msgspec.structs import replace

from shoe_daemon.errors import describe_exception
from shoe_daemon.floor.feed import Announcement, Feed
from shoe_daemon.floor.messages import InvalidMessage, decode, parse_topic
from shoe_daemon.floor.table import FaultLog, Link, Message, Moment
from shoe_daemon.limits import LogRateLimit
from shoe_daemon.mqtt.documents import (
    NotifierStatus,
    RecipientStatus,
    notifier_status,
)
from shoe_daemon.mqtt.settings import Timeouts
from shoe_daemon.mqtt.topics import ALERTS, STATUS
from shoe_daemon.notify.config import NotifyConfig, NotifySetup
from shoe_daemon.notify.decisions import (
    FAILED,
    Decisions,
    Failure,
    Notification,
    OpenAlert,
    RecipientState,
)
from shoe_daemon.notify.senders import FAILURES, Sender, SendError, make_sender
from shoe_daemon.process import notify_systemd
from shoe_daemon.settings.files import replace_file
from shoe_daemon.table import from_microseconds

_log = structlog.get_logger(__name__)

_INTERVAL_S: Final = 1.0
READY_TIMEOUT_S: Final = 2.0

METRICS_INTERVAL_S: Final = 10.0
_METRICS_MODE: Final = 0o644
"""node_exporter reads the file as another user."""

_STATE_MODE: Final = 0o600


class StateFile(Struct):
    """The stored state: alerts that were sent."""

    recipients: dict[str, RecipientState] = {}


Result = tuple[Notification, Failure | None]
"""The end of an attempt; the failure is None for success."""


class Notifier:
    """
    The program; `run` works on the calling thread.

    Alerts are sent only while the broker is connected: without it nobody knows what is still
    open. It publishes how the recipients are, and nothing else.

    Attributes:
        faults: Invalid messages.
    """

    def __init__(self, setup: NotifySetup, *, timeouts: Timeouts | None = None) -> None:
        config = setup.config
        for note in setup.notes:
            _log.error("file_unusable", reason=note)
        self._zone = config.notify.zone
        self._state_file = setup.state_file
        rules = [each.rules for each in config.notify.to]
        self.decisions = Decisions(rules, load_state(setup.state_file))
        self._wake: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._workers = {
            each.id: _Worker(each.id, make_sender(each, setup.folder, self._zone), self._wake.put)
            for each in config.notify.to
        }
        self._feed = Feed(
            config.mqtt,
            topic_filters(config),
            lambda: self._wake.put(None),
            timeouts=timeouts,
            client="shoe-notify",
            announcement=Announcement(config.topic, self._last_will),
        )
        self._site, self._heartbeat = config.notify.site, config.mqtt.heartbeat
        self._announced: NotifierStatus | None = None
        self._announced_at = 0.0
        self._prefix = config.mqtt.prefix
        self._names: dict[tuple[str, str], str | None] = {}
        self._link = Link()
        self.faults = FaultLog()
        self._may_log = LogRateLimit()
        self._metrics_file = config.metrics.textfile
        self._metrics_at = 0.0
        self._stopping = False

    def run(self) -> None:
        """Work until `stop`."""
        for worker in self._workers.values():
            worker.start()
        self._announce()
        self._feed.start()
        _log.info("notifier_started", recipients=list(self._workers))
        notify_systemd("READY=1", f"STATUS={self.summary}", timeout_s=READY_TIMEOUT_S)
        while not self._stopping:
            try:
                result = self._wake.get(timeout=_INTERVAL_S)
            except queue.Empty:
                result = None
            if result is not None:
                self._finish(result)
            while self._feed.inbox.deliver(self):
                pass
            if self._link.connected:
                self._send()
            self._announce()
            if self._feed.works:
                notify_systemd("WATCHDOG=1", f"STATUS={self.summary}")
            self._write_metrics()
        notify_systemd("STOPPING=1")
        self._feed.stop()
        _log.info("stopped")

    def stop(self) -> None:
        """Let `run` return, from any thread or a signal handler."""
        self._stopping = True
        self._wake.put(None)

    @property
    def summary(self) -> str:
        """The state on one line, for systemd: the failing recipients first."""
        states = self.decisions.states
        parts = [
            f"{name} FAILS (attempt {state.failures}): {state.error}"
            for name, state in states.items()
            if state.error is not None
        ]
        if not self._link.connected:
            reason = f": {self._link.detail}" if self._link.detail else ""
            parts.append(f"no broker, nothing is sent{reason}")
        now = self._now()
        waiting = {name: len(self.decisions.due(name, now)) for name in states}
        parts.append(f"{self.decisions.open_count} open alerts")
        parts += [f"{count} wait for {name}" for name, count in waiting.items() if count]
        return ", ".join(parts)

    def _now(self) -> dt.datetime:
        return dt.datetime.now(dt.UTC).astimezone(self._zone)

    def status(self) -> NotifierStatus:
        """Return what it publishes: how the recipients are."""
        now = self._now()
        recipients = [
            _recipient_status(name, state, len(self.decisions.due(name, now)), now.timestamp())
            for name, state in self.decisions.states.items()
        ]
        recipients.sort(key=lambda each: each.detail is None)
        return self._status("online", tuple(recipients))

    def _last_will(self) -> bytes:
        return notifier_status(self._status("offline", ()))

    def _status(
        self, state: Literal["online", "offline"], recipients: tuple[RecipientStatus, ...]
    ) -> NotifierStatus:
        return NotifierStatus(
            at=_now_text(),
            heartbeat=self._heartbeat,
            recipients=recipients,
            site=self._site,
            state=state,
        )

    def _announce(self) -> None:
        """Publish how the recipients are, when that has changed and with every heartbeat."""
        status, now = self.status(), time.monotonic()
        before = self._announced
        same = before is not None and replace(status, at=before.at) == before
        if same and now - self._announced_at < self._heartbeat:
            return
        self._announced, self._announced_at = status, now
        self._feed.announce(notifier_status(status))

    def set_link(self, link: Link, _now: float) -> None:
        """Set the state of the connection: without it nobody knows what is still open."""
        self._link = link
        if not link.connected:
            self.decisions.forget_open()

    def receive(self, message: Message, moment: Moment) -> None:
        """Apply a message, or count it as a fault."""
        try:
            self._apply(message)
        except InvalidMessage as error:
            self.count_fault(message.topic, str(error), moment)

    def expire_missing(self, known_tables: frozenset[str], _now: float) -> None:
        """Forget the alerts of all tables but the known ones."""
        self.decisions.keep_tables(known_tables)

    def count_fault(self, topic: str, what: str, moment: Moment) -> None:
        """Count and record an invalid message."""
        self.faults.add(topic, what, moment)

    def _apply(self, message: Message) -> None:
        topic = parse_topic(message.topic, self._prefix)
        table = topic.site, topic.table
        if topic.kind not in {ALERTS, STATUS}:
            raise InvalidMessage("no topic of a subscription")
        if not message.payload:
            if topic.kind == ALERTS:
                self.decisions.set_alerts(*table, ())
            return
        body = decode(topic, message.payload).body
        if topic.kind == STATUS:
            self._names[table] = body.name
            return
        name = self._names.get(table)
        alerts = [OpenAlert(*table, alert, name) for alert in body.alerts]
        self.decisions.set_alerts(*table, alerts, complete=body.omitted == 0)

    def _send(self) -> None:
        now = self._now()
        for name, worker in self._workers.items():
            if worker.busy:
                continue
            notification = self.decisions.take(name, now)
            if notification is not None:
                worker.send(notification)

    def _finish(self, result: Result) -> None:
        notification, failure = result
        name = notification.recipient
        self.decisions.finish(notification, self._now(), failure)
        self._workers[name].busy = False
        if failure is not None:
            if self._may_log(f"notification_failed {name}", time.monotonic()):
                count, reason = self.decisions.states[name].failures, failure.reason
                _log.error("notification_failed", recipient=name, reason=reason, failures=count)
        else:
            self._may_log.reset(f"notification_failed {name}")
            keys = [due.open.key for due in notification.alerts]
            _log.info("notification_sent", recipient=name, alerts=keys)
        self._save_state()

    def _save_state(self) -> None:
        content = msgspec.json.encode(StateFile(self.decisions.states))
        try:
            replace_file(self._state_file, content, _STATE_MODE)
        except OSError as error:
            if self._may_log("state_not_saved", time.monotonic()):
                _log.error("state_not_saved", reason=describe_exception(error))

    def _write_metrics(self) -> None:
        if self._metrics_file is None or time.monotonic() < self._metrics_at:
            return
        self._metrics_at = time.monotonic() + METRICS_INTERVAL_S
        # Only here: without this file the program needs no extra.
        from shoe_daemon.notify.metrics import metrics_text  # noqa: PLC0415

        connected = self._link.connected
        text = metrics_text(self.decisions, self._now(), broker_connected=connected)
        try:
            replace_file(Path(self._metrics_file), text, _METRICS_MODE)
        except OSError as error:
            if self._may_log("metrics_not_written", time.monotonic()):
                _log.warning("metrics_not_written", reason=describe_exception(error))


class _Worker:
    """
    Sends to one recipient on a thread of its own: a slow recipient delays no other.

    Attributes:
        busy: A notification is being sent, or its result was not yet recorded.
    """

    def __init__(self, name: str, sender: Sender, on_result: Callable[[Result], None]) -> None:
        self.busy = False
        self._sender, self._on_result = sender, on_result
        self._queue: queue.SimpleQueue[Notification] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=f"to-{name}", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def send(self, notification: Notification) -> None:
        """Send a notification; `on_result` is called with the result."""
        self.busy = True
        self._queue.put(notification)

    def _run(self) -> None:
        while True:
            notification = self._queue.get()
            self._on_result((notification, _attempt(self._sender, notification)))


def _attempt(sender: Sender, notification: Notification) -> Failure | None:
    """Send; return why it failed, or None."""
    try:
        sender(notification)
    except SendError as error:
        return error.failure
    except Exception as error:  # noqa: BLE001 - the thread must not end
        _log.error("sender_failed", exc_info=True)
        return Failure(
            f"an error of the program itself: {type(error).__name__}; its log says more"
        )
    return None


def _recipient_status(
    name: str, state: RecipientState, waiting: int, now: float
) -> RecipientStatus:
    if state.error is None or state.failing_since is None:
        return RecipientStatus(
            attempts=0,
            detail=None,
            detail_code=None,
            detail_values={},
            failing_since=None,
            id=name,
            waiting=waiting,
        )
    # A file of another version may have another code, and any time.
    code = state.code if state.code in FAILURES else FAILED
    values = state.values if code == state.code else {}
    since = min(max(state.failing_since, 0.0), now)
    return RecipientStatus(
        attempts=state.failures,
        detail=FAILURES[code].format_map({"status": "?", **values}),
        detail_code=code,
        detail_values=values,
        failing_since=from_microseconds(int(since * 1_000) * 1_000),
        id=name,
        waiting=waiting,
    )


def topic_filters(config: NotifyConfig) -> list[str]:
    """Return the subscriptions: public alerts, and the names of tables. Nothing for staff."""
    root = f"{config.mqtt.prefix}/{config.notify.site or '+'}/+"
    return [f"{root}/{STATUS}", f"{root}/{ALERTS}"]  # names come first


def load_state(path: Path) -> dict[str, RecipientState]:
    """Return what was sent in earlier starts; nothing if the file is missing or damaged."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=StateFile).recipients
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        _log.warning("state_not_loaded", file=str(path), reason=describe_exception(error))
        return {}


def send_test(setup: NotifySetup) -> Iterable[tuple[str, str | None]]:
    """Send a test to each recipient; give its id, and the reason of a failure or None."""
    for each in setup.config.notify.to:
        sender = make_sender(each, setup.folder, setup.config.notify.zone)
        failure = _attempt(sender, Notification(each.id, ()))
        yield each.id, None if failure is None else failure.reason


def _now_text() -> str:
    return from_microseconds(time.time_ns() // 1000)
