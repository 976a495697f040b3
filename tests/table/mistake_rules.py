"""The consequences of a mistake: readings, results that may be published, irregularities."""

from __future__ import annotations

from shoe_daemon.game.house_rules import DealingStyle
from tests.table import reference_rules
from tests.table.table_judge import Verdict
from tests.table.table_model import Dealing, Setup


def collecting_signals(setup: Setup) -> tuple[str, ...]:
    held = setup.hold_from is not None and setup.cleared
    return ("premature_collect",) if held else ()


def faces_as_read(
    faces: list[str], declared: tuple[str, bool, bool] | None
) -> reference_rules.ExpectedRound | None:
    # The coup as it was read, if nothing in it contradicts the rules or the end.
    if len(faces) < 4:
        return None
    coup = (
        reference_rules.deal([*faces, "0X", "0X"])
        if len(faces) < 6
        else reference_rules.deal(faces)
    )
    if coup.used != len(faces):
        return None
    if declared and (coup.outcome, coup.player_pair, coup.banker_pair) != declared:
        return None
    return coup


def shortfall(faces: list[str]) -> int:
    # How many cards more (or fewer, below 0) the rules want than were read.
    padded = [*faces, *["2X"] * max(0, 6 - len(faces))]
    return reference_rules.deal(padded).used - len(faces)


def declared_result(
    setup: Setup, truth: reference_rules.ExpectedRound
) -> tuple[str, bool, bool] | None:
    if setup.end != "result":
        return None
    return (truth.outcome, truth.player_pair, truth.banker_pair)


def consequence(name: str, dealing: Dealing, at: int, faces: list[str]) -> Verdict | None:
    # What follows where the reader's faces differ from the cards, and nothing says so.
    setup, truth = dealing.setup, dealing.coups[at].truth
    read = faces_as_read(faces, declared_result(setup, truth))
    if read is not None:
        if setup.slots and read.slots != truth.slots:
            return flagged_verdict(name, setup, at)
        return Verdict(name + ", invisible", {at: "any"}, most=0, accepted=[read])
    short = shortfall(faces)
    last = at == len(dealing.coups) - 1
    if setup.reader == "rules" and not setup.declares and short != 0:
        return None
    if setup.reader == "rules" and short < 0:
        return None
    if short > 0 and not setup.declares:
        return None if not last else Verdict(name, {at: "partial"}, may=("missing_draw",))
    return flagged_verdict(name, setup, at)


def flagged_verdict(name: str, setup: Setup, at: int) -> Verdict:
    kinds = ("excess_card", "missing_draw", "result_mismatch", "premature_collect")
    places = ("wrong_hand", "player_third_unauthorised") if setup.slots else ()
    return Verdict(
        name,
        {at: "any"},
        may=(*kinds, *places),
        most=4,
        flagged=True,
        hides=setup.style is DealingStyle.FACE_UP,
    )


def contradicts_cards(
    setup: Setup, truth: reference_rules.ExpectedRound, faces: list[str]
) -> bool:
    """Tell whether cards that make a whole coup give another winner or pair than declared."""
    whole = faces_as_read(faces, None) is not None and setup.end == "result"
    return whole and faces_as_read(faces, declared_result(setup, truth)) is None
