"""
The rules of the game: cards, drawing, houses, wagers, irregularities, rulings.
Pure: it knows no clock, no chance, no network, and reads no files but those of
houses and policies.

What is the same in every house is code (`tableau`, `round`, `curator`); what
differs is data: `House` for the play, `Policy` for what goes wrong. Odds are
asked for by hand and stay behind their own door, `shoe_daemon.game.odds`: a
running table needs none.
"""

from __future__ import annotations

from shoe_daemon.game.cards import CARDS_PER_DECK, DECK, MOST_DECKS, Card
from shoe_daemon.game.coup import DEALING_ORDER, Coup, Hand, Holding, Kind, Outcome, Slot, due
from shoe_daemon.game.house import (
    DEFAULT_HOUSE,
    HOUSE_IDS,
    Burn,
    Curator,
    CutCard,
    DealingStyle,
    House,
    Resolution,
    find_house,
    house_from_mapping,
    house_to_mapping,
    load_house,
    load_house_file,
)
from shoe_daemon.game.irregularities import (
    IRREGULARITIES,
    SEVERITY,
    Evidence,
    IrregularityFacts,
    IrregularityKind,
)
from shoe_daemon.game.ruling_situations import Action, Situation, situations
from shoe_daemon.game.rulings import (
    DEFAULT_POLICY,
    POLICY_IDS,
    FalseDraw,
    Policy,
    Provision,
    Ruling,
    find_policy,
    load_policy,
    load_policy_file,
    policy_from_mapping,
    policy_to_mapping,
)
from shoe_daemon.game.shoe_rotation import Rotation
from shoe_daemon.game.tableau import NATURAL, banker_draws, is_natural, player_draws
from shoe_daemon.game.wager_catalogue import CATALOGUE
from shoe_daemon.game.wagers import Settlement, Shape, Wager, settle

__all__ = [
    "CARDS_PER_DECK",
    "CATALOGUE",
    "DEALING_ORDER",
    "DECK",
    "DEFAULT_HOUSE",
    "DEFAULT_POLICY",
    "HOUSE_IDS",
    "IRREGULARITIES",
    "MOST_DECKS",
    "NATURAL",
    "POLICY_IDS",
    "SEVERITY",
    "Action",
    "Burn",
    "Card",
    "Coup",
    "Curator",
    "CutCard",
    "DealingStyle",
    "Evidence",
    "FalseDraw",
    "Hand",
    "Holding",
    "House",
    "IrregularityFacts",
    "IrregularityKind",
    "Kind",
    "Outcome",
    "Policy",
    "Provision",
    "Resolution",
    "Rotation",
    "Ruling",
    "Settlement",
    "Shape",
    "Situation",
    "Slot",
    "Wager",
    "banker_draws",
    "due",
    "find_house",
    "find_policy",
    "house_from_mapping",
    "house_to_mapping",
    "is_natural",
    "load_house",
    "load_house_file",
    "load_policy",
    "load_policy_file",
    "player_draws",
    "policy_from_mapping",
    "policy_to_mapping",
    "settle",
    "situations",
]
