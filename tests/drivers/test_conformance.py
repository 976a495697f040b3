"""All drivers keep all promises, and the check finds drivers that break one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ClassVar, TypeGuard

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from drivers import conformance
from drivers.capture import load_capture, write_hex
from drivers.conformance import PROMISES, BrokenPromiseError, Sample, Subject, main, subject
from drivers.driver import Decoder, Driver, Frame, FrameKind
from drivers.json_lines import JsonLines
from drivers.registry import driver_names
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.table.observations import CardDrawn, Command, Gap, Observation, Result
from tests.each_case import each_case
from tests.volume import volume

CAPTURES = Path(__file__).parents[1] / "captures"
JSON_CAPTURES = CAPTURES / "json-lines"
DRIVERS = sorted(folder.name for folder in CAPTURES.iterdir())

Promise = Callable[[Subject], str | None]


def of_name(name: str) -> Promise:
    (found,) = (each for each in PROMISES if each.__name__ == name)
    return found


def test_every_driver_has_captures() -> None:
    assert driver_names() == DRIVERS


@cache
def subject_of(driver: str, seed: int) -> Subject:
    return subject(driver, CAPTURES / driver, seed=seed)


@pytest.mark.parametrize("promise", PROMISES, ids=lambda each: each.__name__)
@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("seed", range(volume(1, 3)))
def test_our_own_drivers_keep_them(driver: str, promise: Promise, seed: int) -> None:
    promise(subject_of(driver, seed))


def is_card(each: Observation) -> TypeGuard[CardDrawn]:
    return isinstance(each, CardDrawn)


class Lines:
    """A decoder of cards, a line each, that keeps every promise."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.kept = b""

    def feed(self, data: bytes, now: float) -> list[Frame]:
        *lines, self.kept = (self.kept + data).split(b"\n")
        frames = [self.frame(line + b"\n", now) for line in lines]
        if len(self.kept) > 99:
            frames.append(Frame(self.kept[:100], FrameKind.NOISE, (), now))
            self.kept = self.kept[100:]
        while len(self.kept) > 99:
            frames.append(Frame(self.kept[:100], FrameKind.NOISE, (), now))
            self.kept = self.kept[100:]
        return frames

    def frame(self, raw: bytes, now: float) -> Frame:
        said = self.meaning(raw)
        return Frame(raw, FrameKind.FRAME if said else FrameKind.NOISE, said, now)

    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        try:
            return (CardDrawn(card=Card(raw.decode("ascii").strip())),)
        except ValueError:
            return ()


class Raises(Lines):
    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        return (CardDrawn(card=Card(raw.decode("ascii").strip())),)


class KeepsAll(Lines):
    def feed(self, data: bytes, now: float) -> list[Frame]:
        *lines, self.kept = (self.kept + data).split(b"\n")
        return [self.frame(line + b"\n", now) for line in lines]


class LikesPortions(Lines):
    def feed(self, data: bytes, now: float) -> list[Frame]:
        return [self.frame(line + b"\n", now) for line in data.split(b"\n") if line]


class DropsNoise(Lines):
    def feed(self, data: bytes, now: float) -> list[Frame]:
        return [each for each in super().feed(data, now) if each.kind is FrameKind.FRAME]


class NeverForgets(Lines):
    def __init__(self) -> None:
        self.kept = b""

    def reset(self) -> None:
        pass


class ReportsResults(Lines):
    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        return (Result(),) if raw == b"9S\n" else super().meaning(raw)


class VoidsRounds(Lines):
    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        return (Command(name="void_round"),)


class StampsTimes(Lines):
    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        return (CardDrawn(card=Card("9S"), at="2026-01-01T00:00:00Z"),)


class TagsAlike(Lines):
    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        cards = super().meaning(raw)
        return tuple(CardDrawn(card=each.card, tag="04") for each in cards if is_card(each))


class CountsNoise(Lines):
    """The meaning of a frame depends on the noise before it."""

    def reset(self) -> None:
        self.kept, self.seen = b"", 0

    def meaning(self, raw: bytes) -> tuple[Observation, ...]:
        self.seen += 1
        return super().meaning(raw) if self.seen % 2 else ()


def of_decoder(kind: type[Lines], folder: Path, text: bytes = b"9S\nKD\n9S\n??\nAH\n") -> Subject:
    class Untidy(Driver):
        name: ClassVar[str] = "angel-eye-ii"

        def decoder(self) -> Decoder:
            return kind()

    path = folder / "cards.cap"
    write_hex(path, {"name": "cards"}, [(text, "")])
    return Subject(Untidy(), (Sample(path, Untidy(), load_capture(path)),))


@pytest.mark.parametrize(
    ("kind", "promise", "told"),
    [
        (Raises, "damage_raises_nothing", "is not a valid Card"),
        (KeepsAll, "memory_is_bounded", "of 150000 bytes b'A' it keeps 150000"),
        (LikesPortions, "portions_do_not_matter", "cards.cap: other frames when the bytes come"),
        (DropsNoise, "every_byte_is_in_a_frame", "other bytes than were received"),
        (NeverForgets, "reset_forgets_half_a_frame", "bytes and reset.. the stream has"),
        (ReportsResults, "signals_are_declared", 'gives {"type":"result"}, but its signals lack'),
        (VoidsRounds, "signals_are_declared", "which only an operator may order"),
        (StampsTimes, "signals_are_declared", "with `at` or `source`"),
        (TagsAlike, "a_tag_has_one_face", "cards.cap: tag 04 is 9S, and later KD"),
        (CountsNoise, "frames_mean_the_same_alone", "cards.cap: without its repeats and noise"),
        (
            Lines,
            "captures_mean_what_was_written_down",
            "cards.observations.jsonl is missing",
        ),
        (Lines, "interface_is_complete", "and so is another driver"),
    ],
)
def test_a_broken_promise_is_found(
    kind: type[Lines], promise: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises((BrokenPromiseError, ValueError), match=told):
        of_name(promise)(of_decoder(kind, tmp_path))


class TellsNoGaps:
    def __init__(self, other: Decoder) -> None:
        self.other, self.reset = other, other.reset

    def feed(self, data: bytes, now: float) -> list[Frame]:
        frames = self.other.feed(data, now)
        return [replace(each, observations=without_gaps(each.observations)) for each in frames]


def without_gaps(said: tuple[Observation, ...]) -> tuple[Observation, ...]:
    return tuple(each for each in said if not isinstance(each, Gap))


def test_a_card_that_is_lost_in_silence_is_found() -> None:
    class Silent(JsonLines):
        def decoder(self) -> Decoder:
            return TellsNoGaps(super().decoder())

    given = Subject(Silent(), ())
    with pytest.raises(BrokenPromiseError, match=r"cards it reads .*, or a gap before it"):
        of_name("no_card_is_lost_in_silence")(given)


def test_a_simulator_that_cannot_be_loaded_breaks_a_promise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(JsonLines, "simulator", "drivers.simulators.text_readers:Nothing")
    with pytest.raises(UserError, match=r"simulator '.*:Nothing' cannot be loaded"):
        of_name("the_simulator_speaks_to_the_driver")(subject("json-lines", JSON_CAPTURES))


@each_case("promise", PROMISES[2:-3])
def test_a_driver_that_keeps_them_passes(promise: Promise, tmp_path: Path) -> None:
    promise(of_decoder(Lines, tmp_path))


def test_the_command_has_a_line_for_each_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conformance, "PROMISES", PROMISES[:2])
    done = CliRunner().invoke(main, ["bee-tek", "--captures", str(CAPTURES / "bee-tek")])
    assert done.exit_code == 0, done.output
    assert done.output.count("ok     ") == 2
    assert "bee-tek: 2 promises kept, 0 broken, 0 not tried" in done.output


def test_a_broken_promise_is_told_and_ends_with_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conformance, "PROMISES", PROMISES[:2])
    write_hex(tmp_path / "round.hex", {}, [(b"\x05\x30\x53\x03\x36\x30", "")])
    (tmp_path / "round.observations.jsonl").write_text('{"type":"standby"}\n')
    done = CliRunner().invoke(main, ["angel-eye-ii", "--captures", str(tmp_path)])
    assert done.exit_code == 1
    assert "BROKEN  Each capture decodes to the observations in the file beside it." in done.output
    assert "round.observations.jsonl:1: b'{" in done.output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nobody"], "no driver 'nobody'; there are:"),
        (["angel-eye-ii"], "no capture in it; expected a file such as shoe.cap"),
    ],
)
def test_wrong_arguments_end_with_two(arguments: list[str], told: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(main, [*arguments, "--captures", str(tmp_path)])
    assert done.exit_code == 2
    assert told in done.output
