"""
The rules of the game. Pure: no I/O besides the files of houses and policies, no clock, no
randomness.

Import from this package only; the modules below it may change (`docs/python.md` has examples).

- `Card`, `DECK`; `Coup`, `Hand`, `Slot`, `Outcome`, `DEALING_ORDER`, `hand_due`: cards, rounds.
- `player_draws`, `banker_draws`, `is_natural`: the drawing rules.
- `House`, `find_house`, `load_house`, `HOUSE_IDS`: the rules of one casino; `house_names`.
- `WAGER_CATALOGUE`, `Wager`, `settle_wagers`, `Settlement`: wagers and their settlement.
- `build_roads`, `Result`, `Roads`, `parse_sequence`, `format_sequence`: the roads of a shoe.
- `IrregularityKind`, `IRREGULARITIES`, `SEVERITY`: the closed list of irregularities.
- `Policy`, `find_policy`, `situations`, `Ruling`, `Action`: what an authority rules.
- `passing_the_shoe`, `Rotation`: who draws the cards where players do.

The exact odds are in `shoe_daemon.game.exact_odds` (`count_odds`): a running table needs none
of them, so this package does not load that module.

Code holds what is the same in every house; data holds what differs: `houses/*.toml` and
`policies/*.toml`.
"""

from __future__ import annotations

from shoe_daemon.game import passing_the_shoe
from shoe_daemon.game.cards import (
    CARDS_PER_DECK,
    DECK,
    MAX_DECKS,
    RANKS,
    SUIT_SIGNS,
    SUITS,
    Card,
    card_text,
)
from shoe_daemon.game.coup import (
    DEALING_ORDER,
    FIRST_CARDS,
    FOUR_CARDS,
    NATURAL,
    PLAYER_CHOICE,
    CountedHand,
    Coup,
    Hand,
    Kind,
    Outcome,
    Slot,
    banker_draws,
    hand_due,
    is_natural,
    player_draws,
)
from shoe_daemon.game.house_rules import (
    DEFAULT_HOUSE,
    HOUSE_IDS,
    Burn,
    Curator,
    CutCard,
    DealingStyle,
    Decks,
    House,
    Resolution,
    find_house,
    house_from_mapping,
    house_names,
    house_to_mapping,
    load_house,
    load_house_file,
)
from shoe_daemon.game.irregularities import (
    IRREGULARITIES,
    REPORTABLE_KINDS,
    SEVERITY,
    Evidence,
    IrregularityFacts,
    Requirement,
)
from shoe_daemon.game.irregularity_kind import IrregularityKind, Situation
from shoe_daemon.game.passing_the_shoe import Rotation
from shoe_daemon.game.result_notation import Result, format_sequence, parse_sequence
from shoe_daemon.game.roads import (
    ROWS,
    Ask,
    Asks,
    BeadCell,
    BigCell,
    LeadingTies,
    Mark,
    MarkCell,
    MarkPlace,
    Place,
    RoadCounts,
    Roads,
    Tail,
    build_roads,
)
from shoe_daemon.game.rulings import (
    ACTION_NAMES,
    DEFAULT_POLICY,
    POLICY_IDS,
    SITUATION_NAMES,
    Action,
    FalseDraw,
    Policy,
    Provision,
    Ruling,
    find_policy,
    load_policy,
    load_policy_file,
    policy_from_mapping,
    policy_to_mapping,
    situations,
)
from shoe_daemon.game.wager_catalogue import WAGER_CATALOGUE
from shoe_daemon.game.wagers import PUSH, CoupShape, Settlement, Wager, settle_wagers

__all__ = [
    "ACTION_NAMES",
    "CARDS_PER_DECK",
    "DEALING_ORDER",
    "DECK",
    "DEFAULT_HOUSE",
    "DEFAULT_POLICY",
    "FIRST_CARDS",
    "FOUR_CARDS",
    "HOUSE_IDS",
    "IRREGULARITIES",
    "MAX_DECKS",
    "NATURAL",
    "PLAYER_CHOICE",
    "POLICY_IDS",
    "PUSH",
    "RANKS",
    "REPORTABLE_KINDS",
    "ROWS",
    "SEVERITY",
    "SITUATION_NAMES",
    "SUITS",
    "SUIT_SIGNS",
    "WAGER_CATALOGUE",
    "Action",
    "Ask",
    "Asks",
    "BeadCell",
    "BigCell",
    "Burn",
    "Card",
    "CountedHand",
    "Coup",
    "CoupShape",
    "Curator",
    "CutCard",
    "DealingStyle",
    "Decks",
    "Evidence",
    "FalseDraw",
    "Hand",
    "House",
    "IrregularityFacts",
    "IrregularityKind",
    "Kind",
    "LeadingTies",
    "Mark",
    "MarkCell",
    "MarkPlace",
    "Outcome",
    "Place",
    "Policy",
    "Provision",
    "Requirement",
    "Resolution",
    "Result",
    "RoadCounts",
    "Roads",
    "Rotation",
    "Ruling",
    "Settlement",
    "Situation",
    "Slot",
    "Tail",
    "Wager",
    "banker_draws",
    "build_roads",
    "card_text",
    "find_house",
    "find_policy",
    "format_sequence",
    "hand_due",
    "house_from_mapping",
    "house_names",
    "house_to_mapping",
    "is_natural",
    "load_house",
    "load_house_file",
    "load_policy",
    "load_policy_file",
    "parse_sequence",
    "passing_the_shoe",
    "player_draws",
    "policy_from_mapping",
    "policy_to_mapping",
    "settle_wagers",
    "situations",
]
