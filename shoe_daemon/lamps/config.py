"""The sections ``[[lamp]]`` of a table's configuration."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from drivers import check_url
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.lamps.pattern import Channel, Rule
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.settings.loader import Loader
from shoe_daemon.settings.toml import Name

MAX_RELAY_CHANNEL: Final = 16

_MAX_LAMPS: Final = 8
_MIN_BLINK_S: Final = 0.1
_MAX_BLINK_S: Final = 10.0
_MAX_SEVERITY: Final = 5
_MAX_PAYLOAD_BYTES: Final = 1000

_TOPIC: Final = re.compile(r"[^+#$\s/\x00-\x1f\x7f][^+#\s\x00-\x1f\x7f]{0,199}")

Severity = Annotated[int, Meta(ge=1, le=_MAX_SEVERITY)]


class LampRuleSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[lamp.rule]]``: when a channel is lit. The first rule of a channel that applies counts.

    Attributes:
        severity: It applies while an irregularity of this severity or a higher one is open.
        up_to: The highest severity to which it applies.
        fault: In place of `severity`: it applies while the journal cannot be written, frames
            come too fast, or a reader has no line.
        blink: Seconds on and seconds off; None for a steady light.
        on: False is refused; true is what a rule without `blink` means.
        channel: The number of a relay, or the number or name of a GPIO line; a lamp on MQTT
            has none.
    """

    severity: Severity | None = None
    up_to: Severity = _MAX_SEVERITY
    fault: bool = False
    blink: tuple[float, float] | None = None
    on: bool | None = None
    channel: int | str | None = None


class LampSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[lamp]]``, by exactly one of `relay`, `gpio` and `topic`.

    Attributes:
        id: Its name in the log, the status and `doctor`.
        relay: The serial line of a USB relay, as the `port` of a reader.
        gpio: A GPIO chip, such as ``/dev/gpiochip0``. Needs the extra `gpio`.
        topic: A topic of the table's broker, outside the tables' own topics.
        rule: When which channel is lit.
        at_stop: How its channels are left when the daemon ends.
        inverted: A channel that is switched off lights the lamp.
        payload_on: Published to `topic`, retained, to light the lamp.
        payload_off: The same, to switch it off.
    """

    id: Name = "lamp"
    relay: str | None = None
    gpio: str | None = None
    topic: str | None = None
    rule: tuple[LampRuleSettings, ...] = ()
    at_stop: Literal["on", "off"] = "on"
    inverted: bool = False
    payload_on: str = '{"state":"ON"}'
    payload_off: str = '{"state":"OFF"}'

    @property
    def place(self) -> str:
        """The device or topic, for people."""
        return self.relay or self.gpio or f"topic {self.topic}"

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The same rules for `LampPattern`; they must be valid."""
        return tuple(
            Rule(each.channel or 0, each.severity, each.up_to, each.blink) for each in self.rule
        )

    @property
    def channels(self) -> tuple[Channel, ...]:
        """The channels of the rules, each once."""
        return tuple(dict.fromkeys(each.channel for each in self.rules))


def check_lamps(lamps: Sequence[LampSettings], mqtt: MqttSettings | None, loader: Loader) -> None:
    """Check what types cannot: each lamp has a device of its own, and rules that can apply."""
    with loader.check():
        if len(lamps) > _MAX_LAMPS:
            raise UserError(f"lamp: {len(lamps)} of them; expected at most {_MAX_LAMPS}")
    ids: set[str] = set()
    places: dict[str, str] = {}
    for number, lamp in enumerate(lamps, start=1):
        with loader.check(), errors_at(f"lamp {number}"):
            if lamp.id in ids:
                raise UserError(f"id: {lamp.id!r} is another lamp's; expected each id once")
            ids.add(lamp.id)
            _check_output(lamp, mqtt)
            if places.setdefault(lamp.place, lamp.id) != lamp.id:
                other = places[lamp.place]
                raise UserError(f"{lamp.place!r} is the lamp {other!r} too; expected it once")
            if not lamp.rule:
                raise UserError("rule: missing; expected at least one [[lamp.rule]]")
        for index, rule in enumerate(lamp.rule, start=1):
            with loader.check(), errors_at(f"lamp {number}: rule {index}"):
                _check_rule(rule)
                _check_channel(lamp, rule.channel)


def check_installed(lamps: Sequence[LampSettings], loader: Loader) -> None:
    """Check that what a GPIO lamp needs is installed; its absence is a fault."""
    for lamp in lamps:
        if lamp.gpio is not None:
            from drivers import check_gpiod  # noqa: PLC0415 - few tables have one

            with loader.check(), loader.tolerate(), errors_at(f"lamp {lamp.id!r}: gpio"):
                check_gpiod()


def _check_output(lamp: LampSettings, mqtt: MqttSettings | None) -> None:
    given = [key for key in ("relay", "gpio", "topic") if getattr(lamp, key) is not None]
    if len(given) != 1:
        found = " and ".join(given) or "none"
        raise UserError(f"{found}; expected exactly one of relay, gpio and topic")
    if lamp.relay is not None:
        with errors_at("relay"):
            check_url(lamp.relay)
            if lamp.relay.startswith("file:"):
                raise UserError(f"{lamp.relay!r}; expected a line, no capture")
    if lamp.gpio is not None and not lamp.gpio.startswith("/"):
        raise UserError(f"gpio: {lamp.gpio!r}; expected a chip, such as '/dev/gpiochip0'")
    if lamp.topic is not None:
        _check_topic(lamp.topic, mqtt)
    for key in ("payload_on", "payload_off"):
        size = len(getattr(lamp, key).encode())
        if not 0 < size <= _MAX_PAYLOAD_BYTES:
            raise UserError(
                f"{key}: {size} bytes; expected 1 to {_MAX_PAYLOAD_BYTES}: "
                "an empty message would remove the retained one"
            )
    if lamp.payload_on == lamp.payload_off:
        raise UserError(f"payload_off: {lamp.payload_off!r}; expected another than payload_on")


def _check_topic(topic: str, mqtt: MqttSettings | None) -> None:
    if mqtt is None:
        raise UserError("topic: needs a broker: expected a section [mqtt]")
    if not _TOPIC.fullmatch(topic):
        raise UserError(
            f"topic: {topic!r}; expected a topic of at most 200 characters without +, #, $ "
            "and spaces, such as 'lamps/table-7'"
        )
    if f"{topic}/".startswith(f"{mqtt.prefix}/"):
        raise UserError(
            f"topic: {topic!r}; expected one outside {mqtt.prefix}/, where the tables publish"
        )


def _check_rule(rule: LampRuleSettings) -> None:
    if (rule.severity is None) is not rule.fault:
        found = "severity and fault" if rule.fault else "neither severity nor fault"
        raise UserError(f"{found}; expected either a severity or fault = true")
    if rule.severity is not None and rule.up_to < rule.severity:
        raise UserError(f"up_to: {rule.up_to}; expected at least the severity, {rule.severity}")
    if rule.on is False or (rule.on and rule.blink is not None):
        raise UserError(
            f"on: {str(rule.on).lower()}; expected on = true for a steady light, or blink instead"
        )
    for seconds in rule.blink or ():
        if not _MIN_BLINK_S <= seconds <= _MAX_BLINK_S:
            raise UserError(
                f"blink: {seconds}; expected seconds on and off, "
                f"each from {_MIN_BLINK_S} to {_MAX_BLINK_S:g}"
            )


def _check_channel(lamp: LampSettings, channel: Channel | None) -> None:
    found = "missing" if channel is None else repr(channel)
    if lamp.relay is not None and not (
        isinstance(channel, int) and 1 <= channel <= MAX_RELAY_CHANNEL
    ):
        raise UserError(f"channel: {found}; expected a relay from 1 to {MAX_RELAY_CHANNEL}")
    if lamp.gpio is not None and (
        channel is None or channel == "" or (isinstance(channel, int) and channel < 0)
    ):
        raise UserError(f"channel: {found}; expected the number or the name of a GPIO line")
    if lamp.topic is not None and channel is not None:
        raise UserError(
            f"channel: {found}; expected none: a lamp on MQTT is one topic; "
            "write a [[lamp]] for each"
        )
