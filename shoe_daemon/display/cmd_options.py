"""
Options of `shoe-daemon cmd` that the pit shows: how an order reaches the broker from another
computer.
"""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Final

from shoe_daemon.mqtt.topics import DEFAULT_PREFIX

if TYPE_CHECKING:
    from shoe_daemon.display.display_config import OrderSettings
    from shoe_daemon.mqtt.mqtt_settings import MqttSettings

__all__ = ["PAGE_HOST", "is_loopback", "order_options"]

PAGE_HOST: Final = None
"""Stands for the host of the page's own address, which only the browser knows."""

_PLAIN_PORT: Final = 1883
_USERNAME: Final = "NAME"
_FILE: Final = "FILE"


def order_options(mqtt: MqttSettings, orders: OrderSettings) -> list[str | None]:
    """
    Return the options with which `shoe-daemon cmd` reaches the broker.

    ``NAME`` and ``FILE`` stand for what the display cannot know: a broker that asks
    displays for a name asks people for theirs.

    Args:
        mqtt: How the display itself reaches the broker.
        orders: What its configuration says of other computers.
    """
    config = orders.config or (_FILE if _needs_config(mqtt) else None)
    if config is not None:
        return ["--config", config]
    host, port = orders.address or (_host(mqtt), mqtt.address[1])
    options = ["--host", host]
    if port != _PLAIN_PORT:
        options += ["--port", str(port)]
    if mqtt.protocol != "5":
        options += ["--protocol", mqtt.protocol]
    username = orders.username or (mqtt.username and _USERNAME)
    if username:
        options += ["--username", username, "--password-file", orders.password_file or _FILE]
    return options


def is_loopback(host: str) -> bool:
    """
    Tell whether a host is the machine itself.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _needs_config(mqtt: MqttSettings) -> bool:
    # `cmd` has no options for these: they stand in a configuration.
    return mqtt.tls is not None or mqtt.prefix != DEFAULT_PREFIX


def _host(mqtt: MqttSettings) -> str | None:
    # A broker on the display's own machine is where the page comes from.
    return PAGE_HOST if is_loopback(mqtt.host) else mqtt.host
