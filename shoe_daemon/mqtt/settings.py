"""
How to reach the broker: the section ``[mqtt]`` of the configuration.

Secrets are never in it, only the names of files that hold them.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX

__all__ = ["MqttSettings", "TlsSettings"]

_PLAIN_PORT: Final = 1883
_TLS_PORT: Final = 8883

Port = Annotated[int, Meta(ge=1, le=65535)]
KeepAlive = Annotated[int, Meta(ge=1, le=3600)]


class TlsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    TLS, version 1.2 or later, the broker's certificate always checked.

    Attributes:
        ca_file: The authority to trust (PEM); None for those of the system.
        cert_file: This table's certificate (PEM), where the broker asks for one.
        key_file: The key of `cert_file`; None where it is in the same file.
    """

    ca_file: str | None = None
    cert_file: str | None = None
    key_file: str | None = None


class MqttSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The broker, and how to speak with it.

    A file that is named without a leading slash is looked for among the unit's
    credentials (``LoadCredential=`` of systemd) first.

    Attributes:
        host: Its name or address.
        port: None for 1883, or 8883 with TLS.
        protocol: ``5`` or ``3.1.1``; on 3.1.1 a refused publish cannot be told
            from an accepted one.
        username: Who this table is for the broker; None for nobody.
        password_file: Its password is the first line of this file.
        tls: None for an open line.
        prefix: What stands before the site in every topic.
        keepalive: Seconds after which a silent line is asked for life.
        heartbeat: Seconds after which `state` is told again, changed or not.
    """

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    port: Port | None = None
    protocol: Literal["5", "3.1.1"] = "5"
    username: str | None = None
    password_file: str | None = None
    tls: TlsSettings | None = None
    prefix: str = DEFAULT_PREFIX
    keepalive: KeepAlive = 10
    heartbeat: KeepAlive = 10

    @property
    def address(self) -> tuple[str, int]:
        """
        Host and port, the port that is usual where none is given.
        """
        return self.host, self.port or (_TLS_PORT if self.tls else _PLAIN_PORT)

    def check(self) -> None:
        """
        Read every file that is named, so that a mistake is told before the start.

        Raises:
            UserError: What is missing or wrong, and where.
        """
        if self.password_file is not None and self.username is None:
            raise UserError("mqtt.password_file: a password needs mqtt.username beside it")
        self.password()
        self.tls_context()

    def password(self) -> str | None:
        """
        Read the password; it is read again for every connection.

        Raises:
            UserError: The file cannot be read or is empty.
        """
        if self.password_file is None:
            return None
        path = _find(self.password_file)
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"mqtt.password_file: {path}: {_reason(error)}") from error
        if not lines or not lines[0]:
            raise UserError(f"mqtt.password_file: {path}: its first line is empty")
        return lines[0]

    def tls_context(self) -> ssl.SSLContext | None:
        """
        Load the certificates; they are loaded again for every connection.

        Raises:
            UserError: A file is missing or holds no certificate or key.
        """
        if self.tls is None:
            return None
        if self.tls.key_file is not None and self.tls.cert_file is None:
            raise UserError("mqtt.tls.key_file: a key needs mqtt.tls.cert_file beside it")
        context = _trusting(self.tls.ca_file)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        if self.tls.cert_file is not None:
            _prove(context, self.tls.cert_file, self.tls.key_file)
        return context


def _trusting(ca_file: str | None) -> ssl.SSLContext:
    if ca_file is None:
        return ssl.create_default_context()
    path = _find(ca_file)
    try:
        return ssl.create_default_context(cafile=path)
    except OSError as error:
        raise UserError(f"mqtt.tls.ca_file: {path}: {_reason(error)}") from error


def _prove(context: ssl.SSLContext, cert_file: str, key_file: str | None) -> None:
    certificate = _find(cert_file)
    key = None if key_file is None else _find(key_file)
    for name, path in (("cert_file", certificate), ("key_file", key)):
        if path is not None and not path.is_file():
            raise UserError(f"mqtt.tls.{name}: {path}: no such file")
    try:
        # A key with a passphrase would otherwise be asked for at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        where = certificate if key is None else f"{certificate}, {key}"
        raise UserError(f"mqtt.tls.cert_file: {where}: {_reason(error)}") from error


def _find(name: str) -> Path:
    directory = os.environ.get("CREDENTIALS_DIRECTORY")
    if directory is not None and (path := Path(directory, name)).is_file():
        return path
    return Path(name)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLError):
        return "no certificate or key in it that can be used"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return "not UTF-8 text"
