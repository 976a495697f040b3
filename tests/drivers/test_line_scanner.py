"""Every framing and table of codes; one card is one card, and five are five."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import pytest

from drivers.driver import Frame, FrameKind, LineSettings
from drivers.line_scanner import LineScanner, LineScannerOptions, built_in_codes
from drivers.registry import create_driver
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import CardDrawn, Gap, Observation, Unreadable

FOUR = CardDrawn(card=Card("4S"))
TEN = CardDrawn(card=Card("10H"))


def scanner(**options: Any) -> LineScanner:  # noqa: ANN401 - as in a configuration
    driver = create_driver("line-scanner", options)
    assert isinstance(driver, LineScanner)
    return driver


def decode(data: bytes, **options: Any) -> list[Frame]:  # noqa: ANN401 - as in a configuration
    decoder = scanner(**options).decoder()
    return [*decoder.feed(data, 1.0), *decoder.feed(b"", 2.0)]


def said(data: bytes, **options: Any) -> list[Observation]:  # noqa: ANN401 - as above
    return [each for frame in decode(data, **options) for each in frame.observations]


@pytest.mark.parametrize(
    ("options", "data"),
    [
        ({}, b"4S\r10H\r"),
        ({}, b"4S\r\nTH\r\n"),
        ({"preset": "icl"}, b"4S\r10H\r"),
        ({"preset": "fujitsu"}, b"4S\r10H\r"),
        ({"preset": "nixdorf"}, b"4S\r10H\r"),
        ({"preset": "omron"}, b"4S\r10H\r"),
        ({"preset": "olivetti"}, b"\x024S\x03\x0210H\x03"),
        ({"preset": "handheld"}, b"\x024S\x03\r\x0210H\x03\r"),
        ({"preset": "handheld", "record_suffix": "none"}, b"\x024S\x03\x0210H\x03"),
        (
            {
                "preset": "handheld",
                "preamble": "P",
                "length_digits": 2,
                "prefix": "p",
                "suffix": "s",
            },
            b"\x02P02p4Ss\x03\r\x02P03p10Hs\x03\r",
        ),
        ({"stx": False, "etx": False, "postamble": "#", "record_suffix": "none"}, b"4S#10H#"),
        ({"record_suffix": "tab"}, b"4S\t10H\t"),
        ({"record_suffix": "space"}, b"4S 10H "),
        ({"record_suffix": "eot"}, b"4S\x0410H\x04"),
        ({"record_suffix": "lf"}, b"4S\n10H\n"),
        ({"record_suffix": "crlf"}, b"4S\r\n10H\r\n"),
        ({"record_suffix": ";\n"}, b"4S;\n10H;\n"),
        ({"codes": "suit-rank"}, b"S4\rH10\r"),
        ({"codes": "suit-rank"}, b"S4\rHT\r"),
        ({"codes": "a01"}, b"A04\rH10\r"),
        ({"cards": {"17": "4S", "18": "th"}}, b"17\r18\r"),
    ],
)
def test_each_framing_and_table_is_read(options: dict[str, Any], data: bytes) -> None:
    assert said(data, **options) == [FOUR, TEN]
    assert {frame.kind for frame in decode(data, **options)} == {FrameKind.FRAME}
    assert data.startswith(b"".join(frame.raw for frame in decode(data, **options)))


@pytest.mark.parametrize(
    ("preset", "line"),
    [
        ("standard", LineSettings(baudrate=9600)),
        ("icl", LineSettings(baudrate=9600, parity="E", rtscts=True)),
        ("nixdorf", LineSettings(baudrate=9600, parity="O")),
        ("olivetti", LineSettings(baudrate=9600, bytesize=7, parity="E")),
    ],
)
def test_a_preset_sets_the_line_too(preset: str, line: LineSettings) -> None:
    assert scanner(preset=preset).line == line


@pytest.mark.parametrize(("name", "codes"), [("rank-suit", "10S TS"), ("suit-rank", "S10 ST")])
def test_the_codes_of_a_ten_have_one_order_in_every_process(name: str, codes: str) -> None:
    built_in = built_in_codes(name)
    assert [code for code, card in built_in.items() if card == Card("10S")] == codes.split()


class TestUniqueCodes:
    """Where every card has a code of its own, the code is the tag of the card."""

    CARDS: ClassVar[dict[str, str]] = {"731-1": "4S", "731-2": "4S"}

    def test_each_code_is_a_tag(self) -> None:
        found = said(b"731-1\r731-2\r731-9\r", cards=self.CARDS, unique_codes=True)
        four = Card("4S")
        tagged = [CardDrawn(card=four, tag="731-1"), CardDrawn(card=four, tag="731-2")]
        assert found == [*tagged, Unreadable(tag="731-9")]

    def test_what_is_sent_for_an_unread_card_is_none(self) -> None:
        found = said(b"731-1\rNOREAD\r", cards=self.CARDS, unique_codes=True)
        assert found[1:] == [Unreadable()]

    def test_without_time_between_them_two_are_one_card_and_no_gap(self) -> None:
        found = said(b"731-1\r731-1\r", cards=self.CARDS, unique_codes=True)
        assert found == [CardDrawn(card=Card("4S"), tag="731-1")]
        row = said(b"731-1731-1", cards=self.CARDS, unique_codes=True, preset="no-terminator")
        assert row == found

    def test_a_capture_given_away_has_codes_that_are_not_unique(self) -> None:
        options = scanner(cards=self.CARDS, unique_codes=True).anonymised_options
        assert create_driver("line-scanner", options).decoder().feed(b"4S\r", 1.0)[
            0
        ].observations == (FOUR,)

    def test_a_code_that_is_too_long_for_a_tag_is_refused(self) -> None:
        with pytest.raises(UserError, match="expected at most 128 characters"):
            scanner(cards={"7" * 129: "4S"})


class TestSilence:
    def test_it_ends_a_frame_without_a_terminator(self) -> None:
        decoder = scanner(preset="no-terminator").decoder()
        assert decoder.feed(b"1", 1.0) == []
        assert decoder.feed(b"0H", 1.05) == []
        assert decoder.feed(b"", 1.1) == []
        (frame,) = decoder.feed(b"", 1.2)
        assert (frame.raw, frame.observations, frame.received) == (b"10H", (TEN,), 1.05)

    def test_codes_without_silence_between_them_are_divided_by_the_table(self) -> None:
        assert said(b"4S10HTH4S", preset="no-terminator") == [FOUR, TEN, TEN, FOUR]

    def test_they_are_not_where_one_code_begins_another(self) -> None:
        cards = {"1": "AS", "12": "KD"}
        decoder = scanner(preset="no-terminator", cards=cards).decoder()
        decoder.feed(b"12", 1.0)
        assert decoder.feed(b"112", 2.0)[0].observations == (CardDrawn(card=Card("KD")),)
        assert decoder.feed(b"", 3.0)[0].observations == (Unreadable(),)

    def test_it_means_nothing_where_there_is_a_terminator(self) -> None:
        decoder = scanner().decoder()
        assert decoder.feed(b"10", 1.0) + decoder.feed(b"", 9.0) == []
        assert decoder.feed(b"H\r", 9.5)[0].observations == (TEN,)


class TestScannedTwice:
    @pytest.mark.parametrize("late", [0.001, 0.3, 0.499])
    def test_an_equal_code_within_the_window_is_a_repeat(self, late: float) -> None:
        decoder = scanner().decoder()
        decoder.feed(b"4S\r", 1.0)
        (frame,) = decoder.feed(b"4S\r", 1.0 + late)
        assert frame.kind is FrameKind.REPEAT

    def test_five_of_a_face_slower_than_the_window_are_five_cards(self) -> None:
        for window in (0.3, 0.8):
            decoder = scanner(repeat_window=window).decoder()
            frames = [decoder.feed(b"4S\r", 1 + n * (window + 0.01))[0] for n in range(5)]
            assert [frame.observations for frame in frames] == [(FOUR,)] * 5

    def test_a_card_that_stays_in_front_of_the_scanner_is_one_card(self) -> None:
        decoder = scanner().decoder()
        frames = [decoder.feed(b"4S\r", 1 + n * 0.2)[0] for n in range(50)]
        assert [frame.kind for frame in frames] == [FrameKind.FRAME, *[FrameKind.REPEAT] * 49]

    def test_without_time_between_them_it_is_a_card_and_a_gap(self) -> None:
        assert said(b"4S\r4S\r") == [FOUR, Gap()]
        assert said(b"4S4S", preset="no-terminator") == [FOUR, Gap()]

    def test_a_window_of_nought_counts_all(self) -> None:
        assert said(b"4S\r4S\r", repeat_window=0) == [FOUR, FOUR]


class TestFailures:
    @pytest.mark.parametrize("text", [b"NOREAD", b"NR", b"?", b"1S", b"4004882050118"])
    def test_what_is_no_card_is_a_card_that_was_not_read(self, text: bytes) -> None:
        assert said(b"10H\r" + text + b"\r") == [TEN, Unreadable()]

    @pytest.mark.parametrize("data", [b"4\xff\r", b"\xff4\x80S\xfe\r", b"4S\xff\r"])
    def test_bytes_destroyed_in_a_frame_are_a_gap_too(self, data: bytes) -> None:
        assert said(b"10H\r" + data) == [TEN, Gap(), Unreadable()]

    def test_so_is_a_destroyed_line_end(self) -> None:
        assert said(b"4S\xff10H\r") == [Gap(), TEN]
        assert said(b"\x024S\xff\x0210H\x03", preset="olivetti") == [Gap(), TEN]

    def test_noise_without_a_line_end_changes_nothing(self) -> None:
        noise, frame = decode(b"\xff\xfe\x8010H\r")
        assert (noise.raw, noise.kind) == (b"\xff\xfe\x80", FrameKind.NOISE)
        assert frame.observations == (TEN,)

    def test_the_end_of_a_longer_code_is_not_guessed_at(self) -> None:
        cards = {"123": "AS", "23": "KD"}
        assert said(b"\xff23\r", cards=cards) == [Gap(), Unreadable()]
        assert said(b"\xff123\r", cards=cards) == [CardDrawn(card=Card("AS"))]

    def test_a_wrong_length_is_a_gap(self) -> None:
        options = {"preset": "handheld", "length_digits": 2}
        data = b"\x02024S\x03\r\x02034S\x03\r"
        assert said(data, **options) == [FOUR, Gap(), Unreadable()]

    @pytest.mark.parametrize("preset", ["standard", "no-terminator", "olivetti"])
    def test_text_between_a_connection_and_the_first_code_is_noise(self, preset: str) -> None:
        """Device servers report there that their port is in use."""
        decoder = scanner(preset=preset).decoder()
        code = {"standard": b"4S\r", "no-terminator": b"4S", "olivetti": b"\x024S\x03"}[preset]
        for at in (0.0, 10.0):
            text = decoder.feed(b"Port already in use\r\n" * 9, at + 1.0)
            text += decoder.feed(b"", at + 2.0)
            frames = [*text, *decoder.feed(code, at + 3.0), *decoder.feed(b"", at + 4.0)]
            seen = [each for frame in frames for each in frame.observations]
            # What comes before STX may have been another frame: a gap, and no card.
            assert [each for each in seen if each != Gap()] == [FOUR]
            decoder.reset()


class TestAnswers:
    def test_a_frame_is_acknowledged_and_a_broken_one_is_not(self) -> None:
        frames = decode(b"\x024S\x03\x02NOREAD\x03\x0210\xff\x03", preset="olivetti")
        assert [frame.answer for frame in frames] == [b"\x06", b"\x06", b"\x15"]
        # What is not acknowledged comes again; whether it does is not known yet.
        assert frames[2].observations == (Gap(),)

    def test_a_repeat_is_acknowledged_too(self) -> None:
        decoder = scanner(preset="olivetti").decoder()
        decoder.feed(b"\x024S\x03", 1.0)
        (frame,) = decoder.feed(b"\x024S\x03", 1.1)
        assert (frame.kind, frame.answer) == (FrameKind.REPEAT, b"\x06")

    @pytest.mark.parametrize("preset", ["standard", "icl", "handheld", "no-terminator"])
    def test_others_only_listen(self, preset: str) -> None:
        assert {frame.answer for frame in decode(b"4S\r\x02TH\x03\r\xff\r", preset=preset)} == {
            b""
        }

    def test_it_can_be_switched_on_and_off(self) -> None:
        assert decode(b"4S\r", acknowledge=True)[0].answer == b"\x06"
        assert decode(b"\x024S\x03", preset="olivetti", acknowledge=False)[0].answer == b""


class TestTables:
    def test_a_file_beside_the_configuration(self, tmp_path: Path) -> None:
        (tmp_path / "deck.toml").write_text('"17" = "4S"\n18 = "10H"\n')
        driver = scanner(cards={"19": "KD"}).beside(tmp_path, tmp_path)
        assert driver.cards() == {"19": Card("KD")}
        named = LineScanner(type(driver.options)(cards_file="deck.toml", cards={"19": "KD"}))
        driver = named.beside(tmp_path, tmp_path)
        assert driver.cards() == {"17": Card("4S"), "18": Card("10H"), "19": Card("KD")}

    def test_a_journal_needs_no_file_to_be_decoded_again(self, tmp_path: Path) -> None:
        (tmp_path / "deck.toml").write_text('"17" = "4S"\n')
        named = LineScanner(LineScannerOptions(cards_file="deck.toml"))
        recorded = named.beside(tmp_path, tmp_path).recorded_options
        again = create_driver("line-scanner", recorded)
        assert again.decoder().feed(b"17\r", 1.0)[0].observations == (FOUR,)

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('"17" = "5X"', r"deck.toml: 17: '5X'; expected a card, such as 'AS' or '10H'$"),
            ('"17" = 4', r"deck.toml: 17: 4; expected a text, got a whole number$"),
            ('" " = "4S"', r"deck.toml: ' ': expected a code of ASCII characters$"),
            ('"17" "4S"', r"deck.toml: .*; expected a table of codes and cards in TOML$"),
            (None, r"deck.toml: cannot be read: No such file or directory; expected a table"),
        ],
    )
    def test_an_invalid_file_is_one_line(
        self, tmp_path: Path, text: str | None, message: str
    ) -> None:
        if text is not None:
            (tmp_path / "deck.toml").write_text(text)
        named = LineScanner(LineScannerOptions(cards_file="deck.toml"))
        with pytest.raises(UserError, match=message):
            named.beside(tmp_path, tmp_path).decoder()
