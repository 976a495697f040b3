"""
The configuration of the display: one TOML file, checked by types.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from shoe_daemon.credential_files import note_missing_credential, path_of, read_secret
from shoe_daemon.display.cmd_options import is_loopback
from shoe_daemon.display.languages import languages
from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.passwords import is_hash, require_argon2
from shoe_daemon.toml_validation import convert_toml, plain_error, read_toml

__all__ = [
    "DisplayConfig",
    "DisplaySettings",
    "DisplaySetup",
    "OrderSettings",
    "PitKey",
    "PitSettings",
    "is_display",
    "load_display",
    "parse_listen",
    "set_up_display",
]

_LISTEN: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>\d{1,5})"
)
_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_TABLE: Final = re.compile(r"(?P<site>[a-z0-9-]{1,40}\.)?[a-z0-9-]{1,40}")
_BROKER: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9._-]{1,253}))(?::(?P<port>\d{1,5}))?"
)
_PORTS: Final = 65_535
_MQTT_PORT: Final = 1883

Name = Annotated[str, Meta(pattern="^[a-z0-9-]+$", max_length=40)]


class PitSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.pit]``: who may see `/pit`.

    Attributes:
        user: The name that the browser asks for; None asks for nothing.
        password_hash: The password's argon2 hash, as `cmd --hash-pin` prints it.
        password_file: Its first line is that hash. Without a leading slash, among the
            unit's credentials first, then beside the configuration.
        behind_proxy: A reverse proxy asks who it is; nobody else reaches this address.
        staff_alerts: The pit shows the alerts that only staff may see. Needs a locked pit, and
            an account that may read `staff/alert/active` at the broker.
    """

    user: Annotated[str, Meta(min_length=1, max_length=60)] | None = None
    password_hash: str | None = None
    password_file: str | None = None
    behind_proxy: bool = False
    staff_alerts: bool = False

    @property
    def locked(self) -> bool:
        """
        Whether a password or a proxy keeps others out.
        """
        return self.user is not None or self.behind_proxy


class OrderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.orders]``: how the commands that the pit shows reach the broker from
    the computer of the person who gives them. The display itself gives none.

    Attributes:
        broker: Host and port; None for the display's own broker, or, where that is on
            loopback, for the host of the page's address.
        username: Who that person is for the broker.
        password_file: On that computer; its first line is the password of `username`.
        config: On that computer: a file with a section ``[mqtt]``; the others do not count
            then. A broker with TLS needs it.
    """

    broker: str | None = None
    username: Annotated[str, Meta(min_length=1, max_length=60)] | None = None
    password_file: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    config: Annotated[str, Meta(min_length=1, max_length=200)] | None = None

    @property
    def address(self) -> tuple[str, int] | None:
        """
        The host and the port of `broker`, 1883 where it has none; None without one.
        """
        if self.broker is None:
            return None
        found = _BROKER.fullmatch(self.broker)
        if found is None or int(found["port"] or 0) > _PORTS:
            raise UserError(
                f"display.orders.broker: {self.broker!r}; expected HOST or HOST:PORT, "
                "such as broker.casino.example:1883"
            )
        return found["six"] or found["host"], int(found["port"] or _MQTT_PORT)

    def check(self) -> None:
        """
        Check what a type cannot.

        Raises:
            UserError: Key, what is wrong, what is expected.
        """
        _ = self.address
        if (self.username is None) != (self.password_file is None):
            raise UserError(
                "display.orders: username goes with password_file; expected both or none"
            )


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
        orders: How the commands that the pit shows reach the broker.
    """

    listen: str = "127.0.0.1:8080"
    hosts: tuple[str, ...] = ()
    site: Name | None = None
    tables: tuple[str, ...] = ()
    language: str = "en"
    glyphs: Literal["chinese", "letters"] | None = None
    stale_after: Annotated[float, Meta(ge=1, le=3600)] | None = None
    sound: bool = True
    streams: Annotated[int, Meta(ge=1, le=50_000)] = 1000
    pit: PitSettings = PitSettings()
    orders: OrderSettings = OrderSettings()

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
        return is_loopback(self.address[0])

    @property
    def open_pit(self) -> bool:
        """
        Whether other machines may see the pit without being asked who they are.
        """
        return not (self.on_loopback or self.pit.locked)


class DisplayConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The whole file.

    Attributes:
        mqtt: The broker, by the same keys as a table's.
        display: What is shown, where, and to whom.
    """

    mqtt: MqttSettings = MqttSettings()
    display: DisplaySettings = DisplaySettings()


class PitKey(Struct, frozen=True):
    """
    What opens the pit: a name, and the argon2 hash of a password.
    """

    user: str
    hash: str


class DisplaySetup(Struct, frozen=True):
    """
    A configuration that has been checked; `key` is None where the pit is not locked,
    or its password is a credential that only the service has, which is in `notes`.
    """

    config: DisplayConfig
    key: PitKey | None = None
    notes: tuple[str, ...] = ()


def is_display(path: Path) -> bool:
    """
    Tell whether a file is a display's configuration; what is none at all is not.
    """
    try:
        return "display" in read_toml(path, "a configuration")
    except UserError:
        return False


def load_display(path: Path, *, inspecting: bool = False) -> DisplaySetup:
    """
    Read and check a configuration, and everything that it names.

    Args:
        path: The file.
        inspecting: A missing credential of the service is a note, no error.

    Raises:
        UserError: The first thing wrong: file, key, what is, what is expected.
    """
    mapping: dict[str, Any] = read_toml(path, "a display's configuration")
    try:
        config = convert_toml(DisplayConfig, mapping, str(path))
        return set_up_display(config, path.parent, inspecting=inspecting)
    except UserError as error:
        told = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {plain_error(told)}") from error


def set_up_display(
    config: DisplayConfig, beside: Path, *, inspecting: bool = False
) -> DisplaySetup:
    """
    Check what a type cannot: addresses, names, files.

    Args:
        config: The configuration.
        beside: The folder from which the paths in it start.
        inspecting: A missing credential of the service is a note, no error.

    Raises:
        UserError: Key, what is wrong, what is expected.
    """
    settings = config.display
    notes: list[str] = []
    with note_missing_credential(notes, inspecting=inspecting):
        config.mqtt.password(beside)
    with note_missing_credential(notes, inspecting=inspecting):
        config.mqtt.tls_context(beside)
    config = replace(config, mqtt=config.mqtt.beside(beside))
    _check_prefix(config)
    parse_listen(settings.listen)
    settings.orders.check()
    _check_names(settings)
    _check_staff_alerts(settings.pit)
    if settings.language not in languages():
        known = ", ".join(languages())
        raise UserError(f"display.language: {settings.language!r}; expected one of {known}")
    key = None
    with note_missing_credential(notes, inspecting=inspecting):
        key = _key(settings.pit, beside)
    return DisplaySetup(config, key, tuple(notes))


def parse_listen(text: str) -> tuple[str, int]:
    """
    Read an address to listen on.

    Raises:
        UserError: It is none.
    """
    found = _LISTEN.fullmatch(text)
    if found is None or int(found["port"]) > _PORTS:
        raise UserError(f"display.listen: {text!r}; expected ADDRESS:PORT, such as 127.0.0.1:8080")
    return found["six"] or found["host"], int(found["port"])


def _check_prefix(config: DisplayConfig) -> None:
    try:
        Topics("site", "table", config.mqtt.prefix)
    except UserError as error:
        raise UserError(f"mqtt.prefix: {str(error).removeprefix('mqtt prefix ')}") from error


def _check_names(settings: DisplaySettings) -> None:
    for host in settings.hosts:
        if not _HOST.fullmatch(host):
            raise UserError(
                f"display.hosts: {host!r}; expected a name without port, such as board.example"
            )
    for table in settings.tables:
        found = _TABLE.fullmatch(table)
        if found is None:
            raise UserError(
                f"display.tables: {table!r}; expected a table's id, or SITE.TABLE, of small "
                "letters, digits and hyphens"
            )
        if settings.site is not None and found["site"] not in {None, f"{settings.site}."}:
            raise UserError(
                f"display.tables: {table!r}; expected a table of {settings.site!r}, "
                "the only site that display.site shows"
            )


def _check_staff_alerts(pit: PitSettings) -> None:
    if pit.staff_alerts and not pit.locked:
        raise UserError(
            "display.pit.staff_alerts: the pit asks nobody who they are; expected user and "
            "password_file, or behind_proxy, beside it"
        )


def _key(pit: PitSettings, beside: Path) -> PitKey | None:
    given = [each for each in (pit.password_hash, pit.password_file) if each is not None]
    if pit.user is None and not given:
        return None
    if pit.user is None or len(given) != 1:
        raise UserError(
            "display.pit: user goes with one of password_hash and password_file; "
            "expected both or none"
        )
    if pit.password_hash is not None:
        return PitKey(pit.user, _hash(pit.password_hash, "display.pit.password_hash"))
    key = "display.pit.password_file"
    place = f"{key}: {path_of(given[0], beside)}"
    return PitKey(pit.user, _hash(read_secret(given[0], beside, key), place))


def _hash(text: str, place: str) -> str:
    require_argon2(
        "display.pit: a password needs argon2-cffi, which is not installed: "
        "pip install 'shoe-daemon[display,pins]'"
    )
    if not is_hash(text):
        raise UserError(
            f"{place}: no argon2 hash; expected what `shoe-daemon cmd --hash-pin` prints"
        )
    return text
