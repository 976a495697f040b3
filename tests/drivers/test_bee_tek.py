"""Every token that was described, and what becomes of tokens that arrived in part."""

from __future__ import annotations

import pytest

from drivers.bee_tek import BeeTek
from drivers.driver import Frame, FrameKind
from shoe_daemon.game import DECK, Card
from shoe_daemon.table.observations import (
    CardDrawn,
    Cause,
    DeviceError,
    Gap,
    Observation,
    Role,
    Unreadable,
)
from tests.each_case import each_case


def decode(data: bytes) -> list[Frame]:
    return BeeTek().decoder().feed(data, 1.0)


def said(data: bytes) -> list[Observation]:
    return [each for frame in decode(data) for each in frame.observations]


@each_case("card", DECK)
def test_every_card_is_read_rank_or_suit_first(card: Card) -> None:
    names = {
        f"{card.rank}{card.suit}",
        f"{card.suit}{card.rank}",
        f"{card.suit}{card.rank}".lower(),
    }
    names |= {name.replace("10", "T") for name in names}
    for name in names:
        assert said(f" [Game]<Card:{name}> ".encode()) == [CardDrawn(card=card)]


@each_case(
    "token, meaning",
    [
        (b"[Manual Burn Cards]<Card:4S>", CardDrawn(card=Card("4S"), role=Role.BURN)),
        (b"[Manual Burn Cards]<Card:??>", CardDrawn(role=Role.BURN)),
        (b"[Game]<Game>", Unreadable()),
        (b"[Game]<Card:1S>", Unreadable()),
        (b"[Game]<Card:>", Unreadable()),
        (b"<Card:4S>", CardDrawn(card=Card("4S"))),
        (b"[Shuffled]<Card:4S>", CardDrawn(card=Card("4S"))),
        (
            b"[Game]<Alarm:E3 Card Not Read>",
            DeviceError(cause=Cause.UNREADABLE, code="E3", text="Card Not Read"),
        ),
        (b"[GameAlarm]<Alarm:E9>", DeviceError(code="E9")),
        (b"[GameAlarm]<Alarm:>", DeviceError()),
    ],
)
def test_each_token_has_its_meaning(token: bytes, meaning: Observation) -> None:
    assert said(token) == [meaning]


@pytest.mark.parametrize(
    ("token", "note"),
    [(b"<W0x01>", "warning 0x01"), (b"[Setup]<Version:2>", "unknown token 'Version:2'")],
)
def test_warnings_and_unknown_tokens_are_frames_with_a_note(token: bytes, note: str) -> None:
    (frame,) = decode(token)
    assert (frame.kind, frame.observations, frame.note) == (FrameKind.FRAME, (), note)


def test_neither_spaces_nor_line_ends_are_needed() -> None:
    cards = [CardDrawn(card=Card("4S")), CardDrawn(card=Card("10H"))]
    for between in (b"", b" ", b" \r\n", b"\n\n  ", b"\r"):
        assert said(b"[Game]<Card:4S>" + between + b"[Game]<Card:TH>") == cards
        assert len(decode(b"[Game]<Card:4S>" + between + b"[Game]<Card:TH>")) == 2


@pytest.mark.parametrize(
    "part",
    [
        b"[Game]<Card:9\xc4>",
        b"[Game]\x8fCard:9H>",
        b"[Game]<Card:9H\x8f",
        b"[Ga<",
        b"ard:9H>",
        b"urn Cards]<Card:9H>",
        b"[Manual B\xffrn Cards]<Card",
    ],
)
def test_a_part_of_a_token_is_a_gap_and_never_a_card(part: bytes) -> None:
    heard = said(part + b" [Game]<Card:4S> ")
    assert Gap() in heard
    assert [each for each in heard if isinstance(each, CardDrawn)] == [CardDrawn(card=Card("4S"))]


def test_a_card_in_a_burst_of_noise_without_an_end_is_a_gap() -> None:
    heard = said(b"\x91" * 300 + b"[Game]<Card:9H> [Game]<Card:4S>")
    assert heard == [Gap(), CardDrawn(card=Card("4S"))]
