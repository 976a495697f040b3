"""
The configuration of the display: one TOML file, checked by types.
"""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.display.languages import languages
from shoe_daemon.errors import UserError
from shoe_daemon.game.reading import read_as, read_toml
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics

__all__ = ["DisplayConfig", "DisplaySettings", "PitSettings", "load_display", "parse_listen"]

_LISTEN: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]]+)):(?P<port>\d{1,5})"
)
_PORTS: Final = 65_535

Name = Annotated[str, Meta(pattern="^[a-z0-9-]+$", max_length=40)]
TableName = Annotated[str, Meta(pattern=r"^([a-z0-9-]+\.)?[a-z0-9-]+$", max_length=81)]


class PitSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.pit]``: who may see `/pit`.

    Attributes:
        user: The name that the browser asks for; None asks for nothing.
        password_file: The first line of this file is the password's argon2 hash, as
            `cmd --hash-pin` prints it. Without a leading slash, among the unit's
            credentials first.
        behind_proxy: A reverse proxy asks who it is; nobody else reaches this address.
    """

    user: Annotated[str, Meta(min_length=1, max_length=60)] | None = None
    password_file: str | None = None
    behind_proxy: bool = False


class DisplaySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display]``.

    Attributes:
        listen: Address and port; loopback where it is not given.
        hosts: Other names under which browsers may know this address.
        site: The only site that is shown; None for all.
        tables: In this order at the head of the pit, and waited for.
        language: Of the pages, where their address names none.
        glyphs: What stands in the discs of the roads; None for what the language has.
        stale_after: Seconds; None for three heartbeats of the table.
        sound: Whether the pit may sound when an alert opens.
        streams: The most browsers that may listen at a time.
        pit: Who may see the pit.
    """

    listen: str = "127.0.0.1:8080"
    hosts: tuple[str, ...] = ()
    site: Name | None = None
    tables: tuple[TableName, ...] = ()
    language: str = "en"
    glyphs: Literal["chinese", "letters"] | None = None
    stale_after: Annotated[float, Meta(ge=1, le=3600)] | None = None
    sound: bool = False
    streams: Annotated[int, Meta(ge=1, le=50_000)] = 1000
    pit: PitSettings = PitSettings()

    @property
    def address(self) -> tuple[str, int]:
        """
        Where it listens.
        """
        return parse_listen(self.listen)

    @property
    def on_loopback(self) -> bool:
        """
        Whether only this machine can reach it.
        """
        host = self.address[0]
        try:
            return ipaddress.ip_address(host).is_loopback
        except ValueError:
            return host == "localhost"


class DisplayConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The whole file.
    """

    mqtt: MqttSettings = MqttSettings()
    display: DisplaySettings = DisplaySettings()


def load_display(path: Path) -> DisplayConfig:
    """
    Read and check a configuration.

    Raises:
        UserError: The first thing wrong: file, key, what is, what is expected.
    """
    config = read_as(DisplayConfig, read_toml(path, "a display's configuration"), str(path))
    try:
        check(config)
    except UserError as error:
        raise UserError(f"{path}: {error}") from error
    return config


def check(config: DisplayConfig) -> None:
    """
    Check what a type cannot.

    Raises:
        UserError: Key, what is wrong, what is expected.
    """
    settings = config.display
    config.mqtt.check()
    Topics(settings.site or "site", "table", config.mqtt.prefix)
    parse_listen(settings.listen)
    if settings.language not in languages():
        known = ", ".join(languages())
        raise UserError(f"display.language: {settings.language!r}; expected one of {known}")
    if (settings.pit.user is None) != (settings.pit.password_file is None):
        raise UserError("display.pit: user and password_file go together; expected both or none")


def parse_listen(text: str) -> tuple[str, int]:
    """
    Read an address to listen on.

    Raises:
        UserError: It is none.
    """
    found = _LISTEN.fullmatch(text)
    if found is None or not 0 <= int(found["port"]) <= _PORTS:
        raise UserError(f"display.listen: {text!r}; expected ADDRESS:PORT, such as 127.0.0.1:8080")
    return found["six"] or found["host"], int(found["port"])
