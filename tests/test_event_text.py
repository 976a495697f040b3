"""Decisions of people as lines of text."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from shoe_daemon.event_text import event_line, event_lines
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Coup, Slot
from shoe_daemon.table import (
    CardCorrected,
    Event,
    EventData,
    HandResult,
    Irregularity,
    IrregularityClosed,
    Proposal,
    ResultRevised,
    RoundFinished,
    RoundHeld,
    RoundReleased,
    RoundStarted,
    RoundVoided,
)

COUP = Coup.of((Card("9S"), Card("KD")), (Card("2H"), Card("3C")))
RESULT = RoundFinished(
    banker=HandResult(COUP.banker.cards, COUP.banker.natural, COUP.banker.pair, 5),
    kind="normal",  # type: ignore[arg-type]
    outcome=COUP.outcome,
    partial=False,
    player=HandResult(COUP.player.cards, COUP.player.natural, COUP.player.pair, 9),
    wagers=(),
)


def told(data: EventData) -> str | None:
    return event_line(Event("", data, 7, "1.0", 1, 1, "site", "table", data.type))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            IrregularityClosed("burn_card", 4, "ann", "article 55-14"),
            "   ·  ann: burn the card (irregularity 4)",
        ),
        (
            IrregularityClosed("burn_card", 4, None, "the reader saw the card withdrawn"),
            "   ·  irregularity 4 closed: the reader saw the card withdrawn",
        ),
        (
            RoundHeld((4,), None, "an irregularity waits"),
            "   7  result held: an irregularity waits",
        ),
        (RoundReleased("ann", None), "   7  result released by ann"),
        (RoundReleased(None, None), "   7  result released"),
        (RoundVoided(None, None, "ann", "not restored"), "   7  void by ann: not restored"),
        (RoundVoided(None, None, "ann", None), "   7  void by ann: no reason given"),
        (
            CardCorrected(Card("10H"), Card("4D"), "ann", None, Slot.P2),
            "   ·  ann: P2 is 10♥, not 4♦",
        ),
        (CardCorrected(Card("10H"), None, "ann", None, Slot.P2), "   ·  ann: P2 is 10♥"),
        (CardCorrected(None, None, None, None, Slot.B1), "   ·  B1 is ??"),
        (ResultRevised(None, RESULT, "ann", None), "   7  result taken back by ann"),
        (
            ResultRevised(RESULT, None, "ann", None),
            (
                "   7  Player 9♠ K♦ = 9       Banker 2♥ 3♣ = 5       "
                "Player wins (natural), revised by ann"
            ),
        ),
    ],
)
def test_decisions(data: EventData, words: str) -> None:
    assert told(data) == words


def test_an_irregularity_is_told_with_its_proposals() -> None:
    said = (
        Proposal(
            action="burn_card",
            authority="France",
            section="article 55-14",
            text="Burn it.",
            verified=True,
        ),
        Proposal(
            action="void_round",
            authority="A book",
            section="page 1",
            text="It is void.",
            verified=False,
        ),
    )
    found = Irregularity(
        card=None,
        detail="A card too many.",
        id=3,
        kind="excess_card",
        proposals=said,
        severity=3,
        slot=None,
    )
    event = Event("", found, 7, "1.0", 3, 1, "site", "table", "irregularity")
    assert event_lines(event) == [
        "   !  excess card: A card too many.",
        "      ▸ burn the card  France, article 55-14",
        "      ▸ void the round  A book, page 1, NOT VERIFIED",
    ]
    assert event_lines(replace(event, data=RoundStarted(), type="round_started")) == []
