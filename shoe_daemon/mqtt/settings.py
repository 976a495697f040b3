"""
The section ``[mqtt]`` of the configuration: the broker, the login and TLS.

It has no secrets, only the names of their files.
"""

from __future__ import annotations

import re
import ssl
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from shoe_daemon.errors import UserError, errors_at, one_line
from shoe_daemon.limits import RetryDelay
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX, Topics
from shoe_daemon.settings.files import find_file, path_of, read_secret
from shoe_daemon.web import is_loopback

SESSION_EXPIRY_S: Final = 60
"""The broker keeps the daemon's session for this time (MQTT 5)."""

STATE_EXPIRY_HEARTBEATS: Final = 3
"""Heartbeats after which the broker forgets a `state` (MQTT 5)."""

_WORKING_FOLDER: Final = Path()
_PLAIN_PORT: Final = 1883
_TLS_PORT: Final = 8883

_ADDRESS: Final = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(\d{1,5}))?")
_MAX_PORT: Final = 65535
_MAX_KEEPALIVE_S: Final = 4
"""Of one broker of several: one that hangs is left after twice this time."""

Port = Annotated[int, Meta(ge=1, le=_MAX_PORT)]
Tolerance = Callable[[], AbstractContextManager[None]]
KeepAlive = Annotated[int, Meta(ge=1, le=3600)]


class Timeouts(Struct, frozen=True, kw_only=True):
    """
    All waits in seconds; only tests change them.

    Attributes:
        connect_s: The broker must answer a connection within this time.
        first_retry_s: The wait after the first loss; it doubles with each that follows.
        max_retry_s: The longest wait for a broker that cannot be reached.
        refused_retry_s: The first wait after a refused publish; it doubles too.
        max_refused_retry_s: The longest wait after a refused publish.
        stable_session_s: From this length on, a session counts as stable.
        id_conflict_retry_s: The wait while another client seems to have the same id.
        will_delay_s: The broker holds the will back for this time.
        copies_s: Retained messages follow the answer to a subscription within this time.
        limit_retry_s: A packet limit that was inferred is tried again after this time.
    """

    connect_s: float = 5.0
    first_retry_s: float = 0.5
    max_retry_s: float = 10.0
    refused_retry_s: float = 5.0
    max_refused_retry_s: float = 60.0
    stable_session_s: float = 10.0
    id_conflict_retry_s: float = 15.0
    will_delay_s: int = 3
    copies_s: float = 0.5
    limit_retry_s: float = 3600.0

    def refusal_delay(self) -> RetryDelay:
        """Return the waits after refusals of one kind of message."""
        return RetryDelay(self.refused_retry_s, self.max_refused_retry_s, lambda: 0.5)


class TlsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    TLS 1.2 or later; the broker's certificate is always verified.

    Attributes:
        ca_file: The trusted authority (PEM); None for the system's.
        cert_file: This table's certificate (PEM), if the broker asks for one.
        key_file: The key of `cert_file`; None if it is in the same file.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None

    def beside(self, folder: Path) -> TlsSettings:
        """Return the same settings with absolute paths, relative to a folder."""
        names = asdict(self).items()
        return TlsSettings(**{key: name and str(path_of(name, folder)) for key, name in names})


class MqttSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The broker and the connection to it.

    A file name without a leading slash is looked up among the unit's credentials
    (``LoadCredential=`` of systemd) first, then in the configuration's folder.

    Attributes:
        host: Its name or address.
        port: None for 1883, or 8883 with TLS.
        brokers: Instead of `host` and `port`, several brokers, ``HOST`` or ``HOST:PORT``, which
            give their messages to each other. The first is tried first, and after each loss the
            next; a good connection is kept.
        protocol: ``5`` or ``3.1.1``; on 3.1.1 a refused publish looks like
            an accepted one.
        username: The table's user name; None to connect without one.
        password_file: The password is the first line of this file.
        tls: None for an unencrypted connection.
        prefix: Every topic begins with it, before the site.
        keepalive: Seconds of silence before a ping; with `brokers` at most 4.
        heartbeat: Seconds after which `state` is published again, changed or not.
        home_assistant: The table publishes a discovery document for Home Assistant.
    """

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Port | None = None
    brokers: tuple[str, ...] = ()
    protocol: Literal["5", "3.1.1"] = "5"
    username: str | None = None
    password_file: str | None = None
    tls: TlsSettings | None = None
    prefix: str = DEFAULT_PREFIX
    keepalive: KeepAlive = 10
    heartbeat: KeepAlive = 10
    home_assistant: bool = False

    @property
    def each(self) -> tuple[MqttSettings, ...]:
        """The settings of each broker alone, in order of preference."""
        if not self.brokers:
            return (self,)
        keepalive = min(self.keepalive, _MAX_KEEPALIVE_S)
        return tuple(
            replace(self, host=host, port=port, brokers=(), keepalive=keepalive)
            for host, port in map(split_address, self.brokers)
        )

    @property
    def address(self) -> tuple[str, int]:
        """Host and port of the first broker; the standard port by default."""
        first = self.each[0]
        return first.host, first.port or (_TLS_PORT if self.tls else _PLAIN_PORT)

    @property
    def name(self) -> str:
        """``HOST:PORT`` of each broker, for people."""
        return ", ".join("{}:{}".format(*each.address) for each in self.each)

    @property
    def is_plain(self) -> bool:
        """True if others on a network could read what is sent: no TLS, and another computer."""
        return self.tls is None and not all(is_loopback(each.host) for each in self.each)

    def beside(self, folder: Path) -> MqttSettings:
        """Return the same settings with absolute paths, relative to a folder."""
        folder = folder.absolute()
        password = self.password_file and str(path_of(self.password_file, folder))
        tls = self.tls and self.tls.beside(folder)
        return replace(self, password_file=password, tls=tls)

    def checked(
        self, folder: Path, tolerate: Tolerance = nullcontext, attempt: Tolerance = nullcontext
    ) -> MqttSettings:
        """
        Read every file that is named, and return the same settings with absolute paths.

        Around each file, `tolerate` and `attempt` may take its error as a note.

        Raises:
            UserError: A key lacks another one; a file is missing or invalid.
        """
        self._check_keys()
        with tolerate(), attempt():
            self.password(folder)
        with tolerate(), attempt():
            self.tls_context(folder)
        return self.beside(folder)

    def check_prefix(self) -> None:
        """
        Check the prefix, for a program without a table of its own.

        Raises:
            UserError: The prefix, and what is expected.
        """
        try:
            Topics("site", "table", self.prefix)
        except UserError as error:
            raise UserError(f"mqtt.prefix: {str(error).removeprefix('mqtt prefix ')}") from error

    def _check_keys(self) -> None:
        with errors_at("mqtt.brokers"):
            addresses = [each.address for each in self.each]
        if len(set(addresses)) < len(addresses):
            raise UserError(f"mqtt.brokers: {self.name}; expected each broker once")
        if self.brokers and (self.host, self.port) != (MqttSettings().host, None):
            raise UserError("mqtt.brokers: expected neither mqtt.host nor mqtt.port beside it")
        if self.password_file is not None and self.username is None:
            raise UserError("mqtt.password_file: a password needs mqtt.username beside it")
        if self.tls is not None and self.tls.key_file is not None and self.tls.cert_file is None:
            raise UserError("mqtt.tls.key_file: a key needs mqtt.tls.cert_file beside it")

    def password(self, folder: Path = _WORKING_FOLDER) -> str | None:
        """
        Read the password; it is read again for every connection.

        Raises:
            UserError: The file cannot be read, or its first line is empty.
        """
        if self.password_file is None:
            return None
        return read_secret(self.password_file, folder, "mqtt.password_file")

    def tls_context(self, folder: Path = _WORKING_FOLDER) -> ssl.SSLContext | None:
        """
        Load the certificates; they are loaded again for every connection.

        Raises:
            UserError: A file is missing or holds no certificate or key.
        """
        if self.tls is None:
            return None
        context = _client_context(self.tls.ca_file, folder)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.tls.cert_file is not None:
            _load_certificate(context, self.tls.cert_file, self.tls.key_file, folder)
        return context


def split_address(value: str) -> tuple[str, int | None]:
    """
    Return host and port of ``HOST``, ``HOST:PORT`` or ``[IPv6]:PORT``.

    Raises:
        UserError: It is not an address.
    """
    found = _ADDRESS.fullmatch(value)
    if not found or not 0 < int(found[2] or 1) <= _MAX_PORT:
        raise UserError(f"{value!r}; expected HOST or HOST:PORT")
    return found[1].strip("[]"), int(found[2]) if found[2] else None


def _client_context(ca_file: str | None, folder: Path) -> ssl.SSLContext:
    if ca_file is None:
        return ssl.create_default_context()
    path = find_file(ca_file, folder, "mqtt.tls.ca_file")
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        raise UserError(f"mqtt.tls.ca_file: {path}: {_reason(error)}") from error


def _load_certificate(
    context: ssl.SSLContext, cert_file: str, key_file: str | None, folder: Path
) -> None:
    certificate = find_file(cert_file, folder, "mqtt.tls.cert_file")
    key = None if key_file is None else find_file(key_file, folder, "mqtt.tls.key_file")
    try:
        # Without a password, OpenSSL would prompt for a passphrase at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        where = certificate if key is None else f"{certificate}, {key}"
        raise UserError(f"mqtt.tls.cert_file: {where}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    if isinstance(error, ssl.SSLError):
        return "no certificate or key in it that can be used"
    return one_line(error).lower()
