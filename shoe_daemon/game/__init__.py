"""
The rules of the game: cards, drawing, houses, wagers, irregularities. Pure: it
knows no clock, no chance, no network, and reads no files but those of houses.

What is the same in every house is code (`tableau`, `round`); what differs is
data (`House`). Odds are asked for by hand and stay behind their own door,
`shoe_daemon.game.odds`: a running table needs none.
"""

from __future__ import annotations

from shoe_daemon.game.cards import CARDS_PER_DECK, DECK, MOST_DECKS, Card
from shoe_daemon.game.catalogue import CATALOGUE
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
from shoe_daemon.game.round import DEALING_ORDER, Coup, Hand, Holding, Kind, Outcome, Slot, due
from shoe_daemon.game.tableau import NATURAL, banker_draws, is_natural, player_draws
from shoe_daemon.game.wagers import Settlement, Shape, Wager, settle

__all__ = [
    "CARDS_PER_DECK",
    "CATALOGUE",
    "DEALING_ORDER",
    "DECK",
    "DEFAULT_HOUSE",
    "HOUSE_IDS",
    "IRREGULARITIES",
    "MOST_DECKS",
    "NATURAL",
    "SEVERITY",
    "Burn",
    "Card",
    "Coup",
    "Curator",
    "CutCard",
    "DealingStyle",
    "Evidence",
    "Hand",
    "Holding",
    "House",
    "IrregularityFacts",
    "IrregularityKind",
    "Kind",
    "Outcome",
    "Resolution",
    "Settlement",
    "Shape",
    "Slot",
    "Wager",
    "banker_draws",
    "due",
    "find_house",
    "house_from_mapping",
    "house_to_mapping",
    "is_natural",
    "load_house",
    "load_house_file",
    "player_draws",
    "settle",
]
