"""
Whole lawful shoes as they come at a table: full decks, the house's burn, the cut card
and the last rounds, one shoe after another.
"""

from __future__ import annotations

import dataclasses
from random import Random

from shoe_daemon.game.cards import DECK, Card
from shoe_daemon.game.house_rules import House, load_house
from shoe_daemon.table import observations as seen
from tests.table import reference_rules
from tests.table.table_model import Coup, Dealing, Step, command, make_setup

HOUSES = ("chickasaw", "curator", "seven-feathers", "single-deck")


def whole_shoes(
    random: Random, shoes: int = 2
) -> tuple[Dealing, list[reference_rules.ExpectedRound]]:
    """Deal some whole shoes; return the dealing and every coup in its order."""
    name = random.choice(HOUSES)
    setup = make_setup(random, house=name)
    while setup.reader in {"pair", "rules"}:
        setup = make_setup(random, house=name)
    setup = dataclasses.replace(setup, decks=random.choice([1, 2]) if name != "single-deck" else 1)
    dealing = Dealing(setup, random, 0)
    dealing.start = []
    for _ in range(shoes):
        _shoe(dealing, random, load_house(name))
    return dealing, [coup.truth for coup in dealing.coups]


def _shoe(dealing: Dealing, random: Random, rules: House) -> None:
    setup = dealing.setup
    deck = [card.value for card in DECK] * setup.decks
    random.shuffle(deck)
    opening = [Step(command("new_shoe"), 30.0), *_burn(dealing, deck, rules)]
    first = len(dealing.coups)
    if rules.cut_card.mode == "checked":
        _until_cut(dealing, random, deck, rules)
    else:
        for _ in range(random.randint(1, 8)):  # shuffled for each hand
            dealing.coups.append(dealing.coup(reference_rules.deal(random.sample(deck, 6))))
    dealing.coups[first].before[:0] = opening


def _burn(dealing: Dealing, deck: list[str], rules: House) -> list[Step]:
    if rules.burn.mode != "first_card":
        return []
    face = deck.pop(0)
    steps = [_burned(seen.Role.FIRST, face, 3.0)]
    more = reference_rules.card_points(face) or rules.burn.face_value
    return steps + [_burned(seen.Role.BURN, deck.pop(0), 1.5) for _ in range(more)]


def _burned(role: seen.Role, face: str, after: float) -> Step:
    return Step(seen.CardDrawn(card=Card(face), role=role), after, face=face, shows=(face,))


def _until_cut(dealing: Dealing, random: Random, deck: list[str], rules: House) -> None:
    behind = rules.cut_card.position or 0
    left: int | None = None
    while left != 0:
        truth = reference_rules.deal(deck)
        coup = dealing.coup(truth)
        cut = len(deck) - behind
        if left is None and cut < truth.used:
            left = _cut(coup, cut, rules)
        else:
            left = None if left is None else left - 1
        del deck[: truth.used]
        dealing.coups.append(coup)


def _cut(coup: Coup, cut: int, rules: House) -> int:
    # The cut card comes before so many cards of this coup; how many coups may follow.
    step = Step(seen.CutCardSeen(), 0.7)
    if cut <= 0 and rules.cut_card.as_first_card == "last_hand":
        coup.before.append(step)
        return 0
    coup.play.insert(coup.drawn()[max(cut, 0)], step)
    return rules.cut_card.hands_after
