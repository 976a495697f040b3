"""
One mistake of a reader, or of the line to it, in a log of true coups.

Every function makes one kind of mistake in the dealing that it is given, and returns
what must come of it; None where that mistake cannot happen at that table.
"""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table import observations as seen
from tests.table.mistake_rules import (
    collecting_signals,
    consequence,
    declared_result,
    faces_as_read,
    flagged_verdict,
    shortfall,
)
from tests.table.table_judge import Verdict
from tests.table.table_model import Dealing, Step

IN_STEP_AFTER: Final = 4
"""Matching cards after which two readers are in step again."""


def misread(dealing: Dealing, at: int) -> Verdict | None:
    """Read one card as another."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"hidden", "pair"}:
        return None
    place = dealing.random.choice(coup.drawn())
    step, truth = coup.play[place], coup.truth
    face = dealing.spare.pop()
    told = step.says
    assert isinstance(told, seen.CardDrawn)
    old = step.face
    step.says = replace(told, card=Card(face))
    for each in coup.steps:
        each.shows = tuple(face if f == old else f for f in each.shows)
        each.later = tuple(face if f == old else f for f in each.later)
    faces = [face if f == old else f for f in truth.cards]
    return consequence("misread", dealing, at, faces)


def unread(dealing: Dealing, at: int) -> Verdict | None:
    """Let one card pass unread, and say so."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    step = coup.play[place]
    step.says = seen.Unreadable(slot=Slot(step.slot) if setup.slots and step.slot else None)
    return _unread_verdict(dealing, at, "unread")


def _unread_verdict(dealing: Dealing, at: int, name: str) -> Verdict | None:
    setup = dealing.setup
    if setup.end == "none" and not setup.declares and at < len(dealing.coups) - 1:
        hurt = {at: "partial", at + 1: "any"}
    else:
        hurt = {at: "partial"}
    return Verdict(
        name,
        hurt,
        must=("unreadable_card",),
        may=collecting_signals(setup),
        most=1 + len(collecting_signals(setup)),
    )


def unread_as_error(dealing: Dealing, at: int) -> Verdict | None:
    """Let one card pass unread, reported as an error of the device that is cleared."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    coup.play[place].says = seen.DeviceError(cause=seen.Cause.UNREADABLE)
    cleared = Step(seen.DeviceErrorCleared(cause=seen.Cause.UNREADABLE), 0.5)
    coup.play.insert(place + 1, cleared)
    return _unread_verdict(dealing, at, "unread, device error")


def unseen(dealing: Dealing, at: int) -> Verdict | None:
    """Lose the report of one card, without any sign of it."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    step, truth = coup.play[place], coup.truth
    step.says = seen.Tick()
    faces = [f for f in truth.cards if f != step.face]
    read = None if setup.slots else faces_as_read(faces, declared_result(setup, truth))
    if read is not None:
        return Verdict("unseen, invisible", {at: "any"}, most=0, accepted=[read], hides=False)
    if setup.slots:
        return flagged_verdict("unseen", setup, at)
    if not setup.declares:
        return None
    if setup.reader == "rules":
        return None
    made = flagged_verdict("unseen", setup, at)
    made.hides = False
    return made


def lost_frame(dealing: Dealing, at: int) -> Verdict | None:
    """Lose the report of one card, and notice the lost frame."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"pair", "rules"}:
        return None
    place = dealing.random.choice(coup.drawn())
    coup.play[place].says = seen.Gap()
    face = coup.play[place].face
    if setup.reader == "hidden":
        pass
    name = "lost frame"
    hurt = {at: "partial"}
    if setup.end == "none" and not setup.declares and at + 1 < len(dealing.coups):
        hurt[at + 1] = "any"  # the silence is a boundary, if none of its cards is missing
    assert face
    return Verdict(name, hurt, most=0)


def lost_frame_between(dealing: Dealing, at: int) -> Verdict | None:
    """Notice a lost frame between two rounds, in which there was no card."""
    setup, coup = dealing.setup, dealing.coups[at]
    detail = dealing.random.choice(list(seen.GapDetail))
    coup.before.insert(len(coup.before) - 1, Step(seen.Gap(detail=detail), 3.0))
    hurt = {} if setup.slots or setup.betting else {at: "partial"}
    if at and not setup.declares:
        hurt[at - 1] = "partial"  # the silence after its last card is broken
    if not setup.slots and not setup.declares and at + 1 < len(dealing.coups):
        hurt[at + 1] = "partial"
    if setup.reader == "rules":
        return None
    return Verdict("gap between rounds", dict.fromkeys(hurt, "any"), most=0)


def repeated(dealing: Dealing, at: int) -> Verdict | None:
    """Read the same card twice."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    step, truth = coup.play[place], coup.truth
    assert step.face is not None
    coup.play.insert(place + 1, Step(step.says, dealing.random.choice([0.05, 0.8])))
    twice = ("duplicate_card",) if setup.decks == 1 else ()
    if setup.slots:
        return Verdict("read twice, same place", {}, most=0)
    spot = truth.cards.index(step.face)
    faces = [*truth.cards[: spot + 1], *truth.cards[spot:]]
    read = faces_as_read(faces, declared_result(setup, truth))
    if read is not None:
        may = (*twice, *collecting_signals(setup))
        return Verdict(
            "read twice, invisible", {at: "any"}, (), may, 2, accepted=[read], hides=False
        )
    if setup.reader == "rules":
        return None
    if shortfall(faces[:6]) > 0 and not setup.declares:
        return None
    made = flagged_verdict("read twice", setup, at)
    made.may, made.most, made.hides = (*made.may, *twice), 5, False
    return made


def swapped(dealing: Dealing, at: int) -> Verdict | None:
    """Lay two neighbours on each other's places."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader != "slots":
        return None
    places = coup.drawn()
    first = dealing.random.randrange(1, 3)
    one, two = coup.play[places[first]], coup.play[places[first + 1]]
    told, other = one.says, two.says
    assert isinstance(told, seen.CardDrawn)
    assert isinstance(other, seen.CardDrawn)
    one.says, two.says = replace(told, slot=other.slot), replace(other, slot=told.slot)
    return Verdict(
        "swapped places",
        {},
        must=("wrong_hand",),
        may=collecting_signals(setup),
        most=2,
        hides=setup.style is DealingStyle.FACE_UP,
    )


def power_cycle(dealing: Dealing, at: int) -> Verdict | None:
    """Break the connection to the reader, or its power, at any moment."""
    setup, coup, random = dealing.setup, dealing.coups[at], dealing.random
    if setup.reader == "pair":
        return None
    kind = random.choice(["booted", "link", "reconnect", "restart"])
    breaks = {
        "booted": [Step(seen.Booted(), 2.0)],
        "link": [Step(seen.Link(up=False), 1.0), Step(seen.Link(up=True), 1.0)],
        "reconnect": [
            Step(seen.Link(up=False), 0.5),
            Step(seen.Link(up=True), 1.0),
            Step(seen.Gap(detail=seen.GapDetail.RECONNECT), 0.1),
        ],
        "restart": [Step(setup.session(), 1.0), Step(seen.Gap(detail=seen.GapDetail.RESTART), 0)],
    }[kind]
    where = random.randrange(len(coup.play) + 1)
    coup.play[where:where] = breaks
    if setup.reader == "rules":
        return None
    hurt = {at: "any"} if kind == "link" else {at: "partial"}
    drawn = [s for s in coup.play[:where] if s.face]
    done = len(drawn) == coup.truth.used
    if kind == "booted" and where > 0 and not done:
        hurt = {at: "partial"}
    if kind == "booted" and (where == 0 or done):
        hurt = {at: "any"}
    if done or where == 0:
        hurt = {at: "any"}
    if setup.end == "none" and not setup.declares and at + 1 < len(dealing.coups):
        hurt[at + 1] = "any"
    return Verdict(f"power cycle: {kind}", hurt, most=0, may=())


def error_without_end(dealing: Dealing, at: int) -> Verdict | None:
    """Report an error twice, in different rounds, and never its end."""
    setup = dealing.setup
    if setup.reader in {"pair", "rules"} or at + 1 >= len(dealing.coups):
        return None
    cause = dealing.random.choice(["timeout", "other", "button", "card_returned"])
    for coup in dealing.coups[at : at + 2]:
        places = coup.drawn()
        coup.play.insert(
            places[dealing.random.randrange(1, 3)],
            Step(seen.DeviceError(cause=seen.Cause(cause)), 0.5),
        )
    kind = "card_returned" if cause == "card_returned" else "device_fault"
    return Verdict(
        f"error without end: {cause}",
        {},
        must=(kind,),
        may=collecting_signals(setup),
        most=4 if collecting_signals(setup) else 2,
    )


def checker_misreads(dealing: Dealing, at: int) -> Verdict | None:
    """Let the checking reader read a card wrongly, or not at all."""
    return _checker(dealing, at, lose=dealing.random.random() < 0.5)


def _checker(dealing: Dealing, at: int, *, lose: bool) -> Verdict | None:
    coup = dealing.coups[at]
    if dealing.setup.reader != "pair":
        return None
    reads = [s for s in coup.play if isinstance(s.says, seen.CardDrawn) and s.face is None]
    step = dealing.random.choice(reads)
    assert isinstance(step.says, seen.CardDrawn)
    if lose:
        step.says = seen.Tick()
    else:
        step.says = replace(step.says, card=Card(dealing.spare.pop()))
    return Verdict(
        "checker loses a card" if lose else "checker misreads",
        {},
        must=() if lose else ("source_conflict",),
        may=("source_conflict", *collecting_signals(dealing.setup)),
        most=1 + len(collecting_signals(dealing.setup)),
    )


def checker_without_burn(dealing: Dealing, at: int) -> Verdict | None:
    """Let the checking reader see nothing of the burn."""
    if dealing.setup.reader != "pair" or not dealing.burned:
        return None
    dealing.start = [
        step for step in dealing.start if getattr(step.says, "source", None) != "scanner"
    ]
    return Verdict("checker without burn", {}, most=0)


def main_misreads(dealing: Dealing, at: int) -> Verdict | None:
    """Let the main reader of two read a card wrongly."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader != "pair" or setup.style is not DealingStyle.FACE_UP:
        return None
    step = coup.play[dealing.random.choice(coup.drawn())]
    assert isinstance(step.says, seen.CardDrawn)
    face = dealing.spare.pop()
    step.says = replace(step.says, card=Card(face))
    faces = [face if f == step.face else f for f in coup.truth.cards]
    if shortfall(faces) > 0 and not setup.declares:
        return None
    read = faces_as_read(faces, None)
    return Verdict(
        "main reader of two misreads",
        {at: "any"},
        must=("source_conflict",),
        may=("excess_card", "missing_draw", "result_mismatch", "premature_collect"),
        most=5,
        accepted=[read] if read else [],
        flagged=True,
        hides=False,
    )


def main_drops_out(dealing: Dealing, at: int) -> Verdict | None:
    """Let the main reader go away in mid-round after the checking one lost a card."""
    if dealing.setup.reader != "pair":
        return None
    verdict, coup = _checker(dealing, at, lose=True), dealing.coups[at]
    if verdict is None:
        return None
    lost = next(n for n, step in enumerate(coup.play) if isinstance(step.says, seen.Tick))
    where = dealing.random.randrange(min(lost + 2, len(coup.play)), len(coup.play) + 1)
    # Where the checking reader reads first, the main reader's next card is the lost one.
    first = lost + 1 if dealing.setup.ahead else lost
    matched = sum(first < place < where for place in coup.drawn())
    whole = where > max(coup.drawn()) or matched >= IN_STEP_AFTER
    gone = coup.play[where:] + coup.end + [s for c in dealing.coups[at + 1 :] for s in c.steps]
    for step in gone:
        if getattr(step.says, "source", None) == "shoe":
            step.says = seen.Tick()
    coup.play.insert(where, Step(seen.Link(up=False, source="shoe"), 0.1))
    hurt = {at: "any" if whole else "partial"}
    hurt |= {at + 1: "any"} if at + 1 < len(dealing.coups) else {}
    if not dealing.setup.declares:
        hurt |= dict.fromkeys(range(at, len(dealing.coups)), "any")
    verdict.mistake, verdict.damaged = "main drops out after the checker lost a card", hurt
    verdict.hides = False
    verdict.may, verdict.most = ("source_conflict", *collecting_signals(dealing.setup)), 2
    return verdict


def read_again(dealing: Dealing, at: int) -> Verdict | None:
    """Let a card pass unread, and read it on the second try."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"pair", "hidden", "rules"}:
        return None
    place = dealing.random.choice(coup.drawn())
    coup.play[place:place] = [
        Step(seen.DeviceError(cause=seen.Cause.UNREADABLE), 1.0),
        Step(seen.DeviceErrorCleared(cause=seen.Cause.UNREADABLE), 3.0),
    ]
    # Without places nobody can tell the second try from the next card.
    hurt = {} if setup.slots else {at: "any"}
    if not setup.declares and at + 1 < len(dealing.coups):
        hurt[at + 1] = "any"
    may = collecting_signals(setup)
    return Verdict("read on the second try", hurt, ("unreadable_card",), may, 1 + len(may))


def main_goes_between(dealing: Dealing, at: int) -> Verdict | None:
    """Let the main reader of two go away between two rounds, with nothing wrong before."""
    if dealing.setup.reader != "pair":
        return None
    gone = [step for coup in dealing.coups[at:] for step in coup.steps]
    for step in gone:
        if getattr(step.says, "source", None) == "shoe":
            step.says = seen.Tick()
    coup = dealing.coups[at]
    coup.before.insert(len(coup.before) - 1, Step(seen.Link(up=False, source="shoe"), 5.0))
    return Verdict("main reader goes away between rounds", {}, most=0)
