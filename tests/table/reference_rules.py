"""A second implementation of a round's result, from the texts of the cards and a drawing table."""

from __future__ import annotations

from typing import Any, NamedTuple

# Which third cards of the Player make the Banker draw, as a rule sheet prints it.
BANKER_DRAWS_ON = {
    0: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
    1: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
    2: {0, 1, 2, 3, 4, 5, 6, 7, 8, 9},
    3: {0, 1, 2, 3, 4, 5, 6, 7, 9},
    4: {2, 3, 4, 5, 6, 7},
    5: {4, 5, 6, 7},
    6: {6, 7},
    7: set(),
}
WORTH = {"A": 1, "10": 0, "J": 0, "Q": 0, "K": 0}


class ExpectedRound(NamedTuple):
    """A round: the slots in the order of drawing, both hands, and how it ends."""

    slots: list[str]
    player: list[str]
    banker: list[str]
    player_total: int
    banker_total: int
    outcome: str
    code: str
    """The last `draw_due`."""
    player_pair: bool
    banker_pair: bool
    natural: bool

    @property
    def used(self) -> int:
        """Number of cards that it took."""
        return len(self.slots)

    @property
    def cards(self) -> list[str]:
        """The cards in the order of drawing."""
        hands = {"P": list(self.player), "B": list(self.banker)}
        return [hands[slot[0]].pop(0) for slot in self.slots]


def card_points(card: str) -> int:
    """Count one card."""
    rank = card[:-1]
    return WORTH[rank] if rank in WORTH else int(rank)


def hand_total(hand: list[str]) -> int:
    """Count a hand."""
    return sum(card_points(card) for card in hand) % 10


def deal(shoe: list[str], *, stands_on_5: bool = False) -> ExpectedRound:
    """Deal a round from the front of a shoe; `stands_on_5` if the Player so chooses."""
    player, banker = [shoe[0], shoe[2]], [shoe[1], shoe[3]]
    slots = ["P1", "B1", "P2", "B2"]
    rest = list(shoe[4:6])
    natural = max(hand_total(player), hand_total(banker)) > 7
    code = "natural"
    if not natural and hand_total(player) <= 5 - stands_on_5:
        third = rest.pop(0)
        player.append(third)
        slots.append("P3")
        draws = (
            hand_total(banker) <= 7 and card_points(third) in BANKER_DRAWS_ON[hand_total(banker)]
        )
    else:
        draws = not natural and hand_total(banker) <= 5
    if draws:
        banker.append(rest.pop(0))
        slots.append("B3")
        code = "complete"
    elif not natural:
        code = "banker_stands"
    won = hand_total(player) - hand_total(banker)
    return ExpectedRound(
        slots,
        player,
        banker,
        hand_total(player),
        hand_total(banker),
        "tie" if won == 0 else "player" if won > 0 else "banker",
        code,
        player[0][:-1] == player[1][:-1],
        banker[0][:-1] == banker[1][:-1],
        natural,
    )


def expected_wagers(outcome: str) -> list[dict[str, Any]]:
    """Settle what a table without a house offers: Player, Banker at 5 %, Tie."""
    odds = {"player": "1:1", "banker": "19:20", "tie": "8:1"}
    results = {name: "win" if name == outcome else "lose" for name in odds}
    if outcome == "tie":
        results.update(player="push", banker="push")
    return [
        {"pays": odds[name] if result == "win" else None, "result": result, "wager": name}
        for name, result in results.items()
    ]


def expected_rounds(shoe: list[str]) -> list[ExpectedRound]:
    """Deal a shoe until too few cards are left for any round."""
    dealt = []
    while len(shoe) >= 6:
        dealt.append(deal(shoe))
        shoe = shoe[dealt[-1].used :]
    return dealt


def expected_event(expected: ExpectedRound) -> dict[str, Any]:
    """Write the data of the event that must end the round, in a table without a house."""
    return {
        "banker": _expected_hand(expected.banker, expected.banker_pair),
        "kind": "normal",
        "outcome": expected.outcome,
        "partial": False,
        "player": _expected_hand(expected.player, expected.player_pair),
        "wagers": expected_wagers(expected.outcome),
    }


def _expected_hand(hand: list[str], pair: bool) -> dict[str, Any]:  # noqa: FBT001 - a plain fact
    natural = len(hand) == 2 and hand_total(hand) > 7
    return {"cards": hand, "natural": natural, "pair": pair, "total": hand_total(hand)}
