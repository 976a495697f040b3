"""
A capture file gives back what was written, survives a power cut, and can have other cards.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from drivers import driver_names
from drivers.angel_eye_ii import AngelEyeII, AngelOptions
from drivers.angel_eye_ii.codec import Report, block_check
from drivers.angel_eye_ii.decoder import face_code
from drivers.capture import (
    TEXT_SUFFIXES,
    Anonymiser,
    Capture,
    CaptureLine,
    CaptureWriter,
    Mark,
    frames_of,
    load_capture,
    observations_of,
    random_permutation,
    read_capture,
    write_capture,
)
from drivers.driver import Driver
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Mode, Settings, scenario
from drivers.simulators.shoe import Fault
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import (
    CardDrawn,
    Gap,
    GapDetail,
    Link,
    Observation,
)
from tests.each_case import each_case

TEXT = """\
# name: short
# driver: angel-eye-ii
# date: 2026-11-23T13:45:00.500000Z
0.000000 05 30 53 03 36 30
4.471234 05 31 44 C0  # half a frame
4.480001 AD 03 31 42
9.120000 lost  # /dev/shoe/1: unplugged
9.640000 back
20.000000 end
"""


def written(folder: Path, text: str, name: str = "a.cap") -> Path:
    path = folder / name
    path.write_text(text)
    return path


# Comments are for people: one line, without spaces at its ends.
COMMENTS = st.text(st.characters(codec="utf-8")).map(lambda text: " ".join(text.split()))
TIMES = st.lists(st.integers(0, 10**12)).map(sorted)


@st.composite
def captures(draw: st.DrawFn) -> list[CaptureLine]:
    lines = []
    for at_us in draw(TIMES):
        mark = draw(st.none() | st.sampled_from(Mark))
        data = b"" if mark else draw(st.binary(max_size=40))
        lines.append(CaptureLine(data, at_us, mark, draw(COMMENTS)))
    return lines


class TestForm:
    @given(lines=captures())
    def test_a_capture_is_read_as_it_was_written(
        self, tmp_path_factory: pytest.TempPathFactory, lines: list[CaptureLine]
    ) -> None:
        header = {"name": "x", "driver": "angel-eye-ii"}
        whole, grown = (tmp_path_factory.mktemp("capture") / "a.cap" for _ in range(2))
        write_capture(whole, header, lines)
        writer = CaptureWriter(grown, header)
        for line in lines:
            writer.write(line)
        writer.close()
        assert whole.read_bytes() == grown.read_bytes()
        read = load_capture(whole)
        assert list(read.lines) == lines
        assert read.header == header
        assert not read.note
        assert read.data == b"".join(line.data for line in lines)

    @given(content=st.binary() | st.text("0123456789.ABF #:\n\0ladteosbckn").map(str.encode))
    def test_any_file_is_read_or_refused_on_one_line(
        self, tmp_path_factory: pytest.TempPathFactory, content: bytes
    ) -> None:
        path = tmp_path_factory.mktemp("capture") / "a.cap"
        path.write_bytes(content)
        told = f"{path}: "
        try:
            load_capture(path)
        except UserError as error:
            told = str(error)
        assert re.fullmatch(rf"{path}(:\d+)?: .*", told)

    @given(cut=st.integers(0, len(TEXT)), zeros=st.integers(0, 3))
    def test_a_torn_end_is_left_out_and_noted(
        self, tmp_path_factory: pytest.TempPathFactory, cut: int, zeros: int
    ) -> None:
        path = tmp_path_factory.mktemp("capture") / "a.cap"
        path.write_bytes(TEXT.encode()[:cut] + bytes(zeros))
        whole = TEXT[:cut].rpartition("\n")
        kept = load_capture(path)
        lines = [text for text in whole[0].splitlines() if not text.startswith("#")]
        assert [str(line) for line in kept.lines] == lines
        is_torn = bool(whole[2] or zeros)
        assert bool(kept.note) == is_torn
        if is_torn:
            number = TEXT[:cut].count("\n") + 1
            left_out = len(whole[2]) + zeros
            assert kept.note == f"line {number} is torn: its {left_out} bytes were left out"

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            ("21.0 05 3", "expected bytes as two hex digits each, got '05 3'"),
            ("21.0 gone", "expected bytes as two hex digits each, got 'gone'"),
            ("21.x 05", "expected bytes as two hex digits each, got '21.x 05'"),
            ("-1.0 05", "expected bytes as two hex digits each, got '-1.0 05'"),
            ("٢1.5 05", "expected bytes as two hex digits each, got '٢1.5 05'"),
            ("05 30", "no time; expected one, such as 4.470000"),
            (
                "19.999999 05",
                "time 19.999999; expected 20.000000 or later, as on the line before",
            ),
        ],
    )
    def test_a_bad_line_is_named_by_its_number(self, tmp_path: Path, line: str, told: str) -> None:
        path = written(tmp_path, f"{TEXT}{line}\n")
        with pytest.raises(UserError) as caught:
            load_capture(path)
        assert str(caught.value) == f"{path}:10: {told}"

    @pytest.mark.parametrize(
        "date", ["today", "2026-11-23", "2026-11-23T13:45:00", "0001-01-01T00:00:00+14:00", ""]
    )
    def test_a_date_that_is_none(self, tmp_path: Path, date: str) -> None:
        path = written(tmp_path, f"# date: {date}\n0.0 05\n")
        with pytest.raises(UserError, match=r": date: .*; expected a time in UTC, such as 2026-"):
            load_capture(path)

    def test_the_header_has_the_options_of_the_driver(self, tmp_path: Path) -> None:
        path = written(tmp_path, '# options: {"repeat_interval": 2.5}\n0.0 05\n')
        assert load_capture(path).options == {"repeat_interval": 2.5}
        assert load_capture(written(tmp_path, TEXT)).options == {}
        wrong = load_capture(written(tmp_path, "# options: [1]\n0.0 05\n"))
        with pytest.raises(UserError, match=r"^options: \[1\]: .*; expected an object in JSON$"):
            _ = wrong.options

    def test_a_person_may_write_it_by_hand(self, tmp_path: Path) -> None:
        path = written(
            tmp_path, "\ufeff# date: 2026-11-23\r\n\r\n# a note\r\n05 3053 # x\r\n53\r\n"
        )
        assert read_capture(path) == b"\x05\x30\x53\x53"
        assert load_capture(path).header == {"date": "2026-11-23"}


class TestWriter:
    def test_only_a_new_file_is_written_and_only_its_owner_reads_it(self, tmp_path: Path) -> None:
        path = tmp_path / "a.cap"
        CaptureWriter(path, {"name": "a"}).close()
        assert path.stat().st_mode & 0o777 == 0o600
        with pytest.raises(UserError, match=r"a\.cap: the file exists; expected a new name"):
            CaptureWriter(path, {})
        assert path.read_text() == "# name: a\n"
        with pytest.raises(UserError, match=r"none/a\.cap: No such file or directory"):
            CaptureWriter(tmp_path / "none" / "a.cap", {})

    def test_each_line_is_in_the_file_at_once(self, tmp_path: Path) -> None:
        path = tmp_path / "a.cap"
        writer = CaptureWriter(path, {})
        writer.write(CaptureLine(b"\x05", 1))
        assert path.read_text() == "\n0.000001 05\n"
        writer.close()

    def test_a_line_that_the_disk_has_no_room_for_is_taken_back(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "a.cap"
        writer = CaptureWriter(path, {"name": "a"})
        writer.write(CaptureLine(b"\x05\x30", 1))
        before, write = path.read_bytes(), os.write

        def write_little(descriptor: int, data: bytes) -> int:
            if len(data) < 5:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return write(descriptor, data[:6])

        with monkeypatch.context() as disk:
            disk.setattr(os, "write", write_little)
            with pytest.raises(OSError, match="No space left"):
                writer.write(CaptureLine(b"\x05\x30\x53\x03", 2))
        assert path.read_bytes() == before
        writer.close()
        assert not load_capture(path).note


class TestTimes:
    def test_frames_have_the_real_times(self, tmp_path: Path) -> None:
        said = list(observations_of(AngelEyeII(), load_capture(written(tmp_path, TEXT))))
        assert [(type(each).__name__, each.at) for each in said] == [
            ("Booted", "2026-11-23T13:45:00.500Z"),
            ("CardDrawn", "2026-11-23T13:45:04.980Z"),
            ("Link", "2026-11-23T13:45:09.620Z"),
            ("Link", "2026-11-23T13:45:10.140Z"),
            ("Gap", "2026-11-23T13:45:10.140Z"),
            ("Tick", "2026-11-23T13:45:20.500Z"),
        ]
        assert replace(said[2], at="") == Link(up=False, detail="/dev/shoe/1: unplugged")
        assert replace(said[3], at="") == Link(up=True)
        assert replace(said[4], at="") == Gap(detail=GapDetail.RECONNECT)

    def test_without_times_frames_are_numbered(self, tmp_path: Path) -> None:
        path = written(tmp_path, "05 30 53 03 36 30\n05 31 44 C0 AD 03 31 42\n")
        said = list(observations_of(AngelEyeII(), load_capture(path)))
        assert [each.at[-8:] for each in said] == [":00.001Z", ":00.002Z"]


# Other cards

CARDS = random_permutation()


def simulated(settings: Settings, copies: int = 3) -> list[CaptureLine]:
    """The bytes of a simulated shoe, one read for each write."""
    steps = scenario(settings).steps
    writes = [(at, data) for step in steps for at, data in step.writes(copies)]
    return [CaptureLine(data, round(at * 1e6)) for at, data in writes]


def anonymised(
    lines: list[CaptureLine], driver: Driver | None = None, cards: Mapping[Card, Card] = CARDS
) -> list[CaptureLine]:
    anonymiser = Anonymiser(driver or AngelEyeII(), cards)
    return [new for line in lines for new in anonymiser.take(line)] + anonymiser.finish()


def permuted(said: Observation, cards: Mapping[Card, Card] = CARDS) -> Observation:
    card = getattr(said, "card", None)
    changed: Any = said
    return said if card is None else replace(changed, card=cards[card])


def numbered(said: Iterable[Observation]) -> list[Observation]:
    """Return the observations with a number in place of each tag, in the order of the first."""
    numbers: dict[str, str] = {}
    found = []
    for each in said:
        tag, changed = getattr(each, "tag", None), cast("Any", each)
        number = numbers.setdefault(tag, str(len(numbers))) if tag else None
        found.append(replace(changed, tag=number) if tag else each)
    return found


def observed(lines: list[CaptureLine], driver: Driver | None = None) -> list[Observation]:
    return list(observations_of(driver or AngelEyeII(), Capture(tuple(lines))))


class TestAnonymise:
    def test_no_card_stands_for_itself(self) -> None:
        for _ in range(20):
            cards = random_permutation()
            assert set(cards) == set(cards.values()) == set(Card)
            assert all(card is not other for card, other in cards.items())
        assert random_permutation() != random_permutation()

    @pytest.mark.parametrize("fault", [None, *Fault])
    @pytest.mark.parametrize("mode", Mode)
    def test_only_the_cards_differ(self, fault: Fault | None, mode: Mode) -> None:
        faults = {"faults": (fault,), "fault_rate": 1.0} if fault else {}
        lines = simulated(Settings(rounds=6, seed=5, mode=mode, **faults))  # type: ignore[arg-type]
        changed = anonymised(lines)
        assert [(line.at_us, len(line.data)) for line in changed] == [
            (line.at_us, len(line.data)) for line in lines
        ]
        before, after = observed(lines), observed(changed)
        assert after == [permuted(said) for said in before]
        drawn = [said.card for said in before if isinstance(said, CardDrawn) and said.card]
        assert len(drawn) > 6
        # The original face codes are in no frame where they were.
        assert not any(
            old.card is new.card
            for old, new in zip(before, after, strict=True)
            if isinstance(old, CardDrawn) and isinstance(new, CardDrawn) and old.card
        )

    @given(
        cuts=st.lists(st.integers(0, 700)).map(sorted),
        noise=st.lists(st.binary(min_size=1, max_size=9), max_size=8),
        seed=st.integers(0, 5),
    )
    def test_the_division_into_reads_does_not_matter(
        self, cuts: list[int], noise: list[bytes], seed: int
    ) -> None:
        stream = bytearray(
            b"".join(line.data for line in simulated(Settings(rounds=2, seed=seed), 2))
        )
        for place, piece in zip(cuts[1::2], noise, strict=False):
            stream[place:place] = piece
        starts = [0, *cuts, len(stream)]
        lines = [
            CaptureLine(bytes(stream[start:end]), at_us=number)
            for number, (start, end) in enumerate(pairwise(starts))
        ]
        changed = anonymised(lines)
        assert [(line.at_us, len(line.data)) for line in changed] == [
            (line.at_us, len(line.data)) for line in lines
        ]
        whole = anonymised([CaptureLine(bytes(stream), 0)])
        assert b"".join(line.data for line in changed) == whole[0].data
        before = [frame for frame in frames_of(AngelEyeII(), bytes(stream)) if frame.observations]
        after = [frame for frame in frames_of(AngelEyeII(), whole[0].data) if frame.observations]
        assert [frame.observations for frame in after] == [
            tuple(permuted(said) for said in frame.observations) for frame in before
        ]

    @each_case("card", Card)
    @each_case("code", "DdIiR")
    def test_a_face_is_another_face(self, card: Card, code: str) -> None:
        for face in (face_code(card), face_code(card) & 0x7F):
            raw = Report(3, code, bytes([0x81, face])).to_bytes()
            other = face_code(CARDS[card]) & (face | 0x7F)
            expected = Report(3, code, bytes([0x81, other])).to_bytes()
            assert AngelEyeII().anonymised(raw, CARDS) == expected

    @pytest.mark.parametrize(
        ("report", "shown"),
        [
            (Report(1, "D", b"\x81\x80"), b"\x81\x80"),  # hidden stays hidden
            (Report(1, "D", b"\x81\x9e"), b"\x81\xff"),  # no card has this code
            (Report(1, "D", b"\x81"), b"\x81"),
            (Report(1, "D", b"\x81\x80\x9d"), b"\x81\x80\x80"),
            (Report(1, "G", b"\x91\x9d"), b"\x91\x80"),
            (Report(1, "X", b"\x81\x9d"), b"\x80\x80"),
            (Report(1, "M", b"TL20"), b"TL20"),
            (Report(1, "S"), b""),
        ],
    )
    def test_other_data_stays_only_if_it_is_no_card(self, report: Report, shown: bytes) -> None:
        changed = AngelEyeII().anonymised(report.to_bytes(), CARDS)
        assert changed == Report(report.seq, report.code, shown).to_bytes()

    def test_answers_show_nothing(self) -> None:
        driver = AngelEyeII(AngelOptions(allow_commands=True))
        for head in (b"", b"\x02"):
            content, blanks = b"KD\x9d\x03", b"???\x03"
            raw = b"\x02" + content + block_check(head + content)
            assert driver.anonymised(raw, CARDS) == b"\x02" + blanks + block_check(head + blanks)
        assert driver.anonymised(b"\x06", CARDS) == b"\x06"
        assert driver.anonymised(b"\x15\x9d", CARDS) == b"\x15?"

    def test_a_lost_line_keeps_its_time_and_not_its_reason(self) -> None:
        lines = [
            CaptureLine(b"\x05\x31\x44", 1),
            CaptureLine(b"", 2, Mark.LOST, "socket://10.0.0.5:4001: closed by the other side"),
            CaptureLine(b"", 3, Mark.BACK),
            CaptureLine(b"\x05\x30\x53\x03\x36\x30", 4, None, "a comment"),
        ]
        assert anonymised(lines) == [
            CaptureLine(b"???", 1),
            CaptureLine(b"", 2, Mark.LOST),
            CaptureLine(b"", 3, Mark.BACK),
            CaptureLine(b"\x05\x30\x53\x03\x36\x30", 4),
        ]

    def test_a_driver_that_offers_none_is_refused(self) -> None:
        with pytest.raises(UserError, match=r"driver 'camera' cannot replace the cards"):
            Anonymiser(create_driver("camera"), CARDS)

    @pytest.mark.parametrize("failing", ["anonymised", "feed", "holds", "other bytes"])
    def test_a_broken_driver_shows_nothing(self, failing: str) -> None:
        lines = simulated(Settings(rounds=1, seed=1, mode=Mode.OPEN))
        changed = anonymised(lines, _Broken(failing))
        assert [(line.at_us, len(line.data)) for line in changed] == [
            (line.at_us, len(line.data)) for line in lines
        ]
        if failing != "holds":
            assert set(b"".join(line.data for line in changed)) <= set(b"?\x1a\xff")

    def test_bytes_that_a_driver_holds_back_are_bounded(self) -> None:
        anonymiser = Anonymiser(_Broken("holds"), CARDS)
        shown = [new for _ in range(100) for new in anonymiser.take(CaptureLine(bytes(4096), 0))]
        assert len(shown) > 50


class _Broken(AngelEyeII):
    """A driver that breaks one of its promises."""

    def __init__(self, failing: str) -> None:
        super().__init__()
        self._failing = failing
        self._sound = AngelEyeII().decoder()

    def decoder(self) -> Any:  # noqa: ANN401 - a decoder that is none
        return self

    def feed(self, data: bytes, now: float) -> Any:  # noqa: ANN401 - as above
        match self._failing:
            case "feed":
                raise ZeroDivisionError
            case "holds":
                return []
            case "other bytes":
                frames = self._sound.feed(data, now)
                return [replace(frame, raw=frame.raw[::-1]) for frame in frames]
        return self._sound.feed(data, now)

    def reset(self) -> None:
        pass

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        if self._failing != "holds":
            raise ZeroDivisionError
        return super().anonymised(raw, permutation)


CAPTURES = Path(__file__).parents[1] / "captures"
OFFERS = [name for name in driver_names() if create_driver(name).anonymises]


@pytest.mark.parametrize("name", [name for name in OFFERS if (CAPTURES / name).is_dir()])
def test_the_captures_of_each_driver_differ_in_their_cards_alone(name: str) -> None:
    """Of every driver that replaces cards: the same observations with the other cards."""
    paths = [path for path in (CAPTURES / name).iterdir() if path.suffix in TEXT_SUFFIXES]
    assert paths
    for path in paths:
        capture = load_capture(path)
        driver = shown = create_driver(name, capture.options)
        if driver.anonymised_options is not None:
            shown = create_driver(name, driver.anonymised_options)
        # A comment may name people, and is left out.
        lines = [replace(line, comment="") for line in capture.lines]
        if not capture.has_times:
            lines = [replace(line, at_us=number) for number, line in enumerate(lines)]
        changed = anonymised(lines, driver)
        assert [line.at_us for line in changed] == [line.at_us for line in lines]
        seen = observed(lines, driver)
        assert numbered(observed(changed, shown)) == numbered(map(permuted, seen))
        if any(getattr(each, "card", None) is not None for each in seen):
            assert b"".join(line.data for line in changed) != capture.data


def test_every_reader_with_a_line_of_bytes_replaces_its_cards() -> None:
    assert set(driver_names()) - set(OFFERS) == {"camera"}


@each_case(
    "name, options, raw, shown",
    [
        ("bee-tek", {}, b" [Game]<Card:4S> \r\n", rb" \[Game\]<Card:\w+> \r\n"),
        ("bee-tek", {}, b"[Game]<Card: h10 >", rb"\[Game\]<Card: [SHDC]\w+ >"),
        ("bee-tek", {}, b"[Game]<Card:4X>", rb"\[Game\]<Card:\?\?>"),
        (
            "bee-tek",
            {},
            b"4S [Ace]<Alarm:E3 Card Not Read>",
            rb"\?\? \[\?{3}\]<Alarm:E3 Card Not Read>",
        ),
        ("bee-tek", {}, b"<Alarm:E3 Ace Not Read>", rb"<Alarm:\?\? \?{3} \?{3} \?{4}>"),
        ("bee-tek", {}, b"<Alarm:E3 Card 4 S>", rb"<Alarm:\?\? \?{4} \? \?>"),
        ("bee-tek", {}, b"<W0x01>", rb"<W0x01>"),
        ("bee-tek", {}, b"<Next:4S>", rb"<\?{4}:\?\?>"),
        ("bee-tek", {}, b"[Game]<Ca\xff:4S", rb"\[Game\]<\?\?\xff:\?\?"),
        ("buttons", {}, b"N\r", rb"N\r"),
        ("buttons", {}, b"4S\r", rb"\x1a\x1a\r"),
        ("buttons", {"lines": False, "keys": {"?": "tie"}}, b"S", rb"\x1a"),
        ("keyboard", {}, b"4S\r", rb"\w+\r"),
        ("line-scanner", {}, b"4S\r", rb"\w+\r"),
        ("line-scanner", {}, b"4X\r", rb"\?\r"),
        ("line-scanner", {}, b"NOREAD\r", rb"NOREAD\r"),
        ("line-scanner", {}, b"4\xffS\r", rb"X\xff\?\r"),
        ("line-scanner", {"cards": {"731-4": "AS"}}, b"731-4\r", rb"\w+\r"),
        (
            "json-lines",
            {},
            b'{"card":"4S","text":"4S","n":4}\n',
            rb'{"card":"\w+","\?1":"\?","\?2":0}\n',
        ),
        ("json-lines", {}, b'{"AS":[1],"type":"AS"}\n', rb'{"\?0":null,"type":"\?"}\n'),
        ("json-lines", {}, b"# AS 4\n", rb"# \?\? \?\n"),
        ("json-lines", {}, b'{"card":"4S\n', rb'{"\?{4}":"\?\?\n'),
        (
            "json-lines",
            {"cards": {"04A2": "AS"}},
            b'{"card_uid":"04:a2"}\n',
            rb'{"card":"\w+","card_uid":"\w{14}"}\n',
        ),
        ("json-lines", {}, b'{"card_uid":"04:a2"}\n', rb'{"card_uid":"\w{14}"}\n'),
        (
            "json-lines",
            {},
            b'{"type":"result","outcome":"tie"}\n',
            rb'{"type":"result","outcome":"tie"}\n',
        ),
    ],
)
def test_only_known_words_stay_in_text(
    name: str, options: dict[str, Any], raw: bytes, shown: bytes
) -> None:
    driver = create_driver(name, options)
    changed = driver.anonymised(raw, CARDS)
    assert changed is not None
    assert re.fullmatch(shown, changed), changed
    assert changed == driver.anonymised(raw, CARDS)


@pytest.mark.parametrize("name", OFFERS)
@given(data=st.data())
def test_no_piece_of_bytes_is_too_strange(name: str, data: st.DataObject) -> None:
    driver = create_driver(name)
    signs = st.sampled_from('<>[]{}":,ACKcardgametypeuid0123456789SHDC \r\n\x02\x03\x05\xff')
    raw = data.draw(
        st.binary(max_size=60) | st.text(signs).map(lambda text: text.encode("latin-1"))
    )
    assert isinstance(driver.anonymised(raw, CARDS), bytes)
