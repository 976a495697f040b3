"""The list of irregularities is closed, and what is fixed about each stays fixed."""

from __future__ import annotations

from shoe_daemon.game.irregularities import IRREGULARITIES, SEVERITY
from shoe_daemon.game.irregularity_kind import IrregularityKind
from tests.each_case import each_case


def test_every_kind_is_declared_in_order() -> None:
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
