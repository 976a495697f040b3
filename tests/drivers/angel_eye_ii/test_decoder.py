"""
Frames come out of bytes once each, whatever happened to them on the way; what
is lost is said.
"""

from __future__ import annotations

import pytest

from drivers.angel_eye_ii import AngelEyeII, AngelOptions
from drivers.angel_eye_ii.codec import MAX_FRAME, Report
from drivers.driver import Frame, FrameKind
from shoe_daemon.game.coup import Slot
from shoe_daemon.table.observations import Booted, CardDrawn, Gap, Observation, Standby

HIDDEN = 0x80
BOOT = Report(0, "S").to_bytes()


def p1(seq: int) -> bytes:
    return Report(seq, "D", bytes([0x81, HIDDEN])).to_bytes()


def b1(seq: int) -> bytes:
    return Report(seq, "D", bytes([0x91, HIDDEN])).to_bytes()


def stand_by(seq: int) -> bytes:
    return Report(seq, "P").to_bytes()


def decode(data: bytes, options: AngelOptions | None = None) -> list[Frame]:
    return AngelEyeII(options).decoder().feed(data, 0.0)


def observed(data: bytes) -> list[Observation]:
    return [observation for frame in decode(data) for observation in frame.observations]


def kinds(data: bytes) -> list[str]:
    return [frame.kind.value for frame in decode(data)]


P1 = CardDrawn(slot=Slot.P1)
B1 = CardDrawn(slot=Slot.B1)


class TestRepeats:
    def test_each_report_counts_once_however_often_it_is_sent(self) -> None:
        assert observed(p1(1) * 3 + b1(2) * 3) == [P1, B1]
        assert kinds(p1(1) * 3) == ["frame", "repeat", "repeat"]

    def test_the_second_copy_counts_where_the_first_is_damaged(self) -> None:
        damaged = p1(1).replace(b"\x81", b"\x82")
        frames = decode(damaged + p1(1) * 2)
        assert [frame.kind.value for frame in frames] == ["noise", "frame", "repeat"]
        assert frames[0].note == "checksum '77', reckoned 74"
        assert frames[1].observations == (P1,)

    def test_the_same_bytes_nine_reports_later_are_another_report(self) -> None:
        between = b"".join(stand_by(seq) for seq in range(2, 10))
        assert observed(p1(1) + between + p1(1)) == [P1, *[Standby()] * 8, P1]

    def test_boots_within_the_interval_are_one(self) -> None:
        decoder = AngelEyeII(AngelOptions(repeat_interval=2)).decoder()
        kinds = [decoder.feed(BOOT, now)[0].kind for now in (10.0, 11.0, 12.0, 12.1, 14.0)]
        assert [kind.value for kind in kinds] == ["frame", "repeat", "repeat", "frame", "repeat"]

    def test_boots_with_another_report_between_are_two(self) -> None:
        assert observed(BOOT + p1(1) + BOOT) == [Booted(), P1, Booted()]


class TestSequence:
    def test_a_stream_may_begin_anywhere(self) -> None:
        for seq in range(10):
            assert observed(p1(seq)) == [P1]

    def test_nine_is_followed_by_one(self) -> None:
        assert observed(p1(9) + b1(1)) == [P1, B1]

    def test_a_jump_is_a_gap_before_what_the_frame_says(self) -> None:
        assert observed(p1(1) + b1(3)) == [P1, Gap(), B1]

    @pytest.mark.parametrize("seq", [0, 1, 9])
    def test_any_other_number_is_a_gap(self, seq: int) -> None:
        assert observed(p1(1) + b1(seq)) == [P1, Gap(), B1]

    def test_after_a_gap_the_new_numbers_count(self) -> None:
        assert observed(p1(1) + b1(5) + stand_by(6)) == [P1, Gap(), B1, Standby()]

    def test_a_boot_is_never_a_gap_and_one_follows_it(self) -> None:
        assert observed(p1(5) + BOOT + p1(1)) == [P1, Booted(), P1]
        assert observed(BOOT + p1(2)) == [Booted(), Gap(), P1]

    def test_a_repeat_after_a_gap_is_no_second_gap(self) -> None:
        assert observed(p1(1) + b1(3) * 3) == [P1, Gap(), B1]

    def test_reports_without_meaning_count_in_the_sequence(self) -> None:
        unknown, preset = Report(2, "Z").to_bytes(), Report(3, "M", b"1234").to_bytes()
        assert observed(p1(1) + unknown + preset + b1(4)) == [P1, B1]

    def test_what_is_no_number_is_a_gap_before_it_and_unknown_after_it(self) -> None:
        odd = Report(0x41 - 0x30, "P").to_bytes()
        assert observed(p1(1) + odd + b1(7)) == [P1, Gap(), Standby(), B1]


class TestNoise:
    def test_a_frame_is_found_after_noise(self) -> None:
        noise, frame = decode(bytes.fromhex("FF FF FF C5 FC") + BOOT)
        assert (noise.kind, noise.note) == (FrameKind.NOISE, "no frame begins")
        assert frame.observations == (Booted(),)

    @pytest.mark.parametrize("cut", range(1, len(BOOT)))
    def test_a_cut_frame_costs_only_itself(self, cut: int) -> None:
        frames = decode(BOOT[:cut] + p1(1))
        assert [frame.kind.value for frame in frames] == ["noise", "frame"]
        assert frames[0].note == "cut short by another frame"

    def test_a_frame_without_an_end_is_given_up(self) -> None:
        (noise,) = decode(b"\x05" + b"A" * (MAX_FRAME - 1))
        assert (len(noise.raw), noise.note) == (MAX_FRAME, "no end within 128 bytes")

    def test_lower_case_checksums_are_none(self) -> None:
        frame = Report(1, "D", b"\x81\xb8").to_bytes()
        assert frame.endswith(b"4F")
        assert kinds(frame[:-2] + b"4f") == ["noise"]

    @pytest.mark.parametrize("body", [b"", b"1"])
    def test_a_frame_needs_a_number_and_a_code(self, body: bytes) -> None:
        checked = body + b"\x03"
        bcc = 0
        for byte in checked:
            bcc ^= byte
        (noise,) = decode(b"\x05" + checked + b"%02X" % bcc)
        assert noise.kind is FrameKind.NOISE


class TestReconnection:
    def test_the_decoder_claims_no_gap_of_its_own(self) -> None:
        decoder = AngelEyeII().decoder()
        decoder.feed(p1(1), 0.0)
        decoder.reset()
        (frame,) = decoder.feed(b1(7), 60.0)
        assert frame.observations == (B1,)

    def test_a_late_copy_is_a_repeat_but_the_same_bytes_much_later_are_not(self) -> None:
        for late, kind in ((1.0, FrameKind.REPEAT), (60.0, FrameKind.FRAME)):
            decoder = AngelEyeII().decoder()
            decoder.feed(p1(1), 0.0)
            decoder.reset()
            assert decoder.feed(p1(1), late)[0].kind is kind


class TestAnswers:
    ALLOWED = AngelOptions(allow_commands=True)

    def test_they_are_noise_where_no_command_is_sent(self) -> None:
        assert kinds(b"\x06\x15\x02" + p1(1)) == ["noise", "noise", "frame"]

    def test_they_are_frames_that_say_nothing_where_commands_are_allowed(self) -> None:
        frames = decode(b"\x06\x15\x02\x15\x77" + p1(1), self.ALLOWED)
        assert [frame.note for frame in frames] == [
            "the shoe took a command",
            "the shoe refused a command: 02 checksum",
            "the shoe refused a command: 77 unknown",
            "",
        ]
        assert [frame.observations for frame in frames] == [(), (), (), (P1,)]

    def test_a_frame_is_not_eaten_by_a_refusal_without_its_code(self) -> None:
        assert decode(b"\x15" + p1(1), self.ALLOWED)[1].observations == (P1,)

    @pytest.mark.parametrize("bcc", [b"03", b"01"])
    def test_replies_are_frames_with_either_checksum(self, bcc: bytes) -> None:
        (reply,) = decode(b"\x02AA\x03" + bcc)
        assert (reply.kind, reply.note) == (FrameKind.FRAME, "reply 'AA'")

    def test_answers_between_do_not_disturb_the_sequence(self) -> None:
        frames = decode(p1(1) + b"\x02AA\x0303" + p1(1) + b1(2))
        assert [o for frame in frames for o in frame.observations] == [P1, B1]
