"""
Checks that an installed driver keeps its promises, and says for which bytes it does not.

`shoe-daemon check-driver NAME --captures FOLDER` prints a line for each promise. As a pytest
plugin (`pytest -p drivers.conformance --driver NAME --captures FOLDER`) it gives a test that asks
for `driver_promise` once for each promise. `docs/write-a-driver.md` explains the promises.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

import click
from msgspec import Struct

from drivers.capture import (
    CAPTURE_SUFFIXES,
    Capture,
    frames_of,
    load_capture,
    observations_of,
)
from drivers.driver import Driver, Frame, FrameKind
from drivers.registry import create_driver, find_driver
from drivers.simulators.angel_eye import Mode, Settings
from drivers.simulators.shoe import Fault
from drivers.simulators.simulator import find_simulator
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import Card, Slot
from shoe_daemon.table.observations import (
    BUTTON_COMMANDS,
    BettingOpen,
    Booted,
    CardDrawn,
    Command,
    CutCardSeen,
    DeviceError,
    Gap,
    NoMoreBets,
    Observation,
    Placed,
    Result,
    Role,
    Signal,
    TableCleared,
    Unreadable,
    encode_observation,
)

MAX_KEPT_BYTES: Final = 65_536
"""A decoder may keep so much of a frame that does not end."""

_JUNK_BYTES: Final = 150_000
_CUTS: Final = 20
_DAMAGED: Final = 60
"""Copies of the captures with lost, added and changed bytes."""

_SILENCE_S: Final = 60.0
_MAX_LOST: Final = 8
"""Cards that one gap may stand for."""

_NO_SIMULATOR: Final = "it names no simulator"

_SIGNALS_OF: Final[dict[type[Observation], tuple[Signal, ...]]] = {
    BettingOpen: (Signal.BETTING,),
    CutCardSeen: (Signal.CUT_CARD,),
    DeviceError: (Signal.FAULTS,),
    NoMoreBets: (Signal.BETTING,),
    Placed: (Signal.PLACEMENT,),
    Result: (Signal.RESULTS,),
    TableCleared: (Signal.CLEARED,),
    Unreadable: (Signal.FAULTS, Signal.PLACEMENT),
}
"""Any of them announces such an observation."""

_NOT_FROM_A_READER: Final = frozenset({"session", "tick", "link"})


class BrokenPromiseError(AssertionError):
    """A promise that the driver broke; one line with what it did."""


class Sample(NamedTuple):
    """A capture, with the driver as its header has the options."""

    path: Path
    driver: Driver
    capture: Capture


class Subject(Struct, frozen=True):
    """
    A driver under examination.

    Attributes:
        driver: With its default options.
        samples: Its captures, at least one.
        seed: Of everything that is chosen by chance.
    """

    driver: Driver
    samples: tuple[Sample, ...]
    seed: int = 0


Promise = Callable[[Subject], str | None]


def subject(name: str, captures: Path, *, seed: int = 0) -> Subject:
    """
    Return an installed driver with the captures of a folder; a `UserError` if there is no such
    driver or no capture, or one is invalid.
    """
    driver = create_driver(name)
    paths = sorted(path for path in captures.rglob("*") if path.suffix in CAPTURE_SUFFIXES)
    if not paths:
        raise UserError(f"{captures}: no capture in it; expected a file such as shoe.cap")
    return Subject(driver, tuple(_sample(name, path) for path in paths), seed)


def _sample(name: str, path: Path) -> Sample:
    capture = load_capture(path)
    return Sample(path, create_driver(name, capture.options), capture)


def interface_is_complete(given: Subject) -> None:
    """It has all parts of the interface, and an unknown option is refused in one line."""
    kind = find_driver(given.driver.name)
    _expect(kind is type(given.driver), f"it is called {kind.name!r}, and so is another driver")
    try:
        create_driver(given.driver.name, {"no such option": 1})
    except UserError as error:
        _expect("\n" not in str(error), f"its refusal has several lines: {error}")
    else:
        raise BrokenPromiseError("the option 'no such option' was accepted; expected a refusal")


def captures_mean_what_was_written_down(given: Subject) -> None:
    """Each capture decodes to the observations in the file beside it."""
    for path, driver, capture in given.samples:
        beside = _beside(path)
        _expect(
            beside.exists(), f"{path.name}: {beside.name} is missing beside it: --write writes it"
        )
        expected = beside.read_bytes().splitlines()
        found = _lines(Sample(path, driver, capture))
        for number, (one, other) in enumerate(zip(found, expected, strict=False), 1):
            _expect(one == other, f"{beside.name}:{number}: {one!r}; expected {other!r}")
        _expect(
            len(found) == len(expected),
            f"{path.name}: {len(found)} observations; expected {len(expected)}",
        )


def portions_do_not_matter(given: Subject) -> None:
    """The frames of a stream are the same as a whole, byte by byte, and in random portions."""
    chance = random.Random(given.seed)
    for path, driver, capture in given.samples:
        data = capture.data
        whole = _decode(driver, [data])
        portions = [[data[at : at + 1] for at in range(len(data))]]
        portions += [_cut(data, chance) for _ in range(_CUTS)]
        # A silence that lasts no time ends no frame.
        portions += [[part for piece in _cut(data, chance) for part in (piece, b"")]]
        for pieces in portions:
            sizes = [len(piece) for piece in pieces[:9]]
            told = f"{path.name}: other frames when the bytes come in portions of {sizes} …"
            _expect(_decode(driver, pieces) == whole, told)


def every_byte_is_in_a_frame(given: Subject) -> None:
    """The bytes of the frames, joined, are the bytes that were received."""
    for name, driver, data in _with_damaged(given):
        raw = b"".join(frame.raw for frame in _decode(driver, [data]))
        _expect(data.startswith(raw), f"{name}: the frames have other bytes than were received")
        kept = len(data) - len(raw)
        _expect(kept <= MAX_KEPT_BYTES, f"{name}: {kept} bytes at the end are in no frame")


def damage_raises_nothing(given: Subject) -> None:
    """Lost, added, changed and random bytes raise nothing, and give valid observations."""
    for name, driver, data in _with_damaged(given):
        for frame in _decode(driver, [data]):
            for each in frame.observations:
                try:
                    encode_observation(each)
                except (TypeError, ValueError) as error:
                    line = f"{name}: {frame.raw!r} gives {each!r}: {one_line(error)}"
                    raise BrokenPromiseError(line) from error


def memory_is_bounded(given: Subject) -> None:
    """Of junk without an end it keeps little."""
    _, driver, capture = given.samples[0]
    start = capture.data[: max(1, len(capture.data) // 200)]
    for pattern in (b"A", b"\x00", b"{", b"[", start, b"\x02", b"\x05"):
        data = pattern * (_JUNK_BYTES // len(pattern))
        kept = len(data) - sum(len(each.raw) for each in driver.decoder().feed(data, 0.0))
        _expect(kept <= MAX_KEPT_BYTES, f"of {len(data)} bytes {pattern[:9]!r} it keeps {kept}")


def reset_forgets_half_a_frame(given: Subject) -> None:
    """After `reset` a stream has the frames that a new decoder finds in it."""
    chance = random.Random(given.seed)
    for path, driver, capture in given.samples:
        expected = [each.raw for each in driver.decoder().feed(capture.data, 0.0)]
        for _ in range(_CUTS):
            decoder, at = driver.decoder(), chance.randrange(len(capture.data))
            decoder.feed(capture.data[:at], 0.0)
            decoder.reset()
            same = [each.raw for each in decoder.feed(capture.data, 0.0)] == expected
            _expect(same, f"{path.name}: after {at} bytes and reset() the stream has other frames")


def signals_are_declared(given: Subject) -> None:
    """It reports nothing that its signals do not announce, and nothing that is not a reader's."""
    for path, driver, capture in given.samples:
        for frame in _frames(driver, capture):
            for each in frame.observations:
                shown = f"{path.name}: {frame.raw!r} gives {encode_observation(each).decode()}"
                kind = type(each).__struct_config__.tag
                _expect(kind not in _NOT_FROM_A_READER, f"{shown}, which is no reader's to say")
                if isinstance(each, Command):
                    _expect(
                        each.name in BUTTON_COMMANDS, f"{shown}, which only an operator may order"
                    )
                _expect(not each.at and each.source is None, f"{shown} with `at` or `source`")
                needed = _SIGNALS_OF.get(type(each), ())
                if isinstance(each, CardDrawn) and each.slot is not None:
                    needed = (Signal.SLOTS, Signal.PLACEMENT)
                declared = not needed or not set(needed).isdisjoint(driver.signals)
                _expect(declared, f"{shown}, but its signals lack {' or '.join(needed)}")


def a_tag_has_one_face(given: Subject) -> None:
    """A tag has the same face whenever it is reported: it is a code of one physical card."""
    for path, driver, capture in given.samples:
        faces: dict[str, Card] = {}
        for frame in _frames(driver, capture):
            for each in frame.observations:
                if isinstance(each, CardDrawn) and each.tag and each.card:
                    before = faces.setdefault(each.tag, each.card)
                    shown = f"{path.name}: tag {each.tag} is {before}, and later {each.card}"
                    _expect(before is each.card, shown)


def frames_mean_the_same_alone(given: Subject) -> None:
    """Without repeats and noise the frames mean the same: an auditor decodes them again."""
    for path, driver, capture in given.samples:
        if any(line.mark is not None for line in capture.lines):
            continue  # the line was lost: an auditor begins again there
        frames = [each for each in _frames(driver, capture) if each.kind is FrameKind.FRAME]
        decoder, again = driver.decoder(), list[Frame]()
        for each in frames:
            again += decoder.feed(b"", each.received)
            again += decoder.feed(each.raw, each.received)
        again += decoder.feed(b"", frames[-1].received + _SILENCE_S) if frames else []
        # A gap that numbers show has no bytes: without repeats, more numbers are missing.
        same = _said(each for each in again if each.raw) == _said(frames)
        _expect(same, f"{path.name}: without its repeats and noise it means something else")


def the_simulator_speaks_to_the_driver(given: Subject) -> str | None:
    """The driver reads the cards that its simulator deals, all and in order."""
    if not given.driver.simulator:
        return _NO_SIMULATOR
    rounds, said = _simulate(given, ())
    dealt = [card for each in rounds for card in each]
    read = [each.card for each in said if _is_card(each)]
    told = f"its simulator deals {_few(dealt)}, and it reads {_few(read)}"
    _expect(read == dealt, f"with seed {given.seed} {told}")
    return None


def no_card_is_lost_in_silence(given: Subject) -> str | None:
    """A card that noise or a lost frame destroys leaves a gap: the round is partial."""
    if not given.driver.simulator:
        return _NO_SIMULATOR
    kinds = {Fault.NOISE, Fault.LOST_FRAME} & set(find_simulator(given.driver.name).faults)
    for fault in sorted(kinds):
        dealt, said = _simulate(given, (fault,))
        _expect_no_silent_loss(dealt, said, f"{fault}, seed {given.seed}")
    return None if kinds else "its simulator loses nothing"


def _simulate(
    given: Subject, faults: tuple[Fault, ...]
) -> tuple[list[list[Card]], list[Observation]]:
    """Return the cards of each round that the simulator deals, and what the driver says."""
    kind = find_simulator(given.driver.name)
    settings = Settings(mode=Mode.OPEN, rounds=30, seed=given.seed, faults=faults, fault_rate=1)
    scenes = list(kind(given.driver).scenes(settings, once=True))
    decoder, said, now = given.driver.decoder(), list[Observation](), 0.0
    for at, data in (piece for each in scenes for step in each.steps for piece in step.writes(1)):
        now = max(now, at)
        said += _said(decoder.feed(b"", now))
        said += _said(decoder.feed(data, now))
    said += _said(decoder.feed(b"", now + _SILENCE_S))
    return [[card for _, card in each.round.cards] for each in scenes if each.round], said


def _is_card(observation: Observation) -> TypeGuard[CardDrawn | Placed]:
    if isinstance(observation, CardDrawn):
        return observation.role is Role.PLAY
    return isinstance(observation, Placed)


def _expect_no_silent_loss(
    rounds: Sequence[Sequence[Card]], said: Iterable[Observation], where: str
) -> None:
    """
    Follow the cards that were dealt; some may be missing only after a gap or an unread card.

    The opening of the line counts as a gap: noise before the first card may have been one. The
    table itself notices that a round was cleared without its last cards, and that a card lies
    where another one was seen.
    """
    dealt = [card for each in rounds for card in each]
    begins = list(accumulate(map(len, rounds), initial=0))
    places, in_doubt = {0}, True  # equal cards leave several possibilities
    lying: dict[Slot, Card] = {}
    for each in said:
        is_other = isinstance(each, Placed) and lying.setdefault(each.slot, each.card) != each.card
        if isinstance(each, TableCleared):
            places = {next(begin for begin in begins if begin >= place) for place in places}
            lying.clear()
        elif is_other or isinstance(each, Gap | Booted | DeviceError | Unreadable):
            in_doubt = True
        elif _is_card(each):
            reach = _MAX_LOST if in_doubt else 1
            within = {at for place in places for at in range(place, place + reach)}
            found = {at + 1 for at in within if at < len(dealt) and dealt[at] == each.card}
            due = " or ".join(sorted({str(dealt[at]) for at in places if at < len(dealt)}))
            told = f"{where}: after {min(places)} cards it reads {each.card}"
            _expect(bool(found), f"{told}; expected {due or 'none'}, or a gap before it")
            places, in_doubt = found, False


def configurations_accept_it(given: Subject) -> None:
    """`shoe-daemon check-config` accepts a table with this driver."""
    if given.driver.opens_line:
        return  # its own kind of line needs a port that only its author knows
    reader = f'driver = "{given.driver.name}"\nport = "/dev/ttyUSB0"\n'
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.toml"
        path.write_text(f'site = "casino"\n[table]\nid = "table-1"\n[[reader]]\n{reader}')
        check = [sys.executable, "-m", "shoe_daemon", "check-config", str(path)]
        done = subprocess.run(check, capture_output=True, text=True, check=False)  # noqa: S603
    _expect(done.returncode == 0, " ".join(done.stderr.split()))


PROMISES: Final[tuple[Promise, ...]] = (
    interface_is_complete,
    captures_mean_what_was_written_down,
    portions_do_not_matter,
    every_byte_is_in_a_frame,
    damage_raises_nothing,
    memory_is_bounded,
    reset_forgets_half_a_frame,
    signals_are_declared,
    a_tag_has_one_face,
    frames_mean_the_same_alone,
    the_simulator_speaks_to_the_driver,
    no_card_is_lost_in_silence,
    configurations_accept_it,
)
"""
Each raises `BrokenPromiseError` for a driver that breaks it, and returns why it was not tried, if
it was not. Its docstring is the promise.
"""


def _expect(kept: bool, broken: str) -> None:  # noqa: FBT001 - as assert
    if not kept:
        raise BrokenPromiseError(broken)


def _beside(path: Path) -> Path:
    return path.with_suffix(".observations.jsonl")


def _lines(sample: Sample) -> list[bytes]:
    return [encode_observation(each) for each in observations_of(sample.driver, sample.capture)]


def _few(cards: Sequence[object]) -> str:
    return f"{len(cards)} cards ({' '.join(map(str, cards[:6]))} …)"


def _said(frames: Iterable[Frame]) -> list[Observation]:
    return [each for frame in frames for each in frame.observations]


def _frames(driver: Driver, capture: Capture) -> list[Frame]:
    """Return the frames with bytes; those without are the line's."""
    return [frame for frame in frames_of(driver, capture) if frame.raw]


def _decode(driver: Driver, pieces: Sequence[bytes]) -> list[Frame]:
    """Decode pieces that arrive at one time, and the silence after them."""
    decoder = driver.decoder()
    frames = [frame for piece in pieces for frame in decoder.feed(piece, 0.0)]
    return [*frames, *decoder.feed(b"", _SILENCE_S)]


def _cut(data: bytes, chance: random.Random) -> list[bytes]:
    cuts = sorted(chance.choices(range(len(data) + 1), k=chance.randint(1, 60)))
    return [data[one:other] for one, other in pairwise([0, *cuts, len(data)])]


def _with_damaged(given: Subject) -> Iterator[tuple[str, Driver, bytes]]:
    """Yield the captures, damaged copies of them, and random bytes."""
    for path, driver, capture in given.samples:
        yield path.name, driver, capture.data
    for number in range(_DAMAGED):
        chance = random.Random(f"{given.seed} {number}")
        path, driver, capture = chance.choice(given.samples)
        name = f"{path.name}, damaged with seed {given.seed} and number {number}"
        yield name, driver, _damage(capture.data, chance)
        yield f"random bytes {number}", driver, chance.randbytes(chance.randint(1, 5000))


def _damage(data: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(data)
    for _ in range(chance.randint(1, 30)):
        at, length = chance.randrange(len(damaged) + 1), chance.randint(1, 8)
        lost, added = chance.choice([(0, length), (length, 0), (length, length)])
        damaged[at : at + lost] = chance.randbytes(added)
    return bytes(damaged)


@click.command()
@click.argument("name")
@click.option(
    "--captures",
    default="captures",
    show_default=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder of captures (.cap, .hex, .bin) and their .observations.jsonl.",
)
@click.option("--seed", default=0, help="Another seed tries other damages.")
@click.option(
    "--write", is_flag=True, help="Write the observations of captures that have none yet."
)
def main(name: str, captures: Path, seed: int, *, write: bool) -> None:
    """Check the promises of the driver NAME: a line for each; status 1 if one is broken."""
    try:
        given = subject(name, captures, seed=seed)
    except UserError as error:
        click.echo(f"Error: {one_line(error)}", err=True)
        sys.exit(2)
    for sample in given.samples if write else ():
        if not _beside(sample.path).exists():
            _beside(sample.path).write_bytes(b"".join(line + b"\n" for line in _lines(sample)))
            click.echo(f"{_beside(sample.path)}: written; compare it with your protocol")
    found = [_verdict(promise, given) for promise in PROMISES]
    for promise, (word, why) in zip(PROMISES, found, strict=True):
        click.echo(f"{word:6}  {_sentence(promise)}")
        if why is not None:
            click.echo(f"        {why}")
    words = [word for word, _ in found]
    captured = len(given.samples)
    kept, broken = words.count("ok"), words.count("BROKEN")
    click.echo(
        f"{name}: {kept} promises kept, {broken} broken, {len(words) - kept - broken} not tried; "
        f"{captured} capture{'s' if captured > 1 else ''}"
    )
    sys.exit(1 if "BROKEN" in words else 0)


def _sentence(promise: Promise) -> str:
    return (promise.__doc__ or "").strip().partition("\n")[0]


def _verdict(promise: Promise, given: Subject) -> tuple[str, str | None]:
    """Return ok, BROKEN or --, and why; an exception out of the driver breaks a promise too."""
    try:
        untried = promise(given)
    except (BrokenPromiseError, UserError) as error:
        return "BROKEN", one_line(error)
    except Exception as error:  # noqa: BLE001 - a driver of another author may raise anything
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        return "BROKEN", f"it raised {type(error).__name__} at {place}: {one_line(error)}"
    return ("ok", None) if untried is None else ("--", f"not tried: {untried}")


def pytest_addoption(parser: Any) -> None:  # noqa: ANN401 - pytest's
    """Add the options of the plugin."""
    group = parser.getgroup("shoe-daemon", "conformance of a driver of shoe-daemon")
    group.addoption("--driver", help="name of the driver")
    group.addoption("--captures", default="captures", help="folder of its captures")


def pytest_generate_tests(metafunc: Any) -> None:  # noqa: ANN401 - pytest's
    """Give a test that asks for `driver_promise` each promise, as a function without arguments."""
    if "driver_promise" not in metafunc.fixturenames:
        return
    name = metafunc.config.getoption("driver")
    if name is None:
        raise UserError("--driver: missing; expected the name of an installed driver")
    given = subject(name, Path(metafunc.config.getoption("captures")))
    checks = [lambda promise=promise: promise(given) for promise in PROMISES]
    names = [promise.__name__ for promise in PROMISES]
    metafunc.parametrize("driver_promise", checks, ids=names)
