"""
Addresses of camera sources, logins, and the reasons why a stream cannot be opened.

    camera:/dev/video0          a camera of this machine; better a stable name below
                                /dev/v4l/by-id or /dev/v4l/by-path
    camera:rtsp://HOST/PATH     a stream; also rtsps://, http:// and https://
    camera:file:PATH            a video, read once from beginning to end
    camera:folder:PATH          images, sorted by name
    camera:raw:PATH             raw frames of a simulator, from a socket at this path

The user name of a network camera is in the configuration, its password in a file.
"""

from __future__ import annotations

import contextlib
import re
import socket
from enum import StrEnum
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from msgspec import Struct

from drivers.transport import redact_url
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.settings.files import read_secret

_PREFIX: Final = "camera:"
_STREAM_SCHEMES: Final = ("rtsp://", "rtsps://", "http://", "https://")
_EXPECTED_FORMS: Final = ("/dev/…", "rtsp://…", "http://…", "file:PATH", "folder:PATH", "raw:PATH")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
"""Never typed on purpose: such characters would break a line of output or a file name."""

_ENCODING_ADVICE: Final = "; in a name or a password @ is written %40, / %2F, # %23, ? %3F"


class SourceKind(StrEnum):
    """Kind of a source."""

    DEVICE = "device"
    STREAM = "stream"
    FILE = "file"
    FOLDER = "folder"
    RAW = "raw"


class Address(Struct, frozen=True):
    """Address of a source: its kind, and a path or URL."""

    kind: SourceKind
    location: str

    def __str__(self) -> str:
        """The address without user name and password, as it may be shown."""
        return redact_url(self.location) if self.is_stream else self.location

    def with_login(self, username: str, password: str) -> Address:
        """
        Return the address with a login: in place of ``{username}`` and ``{password}``, or before
        the host.

        Raises:
            UserError: Not a network camera, or the address has a login already.
        """
        if not self.is_stream:
            raise UserError(f"{self}: expected a network camera: no other asks for a name")
        username, password = quote(username, safe=""), quote(password, safe="")
        if "{password}" in self.location:
            location = self.location.replace("{username}", username)
            location = location.replace("{password}", password)
            return Address(self.kind, location)
        parts = urlsplit(self.location)
        if parts.username is not None:
            raise UserError(f"{self}: its port has a user name too; expected only one of them")
        location = parts._replace(netloc=f"{username}:{password}@{parts.netloc}").geturl()
        return Address(self.kind, location)

    @property
    def is_stream(self) -> bool:
        """True if the source is a network camera."""
        return self.kind is SourceKind.STREAM

    @property
    def is_live(self) -> bool:
        """True if frames arrive by themselves and are lost if they are not taken."""
        return self.kind in {SourceKind.DEVICE, SourceKind.STREAM, SourceKind.RAW}


def parse_address(url: str) -> Address:
    """Parse a port of a configuration; a `UserError` if it is not the address of a camera."""
    found = _parse(url.removeprefix(_PREFIX)) if url.startswith(_PREFIX) else None
    if found is None:
        raise UserError(f"port {_redacted(url, _PREFIX)!r}: {_expected(url, _PREFIX)}")
    return found


def parse_source(source: str) -> Address:
    """Parse a source from the terminal, as `parse_address`; ``camera:`` may be left out."""
    where = source.removeprefix(_PREFIX)
    found = _parse(where)
    if found is None:
        raise UserError(f"source {_redacted(where, '')!r}: {_expected(where, '')}")
    return found


def _parse(where: str) -> Address | None:
    if _CONTROL_CHARACTER.search(where):
        return None
    for kind in (SourceKind.FILE, SourceKind.FOLDER, SourceKind.RAW):
        if where.startswith(f"{kind}:") and len(where) > len(kind) + 1:
            return Address(kind, where[len(kind) + 1 :])
    if where.startswith(_STREAM_SCHEMES) and _has_host(where):
        return Address(SourceKind.STREAM, where)
    return Address(SourceKind.DEVICE, where) if where.startswith("/") else None


def _expected(url: str, head: str) -> str:
    *forms, last = (f"{head}{form}" for form in _EXPECTED_FORMS)
    return f"expected {', '.join(forms)} or {last}{_ENCODING_ADVICE if '@' in url else ''}"


def _has_host(where: str) -> bool:
    try:
        parts = urlsplit(where)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False  # a bracket that is not closed, a port that is no number


def _redacted(url: str, head: str) -> str:
    """Return an invalid address without a password, wherever it is in the text."""
    _, separator, rest = redact_url(url).rpartition("@")
    return f"{head}…@{rest}" if separator else rest


def check_video(
    source: str, username: str | None, password_file: str | None, folder: Path
) -> None:
    """
    Check the address of a camera that reads no cards, as `parse_source` and `add_login` take it.

    Raises:
        UserError: The address is invalid, or the file has no password.
    """
    add_login(parse_source(source), username, password_file, folder)


def add_login(
    address: Address, username: str | None, password_file: str | None, folder: Path
) -> Address:
    """
    Return the address with the user name and password of a configuration in this folder.

    Raises:
        UserError: The options contradict each other, or the file has no password.
    """
    has_placeholder = "{password}" in address.location
    if password_file is None:
        if has_placeholder and address.is_stream:
            raise UserError("port: {password}; expected options.password_file, where it is")
        if username is None:
            return address
    elif username is None and not has_placeholder:
        raise UserError("options.password_file: a password needs options.username beside it")
    try:
        known = address.with_login(username or "", "")
    except UserError as error:
        key = "password_file" if username is None else "username"
        raise UserError(f"options.{key}: {error}") from error
    if password_file is None:
        return known
    password = read_secret(password_file, folder, "options.password_file")
    return address.with_login(username or "", password)


_RTSP_PROBE_TIMEOUT_S: Final = 2.0
_RTSP_PORT: Final = 554
_STATUS_ADVICE: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: ": are name and password right?",
    HTTPStatus.FORBIDDEN: ": may this name see it?",
    HTTPStatus.NOT_FOUND: ": is the path right?",
}


def no_stream_text(address: Address, why: str) -> str:
    """Describe a stream that cannot be opened, with the reason where it is known."""
    return f"{address}: no stream comes from there{f': {why}' if why else ''}"


def status_text(code: int, reason: str) -> str:
    """Describe an HTTP or RTSP status, with advice on the address."""
    return f"{code} {' '.join(reason.split())}".rstrip() + _STATUS_ADVICE.get(code, "")


def error_text(error: object) -> str:
    """Describe an error on one line."""
    if isinstance(error, TimeoutError):
        return "no answer"
    return one_line(error) if isinstance(error, BaseException) else str(error)


def probe_rtsp(address: Address) -> str:
    """Ask an RTSP camera why it gave no stream; empty where the reply gives no reason."""
    parts = urlsplit(address.location)
    if parts.scheme != "rtsp":
        return ""
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    question = f"DESCRIBE {bare} RTSP/1.0\r\nCSeq: 1\r\nAccept: application/sdp\r\n\r\n"
    try:
        where = parts.hostname or "", parts.port or _RTSP_PORT
        with socket.create_connection(where, _RTSP_PROBE_TIMEOUT_S) as connection:
            connection.sendall(question.encode())
            answer = connection.recv(4096)
    except (OSError, ValueError) as error:
        return error_text(error)
    return _rtsp_error(answer)


def _rtsp_error(answer: bytes) -> str:
    head = answer.partition(b"\r\n")[0].decode("ascii", "replace").split(maxsplit=2)
    if not head or not head[0].startswith("RTSP/"):
        return "what answers there speaks no RTSP"
    with contextlib.suppress(ValueError, IndexError):
        code = int(head[1])
        if code != HTTPStatus.OK:
            return status_text(code, head[2] if len(head) > 2 else "")  # noqa: PLR2004 - code, reason
    return ""
