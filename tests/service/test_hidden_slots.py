"""
Logs that differ only in faces that were never disclosed publish the same bytes, in every reader's
encoding; and no published hash gives a face away.

A daemon reads bytes, with its own reader, journal and publisher, on a clock of the test and
without a broker, so that two runs can be compared byte for byte.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from msgspec.structs import replace

from drivers import Decoder, Driver, LineSettings, ReaderEnvironment, create_driver
from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code, place_code, result_code
from drivers.camera.messages import CameraDecoder, Say, Statement, encode_statement
from drivers.simulators.mqtt_camera import SimulatedRecogniser
from drivers.simulators.text_readers import (
    SimulatedBeeTek,
    SimulatedJsonLines,
    SimulatedLineScanner,
)
from drivers.transport import LineError
from shoe_daemon.config.table import load_config
from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.coup import DEALING_ORDER, Outcome, Slot
from shoe_daemon.journal import JournalReader
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.topics import STATUS
from shoe_daemon.service import Daemon
from shoe_daemon.service.clock import Clock
from shoe_daemon.table.observations import Role, Signal
from tests.journal.signing_keys import write_key
from tests.journal.test_verify import documented, rows_in_order
from tests.service.daemon_process import ROOT, configure
from tests.volume import sample

START_US: Final = 1_800_000_000_000_000
FACE: Final = re.compile(r"\b(?:[A2-9JQK]|10)[SHDC]\b")
SECRET: Final = {"8D": "10D", "8C": "9C", "8H": "AH", "8S": "KS", "7C": "10S"}
"""Hidden faces, and others of their suit that are nowhere else in the log."""

OPEN: Final = ("9S", "2H", "KD", "3C"), ("7S", "4H", "QD", "5C")
"""Two rounds that are turned over, before and after the hidden one: both are the Player's."""


class Hiding(NamedTuple):
    """
    A house that deals face down.

    Attributes:
        slots: The cards that are hidden.
        pause: Seconds for which they lie there; in a tucked style they are turned over after 3.
        end: The order that ends their round.
    """

    house: str
    slots: slice
    pause: float
    end: str

    def __str__(self) -> str:
        """Return its name in a report."""
        return f"{self.house}-{self.end}"


SQUEEZED: Final = Hiding("curator", slice(0, 5), 30, "void-round")
HIDING: Final = [
    SQUEEZED,
    Hiding("curator", slice(0, 5), 30, "new-shoe"),
    Hiding("chickasaw", slice(1, 4, 2), 0.5, "void-round"),
    Hiding("chickasaw", slice(1, 4, 2), 0.5, "new-shoe"),
    Hiding("seven-feathers", slice(0), 30, "void-round"),
]


class Said(NamedTuple):
    """A published message."""

    topic: str
    payload: bytes


def on_a_line(name: str, decoder: Callable[[], Decoder], signals: tuple[Signal, ...]) -> Driver:
    """Return a driver without its own way to open a line, if it has one."""
    parts = {"name": name, "signals": signals, "decoder": lambda _: decoder()}
    kind: type[Driver] = type("OnALine", (Driver,), parts)
    return kind()


class Encoding:
    """
    The bytes of one reader: the base has the text readers of the simulators.

    Attributes:
        hidden: Hidden cards of a round. Only a reader that names slots has a third one: which hand
            draws is seen, and follows from hidden faces.
    """

    hidden = 4

    def __init__(self, name: str, simulator: type[Any] | None = None, **options: object) -> None:
        self.name = name
        self.options = options
        self._simulator = simulator

    def __str__(self) -> str:
        """Return its name in a report."""
        return f"{self.name}{self.options.get('codes', '')}"

    def driver(self) -> Driver:
        """Return a new driver that begins to speak."""
        driver = create_driver(self.name, self.options)
        if self._simulator is not None:
            self._reader = self._simulator(driver)
            self._reader.once = True
        return on_a_line(self.name, driver.decoder, driver.signals)

    def boot(self) -> Iterator[bytes]:
        """Yield what is sent at the start of a shoe: the boot and two burned cards."""
        yield from self._texts(self._reader.card(Card("AC"), Role.FIRST))

    def card(self, slot: Slot, face: str) -> Iterator[bytes]:
        """Yield what is sent of a card."""
        del slot
        yield from self._texts(self._reader.card(Card(face), Role.PLAY))

    def burn(self, face: str) -> Iterator[bytes]:
        """Yield what is sent of a burned card."""
        yield from self._texts(self._reader.card(Card(face), Role.BURN))

    def result(self) -> Iterator[bytes]:
        """Yield what is sent at the end of a round."""
        yield from ()

    def _texts(self, messages: Iterable[tuple[float, bytes]]) -> Iterator[bytes]:
        for _, data in messages:
            yield data


class AngelEye(Encoding):
    """It numbers its reports, and names slots and results."""

    hidden = 5

    def driver(self) -> Driver:
        self._number = -1
        return super().driver()

    def _report(self, code: str, *data: int) -> bytes:
        self._number = 0 if code == "S" else self._number % 9 + 1
        return Report(self._number, code, bytes(data)).to_bytes()

    def boot(self) -> Iterator[bytes]:
        yield self._report("S")
        yield self._report("D", 0xC0, face_code(Card("AC")))

    def card(self, slot: Slot, face: str) -> Iterator[bytes]:
        yield self._report("D", place_code(slot), face_code(Card(face)))

    def burn(self, face: str) -> Iterator[bytes]:
        yield self._report("D", 0xD0, face_code(Card(face)))

    def result(self) -> Iterator[bytes]:
        yield self._report("G", result_code(Outcome.PLAYER, player_pair=False, banker_pair=False))


class Recogniser(Encoding):
    """Snapshots of the cards on the table, one more after each card."""

    hidden = 5

    def __init__(self) -> None:
        super().__init__("mqtt-camera", SimulatedRecogniser, slots=DEALING_ORDER)

    def card(self, slot: Slot, face: str) -> Iterator[bytes]:
        yield from self._texts(self._reader.lay(slot, Card(face)))

    def result(self) -> Iterator[bytes]:
        yield from self._texts(self._reader.clear())


class CameraLine(Encoding):
    """The lines of a camera above the throat, which names what it is less sure of, too."""

    def driver(self) -> Driver:
        return on_a_line("camera", CameraDecoder, ())

    def boot(self) -> Iterator[bytes]:
        yield encode_statement(Statement(say=Say.WATCHING, fps=25.0))

    def card(self, slot: Slot, face: str) -> Iterator[bytes]:
        card, patch = Card(face), f"20260504-211503.250-{slot}-{face}.jpg"
        yield encode_statement(Statement(say=Say.CARD, card=card, confidence=0.99, patch=patch))

    def burn(self, face: str) -> Iterator[bytes]:
        del face
        yield from ()


ENCODINGS: Final = [
    AngelEye("angel-eye-ii"),
    Encoding("bee-tek", SimulatedBeeTek),
    CameraLine("camera"),
    Encoding("json-lines", SimulatedJsonLines),
    Encoding("line-scanner", SimulatedLineScanner),
    Recogniser(),
    Encoding("line-scanner", SimulatedLineScanner, codes="a01", preset="handheld"),
]


class Stage:
    """A daemon that is turned by hand, and a broker that accepts everything at once."""

    def __init__(self, folder: Path, encoding: Encoding, table: str) -> None:
        self.now, self._mid, self.said = 1000.0, 0, list[Said]()
        text = f'{table}\n[journal]\nkey_file = "journal.key"\n[mqtt]\nhome_assistant = true'
        config = configure(folder, text, line="/dev/shoe")
        write_key(folder / "journal.key")
        self._steps: Iterator[Callable[[], bytes | None]]
        setup = load_config(config)
        (reading,) = setup.readers
        setup = replace(setup, readers=(replace(reading, driver=encoding.driver()),))
        environment = ReaderEnvironment(self._open, lambda: self.now, self.wait, lambda: 0.5)
        self.daemon = Daemon(setup, environment=environment)
        self.daemon.core.clock = Clock("", wall=self.wall, monotonic=lambda: self.now)
        assert self.daemon.publisher is not None
        self._state = self.daemon.publisher._state  # noqa: SLF001 - as a session of it
        self.journal = setup.journal

    def wall(self) -> int:
        """Return the time of day in microseconds."""
        return START_US + round((self.now - 1000) * 1_000_000)

    def play(self, steps: Iterable[Callable[[], bytes | None]]) -> list[Said]:
        """Play a log: each step gives bytes of the line, or does something else."""
        self._steps = iter(steps)
        self.daemon.core.record_start()
        self.daemon._state.publish()  # noqa: SLF001 - as at a start
        self.connect()
        self.daemon.readers[0].run()
        self.settle()
        self.said.append(Said("status of the end", self._state.status("offline")))
        self.daemon.core.close()
        return self.said

    def wait(self, seconds: float) -> None:
        """Let time pass, as a daemon sees it: it looks about every quarter of a second."""
        until = self.now + seconds
        while self.now < until:
            self.now = min(until, self.now + 0.25)
            self.settle()

    def connect(self) -> None:
        """Connect to the broker, as `Publication` does: everything again, then `online`."""
        outbox = self._state.outbox
        self.said.append(Said("last will", self._state.will()))
        outbox.restart(None)
        outbox.documents.requeue()
        outbox.documents.remove(STATUS)
        self._send()
        outbox.documents.put(STATUS, self._state.online, 0)
        self._send()

    def order(self, verb: str, number: int, **fields: object) -> None:
        """Give an operator's order."""
        order = {"id": f"order-{number}", "operator": "maria", "reason": "a test", **fields}
        message = MessageReceived(verb, json.dumps(order).encode())
        self.daemon._commands.receive(verb, message)  # noqa: SLF001
        self.settle()

    def settle(self) -> None:
        """Process what was received, and publish."""
        daemon = self.daemon
        while (item := daemon._inputs.get(0)) is not None:  # noqa: SLF001
            daemon._process([item])  # noqa: SLF001
        daemon._check()  # noqa: SLF001
        self._send()

    def _send(self) -> None:
        outbox = self._state.outbox
        while (message := outbox.next(self.now)) is not None:
            self._mid += 1
            outbox.mark_sent(message, self._mid)
            outbox.acknowledge(self._mid, 0, self.now)
            self.said.append(Said(message.topic, message.payload))

    # The line.

    def _open(self, _url: str, _line: LineSettings) -> Stage:
        return self

    def read(self) -> bytes:
        """Return what the line has next; the reader stops when the log is over."""
        self.settle()
        step = next(self._steps, None)
        if step is None:
            self.daemon.readers[0].stop()
            return b""
        return step() or b""

    def check(self) -> None:
        """Find the line open."""

    def write(self, data: bytes) -> None:
        """Take an answer."""

    def close(self) -> None:
        """Close the line."""


def the_log(
    stage: Stage, encoding: Encoding, hidden: Sequence[str], burned: str, table: Hiding
) -> Iterator[Callable[[], bytes | None]]:
    """Yield a shoe of which the second round ends before its cards are turned over."""
    orders = iter(range(1, 100))

    def says(data: Iterable[bytes]) -> Iterator[Callable[[], bytes | None]]:
        for each in data:
            yield lambda each=each: each  # type: ignore[misc]
            yield lambda: stage.wait(0.5)

    def order(verb: str, **fields: object) -> Callable[[], None]:
        return lambda: stage.order(verb, next(orders), **fields)

    def open_round(faces: Sequence[str]) -> Iterator[Callable[[], bytes | None]]:
        for slot, face in zip(DEALING_ORDER, faces, strict=False):
            yield from says(encoding.card(slot, face))
        yield order("reveal")
        yield from says(encoding.result())
        yield order("confirm-result")
        yield lambda: stage.wait(15)

    yield from says(encoding.boot())
    yield from says(encoding.burn(burned))
    yield from open_round(OPEN[0])
    for slot, face in zip(DEALING_ORDER, hidden, strict=False):
        yield from says(encoding.card(slot, face))
        yield stage.connect
    for number, slot in enumerate(DEALING_ORDER[: len(hidden)]):
        face = ("8D", "10D", "9C", "AH", "KS")[number % 5]
        yield order("correct-card", slot=slot, card=face, dry_run=True)
        yield order("enter-card", slot=slot, card=face, dry_run=True)
    yield order("enter-result", outcome="banker", dry_run=True)
    yield order("confirm-result", dry_run=True)
    yield order("undo", dry_run=True)
    yield lambda: stage.wait(table.pause)
    yield stage.connect
    yield _unplug
    yield order("hold", kind="card_off_table")
    yield from says(damaged(encoding.card(Slot.B3, hidden[1])))
    yield order(table.end)
    yield order("resume")
    yield stage.connect
    yield from says(encoding.result())
    yield lambda: stage.wait(700)
    yield from open_round(OPEN[1])
    yield stage.connect


def damaged(data: Iterable[bytes]) -> Iterator[bytes]:
    """Yield bytes of which the middle one is destroyed."""
    for each in data:
        yield each[: len(each) // 2] + b"\xff" + each[len(each) // 2 + 1 :]


def _unplug() -> None:
    raise LineError("gone")


@pytest.fixture(autouse=True)
def _same_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "token_hex", lambda _bytes: "5e55")


def run(
    folder: Path,
    encoding: Encoding,
    hidden: Sequence[str],
    burned: str = "6C",
    table: Hiding = SQUEEZED,
) -> tuple[list[Said], Path]:
    """Play the log, and return what was published outside ``staff/``, and the journal."""
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        stage = Stage(folder, encoding, f'house = "{table.house}"')
        patch.setattr(time, "monotonic", lambda: stage.now)
        patch.setattr(time, "time_ns", lambda: stage.wall() * 1000)
        said = stage.play(the_log(stage, encoding, hidden, burned, table))
    return [each for each in said if not each.topic.startswith(f"{ROOT}staff/")], stage.journal


def without_numbers(value: Any, name: str = "") -> Any:  # noqa: ANN401 - JSON
    """
    Return JSON without `seq` and the numbers derived from it, and with a mark in place of a hash.
    """
    if name in {"head", "head_at_connect", "signature"} and value is not None:
        assert re.fullmatch(r"[0-9a-f]{64}|[0-9a-f]{128}", value)
        return "a hash"
    if name == "signed":
        return without_numbers(json.loads(value))
    if isinstance(value, dict):
        numbers = {"seq", "head_seq", "irregularities", "from_seq", "to_seq"}
        # Identifiers of irregularities are made of `seq`; those of orders are texts.
        return {
            key: without_numbers(each, key)
            for key, each in value.items()
            if key not in numbers and not (key == "id" and isinstance(each, int))
        }
    if isinstance(value, list):
        return [without_numbers(each) for each in value]
    return value


def comparable(said: list[Said]) -> list[tuple[str, Any]]:
    return [(each.topic, without_numbers(json.loads(each.payload))) for each in said]


def shown(said: list[Said]) -> set[str]:
    """Return all faces that were published, apart from those in answers to who named them."""
    return {
        face
        for each in said
        if "/reply/" not in each.topic
        for face in FACE.findall(each.payload.decode())
    }


@pytest.mark.parametrize(
    ("encoding", "table"),
    sample([*product(ENCODINGS, HIDING)], 8),
    ids=str,
)
def test_hidden_faces_change_no_public_byte(
    tmp_path: Path, encoding: Encoding, table: Hiding
) -> None:
    before = tuple(SECRET)[: encoding.hidden]
    hidden = before[table.slots]
    plain, _ = run(tmp_path / "plain", encoding, before, table=table)
    assert not shown(plain) & {*hidden, *SECRET.values(), "6C", "10C"}
    assert {*OPEN[0], *OPEN[1], *before} - {*hidden} <= shown(plain)
    others = [SECRET[face] for face in hidden]
    swapped = [dict(zip(hidden, order, strict=True)) for order in (others, others[::-1])]
    logs = [([swap.get(face, face) for face in before], "6C") for swap in swapped]
    for number, (faces, burned) in enumerate([*logs, (before, "10C")]):
        other, _ = run(tmp_path / f"{number}", encoding, faces, burned, table)
        for one, two in zip(comparable(plain), comparable(other), strict=True):
            assert one == two, (faces, burned)


def found_by_search(journal: Path, said: list[Said], face: str, *, salted: bool) -> set[str]:
    """
    Try all cards in the place of a hidden face, from each published hash to the next.

    The searcher knows everything of the journal but the face and, if not `salted`, the salts.
    """
    published = {
        bytes.fromhex(digest)
        for each in said
        for digest in re.findall(r"\b[0-9a-f]{64}\b", each.payload.decode())
    }
    with JournalReader(journal) as reader:
        rows = rows_in_order(reader.connection)
    found = set()
    for first, (start, *_) in enumerate(rows):
        if start not in published:
            continue
        for card in DECK:
            digest = start
            for number, (stored, salt, *parts) in enumerate(rows[first + 1 :]):
                tried = [with_face(part, face, card.value) for part in parts if part != ""]
                digest = documented(digest, salt if salted else None, *tried)
                if stored in published:
                    if digest == stored and any(
                        f'"{face}"' in str(part)
                        for row in rows[first + 1 : first + 2 + number]
                        for part in row[2:]
                    ):
                        found.add(card.value)
                    break
    return found


def with_face(part: Any, face: str, other: str) -> Any:  # noqa: ANN401 - a column
    """Return a column with another face."""
    if isinstance(part, bytes):
        return part.replace(face.encode(), other.encode())
    return part.replace(face, other) if isinstance(part, str) else part


@pytest.mark.parametrize("encoding", sample(ENCODINGS[1:4], 3), ids=lambda each: each.name)
def test_no_published_hash_gives_a_hidden_face_away(tmp_path: Path, encoding: Encoding) -> None:
    hidden = tuple(SECRET)[: encoding.hidden]
    said, journal = run(tmp_path / "table", encoding, hidden)
    for face in hidden:
        assert found_by_search(journal, said, face, salted=False) == set()
        # Who knows the salts finds it: the search is the right one.
        assert found_by_search(journal, said, face, salted=True) == {face}
