"""
Playback reaches all readers completely, over pty, TCP and a broker, with unplugging and slow
readers.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import pytest
import serial
from msgspec.structs import replace
from structlog.testing import capture_logs

from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Frame
from drivers.mqtt_camera import MqttCamera
from drivers.reader_thread import Reader
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Scenario, Settings, scenario, scenes
from drivers.simulators.lines import Line, PtyLine, TcpLine
from drivers.simulators.mqtt_camera import SimulatedRecogniser
from drivers.simulators.shoe import Fault
from drivers.simulators.simulator import (
    Pace,
    find_simulator,
    play,
    simulator_names,
)
from drivers.transport import open_transport
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import (
    CardDrawn,
    Disclosed,
    Gap,
    GapDetail,
    Link,
    Observation,
    Role,
)
from tests.brokers import Listener as BrokerListener
from tests.brokers import Mosquitto, free_port, mosquitto
from tests.waiting import PATIENCE, wait_for

__all__ = ["mosquitto"]

AT_ONCE = Pace(speed=0)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


@pytest.fixture(params=["pty", "tcp"])
def line(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Line]:
    made = (
        PtyLine(tmp_path / "shoe") if request.param == "pty" else TcpLine("127.0.0.1", free_port())
    )
    yield made
    made.close()


class Listener:
    """A real reader on a line."""

    def __init__(self, line: Line, room: int = 1000) -> None:
        self.inbox: queue.Queue[Frame] = queue.Queue(room)
        driver = AngelEyeII()
        sink = partial(self.inbox.put, timeout=0.1)
        self.reader = Reader("shoe", driver, line.address, driver.line, sink)
        self.is_open: list[Observation] = []
        self.of_shoe: list[Observation] = []

    def __enter__(self) -> Self:
        self.reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.reader.stop()
        assert self.reader.join(PATIENCE)

    def hear(self, count: int) -> list[Observation]:
        """Wait for a number of observations of the shoe."""
        while len(self.of_shoe) < count:
            said = self.inbox.get(timeout=PATIENCE).observations
            self.is_open += said
            self.of_shoe += [about for about in said if not isinstance(about, Link | Gap)]
        return self.of_shoe


def said_by(played: Scenario) -> list[Observation]:
    frames = AngelEyeII().decoder().feed(played.stream(), 0)
    said = [observation for frame in frames for observation in frame.observations]
    return [observation for observation in said if not isinstance(observation, Gap)]


class Show:
    """A playback in its own thread."""

    def __init__(self, line: Line, settings: Settings, pace: Pace = AT_ONCE) -> None:
        self.stopping = threading.Event()
        self.played = 0
        self._show = play(scenes(settings), line, pace, self.stopping)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        for _ in self._show:
            self.played += 1

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self.join()

    def join(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


def test_a_reader_hears_all_that_is_played(line: Line) -> None:
    settings = Settings(shoes=1, seed=6)
    said = said_by(scenario(settings))
    with Listener(line) as listener, Show(line, settings) as show:
        assert listener.hear(len(said)) == said
        show.join()
        counts = listener.reader.counts
        wait_for(lambda: counts.repeats == 2 * counts.frames, "the repeats of the last report")
        assert counts.noise == 0


SERIAL = [name for name in simulator_names() if not hasattr(find_simulator(name), "open_line")]


@pytest.mark.parametrize("name", SERIAL)
def test_each_simulated_reader_is_heard_by_its_driver(line: Line, name: str) -> None:
    # As fast as it goes, no time tells a card from its repeat.
    options = {"line-scanner": {"repeat_window": 0}, "json-lines": {"resend_cooldown": 0}}
    driver = create_driver(name, options.get(name))
    simulator, settings = find_simulator(name)(driver), Settings(rounds=20, seed=6)
    played = list(simulator.scenes(settings, once=True))
    dealt = [card for scene in played if scene.round for _, card in scene.round.cards]
    inbox: queue.Queue[Frame] = queue.Queue()
    reader = Reader("shoe", driver, line.address, driver.line, inbox.put)
    reader.start()
    for _ in play(played, line, Pace(speed=0, copies=1), threading.Event()):
        pass
    cards: list[Observation] = []
    while len(cards) < len(dealt):
        said = inbox.get(timeout=PATIENCE).observations
        cards += [
            each
            for each in said
            if isinstance(each, Disclosed)
            or (isinstance(each, CardDrawn) and each.card and each.role is Role.PLAY)
        ]
    reader.stop()
    assert reader.join(PATIENCE)
    assert [getattr(each, "card", None) for each in cards] == dealt


def test_the_first_rounds_come_at_once_and_without_faults(line: Line) -> None:
    settings = Settings(rounds=6, warm_up=5, seed=6, faults=(Fault.MISREAD,), fault_rate=1)
    dealt = scenario(settings)
    assert [each.fault for each in dealt.rounds] == [None] * 5 + [Fault.MISREAD]
    said = said_by(scenario(replace(settings, rounds=5)))
    # At the real pace, the round after them takes longer than this test waits.
    with Listener(line) as listener, Show(line, settings, Pace(warm_up=5)):
        assert listener.hear(len(said)) == said


def test_a_slow_listener_holds_the_player_up_and_misses_nothing(line: Line) -> None:
    settings = Settings(shoes=3, seed=6)  # more than a terminal holds for its reader
    said = said_by(scenario(settings))
    with Listener(line, room=1) as listener, Show(line, settings):
        wait_for(lambda: listener.reader.blocked_since)
        assert listener.hear(len(said)) == said


def test_what_a_pulled_plug_loses_is_lost_and_the_rest_arrives(line: Line) -> None:
    settings = Settings(rounds=6, seed=2, faults=(Fault.UNPLUG,), fault_rate=0.4)
    played = scenario(settings)
    losses = sum(step.unplugged > 0 for step in played.steps)
    said = said_by(played)
    with Listener(line) as listener, Show(line, settings):
        assert listener.hear(len(said)) == said
        gaps = [gap.detail for gap in listener.is_open if isinstance(gap, Gap)]
        assert gaps.count(GapDetail.RECONNECT) == losses > 0
        links = [link.up for link in listener.is_open if isinstance(link, Link)]
        assert links == [True] + [False, True] * losses


def test_nothing_is_played_before_somebody_listens(line: Line) -> None:
    settings = Settings(rounds=2, seed=6)
    said = said_by(scenario(settings))
    with Show(line, settings) as show:
        show.stopping.wait(0.1)  # it may try
        with Listener(line) as listener:
            assert listener.hear(len(said)) == said


def test_who_takes_long_to_open_a_terminal_misses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    throw_away = vars(serial.Serial)["_reset_input_buffer"]  # the last step of an opening

    def late(port: serial.Serial) -> None:
        time.sleep(0.5)  # a slow machine
        throw_away(port)

    monkeypatch.setattr(serial.Serial, "_reset_input_buffer", late)
    settings = Settings(rounds=2, seed=6)
    said = said_by(scenario(settings))
    line = PtyLine(tmp_path / "shoe")
    with Listener(line) as listener, Show(line, settings):
        assert listener.hear(len(said)) == said
    line.close()


def test_a_player_stops_at_once(line: Line) -> None:
    with Listener(line) as listener, Show(line, Settings(seed=6), Pace(speed=0.01)) as show:
        listener.hear(1)
        show.stopping.set()
        show.join()


class TestPty:
    def test_the_link_is_there_while_the_line_is(self, tmp_path: Path) -> None:
        link = tmp_path / "shoe"
        line = PtyLine(link)
        assert line.address == str(link)
        first = link.readlink()
        line.unplug()
        line.plug()
        assert link.is_symlink()
        open_transport(str(link), AngelEyeII.line).close()
        line.close()
        assert not link.is_symlink()
        assert first.parent.name == "pts"

    def test_a_stale_link_is_replaced_and_a_file_is_not(self, tmp_path: Path) -> None:
        link = tmp_path / "shoe"
        link.symlink_to("/dev/pts/none")
        PtyLine(link).close()
        link.write_text("mine")
        with pytest.raises(UserError, match="there is a file"):
            PtyLine(link)
        assert link.read_text() == "mine"
        with pytest.raises(UserError, match="No such file or directory"):
            PtyLine(tmp_path / "none" / "shoe")

    def test_bytes_pass_untouched_before_a_reader_has_set_the_terminal(self) -> None:
        line = PtyLine()
        every_byte = bytes(range(256))
        with Path(line.address).open("rb", buffering=0) as slave:
            line.send(every_byte, threading.Event())
            assert slave.read(256) == every_byte
        line.close()


class TestTcp:
    def test_every_client_hears_it(self) -> None:
        line = TcpLine("127.0.0.1", 0)
        transports = [open_transport(line.address, AngelEyeII.line) for _ in range(3)]
        wait_for(line.is_open)
        line.send(b"\x05", threading.Event())
        for transport in transports:
            assert transport.read() == b"\x05"
            transport.close()
        wait_for(lambda: not line.is_open())
        line.close()


@pytest.mark.mosquitto
class TestBroker:
    OPTIONS: ClassVar[dict[str, Any]] = {"slots": ["P1", "P2", "P3", "B1", "B2", "B3"]}

    def recogniser(self) -> tuple[MqttCamera, SimulatedRecogniser]:
        driver = create_driver("mqtt-camera", self.OPTIONS)
        assert isinstance(driver, MqttCamera)
        return driver, SimulatedRecogniser(driver)

    def test_what_is_published_while_it_is_away_is_lost(self, mosquitto: Mosquitto) -> None:
        line = self.recogniser()[1].open_line(f"mqtt://127.0.0.1:{mosquitto.port}/cards")
        stopping = threading.Event()
        with BrokerListener(mosquitto.port, "cards") as studio:
            line.send(b"1\n2\n", stopping)
            line.unplug()
            assert not line.is_ready()
            line.send(b"3\n", stopping)
            line.plug()
            assert line.is_ready()
            line.send(b"4\n", stopping)
            wait_for(lambda: len(studio.messages) >= 3, "the messages")
            assert [each.payload for each in studio.messages] == [b"1", b"2", b"4"]
            mosquitto.kill()
            wait_for(lambda: not line.is_open(), "the end of the connection")
            line.send(b"5\n", stopping)
        line.close()

    def test_a_broker_that_is_not_there_or_refuses_is_one_line(self, tmp_path: Path) -> None:
        simulator = self.recogniser()[1]
        url = f"mqtt://127.0.0.1:{free_port()}/cards"
        with pytest.raises(UserError, match=f"^{url}: Connection refused$"):
            simulator.open_line(url)
        with Mosquitto(tmp_path, "allow_anonymous false") as broker:
            url = f"mqtt://127.0.0.1:{broker.port}/cards"
            with pytest.raises(UserError, match=f"^{url}: the broker refuses us: Not authorized"):
                simulator.open_line(url)
