"""
The thread of a lamp: the newest state wins, a lost device is opened again, and the daemon waits
for none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from drivers import LineError
from shoe_daemon.lamps.config import LampRuleSettings, LampSettings
from shoe_daemon.lamps.outputs import Broker
from shoe_daemon.lamps.pattern import Channel, LampAlert, TableView
from shoe_daemon.lamps.thread import Lamp, LampEnvironment
from shoe_daemon.threads import Wakeup

SETTINGS = LampSettings(
    id="tower",
    relay="/dev/shoe/lamp",
    rule=(
        LampRuleSettings(severity=3, blink=(0.5, 0.5), channel=1),
        LampRuleSettings(severity=1, channel=2),
    ),
    at_stop="off",
)
ALERT = TableView((LampAlert(1, 3),))
REFRESH_S = 5.0

Step = Callable[[], None] | Exception


class Script:
    """
    A device whose every wait is written down beforehand; the clock goes on by each wait.

    Attributes:
        written: Time and channels of each write.
        opened: Number of writes before each opening.
        closed: How the device was closed, each time.
        waits: The waits between two attempts.
    """

    def __init__(self, *steps: Step, settings: LampSettings = SETTINGS) -> None:
        self.steps = list(steps)
        self.now = 0.0
        self.written: list[tuple[float, dict[Channel, bool]]] = []
        self.opened: list[int] = []
        self.closed: list[bool] = []
        self.waits: list[float] = []
        self.open_errors: list[Exception] = []
        self.write_errors: list[Exception] = []
        self.at_retry: Callable[[], None] = nothing
        environment = LampEnvironment(
            self.open, lambda: self.now, self.wait_for_retry, lambda: 0.5
        )
        self.lamp = Lamp(settings, None, environment)

    def open(self, settings: LampSettings, broker: Broker | None) -> Script:
        if self.open_errors:
            raise self.open_errors.pop(0)
        self.opened.append(len(self.written))
        return self

    def write(self, states: Mapping[Channel, bool]) -> None:
        if self.write_errors:
            raise self.write_errors.pop(0)
        self.written.append((self.now, dict(states)))

    def wait(self, timeout_s: float, wakeup: Wakeup) -> None:
        if not self.steps:
            self.lamp.stop()
            return
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        step()
        self.now += timeout_s

    def wait_for_retry(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.at_retry()
        self.now += seconds

    def close(self, *, stopped: bool) -> None:
        self.closed.append(stopped)

    def show(self, view: TableView) -> Callable[[], None]:
        """Return a step in which the daemon shows a state, and no time passes."""

        def step() -> None:
            self.lamp.show(view)
            self.now -= REFRESH_S

        return step

    def run(self) -> Script:
        self.lamp.run()
        self.lamp.join(0)
        return self


def nothing() -> None:
    """Let the wait pass."""


def test_all_channels_are_switched_at_the_start_and_again_every_five_seconds() -> None:
    script = Script(nothing, nothing).run()
    off = {1: False, 2: False}
    assert script.written == [(0.0, off), (5.0, off), (10.0, off), (10.0, off)]
    assert script.closed == [True]


def test_an_irregularity_switches_what_changes_and_blinks() -> None:
    script = Script()
    script.steps = [script.show(ALERT), nothing, nothing]
    script.run()
    assert script.written[1:4] == [
        (0.0, {1: True, 2: True}),
        (0.5, {1: False}),
        (1.0, {1: True}),
    ]


def test_the_newest_state_wins() -> None:
    script = Script()

    def flood() -> None:
        for number in range(10_000):
            script.lamp.show(TableView((LampAlert(number + 1, 2),)))
        script.lamp.show(TableView())
        script.lamp.show(TableView((LampAlert(1, 1),)))

    script.steps = [flood]
    script.run()
    # The wait of the script ended at the refresh: one write for all of them.
    assert script.written[1] == (5.0, {1: False, 2: True})


@pytest.mark.parametrize(("at_stop", "lit"), [("on", True), ("off", False)])
@pytest.mark.parametrize("inverted", [False, True])
def test_it_is_left_as_configured(at_stop: str, lit: bool, inverted: bool) -> None:  # noqa: FBT001
    settings = LampSettings(
        relay="/dev/x",
        rule=(LampRuleSettings(severity=1, channel=4),),
        at_stop="on" if at_stop == "on" else "off",
        inverted=inverted,
    )
    script = Script(settings=settings).run()
    assert script.written[0] == (0.0, {4: inverted})
    assert script.written[-1][1] == {4: lit is not inverted}


def test_a_lost_device_is_opened_again_and_switched_anew() -> None:
    script = Script()
    script.open_errors = [LineError("/dev/shoe/lamp: No such file"), LineError("still not")]
    details: list[str | None] = []
    script.steps = [
        lambda: details.append(script.lamp.alert),
        script.show(ALERT),
        LineError("gone"),
        lambda: details.append(script.lamp.alert),
    ]
    script.run()
    assert script.waits == [0.5, 1.0, 0.5]
    assert details == [None, None]
    assert len(script.opened) == 2
    # All channels, and half a second later the blinking one is in its pause.
    assert script.written[script.opened[1]][1] == {1: False, 2: True}
    assert script.closed == [False, True]


def test_a_device_that_cannot_be_written_is_one_alert_until_it_can() -> None:
    script = Script()
    script.write_errors = [LineError("/dev/shoe/lamp: Write timeout")]
    seen: list[str | None] = []
    script.at_retry = lambda: seen.append(script.lamp.alert)
    script.run()
    assert seen == ["lamp tower: /dev/shoe/lamp: Write timeout"]
    assert script.lamp.alert is None


def test_a_device_that_hangs_is_an_alert() -> None:
    script = Script()
    seen: list[str | None] = []

    def hang(states: Mapping[Channel, bool]) -> None:
        script.now += 20.0
        seen.append(script.lamp.alert)

    script.write = hang  # type: ignore[method-assign]
    script.run()
    assert seen[0] == "lamp tower: /dev/shoe/lamp: hangs for 20 s"


def test_an_unexpected_error_ends_no_thread() -> None:
    script = Script(RuntimeError("a bug"), nothing)
    script.run()
    assert script.closed == [False, True]
