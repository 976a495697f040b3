"""
The devices that switch lamps: a USB relay, GPIO lines, a topic of the broker.

Every failure of a device is a `LineError` with one line of text.
"""

from __future__ import annotations

import contextlib
import select
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from drivers import (
    LineError,
    LineSettings,
    find_free_lines,
    gpio_errors,
    load_gpiod,
    open_transport,
)
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.lamps.config import LampSettings
from shoe_daemon.lamps.pattern import Channel
from shoe_daemon.mqtt.connection import (
    REFUSED,
    Acknowledged,
    Connected,
    Connection,
    ConnectionLost,
    Will,
)
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.threads import Wakeup

if TYPE_CHECKING:
    import gpiod

RELAY_LINE: Final = LineSettings(baudrate=9600)
"""9600 bit/s, 8N1: fixed in the relay boards."""

_RELAY_START: Final = 0xA0

_CHECK_INTERVAL_S: Final = 1.0
_BROKER_TIMEOUT_S: Final = 5.0
_WILL_DELAY_S: Final = 5
"""A daemon that is back within this time never left its lamp (MQTT 5)."""


class Broker(NamedTuple):
    """The broker of the table, and the client id of a lamp's own connection."""

    settings: MqttSettings
    client_id: str


class LampOutput(Protocol):
    """An open device, for one thread. Every failure is a `LineError`."""

    def write(self, states: Mapping[Channel, bool]) -> None:
        """
        Switch channels on or off; returns when the device, or the broker, has taken it.

        Raises:
            LineError: The device is lost.
        """

    def wait(self, timeout_s: float, wakeup: Wakeup) -> None:
        """
        Wait for `wakeup`, at most `timeout_s`, and check that the device still exists.

        Raises:
            LineError: It does not.
        """

    def close(self, *, stopped: bool) -> None:
        """Close the device; nothing is raised. `stopped`: the last write was the final one."""


def open_output(lamp: LampSettings, broker: Broker | None) -> LampOutput:
    """
    Open the device of a lamp.

    Raises:
        UserError: A setting or a file is invalid.
        LineError: It cannot be opened now.
    """
    if lamp.relay is not None:
        return _RelayBoard(lamp.relay)
    if lamp.gpio is not None:
        return _GpioLines(lamp.gpio, lamp.channels)
    if broker is None:
        raise UserError("topic: needs a broker: expected a section [mqtt]")
    return _MqttLamp(lamp, broker)


def relay_command(channel: int, *, on: bool) -> bytes:
    """Return the four bytes that switch a channel; the last is the sum of the others."""
    command = bytes((_RELAY_START, channel, on))
    return command + bytes((sum(command) % 256,))


class _RelayBoard:
    """
    A relay board of the CH340 type, on a serial line.

    It never answers: a board that is plugged in and broken looks like one that works.
    """

    def __init__(self, port: str) -> None:
        self._transport = open_transport(port, RELAY_LINE)

    def write(self, states: Mapping[Channel, bool]) -> None:
        self._transport.write(
            b"".join(relay_command(int(channel), on=on) for channel, on in states.items())
        )

    def wait(self, timeout_s: float, wakeup: Wakeup) -> None:
        if not _woken(timeout_s, wakeup):
            self._transport.check()

    def close(self, *, stopped: bool) -> None:  # noqa: ARG002 - as in `LampOutput`
        self._transport.close()


class _GpioLines:
    """Lines of a GPIO chip, held as outputs while it is open."""

    def __init__(self, chip: str, channels: tuple[Channel, ...]) -> None:
        self._chip = chip
        self._gpiod = load_gpiod()
        settings = self._gpiod.LineSettings(direction=self._gpiod.line.Direction.OUTPUT)
        with _line_errors(chip), self._gpiod.Chip(chip) as opened:
            self._numbers = {
                channel: number for number, channel in find_free_lines(opened, channels).items()
            }
            self._request: gpiod.LineRequest = opened.request_lines(
                dict.fromkeys(self._numbers.values(), settings), "shoe-daemon"
            )

    def write(self, states: Mapping[Channel, bool]) -> None:
        value = self._gpiod.line.Value
        with _line_errors(self._chip):
            self._request.set_values(
                {
                    self._numbers[channel]: value.ACTIVE if lit else value.INACTIVE
                    for channel, lit in states.items()
                }
            )

    def wait(self, timeout_s: float, wakeup: Wakeup) -> None:
        if not _woken(timeout_s, wakeup):
            with _line_errors(self._chip):
                self._request.get_values()

    def close(self, *, stopped: bool) -> None:  # noqa: ARG002 - as in `LampOutput`
        # Most chips leave the levels as they are.
        self._request.release()


def check_gpio(chip: str, channels: tuple[Channel, ...]) -> None:
    """
    Check that the lines exist and are free, without touching their levels.

    Raises:
        UserError: gpiod is not installed.
        LineError: They cannot be used.
    """
    gpiod = load_gpiod()
    with _line_errors(chip), gpiod.Chip(chip) as opened:
        find_free_lines(opened, channels)


@contextmanager
def _line_errors(chip: str) -> Iterator[None]:
    try:
        with gpio_errors():
            yield
    except OSError as error:
        raise LineError(f"{chip}: {one_line(error)}") from error


class _MqttLamp:
    """
    A lamp on a topic, over a connection of its own.

    The broker publishes how the lamp is left if the daemon vanishes. A message is sent when the
    one before it was acknowledged: there is never a queue of old states.
    """

    def __init__(self, lamp: LampSettings, broker: Broker) -> None:
        self._lamp = lamp
        self._topic = lamp.topic or ""
        lit = (lamp.at_stop == "on") is not lamp.inverted
        will = Will(self._topic, self._payload(lit=lit), _WILL_DELAY_S)
        *others, last = broker.settings.each
        for settings in others:
            with contextlib.suppress(LineError):
                self._connect(settings, broker.client_id, will)
                return
        self._connect(last, broker.client_id, will)

    def _connect(self, settings: MqttSettings, client_id: str, will: Will) -> None:
        self._connection = Connection(settings, client_id, will, _BROKER_TIMEOUT_S)
        try:
            with self._broker_errors():
                self._connection.open()
                self._connection.wait_for(Connected, "the login", _BROKER_TIMEOUT_S)
        except LineError:
            self._connection.close()
            raise

    def _payload(self, *, lit: bool) -> bytes:
        return (self._lamp.payload_on if lit else self._lamp.payload_off).encode()

    def write(self, states: Mapping[Channel, bool]) -> None:
        for lit in states.values():
            payload = self._payload(lit=lit)
            with self._broker_errors():
                self._connection.publish(self._topic, payload, retain=True)
                answer = self._connection.wait_for(Acknowledged, "a message", _BROKER_TIMEOUT_S)
                if answer.reason >= REFUSED:
                    raise ConnectionLost(f"refuses topic {self._topic}: {answer.text}")

    def wait(self, timeout_s: float, wakeup: Wakeup) -> None:
        with self._broker_errors():
            for _ in self._connection.poll(min(timeout_s, _CHECK_INTERVAL_S), wakeup.descriptor):
                pass

    @contextmanager
    def _broker_errors(self) -> Iterator[None]:
        try:
            yield
        except (OSError, ConnectionLost) as error:
            broker = self._connection.settings.name
            raise LineError(f"the broker at {broker}: {one_line(error)}") from error

    def close(self, *, stopped: bool) -> None:
        # Without a DISCONNECT the broker publishes how the lamp is left.
        if stopped:
            self._connection.disconnect()
        self._connection.close()


def _woken(timeout_s: float, wakeup: Wakeup) -> bool:
    return bool(select.select([wakeup.descriptor], [], [], min(timeout_s, _CHECK_INTERVAL_S))[0])
