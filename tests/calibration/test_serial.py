"""
The right speed of a line is found, whatever comes at the wrong ones, and the
configuration that is printed is one that works.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from threading import Event

import msgspec
import pytest
from click.testing import CliRunner

from calibration import line_identification
from calibration import serial as calibration
from calibration.serial import (
    SPEEDS,
    ByteLog,
    Finding,
    Port,
    configuration,
    listen,
    speeds_of,
    stable_name,
    stable_names,
)
from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Driver, Frame, LineSettings
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Settings, scenario
from drivers.simulators.lines import PtyLine
from drivers.simulators.simulator import find_simulator
from drivers.transport import LineError, open_transport
from shoe_daemon.cli import main
from shoe_daemon.config.sections import ReaderSettings
from shoe_daemon.errors import UserError

DATA = scenario(Settings(rounds=2, seed=9)).stream(3)


class Shoe:
    """
    A real line of one speed: garbage at every other.

    Attributes:
        said_all: Set when it has nothing more to say.
    """

    def __init__(self, speed: int, portion: int = 13, data: bytes = DATA) -> None:
        self.data = data
        self.said_all = Event()
        self.speed = speed
        self.portion = portion
        self.tried: list[int] = []
        self.sent = 0
        self.open = 0

    def __call__(self, port: str, line: LineSettings) -> Shoe:
        assert self.open == 0, "the line before was not closed"
        self.open += 1
        self.tried.append(line.baudrate)
        return self

    def read(self) -> bytes:
        data = self.data[self.sent : self.sent + self.portion]
        self.sent += self.portion
        if not data:
            self.said_all.set()
        if self.tried[-1] == self.speed:
            return data
        return random.Random(self.sent).randbytes(len(data) // 2)

    def check(self) -> None: ...

    def write(self, data: bytes) -> None:
        raise AssertionError("a calibration sends nothing")

    def close(self) -> None:
        self.open -= 1


Listen = Callable[..., tuple[Finding, list[str]]]


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Listen:
    def hear(
        shoe: Shoe,
        port: str = "/dev/ttyUSB0",
        seconds: float = 30,
        stopping: Event | None = None,
        driver: Driver | None = None,
    ) -> object:
        monkeypatch.setattr(calibration, "open_transport", shoe)
        told: list[str] = []
        driver = driver or AngelEyeII()
        return listen(port, driver, seconds, told.append, stopping or Event()), told

    return hear  # type: ignore[return-value]  # the pair, typed above


@pytest.mark.parametrize("speed", SPEEDS)
def test_the_speed_is_found(speed: int, heard: Listen) -> None:
    shoe = Shoe(speed)
    finding, told = heard(shoe)
    assert (finding.speed, finding.frames) == (speed, 6)
    assert shoe.tried == [*speeds_of("/dev/ttyUSB0", 4800)[: len(shoe.tried)]]
    assert told[0] == "listening at 4800 bit/s"
    assert shoe.open == 0


@pytest.mark.parametrize("name", ["bee-tek", "line-scanner", "json-lines"])
@pytest.mark.parametrize("speed", [4800, 9600, 115200])
def test_the_speed_of_a_reader_of_text_is_found(name: str, speed: int, heard: Listen) -> None:
    # Text has no checksum: garbage is often a frame that was damaged.
    driver = create_driver(name)
    scenes = find_simulator(name)(driver).scenes(Settings(rounds=200, seed=9), once=True)
    steps = [step for scene in scenes for step in scene.steps]
    data = b"".join(each for step in steps for _, each in step.writes())
    finding, _ = heard(Shoe(speed, 40, data), driver=driver)
    assert finding.speed == speed
    assert finding.frames >= 6


def test_all_that_comes_is_shown(heard: Listen) -> None:
    _, told = heard(Shoe(4800))
    assert told[1:3] == [
        'frame   05 30 53 03 36 30  {"type":"booted"}',
        "repeat  05 30 53 03 36 30",
    ]
    _, told = heard(Shoe(9600))
    assert "no valid frame among these bytes" in told


def test_a_line_without_speed_is_only_listened_to(heard: Listen) -> None:
    shoe = Shoe(0)
    finding, told = heard(shoe, "socket://shoe:4001", stopping=shoe.said_all)
    assert shoe.tried == [4800]
    assert (finding.speed, finding.frames) == (None, 0)
    assert finding.strange > 0
    assert told[0] == "listening"


def test_silence_ends_when_the_time_is_over(heard: Listen) -> None:
    shoe = Shoe(4800)
    shoe.sent = len(DATA)
    finding, told = heard(shoe, seconds=0.05)
    assert finding == Finding("/dev/ttyUSB0")
    assert told == ["listening at 4800 bit/s"]


def test_bytes_that_are_no_frame_yet_are_shown_once() -> None:
    log = ByteLog(AngelEyeII())
    assert log.receive(b"\x05\x31", 0) == []
    assert log.receive(b"", 1) == ["bytes   05 31"]
    assert log.receive(b"", 2) == []
    assert log.strange == 2
    assert log.receive(b"\x44\x81\xb8\x034F", 3) == [
        'frame   05 31 44 81 B8 03 34 46  {"card":"8S","slot":"P1","type":"card"}'
    ]
    assert log.strange == 0


def shown(lines: list[str]) -> bytes:
    """Return the bytes that lines of output show."""
    garbage = [line[8:].partition("  ")[0] for line in lines if line[:6] in {"bytes ", "noise "}]
    return bytes.fromhex(" ".join(garbage))


def test_much_garbage_is_only_counted() -> None:
    log = ByteLog(AngelEyeII())
    told: list[str] = []
    for number in range(2000):
        told += log.receive(random.Random(number).randbytes(50), number)
        told += log.receive(b"", number)
    assert len(shown(told)) == 256
    assert told.count("more bytes outside of frames are only counted") == 1
    assert max(map(len, told)) < 200
    assert len(told) < 100


class Gathering(AngelEyeII):
    """A driver whose decoder waits for the end of a frame that does not come."""

    def decoder(self) -> Gathering:
        return self

    def feed(self, data: bytes, now: float) -> list[Frame]:
        return []

    def reset(self) -> None: ...


class Raising(Gathering):
    """A driver whose decoder raises."""

    def feed(self, data: bytes, now: float) -> list[Frame]:
        raise ValueError("no such code")


def test_a_decoder_that_raises_is_named_with_its_line() -> None:
    log = ByteLog(Raising())
    line = Raising.feed.__code__.co_firstlineno + 1
    said = f"the decoder of angel-eye-ii failed: ValueError: no such code ({__file__}:{line})"
    assert log.receive(b"\x01\x02", 0) == ["bytes   01 02", said]
    assert log.receive(b"\x03", 0) == ["bytes   03", said]
    assert log.strange == 3


def test_a_line_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"^{tmp_path}/none: No such file"):
        listen(f"{tmp_path}/none", AngelEyeII(), 1, print, Event())


def test_a_line_that_is_lost_is_one_line(heard: Listen) -> None:
    class Lost(Shoe):
        def read(self) -> bytes:
            raise LineError("unplugged")

    shoe = Lost(4800)
    with pytest.raises(UserError, match=r"^unplugged$"):
        heard(shoe)
    assert shoe.open == 0


def test_speeds_are_tried_where_there_are_any(tmp_path: Path) -> None:
    line = PtyLine(tmp_path / "link")
    assert speeds_of(line.address, 4800) == (4800,)
    line.close()
    assert speeds_of("file:x", 4800) == speeds_of("socket://x:1", 4800) == (4800,)
    for port in ("/dev/ttyUSB0", "/dev/serial/by-id/x", "rfc2217://x:1"):
        assert speeds_of(port, 4800)[0] == 4800
        assert sorted(speeds_of(port, 4800)) == list(SPEEDS)


@pytest.mark.parametrize("speed", [None, 9600])
def test_the_configuration_is_one_that_the_daemon_reads(speed: int | None) -> None:
    finding = Finding('/dev/serial/by-id/usb-"odd" name', speed, 6)
    table = tomllib.loads(configuration(finding, AngelEyeII(), "shoe-2"))
    (reader,) = (msgspec.convert(each, ReaderSettings) for each in table["reader"])
    assert reader == ReaderSettings(
        driver="angel-eye-ii",
        port=finding.port,
        id="shoe-2",
        line={"baudrate": speed} if speed else {},
    )


class TestPorts:
    def test_lasting_names_come_best_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        device = tmp_path / "ttyUSB0"
        device.touch()
        folders = [tmp_path / name for name in ("shoe", "by-id", "none", "by-path")]
        for folder in (folders[0], folders[1], folders[3]):
            folder.mkdir()
            (folder / "other").symlink_to(tmp_path / "ttyUSB1")
        (folders[1] / "usb").symlink_to("../ttyUSB0")
        (folders[3] / "pci").symlink_to("../ttyUSB0")
        found = stable_names(str(device), map(str, folders))
        assert found == (f"{folders[1]}/usb", f"{folders[3]}/pci")
        monkeypatch.setattr(calibration, "STABLE_FOLDERS", tuple(map(str, folders)))
        monkeypatch.setattr(stable_names, "__defaults__", (tuple(map(str, folders)),))
        assert stable_name(str(device)) == f"{folders[1]}/usb"
        assert stable_name(found[1]) == found[1]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["calibrate", "serial", *arguments])
    return result.exit_code, result.output


class TestCommand:
    def test_ports_are_listed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        found = [
            Port("/dev/ttyUSB0", "FT232R", ("/dev/serial/by-id/ftdi", "/dev/serial/by-path/pci")),
            Port("/dev/ttyUSB1", "CH340", ()),
        ]
        monkeypatch.setattr(calibration, "list_ports", lambda: found)
        code, output = run()
        assert code == 0
        assert output.splitlines() == [
            "/dev/ttyUSB0  FT232R",
            "    /dev/serial/by-id/ftdi",
            "    /dev/serial/by-path/pci",
            "/dev/ttyUSB1  CH340",
            "    no lasting name: after a reboot this may be another port",
            "next: shoe-daemon calibrate serial --port /dev/serial/by-id/ftdi",
        ]

    @pytest.mark.parametrize("driver", [("--driver", "angel-eye-ii"), ()])
    def test_a_simulated_shoe_on_a_terminal(self, driver: tuple[str, ...], tmp_path: Path) -> None:
        line = PtyLine(tmp_path / "shoe")
        line.send(DATA, Event())  # nobody has it open: nothing is sent
        with pytest.MonkeyPatch.context() as patch:
            listener = calibration if driver else line_identification
            patch.setattr(listener, "open_transport", _opening_then(line))
            code, output = run("--port", line.address, *driver)
        line.close()
        assert code == 0
        assert "angel-eye-ii: " in output
        assert f'port = "{line.address}"' in output

    @pytest.mark.parametrize("driver", [("--driver", "angel-eye-ii"), ()])
    def test_silence_lists_what_to_check(self, driver: tuple[str, ...], tmp_path: Path) -> None:
        line = PtyLine(tmp_path / "shoe")
        code, output = run("--port", line.address, "--seconds", "0.3", *driver)
        line.close()
        assert code == 1
        assert "not one byte came; check:" in output
        for word in ("Is the reader on?", "null modem", "RS-232", "rtscts", "another program"):
            assert word.lower() in " ".join(output.split()).lower()
        assert all(len(each) <= 80 for each in output.splitlines()[2:-1])


def _opening_then(line: PtyLine, data: bytes = DATA) -> object:
    """Open the line for real, and let the shoe speak once that is done."""

    def opened(port: str, settings: LineSettings) -> object:
        transport = open_transport(port, settings)
        line.send(data, Event())
        return transport

    return opened
