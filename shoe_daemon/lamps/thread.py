"""
The thread of each lamp: it shows the newest state of the table, and delays no card.

On any failure the device is closed, logged, and opened again after 0.5 to 10 seconds; all
channels are then switched anew.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Sequence
from typing import Final

import structlog
from msgspec import Struct

from drivers import LineError, redact_url
from shoe_daemon.errors import UserError, describe_exception
from shoe_daemon.lamps.config import LampSettings
from shoe_daemon.lamps.outputs import Broker, LampOutput, open_output
from shoe_daemon.lamps.pattern import Channel, LampPattern, TableView
from shoe_daemon.limits import LoggedFailure, RetryDelay
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.threads import ThreadGroup, WakeableThread

_REFRESH_INTERVAL_S: Final = 5.0
"""All channels are switched again after this time: a relay that lost a command recovers."""

_HUNG_AFTER_S: Final = 15.0
"""A device that takes longer is reported; a connection to a broker may take ten seconds."""

_STOP_TIMEOUT_S: Final = 1.0

_log = structlog.get_logger(__name__)


class LampEnvironment(Struct, frozen=True):
    """
    Devices, clock and waits of a lamp; tests replace them.

    Attributes:
        open_output: Opens the device.
        clock: Monotonic seconds.
        wait: Waits for some seconds between two attempts, or until the lamp is stopped.
        jitter: Returns a number from 0 to 1.
    """

    open_output: Callable[[LampSettings, Broker | None], LampOutput] = open_output
    clock: Callable[[], float] = time.monotonic
    wait: Callable[[float], object] | None = None
    jitter: Callable[[], float] = random.random


class Lamp(WakeableThread):
    """
    One lamp and its thread; `stop` leaves the lamp as configured.

    Attributes:
        name: Its id.
        detail: The reason if it is not switched, on one line; empty while it is.
    """

    def __init__(
        self,
        settings: LampSettings,
        broker: Broker | None,
        environment: LampEnvironment | None = None,
    ) -> None:
        super().__init__("lamp", settings.id)
        self.detail = ""
        self._settings = settings
        self._broker = broker
        self._environment = environment or LampEnvironment()
        self._pattern = LampPattern(settings.rules)
        self._view = self._shown = TableView()
        self._wait = self._environment.wait or self._stopping.wait
        self._retry_delay = RetryDelay(jitter=self._environment.jitter)
        log = _log.bind(lamp=self.name, place=redact_url(settings.place))
        self._failure = LoggedFailure(log, "lamp_lost", "lamp_up")
        self._hung = LoggedFailure(log, "lamp_hangs")
        self._busy_since: float | None = None

    def show(self, view: TableView) -> None:
        """Show this state soon; takes microseconds, from any thread."""
        self._view = view
        self._wakeup.wake()

    @property
    def alert(self) -> str | None:
        """One sentence for people while the lamp is not switched; None otherwise."""
        busy_since, now = self._busy_since, self._environment.clock()
        if busy_since is not None and now - busy_since > _HUNG_AFTER_S:
            detail = f"{redact_url(self._settings.place)}: hangs for {now - busy_since:.0f} s"
            self._hung.failed(now, detail=detail)
            return f"lamp {self.name}: {detail}"
        return f"lamp {self.name}: {self.detail}" if self.detail else None

    def run(self) -> None:
        """Switch the lamp until stopped: the body of the thread."""
        while not self._stopping.is_set():
            try:
                self._switch_until_failure()
            except Exception as error:  # noqa: BLE001 - the thread must not end
                with contextlib.suppress(Exception):
                    self._lost(error)
                with contextlib.suppress(Exception):
                    self._wait(self._retry_delay.next())

    def _switch_until_failure(self) -> None:
        clock = self._environment.clock
        self._busy_since = clock()
        output = None
        is_left_as_configured = False
        try:
            output = self._environment.open_output(self._settings, self._broker)
            self._switch(output)
            is_left_as_configured = True
        finally:
            if output is not None:
                output.close(stopped=is_left_as_configured)
            self._busy_since = None

    def _switch(self, output: LampOutput) -> None:
        clock = self._environment.clock
        written: dict[Channel, bool] = {}
        refresh_at = clock()
        while True:
            # Cleared before the view is read: a later one wakes the next wait.
            self._wakeup.clear()
            is_last = self._stopping.is_set()
            now = self._busy_since = clock()
            states = self._states(now, is_last=is_last)
            if is_last or now >= refresh_at:
                written, refresh_at = {}, now + _REFRESH_INTERVAL_S
            changed = {key: lit for key, lit in states.items() if written.get(key) is not lit}
            if changed:
                inverted = self._settings.inverted
                output.write({key: lit is not inverted for key, lit in changed.items()})
                written = states
                self._works()
            self._busy_since = None
            if is_last:
                return
            output.wait(self._wait_s(refresh_at), self._wakeup)

    def _states(self, now: float, *, is_last: bool) -> dict[Channel, bool]:
        if is_last:
            return dict.fromkeys(self._settings.channels, self._settings.at_stop == "on")
        view = self._view
        if view is not self._shown:
            self._shown = view
            self._pattern.show(view, now)
        return self._pattern.states(now)

    def _wait_s(self, refresh_at: float) -> float:
        now = self._environment.clock()
        change = self._pattern.seconds_until_change(now)
        refresh = max(0.0, refresh_at - now)
        return refresh if change is None else min(change, refresh)

    def _works(self) -> None:
        self.detail = ""
        self._retry_delay.reset()
        self._failure.succeeded()

    def _lost(self, error: Exception) -> None:
        expected = isinstance(error, LineError | UserError)
        self.detail = str(error) if expected else describe_exception(error)
        self._failure.failed(self._environment.clock(), detail=self.detail)


class Lamps(ThreadGroup[Lamp]):
    """All lamps of a table; `stop` leaves them as configured."""

    def __init__(
        self, settings: Sequence[LampSettings], mqtt: MqttSettings | None, client_id: str
    ) -> None:
        lamps = [
            Lamp(each, None if mqtt is None else Broker(mqtt, f"{client_id}-lamp-{each.id}"))
            for each in settings
        ]
        super().__init__(lamps, _STOP_TIMEOUT_S)
        self._view: TableView | None = None

    def show(self, view: TableView) -> None:
        """Show a state of the table, if it differs from the last one."""
        if view != self._view:
            self._view = view
            for lamp in self._threads:
                lamp.show(view)
