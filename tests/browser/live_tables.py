"""
Broker, daemons and display behind a page, and the shoe, which the test deals from. Broker and
display are processes that tests can kill; a daemon is one where a test asks for it.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from itertools import count, cycle
from pathlib import Path
from threading import Event, Thread
from typing import Any, Self

from drivers.simulators.angel_eye import Mode, Scene, Settings, scenes
from drivers.simulators.lines import PtyLine
from drivers.simulators.simulator import Pace, play
from shoe_daemon.config.table import load_config
from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal import JournalReader
from shoe_daemon.service import Daemon
from tests.brokers import Mosquitto, free_port
from tests.browser.expected_roads import Ledger
from tests.browser.published_table import RETAINED
from tests.commands.command_table import SITE, Supervisor, write_config
from tests.service.daemon_process import SHOE_DAEMON, DaemonProcess, Shoe
from tests.waiting import PATIENCE, wait_for

__all__ = [
    "DisplayProcess",
    "Stage",
    "Table",
    "order",
    "play_on_line",
    "play_rounds",
    "round_of",
    "set_stage",
    "simulated",
]

# Retained documents survive a kill, as in the sample for real brokers; at once, not at leisure.
_LASTING = "persistence true\nautosave_interval 1\nautosave_on_changes true"
_numbers = count(1)


class DisplayProcess:
    """`shoe-daemon display` as a process of its own, always on the same port."""

    def __init__(self, folder: Path, broker: int, text: str = "") -> None:
        """
        Args:
            folder: Where its configuration and its log lie.
            broker: The port of the broker.
            text: More of the section ``[display]``, and further sections.
        """
        self.port = free_port()
        self.log = folder / "display.log"
        self.url = f"http://127.0.0.1:{self.port}"
        config = folder / "display.toml"
        config.write_text(
            f'[mqtt]\nport = {broker}\n[display]\nlisten = "127.0.0.1:{self.port}"\n{text}\n',
            encoding="utf-8",
        )
        self._command = (*SHOE_DAEMON, "display", "--config", str(config))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> Self:
        """Start it and wait until it answers."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log)
        wait_for(self._answers, "the display")
        return self

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log.read_text()
        asking = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with closing(asking), suppress(OSError):
            asking.request("GET", "/health")
            return asking.getresponse().status == HTTPStatus.OK
        return False

    def kill(self) -> None:
        """End it as a power cut would; does nothing to one that is not running."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


class DaemonThread:
    """The daemon in a thread of this process: it starts at once."""

    def __init__(self, config: Path) -> None:
        self.config = config
        self._daemon = Daemon(load_config(config, serving=True))
        self._thread = Thread(target=self._daemon.run, daemon=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        """Start it, and do not wait for anything."""
        self._thread.start()

    def kill(self) -> None:
        """End it; unlike a process it says farewell."""
        self._daemon.stop()
        self._thread.join(PATIENCE)


class Table(Supervisor):
    """A table, its daemon, its shoe, and its supervisor."""

    def __init__(
        self, port: int, name: str, daemon: DaemonThread | DaemonProcess, shoe: Shoe
    ) -> None:
        super().__init__(port, f"shoe/v1/{SITE}/{name}")
        self.name = name
        self.daemon = daemon
        self.shoe = shoe
        self.journal = daemon.config.with_suffix(".db")
        self._ledger = Ledger()
        self._reader: JournalReader | None = None

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        if self._reader is not None:
            self._reader.close()

    @property
    def path(self) -> str:
        """The address of its board, in English."""
        return f"/table/{self.name}?lang=en"

    def ledger(self) -> Ledger:
        """Read the journal as it is now."""
        if self._reader is None:
            self._reader = JournalReader(self.journal)
        return self._ledger.read_on(self._reader)

    def deal(self, *cards: str) -> None:
        """Let cards come out of the shoe, ``P1:AS``, and wait until the journal has them."""
        before = self.ledger().seq
        self.shoe.draw(*cards)
        wait_for(lambda: self.ledger().seq >= before + len(cards), f"{cards}")

    def is_online(self) -> bool:
        """Return whether its latest status is `online`."""
        said = self.of("status")
        return bool(said) and said[-1].json["state"] == "online"

    def clear(self) -> None:
        """End its daemon, and take away all that it has left at the broker."""
        self.daemon.kill()
        wait_for(lambda: b'"offline"' in self.of("status")[-1].payload, "its last word")
        cleared = [
            self._client.publish(f"{self.root}/{suffix}", b"", 1, retain=True)
            for suffix in RETAINED
        ]
        for each in cleared:
            each.wait_for_publish(PATIENCE)

    def freeze(self) -> None:
        """Let its daemon hang, which is a process, with open lines and without a word."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on after `freeze`."""
        self._signal(signal.SIGCONT)

    def _signal(self, number: signal.Signals) -> None:
        assert isinstance(self.daemon, DaemonProcess)
        self.daemon.process.send_signal(number)


class Stage:
    """One broker and one display for many tables."""

    def __init__(self, folder: Path, broker: Mosquitto, display: DisplayProcess) -> None:
        self.folder = folder
        self.broker = broker
        self.display = display

    @contextmanager
    def table(self, text: str = "", mqtt: str = "", *, killable: bool = False) -> Iterator[Table]:
        """
        Open a table; when it is closed nothing of it is left.

        Args:
            text: More of its section ``[table]``, and further sections.
            mqtt: More of its section ``[mqtt]``.
            killable: Whether its daemon is a process of its own.
        """
        name = f"table-{next(_numbers)}"
        folder = self.folder / name
        folder.mkdir()
        config = write_config(folder, name, self.broker.port, text)
        config.write_text(config.read_text().replace("[mqtt]\n", f"[mqtt]\n{mqtt}\n"))
        with ExitStack() as stack:
            shoe = stack.enter_context(Shoe(folder / "shoe"))
            daemon: DaemonProcess | DaemonThread
            daemon = DaemonProcess(config) if killable else DaemonThread(config)
            stack.enter_context(daemon)
            table = stack.enter_context(Table(self.broker.port, name, daemon, shoe))
            daemon.start()
            wait_for(table.is_online, "online")
            shoe.wait_heard()
            yield table
            table.clear()


@contextmanager
def set_stage(folder: Path, text: str = "", *, lasting: bool = False) -> Iterator[Stage]:
    """
    Start a broker and a display.

    Args:
        folder: For their files.
        text: More of the display's configuration.
        lasting: Whether the broker writes its retained documents, for a test that kills it.
    """
    lines = "allow_anonymous true"
    if lasting:
        lines += f"\n{_LASTING}\npersistence_location {folder}/"
    with (
        Mosquitto(folder, lines) as broker,
        DisplayProcess(folder, broker.port, text) as display,
    ):
        yield Stage(folder, broker, display)


# Ranks of a round's first four cards; all are naturals, and the suits go on from round to round,
# so that no card leaves the shoe too often: five, against the four cards of a round.
_DEALS = {
    "P": (("9", "2", "K", "J"), Outcome.PLAYER),
    "B": (("2", "9", "Q", "K"), Outcome.BANKER),
    "T": (("8", "8", "J", "Q"), Outcome.TIE),
}
_suits = cycle("SHDCH")


def round_of(letter: str) -> tuple[str, ...]:
    """Return the cards of a round with this outcome, such as ``P1:9S``."""
    places = ("P1", "B1", "P2", "B2")
    return tuple(
        f"{place}:{rank}{next(_suits)}"
        for place, rank in zip(places, _DEALS[letter][0], strict=True)
    )


def play_rounds(table: Table, sequence: str) -> None:
    """Deal rounds with these outcomes, and wait until the journal has them."""
    for letter in sequence:
        before = len(table.ledger().rounds)
        table.deal(*round_of(letter))
        table.shoe.call(_DEALS[letter][1])
        wait_for(lambda: len(table.ledger().rounds) > before, letter)  # noqa: B023 - now


def order(table: Table, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
    """Give an order that is carried out."""
    answer = table.order(verb, reason="as seen", **fields)
    assert answer["ok"], answer
    return answer


def simulated(shoe: Shoe, **settings: Any) -> Iterator[Scene]:  # noqa: ANN401 - of a scenario
    """Let the simulated shoe deal on this line, and give each scene when it was sent."""
    return play_on_line(shoe, scenes(Settings(mode=Mode.OPEN, **settings)))


def play_on_line(shoe: Shoe, dealt: Iterable[Scene]) -> Iterator[Scene]:
    """Play scenes on this line, as fast as it reads, and give each when it was sent."""
    line: PtyLine = shoe._line  # noqa: SLF001 - the simulator plays on the test's own line
    return play(dealt, line, Pace(speed=0, copies=1), Event())
