"""
Opens lines: serial ports, device servers and captures.

    /dev/shoe/table-1           a serial port, opened exclusively
    socket://HOST:PORT          raw bytes from a device server
    rfc2217://HOST:PORT         a device server with serial settings
    file:PATH                   a capture, from its beginning to its end
    keyboard:PATH               a scanner or keypad that types as a keyboard
    gpio:PATH:LINE,LINE         buttons on lines of a GPIO chip, by number or name

Every failure of a line is a `LineError` with one line of text.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import select
import socket
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

import serial
from msgspec.structs import asdict

from drivers.driver import LineSettings, Transport
from shoe_daemon.errors import UserError, errors_at, one_line

if TYPE_CHECKING:
    from drivers.gpio_line import GpioButtons
    from drivers.keyboard_line import KeyboardLine


READ_TIMEOUT_S: Final = 0.2
"""A read without bytes returns after this time."""

_CONNECT_TIMEOUT_S: Final = 5.0
_WRITE_TIMEOUT_S: Final = 1.0
"""A serial port that has not taken the bytes within this time is lost."""

_CHUNK_BYTES: Final = 4096
_SOCKET: Final = "socket"
_RFC_2217: Final = "rfc2217"
_FILE: Final = "file"
_KEYBOARD: Final = "keyboard"
_GPIO: Final = "gpio"

# Pseudo terminals have no modem lines, and some adapters cannot read theirs.
_NO_MODEM_LINES: Final = {errno.ENOTTY, errno.EINVAL}

_PERMISSION_HINTS: Final = {
    "": "the user must be in the group of the port, usually dialout: "
    "`sudo usermod -aG dialout USER`, then log in again",
    _KEYBOARD: "the service needs 40-keyboard.conf of the samples, and the device a group: "
    "99-shoe-daemon.rules",
}
"""What a person can do, by the scheme of the url."""

_KEEPALIVE: Final = (("TCP_KEEPIDLE", 10), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3))


class LineError(Exception):
    """The line cannot be opened or is lost; opening it again may help."""


class EndOfCaptureError(LineError):
    """The end of a capture; opening it again would repeat it."""


class ReadOnlyLineError(LineError):
    """A capture has no reader that could be sent anything."""


def check_url(url: str) -> None:
    """Check the url of a line without opening it; a `UserError` if it is invalid."""
    scheme = _scheme(url)
    if scheme in {_SOCKET, _RFC_2217}:
        _host_and_port(url)
    elif scheme == _KEYBOARD:
        if not _keyboard_path(url).startswith("/"):
            raise UserError(
                f"port {url!r}: expected keyboard:/dev/input/by-id/… and the device's name"
            )
    elif scheme == _GPIO:
        from drivers.gpio_line import check_gpiod, parse_gpio_url  # noqa: PLC0415 - few have buttons

        parse_gpio_url(url)
        with errors_at(f"port {url!r}"):
            check_gpiod()
    elif not url or (scheme and scheme != _FILE):
        raise UserError(
            f"port {url!r}: expected a path, socket://HOST:PORT, rfc2217://HOST:PORT, file:PATH, "
            "keyboard:PATH or gpio:PATH:LINE,LINE"
        )


def has_line_settings(url: str) -> bool:
    """Return whether a line is a serial one, with a speed and a parity."""
    return _scheme(url) in {"", _RFC_2217}


def open_transport(url: str, line: LineSettings) -> Transport:
    """
    Open a line.

    Raises:
        UserError: The url or the settings are invalid.
        LineError: The line cannot be opened now.
    """
    check_url(url)
    scheme = _scheme(url)
    if scheme == _FILE:
        return _Capture(Path(url.removeprefix(f"{_FILE}:")))
    if scheme == _SOCKET:
        return _Socket(url)
    if scheme == _KEYBOARD:
        from drivers.keyboard_line import KeyboardLine  # noqa: PLC0415 - few tables have one

        return _Keys(url, lambda: KeyboardLine(_keyboard_path(url), READ_TIMEOUT_S))
    if scheme == _GPIO:
        from drivers.gpio_line import GpioButtons, parse_gpio_url  # noqa: PLC0415 - as above

        return _Keys(url, lambda: GpioButtons(*parse_gpio_url(url), READ_TIMEOUT_S))
    return SerialLine(url, line)


def _scheme(url: str) -> str:
    head, colon, rest = url.partition(":")
    named = head in {_FILE, _KEYBOARD, _GPIO} or rest.startswith("//")
    return head.lower() if colon and head.isalnum() and named else ""


def _keyboard_path(url: str) -> str:
    return url.removeprefix(f"{_KEYBOARD}:")


def _host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = None
    if not parts.hostname or not port or parts.path.strip("/"):
        raise UserError(f"port {url!r}: expected {parts.scheme}://HOST:PORT")
    return parts.hostname, port


@contextlib.contextmanager
def _line_errors(
    url: str, kinds: type[Exception] | tuple[type[Exception], ...] = OSError
) -> Iterator[None]:
    """Turn errors of these kinds into a `LineError`."""
    try:
        yield
    except kinds as error:
        raise _line_error(url, error) from error


def _line_error(name: str, error: Exception) -> LineError:
    """Return the reason of a failure on one line, without the library's additions."""
    cause = error.__context__ if isinstance(error, serial.SerialException) else None
    failure = cause if isinstance(cause, OSError) else error
    if isinstance(failure, OSError) and failure.errno == errno.EWOULDBLOCK:
        return LineError(f"{name}: another program has it open")
    if "returned no data" in str(error):  # pySerial's message for an end of file
        return LineError(f"{name}: unplugged, or another program reads it too")
    if isinstance(failure, PermissionError) and (hint := _PERMISSION_HINTS.get(_scheme(name))):
        return LineError(f"{name}: Permission denied: {hint}")
    reason = failure if isinstance(failure, OSError) and failure.strerror else error
    return LineError(f"{name}: {one_line(reason)}")


class SerialLine:
    """
    A serial port, or one behind RFC 2217.

    Raises:
        UserError: The settings are invalid.
        LineError: The port cannot be opened now.
    """

    def __init__(self, url: str, line: LineSettings) -> None:
        self._url = url
        self._is_path = not _scheme(url)
        try:
            with _line_errors(url):  # pySerial's own errors are of this kind
                self._port = self._open(line)
        except ValueError as error:
            raise UserError(f"port {url!r}: {error}") from error
        connection = getattr(self._port, "_socket", None)
        if isinstance(connection, socket.socket):
            keep_alive(connection)

    def _open(self, line: LineSettings) -> serial.Serial:
        settings: dict[str, Any] = asdict(line)
        if self._is_path:
            settings["exclusive"] = True
        # At a path, `read` waits by select: pySerial would wait for as many bytes as were
        # requested, and return bytes that arrived together one by one.
        timeout_s = 0 if self._is_path else READ_TIMEOUT_S
        return serial.serial_for_url(self._url, timeout=timeout_s, **settings)

    def fileno(self) -> int:
        """Return the descriptor of a port that is a path; it does not block."""
        return self._port.fileno()

    def read(self) -> bytes:
        """Return received bytes, as `Transport.read`."""
        # pySerial raises TypeError and others when a port is closed meanwhile.
        with _line_errors(self._url, Exception):
            if not self._is_path:
                return bytes(self._port.read(max(1, self._port.in_waiting)))
            if not select.select([self._port], [], [], READ_TIMEOUT_S)[0]:
                return b""
            return bytes(self._port.read(_CHUNK_BYTES))

    def check(self) -> None:
        """Check that the port still exists, as `Transport.check`."""
        if not self._is_path:
            return  # a read detects the end of a connection
        try:
            self._check_path()
            _ = self._port.cts
        except OSError as error:  # pySerial's own exceptions are of this kind
            if error.errno not in _NO_MODEM_LINES:
                raise _line_error(self._url, error) from error

    def _check_path(self) -> None:
        # The path of an unplugged adapter is gone or leads to another one, while the
        # old port stays silent.
        if Path(self._url).stat().st_rdev != os.fstat(self._port.fileno()).st_rdev:
            raise OSError(errno.ENODEV, "the path leads to another port now")

    def write(self, data: bytes) -> None:
        """Send bytes, as `Transport.write`."""
        with _line_errors(self._url, Exception):
            if self._is_path:
                self._write_path(data)
            else:
                self._port.write(data)

    def _write_path(self, data: bytes) -> None:
        # pySerial would wait without end for a line that takes no byte, or try again without
        # a pause.
        until = time.monotonic() + _WRITE_TIMEOUT_S
        while data:
            left_s = max(0.0, until - time.monotonic())
            if not select.select([], [self._port], [], left_s)[1]:
                raise TimeoutError(errno.ETIMEDOUT, f"takes no byte for {_WRITE_TIMEOUT_S:g} s")
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(self._port.fileno(), data) :]

    def close(self) -> None:
        """Close the port; nothing is raised."""
        _close_quietly(self._port)


class _Socket:
    """Raw bytes over TCP."""

    def __init__(self, url: str) -> None:
        self._url = url
        with _line_errors(url):
            self._connection = socket.create_connection(_host_and_port(url), _CONNECT_TIMEOUT_S)
            keep_alive(self._connection)
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self) -> bytes:
        with _line_errors(self._url, (OSError, ValueError)):
            if not select.select([self._connection], [], [], READ_TIMEOUT_S)[0]:
                return b""
            data = self._connection.recv(_CHUNK_BYTES)
        if not data:
            raise LineError(f"{self._url}: closed by the other side")
        return data

    def check(self) -> None:
        with _line_errors(self._url):
            code = self._connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise LineError(f"{self._url}: {os.strerror(code)}")

    def write(self, data: bytes) -> None:
        with _line_errors(self._url):
            self._connection.sendall(data)

    def close(self) -> None:
        _close_quietly(self._connection)


class _Keys:
    """A device that types: a keyboard or buttons."""

    def __init__(self, url: str, open_keys: Callable[[], KeyboardLine | GpioButtons]) -> None:
        self._url = url
        with errors_at(f"port {url!r}"), _line_errors(url):
            self._keys = open_keys()

    def read(self) -> bytes:
        with _line_errors(self._url, (OSError, ValueError)):
            return self._keys.read()

    def check(self) -> None:
        with _line_errors(self._url):
            self._keys.check()

    def write(self, data: bytes) -> None:
        kind = "keyboards" if _scheme(self._url) == _KEYBOARD else "buttons"
        raise LineError(f"{self._url}: {kind} are read-only: {len(data)} bytes refused")

    def close(self) -> None:
        self._keys.close()


class _Capture:
    """A capture file, read as fast as possible."""

    def __init__(self, path: Path) -> None:
        from drivers.capture import read_capture  # noqa: PLC0415 - for a replay

        self._path = path
        self._data = read_capture(path)
        self._position = 0

    def read(self) -> bytes:
        piece = self._data[self._position : self._position + _CHUNK_BYTES]
        if not piece:
            raise EndOfCaptureError(f"{self._path}: the capture is over")
        self._position += len(piece)
        return piece

    def check(self) -> None:
        pass

    def write(self, data: bytes) -> None:
        raise ReadOnlyLineError(f"{self._path}: captures are read-only: {len(data)} bytes refused")

    def close(self) -> None:
        self._data = b""


def keep_alive(connection: socket.socket) -> None:
    """Let the system detect a peer that vanished, within about 25 seconds."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in _KEEPALIVE:
        option = getattr(socket, name, None)  # not on every system
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, value)


def _close_quietly(port: serial.Serial | socket.socket) -> None:
    # The line is abandoned, so errors do not matter.
    with contextlib.suppress(Exception):
        port.close()


_LOGIN: Final = re.compile(r"(?<=://)[^/?#\s]*@")
_SECRET: Final = re.compile(
    r"(?i)([?&;](?:[a-z]+[_-])?(?:user(?:name)?|usr|login|pass(?:word|wd)?|pwd?|token|key|secret|auth)=)"
    r"[^&;#\s]*"
)


def redact_url(url: str) -> str:
    """Return a url without its user name and password."""
    return _SECRET.sub(r"\1…", _LOGIN.sub("", url))


_STDLIB: Final = Path(os.__file__).parent
_PACKAGES: Final = ("site-packages", "dist-packages")


def raised_at(error: BaseException) -> str:
    """Return ``FILE:LINE`` of the innermost call outside Python's own library."""
    frames: Sequence[traceback.FrameSummary] = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if not _is_stdlib(frame.filename)] or list(frames)
    return f"{own[-1].filename}:{own[-1].lineno}" if own else "unknown"


def _is_stdlib(filename: str) -> bool:
    path = Path(filename)
    if filename.startswith("<"):  # frozen modules
        return True
    return path.is_relative_to(_STDLIB) and not any(part in _PACKAGES for part in path.parts)
