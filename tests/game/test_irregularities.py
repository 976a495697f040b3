"""The list of irregularities is closed, and what is fixed about each stays fixed."""

from __future__ import annotations

from shoe_daemon.game.irregularities import IRREGULARITIES, SEVERITY, IrregularityKind
from tests.each_case import each_case

SEVERITIES = {
    2: "premature_draw player_third_unauthorised face_up_in_shoe burn_error cut_card_missing "
    "card_off_table",
    3: "excess_card missing_draw wrong_hand result_mismatch premature_collect double_feed "
    "unreadable_card source_conflict cut_card_overrun card_returned device_fault",
    4: "card_count_mismatch insufficient_cards manual_void",
    5: "duplicate_card foreign_card suspect_sequence",
}


def test_the_list_and_the_severities_are_those_of_the_contract() -> None:
    wanted = {kind: level for level, kinds in SEVERITIES.items() for kind in kinds.split()}
    assert {str(kind): severity for kind, severity in SEVERITY.items()} == wanted
    assert list(SEVERITY) == list(IrregularityKind)


@each_case("kind", IrregularityKind)
def test_each_says_in_one_sentence_what_it_is_and_what_shows_it(kind: IrregularityKind) -> None:
    facts = IRREGULARITIES[kind]
    assert facts.evidence
    assert facts.text.endswith(".")
    assert ". " not in facts.text
    assert len(facts.text) < 100


def test_a_reader_alone_cannot_see_what_needs_more_than_cards() -> None:
    """
    A stream of cards parses whatever it holds: only a burn, or an order that no
    shuffle gives, shows in it.
    """
    shown = {kind for kind, facts in IRREGULARITIES.items() if "sequence" in facts.evidence}
    assert shown == {IrregularityKind.BURN_ERROR, IrregularityKind.SUSPECT_SEQUENCE}
