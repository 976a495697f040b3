"""
The reader thread survives every failure of its line, decoder and sink; losses are
reported, and every frame is passed on once.
"""

from __future__ import annotations

import queue
import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

import pytest
from structlog.testing import capture_logs

from drivers import reader_thread as reader_module
from drivers.angel_eye_ii import AngelEyeII
from drivers.driver import Frame, FrameKind
from drivers.reader_thread import Ages, Counts, Reader, ReaderEnvironment
from drivers.registry import create_driver
from drivers.simulators.angel_eye import Settings, scenario
from drivers.transport import EndOfCaptureError, LineError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import CardDrawn, Gap, GapDetail, Link, Observation
from tests.drivers.scripted_line import DATA, TURN, WHOLE, Event, Heard, Script, down, played
from tests.waiting import PATIENCE, wait_for

RECONNECT = Gap(detail=GapDetail.RECONNECT)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with capture_logs():
        yield


class TestLink:
    def test_the_first_opening_is_no_gap(self) -> None:
        _, heard = played(Script([DATA]))
        assert heard.observations == [Link(up=True), *WHOLE, down("gone")]
        assert heard[0].raw == heard[-1].raw == b""

    def test_a_lost_line_is_said_once_and_its_return_is_a_gap(self) -> None:
        refused = LineError("refused")
        _, heard = played(Script([DATA], refused, refused, [b""], refused))
        assert heard.links == [
            Link(up=True),
            down("gone"),
            Link(up=True),
            RECONNECT,
            down("gone"),
        ]

    def test_a_line_that_never_was_is_said_too_and_its_opening_is_a_gap(self) -> None:
        _, heard = played(Script(LineError("no such port"), [b""]))
        assert heard.links == [down("no such port"), Link(up=True), RECONNECT, down("gone")]

    def test_half_a_frame_before_a_loss_never_meets_the_other_half(self) -> None:
        once = scenario(Settings(rounds=8, seed=4)).stream(1)
        _, heard = played(Script([once[:4]], [once[4:]]))
        assert heard.observations[4:-1] == WHOLE[1:]


class TestSilenceAndAnswers:
    def test_silence_after_bytes_ends_a_frame(self) -> None:
        script = Script([b"", b"4", b"S", b"", b"", b"10H", b"", b""])
        driver = create_driver("line-scanner", {"preset": "no-terminator", "idle_gap": 1.5 * TURN})
        _, heard = played(script, driver=driver)
        cards = [getattr(each, "card", None) for each in heard.observations]
        assert cards == [None, Card("4S"), Card("10H"), None]

    def test_an_answer_is_sent_after_the_frame_was_accepted(self) -> None:
        script, heard, refused = Script([b"\x024S\x03", b"\x0210\xff\x03"]), Heard(), [3]

        def sink(frame: Frame) -> None:
            if frame.answer and refused[0]:
                refused[0] -= 1
                assert script.written == []
                raise queue.Full
            heard.append(frame)

        played(script, sink, driver=create_driver("line-scanner", {"preset": "olivetti"}))
        assert script.written == [b"\x06", b"\x15"]

    def test_an_answer_that_cannot_be_sent_is_a_lost_line_and_the_frame_stays(self) -> None:
        class Deaf(Script):
            def write(self, data: bytes) -> None:
                raise LineError("the cable is out")

        script = Deaf([b"\x024S\x03"], [b""])
        _, heard = played(script, driver=create_driver("line-scanner", {"preset": "olivetti"}))
        assert CardDrawn(card=Card("4S")) in heard.observations
        assert heard.links[1] == down("the cable is out")


class TestFailures:
    @pytest.mark.parametrize(
        ("failure", "detail"),
        [
            (LineError("unplugged"), "unplugged"),
            (OSError(5, "Input/output error"), "OSError: [Errno 5] Input/output error"),
            (TypeError("a closed port"), "TypeError: a closed port"),
            (RuntimeError(), "RuntimeError: "),
            (MemoryError("full"), "MemoryError: full"),
        ],
    )
    def test_any_failure_of_a_read_closes_and_opens_again(
        self, failure: Exception, detail: str
    ) -> None:
        script = Script([failure], [DATA])
        _, heard = played(script)
        assert heard.links[:4] == [Link(up=True), down(detail), Link(up=True), RECONNECT]
        assert heard.observations[4:-1] == WHOLE
        assert script.closed == 2

    def test_a_line_that_is_silent_is_asked_once_a_second(self) -> None:
        script = Script([b""] * 100)
        played(script)
        assert script.checked == 100 * TURN // 1

    def test_a_line_that_fails_when_asked_is_lost(self) -> None:
        script = Script([b""] * 100, [b""])
        script.check_fails = [None, LineError("the path is gone")]
        _, heard = played(script)
        assert heard.links[1] == down("the path is gone")

    def test_waits_double_up_to_ten_seconds(self) -> None:
        script = Script(*[LineError("refused")] * 9)
        played(script)
        assert script.waits[:8] == [0.5, 1, 2, 4, 8, 10, 10, 10]

    def test_only_bytes_of_a_line_that_stays_open_make_the_waits_short_again(self) -> None:
        """A device server whose port is in use reports that, and closes the line."""
        refused = [LineError("refused")] * 3
        stays: list[Event] = [*[b""] * 40, b"\x05"]
        script = Script(*refused, [b""], [b"\x05"], stays, *refused)
        played(script)
        assert script.waits[:8] == [0.5, 1, 2, 4, 8, 0.5, 1, 2]

    def test_a_driver_that_fails_loses_no_bytes_and_begins_anew(self) -> None:
        class JournalFault(AngelEyeII):
            made: ClassVar[list[Any]] = []

            def decoder(self) -> Any:  # noqa: ANN401 - the first one is no decoder
                self.made.append(self)
                return object() if len(self.made) == 1 else super().decoder()

        script, heard = Script([DATA[:10]], [DATA]), Heard()
        reader = Reader(
            "shoe", JournalFault(), "", AngelEyeII.line, heard.append,
            environment=script.environment(),
        )  # fmt: skip
        script.reader = reader
        reader.run()
        assert (heard[1].raw, heard[1].kind) == (DATA[:10], FrameKind.NOISE)
        assert "the driver failed" in heard[1].note
        assert heard.observations[-len(WHOLE) - 1 : -1] == WHOLE

    def test_a_decoder_that_raises_is_logged_with_its_line_once_a_minute(self) -> None:
        class Raising(AngelEyeII):
            def decoder(self) -> Any:  # noqa: ANN401 - only what is called
                return self

            def feed(self, data: bytes, now: float) -> list[Frame]:
                assert now
                return [Frame(data, FrameKind(data.decode("latin-1")))]

            def reset(self) -> None: ...

        line = Raising.feed.__code__.co_firstlineno + 2
        openings: list[list[Event]] = [[b"x"] for _ in range(9)]
        script, heard = Script(*openings), Heard()
        reader = Reader(
            "shoe", Raising(), "", AngelEyeII.line, heard.append,
            environment=script.environment(),
        )  # fmt: skip
        script.reader = reader
        with capture_logs() as logs:
            reader.run()
        assert reader.counts.failures == 10  # it goes on after each
        (said,) = [log for log in logs if log["event"] == "decoder_failed"]
        assert (said["reader"], said["driver"], said["error"]) == (
            "shoe",
            "angel-eye-ii",
            "ValueError",
        )
        assert said["text"] == "'x' is not a valid FrameKind"
        assert said["where"] == f"{__file__}:{line}"

    def test_a_sink_that_fails_or_is_full_is_asked_until_it_takes_the_frame(self) -> None:
        heard, rng = Heard(), random.Random(1)

        def sink(frame: Frame) -> None:
            if rng.random() < 0.5:
                raise rng.choice([queue.Full(), ZeroDivisionError()])
            heard.append(frame)

        reader, _ = played(Script([DATA]), sink)
        assert heard.observations[: len(WHOLE) + 1] == [Link(up=True), *WHOLE]
        assert reader.blocked_since is None

    def test_a_log_that_fails_ends_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class FullDisk:
            def bind(self, **_: object) -> FullDisk:
                return self

            def __getattr__(self, level: str) -> Callable[..., None]:
                raise OSError(f"no space left for {level}")

        monkeypatch.setattr(reader_module, "_log", FullDisk())
        _, heard = played(Script([DATA], LineError("x"), [DATA]))
        assert heard.observations == [
            Link(up=True), *WHOLE, down("gone"), Link(up=True), RECONNECT, *WHOLE, down("gone"),
        ]  # fmt: skip

    def test_hostile_lines_of_every_kind(self) -> None:
        """
        Bytes one by one, losses, failures of all calls: it goes on to the end,
        and whatever it says is part of what was sent.
        """
        for seed in range(20):
            rng = random.Random(seed)
            openings: list[Exception | list[Event]] = []
            for _ in range(30):
                failure = rng.choice([LineError("x"), OSError(5, "y"), ValueError("z")])
                start = rng.randrange(len(DATA))
                part = DATA[start : start + rng.randrange(400)]
                reads: list[Event] = [bytes([byte]) for byte in part if rng.random() > 0.02]
                openings.append(failure if rng.random() < 0.3 else [*reads, failure])
            script = Script(*openings)
            script.check_fails = [rng.choice([None, LineError("c")]) for _ in range(20)]
            _, heard = played(script)
            said = [o for o in heard.observations if not isinstance(o, Link | Gap)]
            assert all(observation in WHOLE for observation in said)
            ups = sum(isinstance(o, Link) and o.up for o in heard.links)
            assert ups == script.closed
            late = isinstance(openings[0], Exception)
            assert heard.links.count(RECONNECT) == max(0, ups if late else ups - 1)


class TestWhatIsKnown:
    def test_ages_tell_link_byte_frame_and_event_apart(self) -> None:
        seen: list[Ages] = []
        boot, first, script = DATA[:6], DATA[18:26], Script()
        script = Script(
            [
                lambda: seen.append(script.reader.ages),
                b"\xff",
                lambda: seen.append(script.reader.ages),
                boot + first,
                b"\x05",
                lambda: seen.append(script.reader.ages),
                first,
                lambda: seen.append(script.reader.ages),
            ]
        )
        reader, _ = played(script)
        fresh, byte, event, repeat = seen
        link = 100.0
        assert fresh == Ages(link=link)
        assert byte == Ages(link=link, last_byte=100.25)
        assert event == Ages(link, last_byte=100.625, last_frame=100.5, last_event=100.5)
        # A repeat is a frame, though it says nothing new.
        assert repeat == Ages(link, last_byte=100.875, last_frame=100.875, last_event=100.5)
        assert reader.ages.link is None
        assert reader.detail == "the script is over"

    def test_counts(self) -> None:
        reader, heard = played(Script([b"\xff\xff" + DATA, LineError("x")], LineError("y")))
        frames = [frame for frame in heard if frame.raw]
        kinds = [frame.kind for frame in frames]
        assert reader.counts == Counts(
            bytes=len(DATA) + 2,
            frames=kinds.count(FrameKind.FRAME),
            repeats=kinds.count(FrameKind.REPEAT),
            noise=1,
            failures=3,
        )
        assert reader.counts.repeats == 2 * reader.counts.frames

    def test_commands_go_to_the_open_line_only(self) -> None:
        script = Script([lambda: script.reader.send(b"\x02OP")])
        reader, _ = played(script)
        assert script.written == [b"\x02OP"]
        with pytest.raises(LineError, match="not open"):
            reader.send(b"\x02OP")


class TestThread:
    def reader(self, sink: Callable[[Frame], object], read: Callable[[], bytes]) -> Reader:
        class Endless(Script):
            def read(self) -> bytes:
                return read()

        script = Endless([b""])
        around = ReaderEnvironment(open_line=script.open)
        reader = Reader("shoe", AngelEyeII(), "x", AngelEyeII.line, sink, environment=around)
        script.reader = reader
        return reader

    def test_it_stops_while_it_reads(self) -> None:
        def silence() -> bytes:
            time.sleep(0.01)
            return b""

        heard = Heard()
        reader = self.reader(heard.append, silence)
        reader.start()
        wait_for(lambda: heard)
        assert reader.alive
        reader.stop()
        assert reader.join(PATIENCE)
        assert heard.observations == [Link(up=True)]

    def test_a_full_sink_holds_it_back_and_loses_nothing(self) -> None:
        inbox: queue.Queue[Frame] = queue.Queue(maxsize=1)
        portions = [DATA, b""]
        reader = self.reader(
            partial(inbox.put, timeout=0.02), lambda: portions.pop(0) if portions else b""
        )
        reader.start()
        wait_for(lambda: reader.blocked_since)
        said: list[Observation] = []
        while len(said) < len(WHOLE) + 1:
            said += inbox.get(timeout=PATIENCE).observations
        assert said == [Link(up=True), *WHOLE]
        reader.stop()
        assert reader.join(PATIENCE)

    def test_a_captures_end_is_the_readers_end(self) -> None:
        class Capture(Script):
            def read(self) -> bytes:
                try:
                    return super().read()
                except LineError as error:
                    raise EndOfCaptureError("the capture is over") from error

        reader, heard = played(Capture([DATA]))
        assert heard.observations == [Link(up=True), *WHOLE, down("the capture is over")]
        assert not reader.alive


class TestLog:
    def test_one_warning_then_one_line_a_minute_and_one_when_it_is_over(self) -> None:
        with capture_logs() as lines:
            played(Script([b"\x05"], *[LineError("refused")] * 14, [b"\x05"]))
        told = [(line["log_level"], line["event"], line["failures"]) for line in lines[:4]]
        # 0.5 1 2 4 8 and then every 10 seconds: the eleventh try comes after a minute.
        assert told == [
            ("info", "link_up", 0),
            ("warning", "link_lost", 1),
            ("warning", "link_lost", 11),
            ("info", "link_up", 15),
        ]
        assert lines[1]["reader"] == "shoe"
        assert lines[1]["detail"] == "gone"
