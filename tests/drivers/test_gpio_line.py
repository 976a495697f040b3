"""
Buttons on GPIO lines as a line: a press becomes text, and each fault is one line of text.

The chip is scripted here; `tests/machine` presses buttons on a chip of the kernel.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drivers import LineError, LineSettings, check_url, open_transport
from drivers.gpio_line import DEBOUNCE_S, Presses
from shoe_daemon.errors import UserError

NAMES = {17: "", 27: "", 5: "confirm"}
CLOSED, OPEN = "RISING_EDGE", "FALLING_EDGE"


class Chip:
    """
    A scripted gpiod with one chip, whose lines are 0 to 31.

    Attributes:
        held: Lines that are closed when they are requested.
        used: Lines that another program holds, and what it is called.
        failure: Raised by everything that asks the chip.
        can_debounce: False for a chip that refuses to.
        requests: The settings of each request that succeeded.
    """

    def __init__(self, device: Path) -> None:
        device.touch()
        self.device = device
        self.held: set[int] = set()
        self.used: dict[int, str] = {}
        self.failure: Exception | None = None
        self.can_debounce = True
        self.requests: list[tuple[list[int], dict[str, Any]]] = []
        self.fd, self._end = os.pipe()
        self._edges: list[SimpleNamespace] = []
        self._numbers = dict.fromkeys(NAMES, 0)

    def edge(self, line: int, kind: str, at: float, *, lost: int = 0) -> None:
        self._numbers[line] += 1 + lost
        self._edges.append(
            SimpleNamespace(
                line_offset=line,
                line_seqno=self._numbers[line],
                timestamp_ns=round(at * 1e9),
                event_type=kind,
            )
        )
        os.write(self._end, b"x")

    def open(self, path: str) -> Self:
        if self.failure is not None:
            raise self.failure
        assert path == str(self.device)
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def get_info(self) -> SimpleNamespace:
        return SimpleNamespace(num_lines=32)

    def get_line_info(self, line: int | str) -> SimpleNamespace:
        numbers = [number for number, name in NAMES.items() if name == line]
        if isinstance(line, str) and not numbers:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        number = line if isinstance(line, int) else numbers[0]
        if number >= 32:
            raise ValueError("line offset of out range")
        consumer = self.used.get(number, "")
        return SimpleNamespace(offset=number, used=number in self.used, consumer=consumer)

    def request_lines(self, config: dict[int, Any], consumer: str, size: int) -> Self:
        assert (consumer, size) == ("shoe-daemon", 256)
        (settings,) = {id(each): each for each in config.values()}.values()
        if "debounce_period" in settings and not self.can_debounce:
            raise ValueError(errno.EINVAL, "Invalid argument")
        self.requests.append((list(config), settings))
        return self

    def get_values(self, lines: list[int] | None = None) -> list[str]:
        if self.failure is not None:
            raise self.failure
        return ["ACTIVE" if line in self.held else "INACTIVE" for line in lines or ()]

    def read_edge_events(self) -> list[SimpleNamespace]:
        os.read(self.fd, 1000)
        edges, self._edges = self._edges, []
        return edges

    def release(self) -> None:
        pass

    def close(self) -> None:
        os.close(self.fd)
        os.close(self._end)


@pytest.fixture
def chip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Chip]:
    chip = Chip(tmp_path / "gpiochip0")
    line = SimpleNamespace(
        Direction=SimpleNamespace(INPUT="input"),
        Edge=SimpleNamespace(BOTH="both"),
        Bias=SimpleNamespace(PULL_UP="pull-up"),
        Value=SimpleNamespace(ACTIVE="ACTIVE"),
    )
    edge = SimpleNamespace(Type=SimpleNamespace(RISING_EDGE=CLOSED))
    gpiod = SimpleNamespace(
        Chip=chip.open, LineSettings=dict, line=line, EdgeEvent=edge, __path__=[], __spec__=line
    )
    monkeypatch.setitem(sys.modules, "gpiod", gpiod)
    monkeypatch.setitem(sys.modules, "gpiod.line", line)
    yield chip
    chip.close()


def test_a_press_is_the_text_of_its_line(chip: Chip) -> None:
    line = open_transport(f"gpio:{chip.device}:17, confirm,27", LineSettings())
    chip.edge(17, CLOSED, 1.0)
    chip.edge(17, OPEN, 1.2)
    chip.edge(5, CLOSED, 1.3)
    assert line.read() == b"17\rconfirm\r"
    assert line.read() == b""
    line.check()
    with pytest.raises(LineError, match="buttons are read-only: 1 bytes refused"):
        line.write(b"x")
    line.close()
    ((numbers, settings),) = chip.requests
    assert numbers == [17, 5, 27]
    assert settings["debounce_period"].total_seconds() == DEBOUNCE_S
    del settings["debounce_period"]
    expected = {"direction": "input", "edge_detection": "both", "bias": "pull-up"}
    assert settings == expected | {"active_low": True}


def test_a_button_that_is_held_at_the_start_is_no_press(chip: Chip) -> None:
    chip.held = {17}
    line = open_transport(f"gpio:{chip.device}:17,27", LineSettings())
    chip.edge(17, CLOSED, 1.0)  # some chips report the level at the start as an edge
    chip.edge(17, OPEN, 2.0)
    assert line.read() == b""
    chip.edge(17, CLOSED, 3.0)
    assert line.read() == b"17\r"
    line.close()


def test_a_chip_that_cannot_debounce_is_debounced_here(chip: Chip) -> None:
    chip.can_debounce = False
    line = open_transport(f"gpio:{chip.device}:17", LineSettings())
    for number, kind in enumerate((CLOSED, OPEN, CLOSED)):
        chip.edge(17, kind, 1 + number / 1000)
    for number, kind in enumerate((OPEN, CLOSED, OPEN)):
        chip.edge(17, kind, 3 + number / 1000)
    assert line.read() == b"17\r"
    assert "debounce_period" not in chip.requests[0][1]
    line.close()


Edges = st.lists(st.tuples(st.booleans(), st.floats(0, 0.1)))


@given(Edges)
def test_each_press_follows_a_rest_and_a_release(edges: list[tuple[bool, float]]) -> None:
    presses = Presses({17: "17"}, [])
    now, was_pressed, last = 0.0, False, -1.0
    for number, (pressed, later) in enumerate(edges, start=1):
        now += later
        is_press = pressed and not was_pressed and now - last >= DEBOUNCE_S
        assert presses.feed(17, number, now, pressed=pressed) == ("17\r" if is_press else "")
        was_pressed, last = pressed, now


def test_lost_edges_are_a_lost_line(chip: Chip) -> None:
    line = open_transport(f"gpio:{chip.device}:17", LineSettings())
    chip.edge(17, CLOSED, 1.0, lost=2)
    with pytest.raises(LineError, match="presses were lost: the computer was too busy"):
        line.read()
    line.close()


def test_a_chip_that_is_unplugged_or_replaced_is_a_lost_line(chip: Chip) -> None:
    url = f"gpio:{chip.device}:17"
    line = open_transport(url, LineSettings())
    chip.device.unlink()
    with pytest.raises(LineError, match="No such file or directory"):
        line.check()
    chip.device.symlink_to("/dev/null")
    with pytest.raises(LineError, match="the path leads to another chip now"):
        line.check()
    chip.failure = OSError(errno.ENODEV, "No such device")
    with pytest.raises(LineError) as raised:
        line.check()
    assert str(raised.value) == f"{url}: no such chip, or it was unplugged"
    line.close()


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("40", "no line 40; expected 0 to 31, or a name that `gpioinfo` lists"),
        ("17,amber", "no line 'amber'; expected 0 to 31, or a name that `gpioinfo` lists"),
        ("17,27", "line 27 is in use by 'tower'"),
        ("5,confirm", "5 and 'confirm' are the same line; expected it once"),
    ],
)
def test_a_line_that_cannot_be_used_is_named(chip: Chip, lines: str, text: str) -> None:
    chip.used[27] = "tower"
    with pytest.raises(LineError) as raised:
        open_transport(f"gpio:{chip.device}:{lines}", LineSettings())
    assert str(raised.value) == f"gpio:{chip.device}:{lines}: {text}"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (PermissionError(errno.EACCES, "Permission denied"), "Permission denied: the service nee"),
        (OSError(errno.EBUSY, "Device or resource busy"), "another program holds the line"),
        (OSError(errno.ENXIO, "No such device or address"), "the chip reports no edges of this l"),
        (ValueError(errno.EINVAL, "Invalid argument"), "Invalid argument"),
        (ValueError("two\nlines"), "two lines"),
    ],
)
def test_each_refusal_is_one_line(chip: Chip, error: Exception, text: str) -> None:
    chip.failure = error
    with pytest.raises(LineError) as raised:
        open_transport(f"gpio:{chip.device}:17", LineSettings())
    assert str(raised.value).startswith(f"gpio:{chip.device}:17: {text}")


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/dev/gpiochip99", "No such file or directory"),
        ("/dev/null", "no such chip, or it was unplugged"),
        ("/etc/hostname", "no GPIO chip: expected a device such as /dev/gpiochip0"),
    ],
)
def test_what_is_no_chip_is_one_line(path: str, text: str) -> None:
    with pytest.raises(LineError) as raised:
        open_transport(f"gpio:{path}:17", LineSettings())
    assert str(raised.value) == f"gpio:{path}:17: {text}"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("gpio:/dev/gpiochip0", "expected gpio:/dev/gpiochip0:17,27 with the numbers or the nam"),
        ("gpio:/dev/gpiochip0:", "expected gpio:/dev/gpiochip0:17,27"),
        ("gpio:/dev/gpiochip0:17,,27", "expected gpio:/dev/gpiochip0:17,27"),
        ("gpio:gpiochip0:17", "expected gpio:/dev/gpiochip0:17,27"),
        ("gpio:/dev/gpiochip0:Knöpfe", r"line 'Kn\xf6pfe'; expected its number, or at most 63 AS"),
        (f"gpio:/dev/gpiochip0:{'x' * 64}", "line 'xxx"),
        ("gpio:/dev/gpiochip0:17,017", "2 lines; expected each once, and at most 64"),
    ],
)
def test_chip_and_lines_are_expected(url: str, text: str) -> None:
    with pytest.raises(UserError) as raised:
        check_url(url)
    assert str(raised.value).startswith(f"port {url!r}: {text}")


def test_without_gpiod_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    check_url("gpio:/dev/gpiochip0:17,confirm")
    monkeypatch.setitem(sys.modules, "gpiod", None)
    with pytest.raises(UserError, match=r": needs gpiod: pip install 'shoe-daemon\[gpio\]'$"):
        check_url("gpio:/dev/gpiochip0:17,confirm")
