"""The configuration of the display: one TOML file, checked by types."""

from __future__ import annotations

import os
import re
import ssl
from functools import partial
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from msgspec import Meta, Struct
from msgspec.structs import replace

from shoe_daemon.display.languages import languages
from shoe_daemon.errors import UserError, errors_at, one_line, os_errors_at
from shoe_daemon.floor.table import TABLE_NAME
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.operators import Operators, is_hash, require_argon2
from shoe_daemon.postgres import check_database
from shoe_daemon.settings.files import (
    find_file,
    path_of,
    read_secret,
)
from shoe_daemon.settings.loader import Loader, load_config_file
from shoe_daemon.settings.toml import Name, did_you_mean
from shoe_daemon.web import LOOPBACK_NETWORKS, Network, is_loopback

_LISTEN: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[^:\[\]\s]+)):(?P<port>\d{1,5})"
)
_HOST_NAME: Final = re.compile(r"[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]+\]")
_BROKER: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<host>[A-Za-z0-9._-]{1,253}))(?::(?P<port>\d{1,5}))?"
)
MAX_PORT: Final = 65_535
DEFAULT_MQTT_PORT: Final = 1883

_SERVICE_CONFIGS: Final = Path("/etc/shoe-daemon")
SERVICE_STATE: Final = Path("/var/lib/shoe-display")
"""The service's folders, for commands that a person gives in a shell."""


class PitSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.pit]``: access to `/pit`.

    Attributes:
        user: Name for the browser's log-in; None for no log-in.
        password_hash: The password's argon2 hash, as `cmd --hash-pin` prints it.
        password_file: Its first line is that hash. Without a leading slash, among the
            unit's credentials first, then beside the configuration.
        behind_proxy: A reverse proxy authenticates, and only the proxy reaches this address.
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
        """True when a password or a proxy protects the pit."""
        return self.user is not None or self.behind_proxy


class OrderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.orders]``: commands from the pit.

    With `operators_file` the pit's pages send commands. Without it they show the command lines
    for another computer, and the other keys say how these reach the broker from there.

    Attributes:
        operators_file: Who may log in: names, PINs, roles and tables. Without a leading slash,
            among the unit's credentials first, then beside the configuration.
        username: The account at the broker that sends commands; None for that of ``[mqtt]``.
        password_file: The first line is the password of `username`.
        allow_plain_pins: Pages take PINs, and a broker gets them, over a network without TLS,
            where others can read them: for laboratories.
        broker: For command lines: host and port; None for the display's own broker, or, where
            that is on loopback, for the host of the page's address.
        config: For command lines: a file with a section ``[mqtt]``, which replaces all other
            options. Required for a broker with TLS.
    """

    operators_file: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    broker: str | None = None
    username: Annotated[str, Meta(min_length=1, max_length=60)] | None = None
    password_file: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    allow_plain_pins: bool = False
    config: Annotated[str, Meta(min_length=1, max_length=200)] | None = None

    @property
    def address(self) -> tuple[str, int] | None:
        """Host and port of `broker`, by default port 1883; None without `broker`."""
        if self.broker is None:
            return None
        found = _BROKER.fullmatch(self.broker)
        if found is None or int(found["port"] or 0) > MAX_PORT:
            raise UserError(
                f"display.orders.broker: {self.broker!r}; expected HOST or HOST:PORT, "
                "such as broker.casino.example:1883"
            )
        return found["six"] or found["host"], int(found["port"] or DEFAULT_MQTT_PORT)

    def check(self) -> None:
        """
        Check what the types do not express.

        Raises:
            UserError: The key, the value and what is expected.
        """
        _ = self.address
        if (self.username is None) != (self.password_file is None):
            raise UserError(
                "display.orders: username goes with password_file; expected both or none"
            )
        if self.operators_file is not None and (self.broker or self.config):
            raise UserError(
                "display.orders: the pages send commands themselves (operators_file); expected "
                "neither broker nor config, which are for command lines"
            )


class DisplayTls(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.tls]``: the pages over https.

    Attributes:
        listen: Address and port for https, beside that of ``[display]``; None if that one has
            https only.
        cert_file: The display's certificate (PEM), with those between it and the authority.
        key_file: Its key (PEM). Names are looked up as those of passwords.
    """

    listen: str | None = None
    cert_file: Annotated[str, Meta(min_length=1)]
    key_file: Annotated[str, Meta(min_length=1)]

    def load(self, beside: Path) -> tuple[Path, Path]:
        """
        Return the paths of certificate and key.

        Raises:
            UserError: A file is missing, or is no certificate or key.
        """
        certificate = find_file(self.cert_file, beside, "display.tls.cert_file")
        key = find_file(self.key_file, beside, "display.tls.key_file")
        try:
            # Without a password, OpenSSL would prompt for a passphrase at the terminal.
            ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key, password="")
        except OSError as error:
            reason = "no certificate or key in it that can be used"
            if not isinstance(error, ssl.SSLError):
                reason = one_line(error).lower()
            raise UserError(f"display.tls: {certificate}, {key}: {reason}") from error
        return certificate, key


_DAYS: Final = 400


class HistorySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.history]``: the log of the pit, in a file or in a database; without both
    there is none.

    Attributes:
        file: A database of its own. Without a leading slash in the unit's ``StateDirectory``, or
            else beside the configuration.
        database: The database that `shoe-daemon forward` fills: a connection string of libpq,
            without a password.
        days: Age at which events of the file are deleted; None for 400.
        username: Account at the broker that may order `replay`; None for that of ``[mqtt]``. With
            `file` only.
        password_file: Its first line is the password of `username`, or of the database's account.
        evidence: Folder with the pictures that cameras kept, in a folder ``SITE.TABLE`` for each
            table; None for no pictures. Needs a locked pit.
    """

    file: Annotated[str, Meta(min_length=1)] | None = None
    database: Annotated[str, Meta(min_length=1)] | None = None
    days: Annotated[int, Meta(ge=1, le=36_500)] | None = None
    evidence: Annotated[str, Meta(min_length=1)] | None = None
    username: Annotated[str, Meta(min_length=1, max_length=60)] | None = None
    password_file: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


_COLOUR: Final = "#[0-9a-fA-F]{6}"
_LIGHT: Final = 0.25
_MAX_LOGO_BYTES: Final = 200_000
LOGO_TYPES: Final = {".svg": "image/svg+xml", ".png": "image/png"}


class BrandSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display.brand]``: the house on its boards.

    Attributes:
        name: Its name.
        logo: An SVG or PNG file, shown in place of the name.
        colour: ``#rrggbb``, in place of gold: light, for it is on dark and has dark letters on it.
    """

    name: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    logo: Annotated[str, Meta(min_length=1)] | None = None
    colour: Annotated[str, Meta(pattern=f"^{_COLOUR}$")] | None = None

    def check(self, beside: Path) -> None:
        """
        Check the file and the colour.

        Raises:
            UserError: They cannot be used.
        """
        if self.colour is not None and _luminance(self.colour) < _LIGHT:
            raise UserError(
                f"display.brand.colour: {self.colour!r} is too dark for the dark board; expected a"
                " lighter one"
            )
        if self.logo is None:
            return
        path = beside / self.logo
        if path.suffix not in LOGO_TYPES or self.name is None:
            raise UserError(
                f"display.brand.logo: {self.logo!r}; expected a file .svg or .png, and a name for"
                " those who do not see it"
            )
        with os_errors_at(f"display.brand.logo: {self.logo!r}"):
            size = path.stat().st_size
        if size > _MAX_LOGO_BYTES:
            raise UserError(
                f"display.brand.logo: {self.logo!r} has {size:,} bytes; expected at most"
                f" {_MAX_LOGO_BYTES:,}"
            )


def _luminance(colour: str) -> float:
    """Return the relative luminance, with the plain gamma of 2.2."""
    red, green, blue = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    return float(0.2126 * red**2.2 + 0.7152 * green**2.2 + 0.0722 * blue**2.2)


class DisplaySettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[display]``.

    Attributes:
        listen: Address and port; by default on loopback.
        hosts: Further host names of this address.
        trusted_proxies: Addresses, or networks, of reverse proxies: they report the address of a
            browser in ``X-Forwarded-For``. Loopback is one where the pit is `behind_proxy`.
        site: The only site that is shown; None for all.
        tables: First tables of the pit, in this order; shown before anything is received.
        language: Default language of the pages.
        glyphs: Characters in the discs of the roads; None for those of the language.
        stale_after: Seconds; None for three heartbeats of the table.
        sound: Whether the pit may play a sound when an alert opens.
        streams: Limit on the number of connected pages.
        tls: None for http.
        pit: Access to the pit.
        orders: Commands from the pit.
        history: The log of the pit.
        brand: The house on its boards.
        time_zone: Time zone of the log, as ``Europe/Paris``; None for that of the computer.
    """

    listen: str = "127.0.0.1:8080"
    hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    site: Name | None = None
    tables: tuple[str, ...] = ()
    language: str = "en"
    glyphs: Literal["chinese", "letters"] | None = None
    stale_after: Annotated[float, Meta(ge=1, le=3600)] | None = None
    sound: bool = True
    streams: Annotated[int, Meta(ge=1, le=50_000)] = 1000
    tls: DisplayTls | None = None
    pit: PitSettings = PitSettings()
    orders: OrderSettings = OrderSettings()
    history: HistorySettings = HistorySettings()
    brand: BrandSettings = BrandSettings()
    time_zone: str | None = None

    @property
    def address(self) -> tuple[str, int]:
        """Address and port to listen on."""
        return parse_listen(self.listen)

    @property
    def proxies(self) -> tuple[Network, ...]:
        """The networks of `trusted_proxies`."""
        networks = LOOPBACK_NETWORKS if self.pit.behind_proxy else ()
        for text in self.trusted_proxies:
            try:
                networks += (ip_network(text),)
            except ValueError as error:
                raise UserError(
                    f"display.trusted_proxies: {text!r}; expected an address or a network, such "
                    "as 192.0.2.7 or 10.0.0.0/24"
                ) from error
        return networks

    @property
    def zone(self) -> ZoneInfo | None:
        """The time zone of the log; None for that of the computer."""
        if self.time_zone is None:
            return None
        try:
            return ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise UserError(
                f"display.time_zone: {self.time_zone!r}; expected a name such as Europe/Paris"
            ) from error

    @property
    def https_address(self) -> tuple[str, int] | None:
        """Address and port for https beside `address`; None for none."""
        if self.tls is None or self.tls.listen is None:
            return None
        return parse_listen(self.tls.listen, "display.tls.listen")

    def table_key(self, name: str) -> str:
        """Return the key of a table; its id, if any site may have it."""
        return name if "." in name or self.site is None else f"{self.site}.{name}"

    @property
    def on_loopback(self) -> bool:
        """True when only this computer reaches the address."""
        addresses = [self.address, *filter(None, [self.https_address])]
        return all(is_loopback(host) for host, _port in addresses)

    @property
    def open_pit(self) -> bool:
        """True when other computers see the pit without authentication."""
        return not (self.on_loopback or self.pit.locked)


class MetricsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[metrics]``: figures for Prometheus.

    Attributes:
        listen: Address and port of `/metrics`, on loopback only; None for no such listener.
            Needs the extra `metrics`.
    """

    listen: str | None = None


class DisplayConfig(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole file; ``[mqtt]`` has the same keys as for a table."""

    mqtt: MqttSettings = MqttSettings()
    display: DisplaySettings = DisplaySettings()
    metrics: MetricsSettings = MetricsSettings()


class PitCredentials(Struct, frozen=True):
    """Name and argon2 hash of the password for the pit."""

    user: str
    hash: str


class LogFile(Struct, frozen=True):
    """
    A log in a file.

    Attributes:
        path: The file.
        days: Age at which events are deleted.
        mqtt: The broker, with the account that orders `replay`.
    """

    path: Path
    days: int
    mqtt: MqttSettings


class LogDatabase(Struct, frozen=True):
    """
    A log in the back office's database.

    Attributes:
        database: A connection string of libpq.
        password_file: As in the section; None for an account without a password.
        folder: That of the configuration.
    """

    database: str
    password_file: str | None
    folder: Path

    def password(self) -> str | None:
        """
        Read the password.

        Raises:
            UserError: It cannot be read.
        """
        if self.password_file is None:
            return None
        return read_secret(self.password_file, self.folder, "display.history.password_file")


class HistorySetup(Struct, frozen=True):
    """
    A checked section ``[display.history]``.

    Attributes:
        log: Where the log is.
        evidence: Folder with the pictures of all tables; None for no pictures.
    """

    log: LogFile | LogDatabase
    evidence: Path | None = None


class DisplaySetup(Struct, frozen=True):
    """
    A checked configuration.

    Attributes:
        pit_credentials: None if the pit needs no password, or if only the service can read the
            password; `notes` then says so.
        operators: Who may give commands on the pit's pages; None if these send none.
        commanding: The broker, with the account that sends commands.
        tls: Paths of certificate and key; None for http.
        notes: Credentials that only the service can read, and faults that the display reports
            once it runs.
        history: The log of the pit; None without.
        logo: The file of the house's logo; None without.
    """

    config: DisplayConfig
    pit_credentials: PitCredentials | None = None
    operators: Operators | None = None
    commanding: MqttSettings = MqttSettings()
    tls: tuple[Path, Path] | None = None
    notes: tuple[str, ...] = ()
    history: HistorySetup | None = None
    logo: Path | None = None

    @property
    def refuses_pins(self) -> bool:
        """True if PINs would go over a network without TLS, and that is not allowed."""
        return self.commanding.is_plain and not self.config.display.orders.allow_plain_pins


def load_display(path: Path, *, inspecting: bool = False, serving: bool = False) -> DisplaySetup:
    """
    Read and check a configuration and all files that it names.

    Args:
        path: The file.
        inspecting: Report a missing credential of the service as a note, not as an error.
        serving: The display starts: a fault of the broker's files is a note, as each attempt
            to connect reports it.

    Raises:
        UserError: All errors, each on a line: file, key, value and what is expected.
    """
    set_up = partial(set_up_display, beside=path.parent, inspecting=inspecting, serving=serving)
    return load_config_file(path, "a display's configuration", DisplayConfig, set_up)


def set_up_display(
    config: DisplayConfig, beside: Path, *, inspecting: bool = False, serving: bool = False
) -> DisplaySetup:
    """
    Check what the types do not express: addresses, names, files, whose relative paths begin
    `beside` the configuration. The flags are those of `load_display`.

    Raises:
        UserError: All errors, each on a line: the key, the value and what is expected.
    """
    loader = Loader(beside, inspecting=inspecting, serving=serving)
    check, tolerate, attempt = loader.check, loader.tolerate, loader.attempt
    with check():
        config = replace(config, mqtt=config.mqtt.checked(beside, tolerate, attempt))
    settings, orders = config.display, config.display.orders
    loader.take(config.mqtt.check_prefix)
    loader.take(parse_listen, settings.listen)
    loader.take(_check_metrics, config.metrics)
    loader.take(orders.check)
    _check_names(settings, loader)
    loader.take(_check_staff_alerts, settings.pit)
    loader.take(_check_language, settings.language)
    loader.take(settings.brand.check, beside)
    credentials = None
    with check(), attempt():
        credentials = _pit_credentials(settings.pit, beside)
    loader.take(lambda: settings.zone)
    loader.take(lambda: settings.proxies)
    history = loader.take(_history, config, beside)
    operators = None
    if orders.operators_file is not None:
        operators = Operators(orders.operators_file, beside)
        with check(), tolerate(), attempt(), errors_at("display.orders.operators_file"):
            operators.load()
    secrets = {"history": settings.history.password_file if history else None}
    secrets["orders"] = orders.password_file if operators else None
    for section, file in secrets.items():
        with check(), tolerate(), attempt():
            if file is not None:
                read_secret(file, beside, f"display.{section}.password_file")
    tls = None
    with check(), attempt():
        tls = None if settings.tls is None else settings.tls.load(beside)
    if loader.error:
        raise loader.error
    notes = (*loader.notes, *loader.faults)
    commanding = _commanding(config, beside)
    logo = None if settings.brand.logo is None else beside / settings.brand.logo
    return DisplaySetup(config, credentials, operators, commanding, tls, notes, history, logo)


def _commanding(config: DisplayConfig, beside: Path) -> MqttSettings:
    orders = config.display.orders
    if orders.operators_file is None or orders.username is None:
        return config.mqtt
    return replace(
        config.mqtt, username=orders.username, password_file=orders.password_file
    ).beside(beside)


def _history(config: DisplayConfig, beside: Path) -> HistorySetup | None:
    settings = config.display.history
    if settings.file is None and settings.database is None:
        return None
    evidence = None if settings.evidence is None else (beside / settings.evidence).absolute()
    if evidence is not None and not config.display.pit.locked:
        raise UserError(
            "display.history.evidence: the pit asks nobody who they are; expected user and "
            "password_file, or behind_proxy, in display.pit"
        )
    if settings.database is not None:
        return HistorySetup(_log_database(settings, settings.database, beside), evidence)
    if (settings.username is None) != (settings.password_file is None):
        raise UserError("display.history: username goes with password_file; expected both or none")
    mqtt = config.mqtt
    if settings.username is not None:
        mqtt = replace(mqtt, username=settings.username, password_file=settings.password_file)
    path = _log_file(settings, beside)
    return HistorySetup(LogFile(path, settings.days or _DAYS, mqtt.beside(beside)), evidence)


def _log_database(settings: HistorySettings, database: str, beside: Path) -> LogDatabase:
    for key in ("file", "days", "username"):
        if getattr(settings, key) is not None:
            raise UserError(f"display.history: has {key} and database; expected one of them")
    check_database(database, "display.history")
    return LogDatabase(database, settings.password_file, beside)


def _log_file(settings: HistorySettings, beside: Path) -> Path:
    # systemd separates several folders by colons; ours is the first.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if not state and beside.absolute() == _SERVICE_CONFIGS and SERVICE_STATE.is_dir():
        state = str(SERVICE_STATE)
    path = (Path(state) if state else beside) / (settings.file or "")
    if path.is_dir() or not path.parent.is_dir():
        raise UserError(
            f"display.history.file: {settings.file!r}; expected a file in a folder that exists: "
            f"{path.parent}"
        )
    return path.absolute()


def parse_listen(text: str, key: str = "display.listen") -> tuple[str, int]:
    """
    Parse an address to listen on; `key` is the configuration's, for the message.

    Raises:
        UserError: Invalid address.
    """
    found = _LISTEN.fullmatch(text)
    if found is None or int(found["port"]) > MAX_PORT:
        raise UserError(f"{key}: {text!r}; expected ADDRESS:PORT, such as 127.0.0.1:8080")
    return found["six"] or found["host"], int(found["port"])


def _check_metrics(metrics: MetricsSettings) -> None:
    if metrics.listen is None:
        return
    key = "metrics.listen"
    if not is_loopback(parse_listen(metrics.listen, key)[0]):
        raise UserError(
            f"{key}: {metrics.listen!r}; expected an address of loopback, such as 127.0.0.1:9464"
        )
    if find_spec("prometheus_client") is None:
        raise UserError(
            f"{key}: needs prometheus-client: pip install 'shoe-daemon[display,metrics]'"
        )


def _check_names(settings: DisplaySettings, loader: Loader) -> None:
    for host in settings.hosts:
        with loader.check():
            if not _HOST_NAME.fullmatch(host):
                raise UserError(
                    f"display.hosts: {host!r}; expected a name without port, such as board.example"
                )
    for table in settings.tables:
        with loader.check():
            _check_table(table, settings.site)


def _check_table(table: str, site: str | None) -> None:
    found = TABLE_NAME.fullmatch(table)
    if found is None:
        raise UserError(
            f"display.tables: {table!r}; expected a table's id, or SITE.TABLE, of small "
            "letters, digits and hyphens"
        )
    if site is not None and found["site"] not in {None, f"{site}."}:
        raise UserError(
            f"display.tables: {table!r}; expected a table of {site!r}, "
            "the only site that display.site shows"
        )


def _check_language(language: str) -> None:
    if language not in (known := languages()):
        raise UserError(
            f"display.language: {language!r}; expected one of {', '.join(known)}"
            f"{did_you_mean(language, known)}"
        )


def _check_staff_alerts(pit: PitSettings) -> None:
    if pit.staff_alerts and not pit.locked:
        raise UserError(
            "display.pit.staff_alerts: the pit asks nobody who they are; expected user and "
            "password_file, or behind_proxy, beside it"
        )


def _pit_credentials(pit: PitSettings, beside: Path) -> PitCredentials | None:
    given = [each for each in (pit.password_hash, pit.password_file) if each is not None]
    if pit.user is None and not given:
        return None
    if pit.user is None or len(given) != 1:
        raise UserError(
            "display.pit: user goes with one of password_hash and password_file; "
            "expected both or none"
        )
    if pit.password_hash is not None:
        return PitCredentials(
            pit.user, _checked_hash(pit.password_hash, "display.pit.password_hash")
        )
    key = "display.pit.password_file"
    place = f"{key}: {path_of(given[0], beside)}"
    return PitCredentials(pit.user, _checked_hash(read_secret(given[0], beside, key), place))


def _checked_hash(text: str, key: str) -> str:
    require_argon2(
        "display.pit: a password needs argon2-cffi, which is not installed: "
        "pip install 'shoe-daemon[display,pins]'"
    )
    if not is_hash(text):
        raise UserError(
            f"{key}: no argon2 hash; expected what `shoe-daemon cmd --hash-pin` prints"
        )
    return text
