"""
`open_transport` opens terminals, sockets, RFC 2217 and captures, and reports failures on
one line.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import threading
import tty
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
import serial.rfc2217

from drivers.capture import write_hex
from drivers.driver import LineSettings, Transport
from drivers.transport import (
    READ_TIMEOUT_S,
    EndOfCaptureError,
    LineError,
    check_url,
    open_transport,
)
from shoe_daemon.errors import UserError
from tests.waiting import PATIENCE, wait_for

LINE = LineSettings(baudrate=4800)


class Terminal(NamedTuple):
    master: int
    path: str


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    master, slave = os.openpty()
    tty.setraw(slave)
    path = os.ttyname(slave)
    os.close(slave)
    yield Terminal(master, path)
    with contextlib.suppress(OSError):  # where the test has unplugged it
        os.close(master)


def read_all(line: Transport, wanted: int) -> bytes:
    data = b""

    def enough() -> bool:
        nonlocal data
        data += line.read()
        return len(data) >= wanted

    wait_for(enough, f"{wanted} bytes")
    return data


class TestTerminal:
    def test_bytes_come_through_whole(self, terminal: Terminal) -> None:
        line = open_transport(terminal.path, LINE)
        every_byte = bytes(range(256))
        os.write(terminal.master, every_byte)
        assert read_all(line, 256) == every_byte
        line.write(b"\x02")
        assert os.read(terminal.master, 10) == b"\x02"
        line.close()

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
    def test_a_user_without_permission_reads_which_group_is_missing(
        self, terminal: Terminal
    ) -> None:
        os.chmod(terminal.path, 0o600)  # noqa: PTH101 - a device
        os.seteuid(65_534)
        try:
            with pytest.raises(LineError) as told:
                open_transport(terminal.path, LINE)
        finally:
            os.seteuid(0)
        assert str(told.value) == (
            f"{terminal.path}: Permission denied: the user must be in the group of the port, "
            "usually dialout: `sudo usermod -aG dialout USER`, then log in again"
        )

    def test_silence_is_nothing_after_a_moment(self, terminal: Terminal) -> None:
        line = open_transport(terminal.path, LINE)
        assert line.read() == b""
        line.check()
        line.close()
        assert READ_TIMEOUT_S <= 0.2

    def test_a_second_opener_is_refused(self, terminal: Terminal) -> None:
        line = open_transport(terminal.path, LINE)
        with pytest.raises(LineError, match=f"^{terminal.path}: another program has it open$"):
            open_transport(terminal.path, LINE)
        line.close()
        open_transport(terminal.path, LINE).close()

    def test_unplugging_is_noticed_while_reading(self, terminal: Terminal) -> None:
        line = open_transport(terminal.path, LINE)
        os.close(terminal.master)
        with pytest.raises(LineError, match=f"^{terminal.path}: "):
            line.read()
        line.close()

    def test_a_link_that_leads_elsewhere_is_noticed(
        self, terminal: Terminal, tmp_path: Path
    ) -> None:
        link = tmp_path / "shoe"
        link.symlink_to(terminal.path)
        line = open_transport(str(link), LINE)
        line.check()
        link.unlink()
        with pytest.raises(LineError, match="No such file"):
            line.check()
        link.symlink_to(os.devnull)
        with pytest.raises(LineError, match="another port"):
            line.check()
        line.close()

    def test_a_closed_line_reads_and_writes_nothing(self, terminal: Terminal) -> None:
        line = open_transport(terminal.path, LINE)
        line.close()
        line.close()
        with pytest.raises(LineError):
            line.read()
        with pytest.raises(LineError):
            line.write(b"x")

    def test_what_is_not_there_is_said_on_one_line(self, tmp_path: Path) -> None:
        with pytest.raises(LineError, match=f"^{tmp_path}/none: No such file or directory$"):
            open_transport(f"{tmp_path}/none", LINE)


@pytest.fixture
def server() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


def address(listener: socket.socket, scheme: str = "socket") -> str:
    return f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"


class TestSocket:
    def test_bytes_come_and_go(self, server: socket.socket) -> None:
        line = open_transport(address(server), LINE)
        client, _ = server.accept()
        assert line.read() == b""
        client.sendall(b"\x05\xff")
        assert read_all(line, 2) == b"\x05\xff"
        line.write(b"\x06")
        assert client.recv(10) == b"\x06"
        line.check()
        client.close()
        with pytest.raises(LineError, match="closed by the other side"):
            line.read()
        line.close()

    def test_a_reset_connection_is_an_error_of_the_line(self, server: socket.socket) -> None:
        line = open_transport(address(server), LINE)
        client, _ = server.accept()
        # Closed without lingering, a connection ends in a reset and not in an end.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.close()
        with pytest.raises(LineError, match=f"^{address(server)}: "):
            read_all(line, 1)
        line.close()
        line.close()
        for broken in (line.read, line.check, lambda: line.write(b"x")):
            with pytest.raises(LineError):
                broken()


def serve_rfc_2217(listener: socket.socket, port: serial.Serial, stop: threading.Event) -> None:
    """A device server of one client, as in pySerial's own example."""
    client, _ = listener.accept()

    class Connection:
        def write(self, data: bytes) -> None:
            client.sendall(data)

    with client:
        manager = serial.rfc2217.PortManager(port, Connection())  # type: ignore[arg-type]
        while not stop.is_set():
            if select.select([client], [], [], 0.01)[0]:
                port.write(b"".join(manager.filter(client.recv(1024))))
            client.sendall(b"".join(manager.escape(port.read(port.in_waiting))))


@pytest.mark.filterwarnings("ignore:setDaemon:DeprecationWarning")  # pySerial 3.5's own
@pytest.mark.filterwarnings("ignore:setName:DeprecationWarning")
def test_rfc_2217_carries_bytes_and_notices_the_end(server: socket.socket) -> None:
    stop = threading.Event()
    shoe = serial.serial_for_url("loop://", timeout=0)
    thread = threading.Thread(target=serve_rfc_2217, args=(server, shoe, stop), daemon=True)
    thread.start()
    line = open_transport(address(server, "rfc2217"), LINE)
    assert shoe.baudrate == 4800
    shoe.write(b"\x05\xff\xff\x03")
    assert read_all(line, 4) == b"\x05\xff\xff\x03"
    line.check()
    stop.set()
    with pytest.raises(LineError):
        read_all(line, 1)
    line.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


class TestCapture:
    def test_bytes_and_hex_are_the_same(self, tmp_path: Path) -> None:
        raw, text = tmp_path / "a.bin", tmp_path / "a.hex"
        raw.write_bytes(b"\x05\x30\x53")
        write_hex(text, {"name": "a"}, [(b"\x05\x30", "half"), (b"\x53", "")])
        assert text.read_text() == "# name: a\n05 30  # half\n53\n"
        for path in (raw, text):
            line = open_transport(f"file:{path}", LINE)
            line.check()
            assert line.read() == b"\x05\x30\x53"
            with pytest.raises(EndOfCaptureError):
                line.read()
            with pytest.raises(LineError):
                line.write(b"x")
            line.close()

    def test_broken_hex_names_the_line(self, tmp_path: Path) -> None:
        path = tmp_path / "a.hex"
        path.write_text("# good\n05 3\n")
        with pytest.raises(UserError, match=rf"^{path}:2: expected bytes .* got '05 3'$"):
            open_transport(f"file:{path}", LINE)


@pytest.mark.parametrize(
    "url",
    [
        "",
        "socket://",
        "socket://host",
        "socket://:4001",
        "socket://host:none",
        "socket://host:99999",
        "socket://host:4001/path",
        "rfc2217://host",
        "http://host:80",
        "loop://",
    ],
)
def test_urls_that_cannot_be_right(url: str) -> None:
    with pytest.raises(UserError, match=r"^port "):
        check_url(url)
    with pytest.raises(UserError):
        open_transport(url, LINE)
