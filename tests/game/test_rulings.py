"""A policy says what its authority says, no more, and how sure that is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.game import rulings as policies
from shoe_daemon.game.irregularities import SEVERITY
from shoe_daemon.game.irregularity_kind import IrregularityKind, Situation
from shoe_daemon.game.rulings import (
    ACTION_NAMES,
    DEFAULT_POLICY,
    POLICY_IDS,
    SITUATION_NAMES,
    Action,
    Policy,
    Provision,
    load_policy,
)
from tests.each_case import each_case

FILES = Path(policies.__file__).with_name("policies")
K = IrregularityKind

# What each authority has done in these situations, the most binding first; ? where it was not
# read in full. A situation that only other authorities have here has no ruling.
RULED: dict[str, dict[str, str]] = {
    "management": {},
    "fr_2007": {
        "player_third_unauthorised": "reassign_to_banker void_round",
        "excess_unexposed": "burn_card void_round",
        "excess_exposed": "burn_card void_round",
        "double_feed": "restore_order void_round",
        "missing_draw": "draw_now void_round",
        "premature_draw": "continue",
        "wrong_hand": "restore_order void_round",
        "card_returned": "continue",
    },
    "mo_2004": {"face_up_in_shoe": "continue?"},
    "es_melilla_2014": {
        "player_third_unauthorised": "reassign_to_banker?",
        "excess_unexposed": "burn_card?",
        "excess_exposed": "burn_card?",
        "double_feed": "void_round?",
        "face_up_in_shoe": "burn_card?",
        "missing_draw": "draw_now? void_round?",
        "premature_draw": "continue? burn_card?",
        "wrong_hand": "restore_order? void_round?",
        "card_off_table": "continue?",
        "card_returned": "continue?",
    },
    "it_venezia": {
        "player_third_unauthorised": "reassign_to_banker? supervisor?",
        "excess_unexposed": "carry_to_next_hand?",
        "excess_exposed": "carry_as_dummy_hand?",
        "double_feed": "carry_to_next_hand? carry_as_dummy_hand?",
        "face_up_in_shoe": "burn_card?",
        "missing_draw": "draw_now? supervisor?",
        "wrong_hand": "restore_order? supervisor?",
        "card_returned": "continue?",
    },
    "la_lac42": {
        "excess_unexposed": "burn_card",
        "excess_exposed": "burn_card",
        "face_up_in_shoe": "burn_card",
        "device_fault": "stop_shoe",
        "inventory_violation": "stop_shoe",
    },
    "nsw_star": {"device_fault": "continue void_round supervisor"},
    "live_studio": {
        "player_third_unauthorised": "restore_order? void_round",
        "excess_unexposed": "restore_order?",
        "double_feed": "restore_order? stop_shoe?",
        "missing_draw": "draw_now? void_round",
        "insufficient_cards": "void_round",
        "unreadable_card": "rescan? manual_entry? void_round?",
        "device_fault": "rescan? manual_entry? void_round?",
        "wrong_hand": "restore_order? void_round",
        "premature_collect": "restore_order?",
    },
    "us_nj_pa": {
        "player_third_unauthorised": "reassign_to_banker?",
        "excess_unexposed": "carry_to_next_hand?",
        "excess_exposed": "burn_card_plus_value?",
        "double_feed": "carry_to_next_hand? burn_card_plus_value?",
        "face_up_in_shoe": "burn_card_plus_value?",
        "missing_draw": "draw_now? supervisor?",
        "insufficient_cards": "void_round?",
        "device_fault": "stop_shoe?",
    },
}

SITUATIONS = sorted({situation for rulings in RULED.values() for situation in rulings})

# Which irregularities bring each situation, and what has to be known besides.
BROUGHT_BY: dict[str, list[tuple[IrregularityKind, dict[str, object]]]] = {
    **{name: [(K(name), {})] for name in set(SITUATIONS) & set(K)},
    "excess_unexposed": [(K.EXCESS_CARD, {"exposed": False, "context": "natural"})],
    "excess_exposed": [(K.EXCESS_CARD, {"exposed": True, "context": "after_sixth"})],
    "inventory_violation": [
        (K.DUPLICATE_CARD, {}),
        (K.FOREIGN_CARD, {"card": "KD"}),
        (K.CARD_COUNT_MISMATCH, {}),
    ],
}


def written(policy: Policy, kind: IrregularityKind, **attributes: object) -> str:
    """Write the proposals as the table above does."""
    found = policy.rulings(kind, **attributes)  # type: ignore[arg-type]  # exposed is a bool
    return " ".join(each.action + ("" if each.verified else "?") for each in found)


@each_case("situation", SITUATIONS)
@each_case("policy", RULED)
def test_what_each_policy_says_in_each_situation(policy: str, situation: str) -> None:
    for kind, attributes in BROUGHT_BY[situation]:
        said = written(load_policy(policy), kind, **attributes)
        assert said == RULED[policy].get(situation, "")


def test_where_nobody_knows_whether_the_card_was_seen_both_are_proposed() -> None:
    assert (
        written(load_policy("us_nj_pa"), K.EXCESS_CARD)
        == written(load_policy("us_nj_pa"), K.EXCESS_CARD, exposed=None)
        == "carry_to_next_hand? burn_card_plus_value?"
    )
    # In France it makes no difference, and nothing is said twice.
    assert written(load_policy("fr_2007"), K.EXCESS_CARD) == "burn_card void_round"


def test_management_is_the_default_and_proposes_nothing() -> None:
    assert DEFAULT_POLICY == "management"
    assert load_policy(DEFAULT_POLICY).all_rulings == ()
    assert all(load_policy(DEFAULT_POLICY).severity(kind) == SEVERITY[kind] for kind in K)


NEVER = {
    # A card drawn in error is burned in France, never carried over; in Macau the bets stand.
    "fr_2007": {"carry_to_next_hand", "carry_as_dummy_hand", "burn_card_plus_value"},
    "mo_2004": {"void_round", "burn_card"},
    "la_lac42": {"carry_to_next_hand", "carry_as_dummy_hand"},
    "it_venezia": {"void_round"},
    "live_studio": {"burn_card", "burn_card_plus_value"},
}


@pytest.mark.parametrize("policy", NEVER)
def test_what_an_authority_never_does(policy: str) -> None:
    assert not {each.action.value for each in load_policy(policy).all_rulings} & NEVER[policy]


# How sure it is.

UNVERIFIED = ("mo_2004", "es_melilla_2014", "it_venezia", "us_nj_pa")


def provisions() -> list[Provision]:
    return [each for policy in POLICY_IDS for _, each in load_policy(policy).provisions()]


@pytest.mark.parametrize("policy", UNVERIFIED)
def test_what_was_read_in_part_or_recalled_is_nowhere_verified(policy: str) -> None:
    assert load_policy(policy).all_rulings
    assert not any(each.verified for _, each in load_policy(policy).provisions())


def test_of_the_studios_only_the_page_that_was_read_is_verified() -> None:
    rulings = load_policy("live_studio").all_rulings
    assert {each.authority for each in rulings if each.verified} == {"LeoVegas"}
    assert all(each.verified for each in rulings if each.authority == "LeoVegas")


@each_case("provision", provisions())
def test_what_is_not_verified_says_why(provision: Provision) -> None:
    assert provision.verified or re.search("[Rr]ead|[Rr]ecalled", provision.note or "")


@each_case("provision", provisions())
def test_each_is_one_sentence_in_two_languages_and_names_its_place(provision: Provision) -> None:
    assert re.fullmatch(r"[A-Z][^.!?\n]+\.", provision.text)
    assert len(provision.text) < 100
    assert re.fullmatch(r"[^。\n]+。", provision.text_zh)
    # Big5 has the signs of Traditional Chinese and not the simplified ones.
    assert len(provision.text_zh.encode("big5")) < 80
    assert provision.authority
    assert provision.section


@pytest.mark.parametrize("words", [SITUATION_NAMES, ACTION_NAMES])
def test_every_situation_and_action_has_a_name_in_two_languages(words: Any) -> None:  # noqa: ANN401 - either of two
    assert list(words) in [list(Situation), list(Action)]
    for name in words.values():
        assert name.text.isascii()
        assert len(name.text_zh.encode("big5")) == 2 * len(name.text_zh)
    assert len(set(words.values())) == len(words)


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_a_policy_has_a_name_in_two_languages_and_says_what_it_rests_upon(policy: str) -> None:
    known = load_policy(policy)
    assert known.id == policy
    assert known.about.endswith(".")
    assert known.name_zh.encode("big5")


# Severity.


@each_case("policy", POLICY_IDS)
@each_case("kind", K)
def test_a_policy_raises_a_severity_or_leaves_it(policy: str, kind: IrregularityKind) -> None:
    raised = {("es_melilla_2014", "double_feed"): 4, ("la_lac42", "card_count_mismatch"): 5}
    assert load_policy(policy).severity(kind) == raised.get((policy, kind.value), SEVERITY[kind])


# The shoe.


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_a_false_draw_costs_the_shoe_in_france_only(policy: str) -> None:
    passes = {kind for kind in K if load_policy(policy).passes_shoe(kind)}
    france = {K.PLAYER_THIRD_UNAUTHORISED, K.EXCESS_CARD, K.DOUBLE_FEED}
    assert passes == (france if policy == "fr_2007" else set())
