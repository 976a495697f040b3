"""Copies of a reader's line are byte for byte, go one way, and nothing waits for a receiver."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import threading
import tty
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Frame, LineSettings
from drivers.line_forward import MAX_LISTENERS, MAX_WAITING_BYTES, Forward, ForwardTarget
from drivers.reader_thread import Reader
from drivers.transport import LineError
from shoe_daemon.errors import UserError
from tests.brokers import free_port
from tests.drivers.scripted_line import DATA, WHOLE, Event, Heard, Script
from tests.volume import volume
from tests.waiting import PATIENCE, wait_for


@contextmanager
def forwarding(to: str) -> Iterator[Forward]:
    """Run a copy to a target that can be opened."""
    forward = Forward("shoe", ForwardTarget(to))
    forward.start()
    try:
        wait_for(lambda: forward.alert is None, "the target is open")
        yield forward
    finally:
        forward.stop()
        forward.join(PATIENCE)


@pytest.fixture
def port() -> int:
    return free_port()


def connected(port: int, receive_bytes: int | None = None) -> socket.socket:
    listener = socket.socket()
    if receive_bytes is not None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    listener.settimeout(PATIENCE)
    listener.connect(("127.0.0.1", port))
    return listener


def received(listener: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = listener.recv(65_536)
        assert piece, f"closed after {len(data)} bytes"
        data += piece
    return data


def met(forward: Forward, *listeners: socket.socket) -> None:
    """Wait until the copies reach these listeners."""
    for listener in listeners:
        listener.settimeout(0)
    waiting = set(listeners)

    def greeted() -> bool:
        forward.copy(b"!")
        for listener in list(waiting):
            with contextlib.suppress(BlockingIOError):
                if listener.recv(1):
                    waiting.remove(listener)
        return not waiting

    wait_for(greeted, "every listener is connected")
    forward.copy(b"?")
    for listener in listeners:
        listener.settimeout(PATIENCE)
        while listener.recv(1) != b"?":
            pass


def copy_all(forward: Forward, reads: Iterable[bytes]) -> None:
    for each in reads:
        forward.copy(each)


def portions(chance: random.Random) -> list[bytes]:
    """Return all bytes there are, noise and repeats, in reads of any length."""
    data, reads = DATA + bytes(range(256)) + chance.randbytes(3000), []
    while data:
        size = chance.choice((1, 2, 7, 64, 900))
        reads.append(data[:size])
        data = data[size:]
    return reads


@contextmanager
def display(link: Path) -> Iterator[int]:
    """Plug a serial display in: yield the descriptor at which it receives, raw."""
    master, slave = os.openpty()
    tty.setraw(slave)
    link.unlink(missing_ok=True)
    link.symlink_to(os.ttyname(slave))
    os.close(slave)
    try:
        yield master
    finally:
        link.unlink()
        os.close(master)


def read_exactly(descriptor: int, count: int) -> bytes:
    os.set_blocking(descriptor, True)
    data = b""
    while len(data) < count:
        data += os.read(descriptor, count - len(data))
    return data


class TestSerialPort:
    @pytest.mark.parametrize("seed", range(volume(1, 5)))
    def test_every_byte_arrives_in_order(self, seed: int, tmp_path: Path) -> None:
        reads = portions(random.Random(seed))
        with display(tmp_path / "display") as there, forwarding(f"{tmp_path}/display") as forward:
            feeder = threading.Thread(target=copy_all, args=(forward, reads))
            feeder.start()
            whole = b"".join(reads)
            assert read_exactly(there, len(whole)) == whole
            feeder.join()
        assert forward.dropped == 0

    def test_an_unplugged_one_comes_back_and_shows_nothing_old(self, tmp_path: Path) -> None:
        link = tmp_path / "display"
        with contextlib.ExitStack() as stack:
            with display(link) as there:
                forward = stack.enter_context(forwarding(str(link)))
                forward.copy(b"first")
                assert read_exactly(there, 5) == b"first"
            wait_for(lambda: forward.alert is not None, "the loss is noticed")
            assert str(link) in str(forward.alert)
            forward.copy(b"while away")
            with display(link) as there:
                wait_for(lambda: forward.alert is None, "it is open again")
                forward.copy(b"again")
                assert read_exactly(there, 5) == b"again"
        assert forward.dropped == 1

    def test_what_it_sends_is_thrown_away(self, tmp_path: Path) -> None:
        with (
            capture_logs() as logs,
            display(tmp_path / "display") as there,
            forwarding(f"{tmp_path}/display") as forward,
        ):
            for _ in range(20):
                os.write(there, b"COMMAND\r\n")
            wait_for(lambda: [each for each in logs if each["event"] == "forward_input_ignored"])
            forward.copy(b"card")
            assert read_exactly(there, 4) == b"card"


class TestListeners:
    @pytest.mark.parametrize("seed", range(volume(1, 5)))
    def test_each_receives_every_byte_in_order(self, seed: int, port: int) -> None:
        reads = portions(random.Random(seed))
        whole = b"".join(reads)
        with forwarding(f"tcp://127.0.0.1:{port}") as forward:
            listeners = [connected(port) for _ in range(3)]
            met(forward, *listeners)
            copy_all(forward, reads)
            for listener in listeners:
                assert received(listener, len(whole)) == whole
                listener.close()
        assert forward.dropped == 0

    def test_one_that_never_reads_costs_the_others_nothing(self, port: int) -> None:
        size = 1000
        with forwarding(f"tcp://127.0.0.1:{port}") as forward:
            stalled, listener = connected(port, 4096), connected(port)
            met(forward, stalled, listener)
            count = 0
            while not forward.dropped or count < 2 * MAX_WAITING_BYTES // size:
                forward.copy(struct.pack("!I", count).ljust(size, b"."))
                count += 1
                # The other one keeps pace: each byte arrives while the first takes none.
                assert received(listener, size)[:4] == struct.pack("!I", count - 1)
            # When it reads at last, it finds whole reads, and the newest are there.
            forward.copy(b"end")
            data = b""
            while not data.endswith(b"end"):
                data += stalled.recv(65_536)
            found = [data[at : at + size] for at in range(0, len(data) - 3, size)]
            numbers = [struct.unpack("!I", each[:4])[0] for each in found]
            assert all(each[4:] == b"." * (size - 4) for each in found)
            assert numbers == sorted(set(numbers))
            assert numbers[0] == 0
            assert numbers[-1] == count - 1
            assert len(numbers) + forward.dropped == count
            stalled.close()
            listener.close()

    def test_a_reset_ends_one_connection_only(self, port: int) -> None:
        with forwarding(f"tcp://127.0.0.1:{port}") as forward:
            broken, listener = connected(port), connected(port)
            met(forward, broken, listener)
            broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            broken.close()
            for number in range(100):
                forward.copy(bytes([number]))
            assert received(listener, 100) == bytes(range(100))
            again = connected(port)
            met(forward, again)
            again.close()
            listener.close()

    def test_too_many_are_turned_away_and_a_free_place_is_given_again(self, port: int) -> None:
        with forwarding(f"tcp://127.0.0.1:{port}") as forward:
            listeners = [connected(port) for _ in range(MAX_LISTENERS)]
            met(forward, *listeners)
            refused = connected(port)
            assert refused.recv(1) == b""
            listeners.pop().close()

            def admitted() -> bool:
                with connected(port) as another:
                    another.settimeout(0.1)
                    try:
                        return another.recv(1) != b""
                    except TimeoutError:
                        return True
                    except ConnectionError:
                        return False

            wait_for(admitted)
            for each in (refused, *listeners):
                each.close()

    def test_what_one_sends_is_thrown_away_without_a_pause_for_the_others(self, port: int) -> None:
        stopping = threading.Event()

        def talk(chatty: socket.socket) -> None:
            with contextlib.suppress(OSError):
                while not stopping.is_set():
                    chatty.sendall(bytes(65_536))

        with forwarding(f"tcp://127.0.0.1:{port}") as forward:
            chatty, listener = connected(port), connected(port)
            met(forward, chatty, listener)
            talker = threading.Thread(target=talk, args=(chatty,))
            talker.start()
            for number in range(200):
                forward.copy(bytes([number]))
                assert received(listener, 1) == bytes([number])
            stopping.set()
            chatty.close()
            talker.join()
            listener.close()


NOWHERE = ForwardTarget("tcp://127.0.0.1:1")


class Copies(Forward):
    """Keeps what it is given; its thread never runs."""

    def __init__(self) -> None:
        super().__init__("shoe", NOWHERE)
        self.reads = list[bytes]()

    def copy(self, data: bytes) -> None:
        self.reads.append(data)


def read_with(forward: Forward, script: Script, sink: Callable[[Frame], object]) -> None:
    """Read a whole script, and copy it."""
    driver = AngelEyeII()
    script.reader = Reader(
        "shoe",
        driver,
        "/dev/shoe/1",
        driver.line,
        sink,
        forward=forward,
        environment=script.environment(),
    )
    script.reader.run()


class TestReader:
    def test_a_copy_that_fails_loses_no_card(self) -> None:
        class Failing(Forward):
            def copy(self, data: bytes) -> None:
                raise OSError("no room")

        script, heard = Script([DATA]), Heard()
        read_with(Failing("shoe", NOWHERE), script, heard.append)
        assert heard.observations[1:-1] == WHOLE

    @pytest.mark.parametrize("seed", range(3))
    def test_the_copy_is_what_was_read_with_noise_repeats_and_lost_lines(self, seed: int) -> None:
        reads = portions(random.Random(seed))
        half = len(reads) // 2
        events: list[Event] = [*reads[:half]]
        others: list[Event] = [b"", *reads[half:], b""]
        script, copies = Script(events, LineError("gone"), others), Copies()
        read_with(copies, script, lambda _: None)
        assert b"".join(copies.reads) == b"".join(reads)

    def test_the_copy_does_not_wait_for_a_blocked_journal(self) -> None:
        copies = Copies()

        def sink(frame: Frame) -> None:
            if frame.raw:
                assert copies.reads

        script = Script([DATA])
        read_with(copies, script, sink)
        assert script.reader.blocked_since is None

    def test_nothing_of_a_listener_reaches_the_reader(self, port: int) -> None:
        master, slave = os.openpty()
        tty.setraw(slave)
        forward = Forward("shoe", ForwardTarget(f"tcp://127.0.0.1:{port}"))
        heard = Heard()
        reader = Reader(
            "shoe",
            AngelEyeII(),
            os.ttyname(slave),
            LineSettings(),
            heard.append,
            forward=forward,
        )
        reader.start()
        wait_for(lambda: forward.alert is None and heard)
        try:
            with connected(port) as listener:
                met(forward, listener)
                listener.sendall(b"\x02OPLK02\x031B")
                os.write(master, DATA)
                assert received(listener, len(DATA)) == DATA
                wait_for(lambda: heard.observations[1:] == WHOLE)
            os.set_blocking(master, False)
            with pytest.raises(BlockingIOError):
                os.read(master, 1)
        finally:
            reader.stop()
            assert reader.join(PATIENCE)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), PATIENCE)
            os.close(slave)
            os.close(master)


@pytest.mark.parametrize(
    "to",
    [
        "",
        "ttyUSB1",
        "socket://127.0.0.1:4002",
        "tcp://",
        "tcp://127.0.0.1",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:70000",
        "tcp://:4002",
        "tcp://127.0.0.1:4002/",
        "tcp://me@127.0.0.1:4002",
        "tcp://[::1:4002",
    ],
)
def test_an_invalid_target_is_refused_in_one_line(to: str) -> None:
    with pytest.raises(UserError, match="expected"):
        ForwardTarget(to).check()


@pytest.mark.parametrize(
    ("to", "open_to_network"),
    [
        ("/dev/ttyUSB1", False),
        ("tcp://127.0.0.1:1", False),
        ("tcp://127.9.9.9:1", False),
        ("tcp://[::1]:1", False),
        ("tcp://localhost:1", False),
        ("tcp://0.0.0.0:1", True),
        ("tcp://[::]:1", True),
        ("tcp://10.0.0.5:1", True),
        ("tcp://table-7:1", True),
    ],
)
def test_only_loopback_is_closed_to_the_network(to: str, open_to_network: bool) -> None:  # noqa: FBT001
    ForwardTarget(to).check()
    assert ForwardTarget(to).is_open_to_network is open_to_network
