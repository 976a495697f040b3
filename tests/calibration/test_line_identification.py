"""
The reader on a line is named with its settings, at any speed; what is no reader is unknown; and
what the bytes do not show is said, not guessed.

The wrong settings are those of a real receiver: `as_received` samples the bits of the line.
"""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import cycle, product
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from calibration import line_identification
from calibration.line_identification import (
    Candidate,
    Identification,
    identify,
)
from drivers import CaptureLine, LineSettings, create_driver, write_capture
from drivers.simulators.angel_eye import Settings
from drivers.simulators.simulator import find_simulator
from shoe_daemon.cli import main
from shoe_daemon.config.sections import ReaderSettings
from tests.volume import sample

SPEEDS = (9600, 4800, 115200)

READERS: dict[str, tuple[str, dict[str, Any]]] = {
    "angel-eye-ii": ("angel-eye-ii", {}),
    "bee-tek": ("bee-tek", {}),
    "json-lines": ("json-lines", {}),
    "standard": ("line-scanner", {"preset": "standard"}),
    "standard suit-rank": ("line-scanner", {"preset": "standard", "codes": "suit-rank"}),
    "icl": ("line-scanner", {"preset": "icl"}),
    "fujitsu": ("line-scanner", {"preset": "fujitsu"}),
    "nixdorf": ("line-scanner", {"preset": "nixdorf", "codes": "a01"}),
    "olivetti": ("line-scanner", {"preset": "olivetti"}),
    "omron": ("line-scanner", {"preset": "omron"}),
    "handheld": ("line-scanner", {"preset": "handheld"}),
    "no-terminator": ("line-scanner", {"preset": "no-terminator"}),
    "CR LF": ("line-scanner", {"preset": "standard", "record_suffix": "crlf"}),
    "LF": ("line-scanner", {"preset": "standard", "record_suffix": "lf"}),
}
CR_PRESETS = {"standard", "icl", "fujitsu", "nixdorf", "omron"}


def nmea(number: int) -> bytes:
    """Return two sentences of a GPS receiver, with their checksums."""
    texts = (
        f"GPGGA,0719{number % 60:02}.00,2212.3456,N,11332.1234,E,1,08,0.94,12.3,M,-2.4,M,,",
        f"GPRMC,0719{number % 60:02}.00,A,2212.3456,N,11332.1234,E,0.021,77.52,231126,,,A",
    )
    sentences = b""
    for text in texts:
        total = 0
        for each in text.encode():
            total ^= each
        sentences += f"${text}*{total:02X}\r\n".encode()
    return sentences


def modbus(number: int) -> bytes:
    """Return a query for holding registers and its answer, with their checksums."""

    def with_crc(frame: bytes) -> bytes:
        crc = 0xFFFF
        for each in frame:
            crc ^= each
            for _ in range(8):
                crc = crc >> 1 ^ (0xA001 if crc & 1 else 0)
        return frame + crc.to_bytes(2, "little")

    query = with_crc(bytes((1, 3, 0, 0x6B, 0, 3)))
    values = b"".join((number * 77 + each & 0xFFFF).to_bytes(2, "big") for each in range(3))
    return query + with_crc(bytes((1, 3, 6)) + values)


def printer_status(number: int) -> bytes:
    """Return the answers of a receipt printer: real-time status, and automatic status."""
    return (b"\x16", b"\x12", b"\x12\x12\x12", b"\x10\x00\x00\x00", b"\x14\x00\x00\x0f")[
        number % 5
    ]


def noise(number: int) -> bytes:
    return random.Random(number).randbytes(23)


FOREIGN = {"NMEA": nmea, "Modbus RTU": modbus, "printer": printer_status, "noise": noise}


@cache
def pieces_of(reader: str) -> tuple[bytes, ...]:
    """Return what a simulated reader sends, a piece for each card."""
    name, options = READERS[reader]
    scenes = find_simulator(name)(create_driver(name, options)).scenes(
        Settings(rounds=60, seed=9), once=True
    )
    steps = [step for scene in scenes for step in scene.steps]
    return tuple(data for step in steps for _, data in step.writes(1))


@cache
def as_received(data: bytes, sent: LineSettings, line: LineSettings) -> bytes:
    """Return the bytes that a receiver with other settings takes from the bits of a line."""
    bits = bytearray(b"\1" * 4)
    for byte in data:
        content = [byte >> place & 1 for place in range(sent.bytesize)]
        parity = {"N": [], "E": [sum(content) % 2], "O": [1 - sum(content) % 2]}[sent.parity]
        bits += bytes([0, *content, *parity, 1])
    bits += b"\1" * 30
    width, received, at = sent.baudrate / line.baudrate, b"", 0.0

    def level(place: float) -> int:
        return bits[int(place)] if place < len(bits) else 1

    while (start := _next_start(bits, at)) is not None:
        content = [level(start + width * (1.5 + place)) for place in range(line.bytesize)]
        if level(start + width / 2):  # a spike
            at = start + width / 2
            continue
        stop = 1.5 + line.bytesize + (line.parity != "N")
        received += bytes([sum(bit << place for place, bit in enumerate(content))])
        # After a framing error too, the byte is passed on, and the next edge is awaited.
        at = start + width * stop
    return received


def _next_start(bits: bytearray, at: float) -> int | None:
    """Return where the next start bit begins."""
    place = bits.find(b"\1\0", int(at))
    return None if place < 0 else place + 1


def test_the_receiver_of_these_tests_is_one() -> None:
    text = b"4S\r10H\r"
    for line in (LineSettings(), LineSettings(bytesize=7, parity="E"), LineSettings(parity="O")):
        assert as_received(text, line, line) == text
    seven_even = LineSettings(bytesize=7, parity="E")
    assert as_received(b"1S\r", seven_even, LineSettings()) == b"\xb1\x53\x8d"
    faster = as_received(text, LineSettings(), LineSettings(baudrate=19200))
    assert faster
    assert text not in faster


class Line:
    """
    A serial line whose reader has its own settings; the time passes with its pieces.

    Attributes:
        tried: The settings at which it was opened.
        now: Monotonic seconds.
    """

    def __init__(self, sent: LineSettings, pieces: Iterable[bytes]) -> None:
        self._sent = sent
        self._pieces: Iterator[bytes] = iter(pieces)
        self._is_silent = False
        self.tried: list[LineSettings] = []
        self.now = 0.0

    def open(self, port: str, line: LineSettings) -> Line:
        self.tried.append(line)
        return self

    def read(self) -> bytes:
        self.now += 0.2
        self._is_silent = not self._is_silent
        if self._is_silent:
            return b""
        return as_received(next(self._pieces, b""), self._sent, self.tried[-1])

    def close(self) -> None: ...

    def write(self, data: bytes) -> None:
        raise AssertionError("a calibration sends nothing")


def identified(
    monkeypatch: pytest.MonkeyPatch, line: Line, port: str = "/dev/ttyUSB0", seconds: float = 200
) -> tuple[Identification, list[str]]:
    monkeypatch.setattr(line_identification, "open_transport", line.open)
    said: list[str] = []
    found = identify(port, seconds, said.append, Event(), clock=lambda: line.now)
    return found, said


def names(candidates: Iterable[Candidate]) -> set[str]:
    return {each.options.get("preset", each.driver.name) for each in candidates}


@pytest.mark.parametrize(("reader", "speed"), sample(product(READERS, SPEEDS), 5))
def test_a_reader_is_named_with_its_settings(
    reader: str, speed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, options = READERS[reader]
    sent = msgspec.structs.replace(create_driver(name, options).line, baudrate=speed)
    line = Line(sent, cycle(pieces_of(reader)))
    found, said = identified(monkeypatch, line)
    assert found.fitting, said
    assert found.line is not None
    assert {each.driver.name for each in found.fitting} == {name}
    assert found.line.baudrate == speed
    assert found.frames >= 6
    expected = {key: value for key, value in options.items() if key != "preset"}
    for each in found.fitting:
        assert {key: value for key, value in each.options.items() if key != "preset"} == expected
    preset = options.get("preset", name)
    alike = CR_PRESETS if preset in CR_PRESETS and "record_suffix" not in options else {preset}
    assert names(found.fitting) == alike
    # Seven data bits are seen, also where the port has eight.
    assert found.line.bytesize == sent.bytesize
    if sent.bytesize == 7:
        assert found.line.parity == sent.parity


def test_what_the_bytes_do_not_show_is_a_tie(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(LineSettings(parity="E"), cycle(pieces_of("icl")))
    found, _ = identified(monkeypatch, line)
    assert names(found.alike) == {"standard", "fujitsu", "omron"}
    assert names(found.unlike) == {"icl", "nixdorf"}
    assert found.line_changes == {}


def test_tags_without_a_table_are_a_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    pieces = (f'{{"card_uid":"04{number:06X}"}}\n'.encode() for number in range(900))
    found, _ = identified(monkeypatch, Line(LineSettings(baudrate=115200), pieces))
    assert names(found.fitting) == {"json-lines"}


@pytest.mark.parametrize(("what", "speed"), sample(product(FOREIGN, SPEEDS), 4))
def test_what_is_no_reader_is_unknown(
    what: str, speed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = FOREIGN[what]
    line = Line(LineSettings(baudrate=speed), (make(number) for number in range(900)))
    found, said = identified(monkeypatch, line, seconds=50)
    assert found.fitting == ()
    assert found.received > 20
    assert found.first
    # All settings were tried, each once before the first is tried again.
    tried = [(each.baudrate, each.bytesize, each.parity) for each in line.tried]
    assert len(set(tried)) >= min(len(tried), 24)
    assert any("no frame of any driver in" in text for text in said)


def test_the_lines_of_a_gps_receiver_do_not_hide_a_scanner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # One card among many sentences is an accident of the bytes, not a scanner.
    pieces = (nmea(number) + (b"4S\r" if number % 10 == 7 else b"") for number in range(900))
    found, _ = identified(monkeypatch, Line(LineSettings(), pieces), seconds=25)
    assert found.fitting == ()
    # The first bytes are those of the setting at which most is text.
    assert found.line is not None
    assert found.line.baudrate == 9600
    assert found.first.startswith(b"$GPGGA,")


def test_a_shoe_that_is_switched_on_once_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    booted = bytes.fromhex("05 30 53 03 36 30") * 3
    line = Line(LineSettings(baudrate=4800), [booted])
    found, _ = identified(monkeypatch, line, seconds=5)
    assert names(found.fitting) == {"angel-eye-ii"}
    assert (found.frames, found.repeats) == (1, 2)


def test_silence_is_waited_out_at_one_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(LineSettings(), ())
    found, _ = identified(monkeypatch, line)
    assert (found.received, len(line.tried)) == (0, 1)


def test_a_line_without_a_speed_is_opened_once(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(LineSettings(baudrate=4800), cycle(pieces_of("handheld")))
    found, _ = identified(monkeypatch, line, "socket://10.0.0.5:4001")
    assert names(found.fitting) == {"handheld"}
    assert (found.line, len(line.tried)) == (None, 1)


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["calibrate", "serial", *map(str, arguments)])
    return result.exit_code, result.output


@pytest.mark.parametrize("reader", sample(READERS, 3))
def test_a_recording_is_identified_and_configured(reader: str, tmp_path: Path) -> None:
    name, options = READERS[reader]
    path = tmp_path / "line.cap"
    lines = (CaptureLine(raw, number * 700_000) for number, raw in enumerate(pieces_of(reader)))
    write_capture(path, {"line": "19200 8N1"}, lines)
    code, output = run("--port", f"file:{path}")
    assert code == 0, output
    assert f"{name} at 19200 8N1: " in output
    (found,) = (
        msgspec.convert(each, ReaderSettings)
        for each in tomllib.loads(output[output.index("[[reader]]") :])["reader"]
    )
    assert found.driver == name
    if name == "line-scanner":
        kept = CR_PRESETS if options["preset"] in CR_PRESETS else {options["preset"]}
        assert found.options["preset"] in kept
        assert {**found.options, "preset": options["preset"]} == options
    line = msgspec.structs.replace(create_driver(name, found.options).line, **found.line)
    assert line.baudrate == 19200
