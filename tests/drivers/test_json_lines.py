"""Objects, comments and noise; one tag is one card, however often and however it flickers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from drivers.driver import Decoder, Frame, FrameKind
from drivers.registry import create_driver
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import (
    Booted,
    CardDrawn,
    CutCardSeen,
    Gap,
    Observation,
    Result,
    Role,
    Signal,
    Unreadable,
)
from tests.each_case import each_case

ACE = CardDrawn(card=Card("AS"))
TEN = CardDrawn(card=Card("10H"))
TAGS = {"04:a2:b3:c4": "AS", "04A2B3C5": "10H"}
ACE_BY_TAG = CardDrawn(card=Card("AS"), tag="04A2B3C4")
TEN_BY_TAG = CardDrawn(card=Card("10H"), tag="04A2B3C5")


def decoder(**options: Any) -> Decoder:  # noqa: ANN401 - as in a configuration
    return create_driver("json-lines", options).decoder()


def line(**fields: object) -> bytes:
    return json.dumps(fields).encode() + b"\n"


def card(name: str = "AS", **more: object) -> bytes:
    return line(type="card", card=name, **more)


def decode(data: bytes, **options: Any) -> list[Frame]:  # noqa: ANN401 - as above
    return decoder(**options).feed(data, 1.0)


def said(data: bytes, **options: Any) -> list[Observation]:  # noqa: ANN401 - as above
    return [each for frame in decode(data, **options) for each in frame.observations]


@each_case(
    "fields, meaning",
    [
        ({"type": "card", "card": "as"}, ACE),
        ({"card": "TH"}, TEN),
        ({"card": "H10", "battery": [1, {"x": None}]}, TEN),
        ({"type": "card", "card_uid": "04A2B3C4"}, ACE_BY_TAG),
        ({"card_uid": "04 a2 b3 c5"}, TEN_BY_TAG),
        ({"card_uid": "04 a2 b3 c5", "card": "KD"}, TEN_BY_TAG),
        ({"card_uid": "0400", "card": "KD"}, CardDrawn(card=Card("KD"), tag="0400")),
        ({"card_uid": "0400"}, Unreadable(tag="0400")),
        ({"card_uid": "0" * 129}, Unreadable()),
        ({"card_uid": ":"}, Unreadable()),
        ({"type": "burn", "card_uid": "0400"}, CardDrawn(role=Role.BURN, tag="0400")),
        ({"card": None}, Unreadable()),
        ({"type": "card"}, Unreadable()),
        ({"type": "card", "card": 7}, Unreadable()),
        ({"type": "unreadable"}, Unreadable()),
        ({"type": "burn", "card": "AS"}, CardDrawn(card=Card("AS"), role=Role.BURN)),
        ({"type": "first", "card": "AS"}, CardDrawn(card=Card("AS"), role=Role.FIRST)),
        ({"type": "burn"}, CardDrawn(role=Role.BURN)),
        ({"type": "boot"}, Booted()),
        ({"type": "cut_card"}, CutCardSeen()),
        ({"type": "result", "outcome": "banker"}, Result(outcome="banker")),
        ({"type": "result", "outcome": ["banker"]}, Result()),
        ({"type": "result"}, Result()),
    ],
)
def test_each_object_has_its_meaning(fields: dict[str, object], meaning: Observation) -> None:
    assert said(line(**fields), cards=TAGS, buttons=True, cut_card=True) == [meaning]


@pytest.mark.parametrize(
    "data",
    [b"# a comment\n", b"\r\n", line(type="heartbeat"), line(type=["card"]), line(type="result")],
)
def test_what_is_no_news_is_only_counted(data: bytes) -> None:
    (frame,) = decode(data)
    assert (frame.kind, frame.observations, frame.raw) == (FrameKind.REPEAT, (), data)


def test_the_names_of_the_fields_can_be_set() -> None:
    names = {"type_field": "t", "card_field": "face", "uid_field": "uid", "seq_field": "n"}
    data = line(t="card", face="AS", n=1) + line(t="card", uid="04A2B3C5", n=3)
    assert said(data, cards=TAGS, **names) == [ACE, Gap(), TEN_BY_TAG]
    with pytest.raises(UserError, match="seq: named twice; expected a name of its own for each"):
        decoder(type_field="seq")


def test_what_is_declared_depends_on_the_options() -> None:
    assert create_driver("json-lines").signals == (Signal.FAULTS,)
    options = {"buttons": True, "cut_card": True}
    expected = (Signal.FAULTS, Signal.RESULTS, Signal.CUT_CARD)
    assert create_driver("json-lines", options).signals == expected


class TestNumbers:
    @pytest.mark.parametrize(
        ("first", "then"),
        [(1, 2), (255, 0), (65535, 1), (2**32 - 1, 0), (127, -128), (32767, -32768)],
    )
    def test_one_after_the_other_is_no_gap(self, first: int, then: int) -> None:
        assert said(card(seq=first) + card("TH", seq=then)) == [ACE, TEN]

    @pytest.mark.parametrize(
        ("first", "then"), [(1, 3), (9, 1), (1, 255), (254, 0), (32767, -32767), (65535, -32768)]
    )
    def test_a_jump_is_a_gap(self, first: int, then: int) -> None:
        assert said(card(seq=first) + card("TH", seq=then)) == [ACE, Gap(), TEN]

    def test_the_first_number_and_one_after_a_reconnection_are_none(self) -> None:
        reader = decoder()
        assert reader.feed(card(seq=9), 1.0)[0].observations == (ACE,)
        reader.reset()
        assert reader.feed(card(seq=70), 9.0)[0].observations == (ACE,)

    def test_a_boot_begins_them_again(self) -> None:
        data = card(seq=9) + line(type="boot", seq=1) + card("TH", seq=2)
        assert said(data) == [ACE, Booted(), TEN]

    def test_the_same_line_with_the_same_number_is_a_repeat_for_a_minute(self) -> None:
        reader = decoder()
        reader.feed(card(seq=9), 1.0)
        assert reader.feed(card(seq=9), 60.0)[0].kind is FrameKind.REPEAT
        # After so long the reader has rather started again, and counts anew.
        assert reader.feed(card(seq=9), 130.0)[0].observations == (ACE,)

    @pytest.mark.parametrize("seq", ["1", 1.5, None, True, [1]])
    def test_other_numbers_are_ignored(self, seq: object) -> None:
        assert said(card(seq=seq) + card("TH", seq=seq)) == [ACE, TEN]


class TestRepeats:
    def test_a_tag_that_lies_there_is_one_card(self) -> None:
        reader = decoder(cards=TAGS)
        frames = [
            reader.feed(line(card_uid="04A2B3C4", seq=n), 1 + n * 0.2)[0] for n in range(1, 100)
        ]
        assert [frame.kind for frame in frames] == [FrameKind.FRAME, *[FrameKind.REPEAT] * 98]

    def test_a_tag_that_flickers_is_one_card(self) -> None:
        reader = decoder(cards=TAGS)
        heard = reader.feed(line(card_uid="04A2B3C4"), 1.0)
        for n in range(20):
            heard += reader.feed(line(type="removed", card_uid="04A2B3C4"), 5 + n)
            heard += reader.feed(line(card_uid="04A2B3C4"), 5.9 + n)
        assert [each for frame in heard for each in frame.observations] == [ACE_BY_TAG]

    def test_five_of_a_name_slower_than_the_cooldown_are_five_cards(self) -> None:
        reader = decoder()
        heard = [reader.feed(card(), 1 + n * 0.51)[0] for n in range(5)]
        assert [frame.observations for frame in heard] == [(ACE,)] * 5

    def test_without_time_between_them_a_name_is_a_card_and_a_gap_and_a_tag_is_one_card(
        self,
    ) -> None:
        assert said(card() + card()) == [ACE, Gap()]
        assert said(line(card_uid="04A2B3C4") * 2, cards=TAGS) == [ACE_BY_TAG]

    def test_numbers_that_several_cards_have_are_no_tags(self) -> None:
        data = line(card_uid="04A2B3C4")
        assert said(data, cards=TAGS, unique_codes=False) == [ACE]
        assert said(data * 2, cards=TAGS, unique_codes=False) == [ACE, Gap()]

    def test_a_cooldown_of_nought_counts_all(self) -> None:
        assert said(card() + card(), resend_cooldown=0) == [ACE, ACE]


class TestNoise:
    def test_what_is_printed_before_the_first_object_is_noise(self) -> None:
        data = b"\xf8\x8e\x80ets Jun  8 2016 rst cause:1, boot mode:(3,6)\r\nload 0x3fff0030\r\n"
        frames = decode(data + b"\x80\x81" + card())
        assert [frame.kind.value for frame in frames] == [*["noise"] * 3, "frame"]
        assert frames[-1].observations == (ACE,)

    @pytest.mark.parametrize(
        "data",
        [
            b'{"type":"card","card":"A\n',
            b'{"type":"card","ca\xff',
            b'"type":"card","card":"AS"}\n',
            b'\x80type":"card","card":"AS"}\n',
            b"{" * 900 + b"\n",
        ],
    )
    def test_a_part_of_an_object_is_a_gap(self, data: bytes) -> None:
        heard = said(data + b"\n" + card("TH"))
        assert heard == [Gap(), TEN]

    def test_objects_whose_line_end_was_destroyed_are_a_gap(self) -> None:
        assert Gap() in said(card()[:-1] + b"\xff" + card("TH"))
        assert said(b'"card":"AS"}\xff' + card("TH")) == [Gap(), TEN]

    def test_a_line_without_an_end_is_noise_and_a_gap(self) -> None:
        heard = said(b"x" * 5000 + card() + card("TH"))
        assert heard == [Gap(), TEN]
