"""
`verify --refold` finds changes in a journal whose chain was rewritten, and names what it cannot
judge.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from itertools import chain, count, groupby
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from msgspec.structs import replace

from drivers.angel_eye_ii import AngelEyeII
from drivers.angel_eye_ii.codec import Report
from drivers.driver import Frame, FrameKind
from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from drivers.simulators.simulator import find_simulator
from shoe_daemon import __version__
from shoe_daemon.cli import verify
from shoe_daemon.config.table import load_config
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import DECK
from shoe_daemon.journal import Entry, Journal, JournalReader, Step
from shoe_daemon.journal import refold as refolding
from shoe_daemon.journal.reader import Capture
from shoe_daemon.service import Core
from shoe_daemon.service.clock import Clock
from shoe_daemon.table import BettingClosed, Event
from shoe_daemon.table.observations import (
    AnyObservation,
    Booted,
    CardDrawn,
    Command,
    DeviceError,
    Gap,
    GapDetail,
    Link,
    Session,
)
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import to_microseconds
from tests.journal.journal_entries import run_journal
from tests.service.daemon_process import configure
from tests.volume import volume

OLDER = "0.0.1"


class Desk:
    """A core with an Angel Eye and controlled clocks."""

    def __init__(self, folder: Path) -> None:
        self.config = configure(folder, 'house = "chickasaw"', line=folder / "shoe")
        self.path = self.config.with_name("journal.db")
        self.wall, self.monotonic = 1_800_000_000_000_000, 100.0
        self.start()

    def start(self) -> None:
        """Start the daemon's core and open the line."""
        self.core = Core(load_config(self.config))
        clock = {"wall": lambda: self.wall, "monotonic": lambda: self.monotonic}
        self.core.clock = Clock(self.core.table.state.now, **clock)  # type: ignore[arg-type]
        self.core.record_start()
        self.decoder = AngelEyeII().decoder()
        self.say(Link(up=True))

    def say(self, *observations: AnyObservation) -> None:
        """Process the reader's own observations of its line."""
        frame = Frame(b"", FrameKind.FRAME, observations, self.monotonic)
        self.core.process([("shoe", frame)])

    def reconnect(self) -> None:
        """Lose and reopen the line."""
        self.say(Link(up=False, detail="gone"))
        self.decoder.reset()
        self.say(Link(up=True), Gap(detail=GapDetail.RECONNECT))

    def send(self, data: bytes) -> None:
        """Receive bytes in chunks, one per second."""
        for start in range(0, len(data), 20):
            self.pass_by(1)
            for frame in self.decoder.feed(data[start : start + 20], self.monotonic):
                self.core.process([("shoe", frame)])

    def pass_by(self, seconds: float) -> None:
        """Advance both clocks."""
        self.wall += int(seconds * 1_000_000)
        self.monotonic += seconds
        self.core.process_deadlines()


DATA = scenario(Settings(rounds=6, seed=4, mode=Mode.OPEN)).stream(3)
CUT = DATA[: len(DATA) // 3], DATA[len(DATA) // 3 : len(DATA) // 2], DATA[len(DATA) // 2 :]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The journal of two starts, with a lost line, lost frames and repeats."""
    desk = Desk(tmp_path_factory.mktemp("desk") / "table")
    desk.send(CUT[0])
    desk.reconnect()
    desk.send(CUT[1])
    desk.core.close()
    desk.start()
    desk.send(CUT[2])
    desk.core.close()
    return desk.path


@pytest.fixture
def path(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(recorded, tmp_path))


def refolded(path: Path) -> Result:
    return run_journal("verify", path, "--refold")


def answer(path: Path) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(run_journal("verify", path, "--refold", "--json").stdout)
    return whole


Change = Callable[[int, AnyObservation], AnyObservation]
Rewrite = Callable[[Event], Event | None]


def rewritten(
    path: Path,
    change: Change = lambda _id, observation: observation,
    rewrite: Rewrite = lambda event: event,
    *,
    without_bytes: int | None = None,
) -> Path:
    """Rewrite a journal with a consistent chain, as an owner of disk and program can."""
    target = path.with_name("rewritten.db")
    table, numbers = Table(), count(1)

    def step(identifier: int, observation: AnyObservation) -> Step:
        changed = change(identifier, observation)
        events = table.apply(changed)
        started = any(event.type == "shoe_started" for event in events)
        written = [each for event in events if (each := rewrite(event)) is not None]
        numbered = [replace(event, seq=next(numbers)) for event in written]
        return Step(changed, numbered, table.checkpoint() if started else None)

    with JournalReader(path) as reader, Journal.open(target, "hall", "table-7") as journal:
        captures: dict[int | None, Capture] = {each.id: each for each in reader.captures(1 << 40)}
        rows = reader.observation_rows(1 << 40)
        for key, group in groupby(rows, lambda row: (row.capture, row.id == without_bytes)):
            capture = None if key[1] else captures.get(key[0])
            steps = [step(row.id, row.observation) for row in group]
            entry = Entry(b"", steps)
            if capture is not None:
                entry = Entry(capture.raw, steps, capture.at, capture.source)
            journal.append([entry])
    return target


def cards(path: Path) -> Iterator[int]:
    with JournalReader(path) as reader:
        for row in reader.observation_rows(1 << 40):
            if isinstance(row.observation, CardDrawn) and row.observation.card is not None:
                yield row.id


def changing(victim: int, **fields: object) -> Change:
    """Change fields of one observation."""
    return lambda identifier, observation: (
        replace(observation, **fields) if identifier == victim else observation
    )


def older(_id: int, observation: AnyObservation) -> AnyObservation:
    return replace(observation, program=OLDER) if isinstance(observation, Session) else observation


def test_the_raw_bytes_decode_to_the_observations(path: Path) -> None:
    result = answer(path)
    assert result["good"], result
    assert result["refold"]["raw"] == {"compared": result["captures"], "notes": []}
    assert result["captures"] > 40
    assert result["refold"]["events"] == result["events"]
    assert f"{result['captures']} captures decode to the same" in refolded(path).stdout


@pytest.mark.parametrize(
    "fields",
    [{"card": None}, {"source": "other"}, {"at": "2027-01-15T08:00:00.000Z"}],
    ids=["card", "source", "at"],
)
def test_an_observation_that_was_altered_is_found_though_all_was_chained_anew(
    path: Path, fields: dict[str, Any]
) -> None:
    victim = list(cards(path))[7]
    changed = rewritten(path, changing(victim, **fields))
    assert run_journal("verify", changed).exit_code == 0
    result = refolded(changed)
    assert result.exit_code == 1
    assert f"BROKEN at observation {victim}, shoe 1, round 1, 2027-01-15T08:00:" in result.stdout
    assert "Z: it is " in result.stdout
    assert ", but its raw bytes (capture " in result.stdout


def test_an_observation_without_its_raw_bytes_is_found(path: Path) -> None:
    victim = list(cards(path))[5]
    result = refolded(rewritten(path, without_bytes=victim))
    assert result.exit_code == 1
    assert f"BROKEN at observation {victim}" in result.stdout
    assert "but has no raw bytes" in result.stdout


def test_bytes_that_were_removed_with_their_observations_are_found(path: Path) -> None:
    """The device numbers its reports."""
    victim = list(cards(path))[5]

    def vanish(identifier: int, observation: AnyObservation) -> AnyObservation:
        return Link(at=observation.at, up=True) if identifier == victim else observation

    result = refolded(rewritten(path, vanish, without_bytes=victim))
    assert result.exit_code == 1
    assert '"type":"gap"' in result.stdout


def test_a_journal_that_does_not_record_its_drivers_is_good_and_says_so(path: Path) -> None:
    def unrecorded(_id: int, observation: AnyObservation) -> AnyObservation:
        if not isinstance(observation, Session):
            return observation
        return replace(observation, program=None, readers=())

    result = refolded(rewritten(path, unrecorded))
    assert result.exit_code == 0, result.output
    assert "0 captures decode" in result.stdout
    assert "the session does not record its drivers" in result.stdout


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"driver": "gone"}, "no driver 'gone'; there are: "),
        ({"options": {"speed": 1}}, "options of driver 'angel-eye-ii': "),
        ({"id": "another"}, "the session records no such reader"),
    ],
)
def test_a_reader_that_cannot_be_decoded_again_is_named(
    path: Path, fields: dict[str, Any], reason: str
) -> None:
    def other(_id: int, observation: AnyObservation) -> AnyObservation:
        if not isinstance(observation, Session):
            return observation
        readers = tuple(replace(each, **fields) for each in observation.readers)
        return replace(observation, readers=readers)

    result = answer(rewritten(path, other))
    assert result["good"]
    (note,) = result["refold"]["raw"]["notes"]
    assert (note["source"], note["captures"]) == ("shoe", result["captures"])
    assert reason in note["reason"]


def test_another_version_of_a_driver_is_no_proof_of_a_change(path: Path) -> None:
    victim = list(cards(path))[2]

    def alter(identifier: int, observation: AnyObservation) -> AnyObservation:
        if isinstance(observation, Session):
            readers = tuple(replace(each, version=OLDER) for each in observation.readers)
            return replace(observation, readers=readers)
        return replace(observation, card=None) if identifier == victim else observation

    result = answer(rewritten(path, alter))
    assert result["good"]
    (note,) = result["refold"]["raw"]["notes"]
    assert f"by version {OLDER} of driver angel-eye-ii; installed is " in note["reason"]
    assert (note["captures"], note["first"]["row"]) == (1, f"observation {victim}")
    assert result["refold"]["raw"]["compared"] == result["captures"] - 1


def test_a_decoder_that_raises_ends_the_comparison_of_its_reader(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Raising:
        limit = other_version = None

        def decode(self, raw: bytes, seconds: float) -> list[AnyObservation]:
            raise ValueError("on purpose")

        def reset(self) -> None:
            raise AssertionError

    monkeypatch.setattr(verify, "_decoder_of", lambda _record: Raising())
    result = refolded(path)
    assert result.exit_code == 0, result.output
    assert "its driver raises ValueError: on purpose" in result.stdout


def test_two_boots_are_no_repeat_though_the_clock_was_put_back_between_them(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path / "table")
    boot = Report(0, "S", b"").to_bytes()
    for _ in range(3):
        for frame in desk.decoder.feed(boot, desk.monotonic):
            desk.core.process([("shoe", frame)])
        desk.wall -= 60_000_000
        desk.monotonic += 30
        desk.core.process_deadlines()
    desk.core.close()
    with JournalReader(desk.path) as reader:
        rows = list(reader.observation_rows(100))
    assert sum(isinstance(row.observation, Booted) for row in rows) == 3
    spans = [to_microseconds(row.observation.at) for row in rows[-2:]]
    assert spans[1] - spans[0] <= 5_000_000
    assert refolded(desk.path).exit_code == 0


def reworded(event: Event) -> Event:
    """Make an event as another version might have."""
    if not isinstance(event.data, BettingClosed):
        return event
    return replace(event, data=BettingClosed("no_more_bets"))


def fewer(event: Event) -> Event | None:
    """Leave out events that another version might not have written."""
    return None if event.type == "betting_closed" else event


def test_events_of_another_version_are_no_alarm_and_the_same_of_this_one_are(path: Path) -> None:
    alarm = refolded(rewritten(path, rewrite=reworded))
    assert alarm.exit_code == 1
    assert "BROKEN at observation " in alarm.stdout
    path.with_name("rewritten.db").unlink()
    changed = rewritten(path, older, reworded)
    result = answer(changed)
    assert result["good"]
    assert result["broken"] is None
    (part,) = result["refold"]["other_versions"]
    assert (part["program"], part["from_event"], part["to_event"]) == (OLDER, 1, result["events"])
    assert part["observations"] >= 5
    assert "betting_closed" in part["first"]["what"]
    text = refolded(changed)
    assert text.exit_code == 0
    assert "another version of the program wrote other events (below)" in text.stdout
    assert f"were written by version {OLDER}; version {__version__} makes other events" in (
        text.stdout
    )


def test_what_this_version_wrote_after_an_upgrade_in_mid_shoe_is_judged(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "table")
    desk.send(CUT[0])
    desk.core.observe(DeviceError(code="E7"))
    desk.core.close()
    # The older version's event numbers are behind those of today's folding.
    before = rewritten(desk.path, older, fewer)
    before.replace(desk.path)
    desk.start()
    # The id is that of the table restored at this start.
    closed = desk.core.judge(Command(name="acknowledge", operator="ann"))
    assert "irregularity_closed" in [event.type for event in closed.caused]
    desk.send(CUT[1] + CUT[2])
    desk.core.close()
    result = answer(desk.path)
    assert result["good"], result
    assert [part["program"] for part in result["refold"]["other_versions"]] == [OLDER]
    assert result["refold"]["other_versions"][0]["to_event"] < result["events"]

    last = list(cards(desk.path))[-1]
    changed = rewritten(desk.path, changing(last, card=None))
    assert refolded(changed).exit_code == 1


def test_progress_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refolding, "_PROGRESS_EVERY", 10)
    told: list[tuple[int, int]] = []

    def unknown(_record: object) -> Any:  # noqa: ANN401 - never returns
        raise UserError("not here")

    with JournalReader(path) as reader:
        total = reader.head().observation
        refolding.refold(reader, unknown, progress=lambda *each: told.append(each))
    assert told == [(done, total) for done in range(10, total + 1, 10)]


TEXT_READERS = {
    "bee-tek": "",
    "line-scanner": 'preset = "no-terminator"\ncards_file = "deck.toml"',
    "json-lines": "",
    "mqtt-camera": 'slots = ["P1", "P2", "P3", "B1", "B2", "B3"]',
}
PORTS = {"mqtt-camera": "mqtt://127.0.0.1/cards"}


@pytest.mark.parametrize("name", TEXT_READERS)
def test_readers_that_depend_on_time_and_files_are_decoded_again(
    name: str, tmp_path: Path
) -> None:
    """Repeats, noise and the file are not stored, so that the gaps among them prove nothing."""
    config = tmp_path / "table.toml"
    table = "\n".join(f'"{card}" = "{card}"' for card in DECK)
    (tmp_path / "deck.toml").write_text(table)
    config.write_text(
        f'site = "a"\n[[reader]]\ndriver = "{name}"\n'
        f'port = "{PORTS.get(name, "/dev/null")}"\n'
        f"[reader.options]\n{TEXT_READERS[name]}\n"
    )
    setup = load_config(config)
    core, monotonic = Core(setup), 100.0
    clock = {"wall": lambda: 1_800_000_000_000_000 + int(monotonic * 1e6)}
    core.clock = Clock(core.table.state.now, **clock, monotonic=lambda: monotonic)
    core.record_start()
    driver = setup.readers[0].driver
    decoder = driver.decoder()
    faults = tuple(each for each in find_simulator(name).faults if each is not Fault.UNPLUG)
    settings = Settings(rounds=volume(12, 40), seed=4, faults=faults, fault_rate=0.5)
    for scene in find_simulator(name)(driver).scenes(settings, once=False):
        for at, data in chain.from_iterable(step.writes() for step in scene.steps):
            monotonic = 100 + at
            for received in (b"", data):
                frames = decoder.feed(received, monotonic)
                core.process([("shoe", frame) for frame in frames])
    core.close()
    (tmp_path / "deck.toml").unlink()
    result = refolded(tmp_path / "journal.db")
    assert result.exit_code == 0, result.output
    assert "decoded otherwise" not in result.output
    assert "not compared" not in result.output


def test_after_a_flood_a_difference_proves_nothing_and_before_it_all_is_proved(
    tmp_path: Path,
) -> None:
    desk = Desk(tmp_path / "table")
    desk.send(CUT[0])
    for number in range(60):
        raw = Report(number % 9 + 1, "L", bytes((0x80 | number % 2,))).to_bytes()
        for frame in desk.decoder.feed(raw, desk.monotonic):
            desk.core.process([("shoe", frame)])
    desk.send(DATA[len(CUT[0]) :])
    desk.core.close()
    with JournalReader(desk.path) as reader:
        (flood,) = [
            row.id
            for row in reader.observation_rows(1 << 40)
            if isinstance(row.observation, Gap) and row.observation.detail is GapDetail.FLOOD
        ]
    assert answer(desk.path)["good"]
    before = [each for each in cards(desk.path) if each < flood]
    after = [each for each in cards(desk.path) if each > flood]
    assert "BROKEN" in refolded(rewritten(desk.path, changing(before[3], card=DECK[5]))).stdout
    desk.path.with_name("rewritten.db").unlink()
    result = refolded(rewritten(desk.path, changing(after[3], card=DECK[5])))
    assert result.exit_code == 0
    assert "the bytes of a flood before them are not stored" in result.stdout
