"""
Logs of true coups with exactly one mistake, and what the rules say of each.

Every function makes one kind of mistake in the dealing that it is given, and returns
what must come of it; None where that mistake cannot happen at that table.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.house import DealingStyle
from shoe_daemon.game.round import Outcome, Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.machine import Table
from tests.table import oracle
from tests.table.table_model import (
    Coup,
    Dealing,
    Run,
    Setup,
    Step,
    Verdict,
    command,
    judge,
    make_setup,
    play,
)

Mistake = Callable[[Dealing, int], Verdict | None]

DRAW_WITHIN: Final = 60.0
DRAW_WITHIN_SQUEEZED: Final = 300.0


def _last_card(coup: Coup) -> int:
    return max(at for at in coup.drawn() if coup.play[at].slot)


def _cut_from(coup: Coup, at: int) -> None:
    # What lies in the coup from this card on is neither drawn nor turned.
    lost = {step.face for step in coup.play[at:] if step.slot}
    kept = []
    for step in coup.play:
        told = step.says
        if step.face in lost or (isinstance(told, seen.Disclosed) and str(told.card) in lost):
            continue
        if isinstance(told, seen.CardDrawn) and told.card is not None and str(told.card) in lost:
            continue
        if step.shows and set(step.shows) <= lost:
            continue
        kept.append(step)
    coup.play = kept


def _kept(coup: Coup) -> list[str]:
    return [step.face for step in coup.play if step.slot and step.face]


def _declare(coup: Coup, outcome: str) -> None:
    for step in coup.end:
        if isinstance(step.says, seen.Result):
            step.says = replace(step.says, outcome=outcome)


def _winner(cards: list[str]) -> str:
    # What a dealer reads from an incomplete table: P1 B1 P2 B2 and perhaps P3.
    player, banker = cards[0:3:2] + cards[4:5], cards[1:4:2]
    won = oracle.total(player) - oracle.total(banker)
    return "tie" if won == 0 else "player" if won > 0 else "banker"


def missed_draw(dealing: Dealing, at: int) -> Verdict | None:
    """
    Forget the last card of a coup that needs one, and declare its end.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if coup.truth.used == 4 or setup.reader == "pair":
        return None
    last = at == len(dealing.coups) - 1
    _cut_from(coup, _last_card(coup))
    kept = _kept(coup)
    _declare(coup, _winner(kept))
    if setup.declares:
        collect = ("premature_collect",) if setup.cleared else ()
        return Verdict(
            "missed draw",
            {at: "never"},
            must=("missing_draw",),
            may=collect,
            most=1 + len(collect),
            stays=("missing_draw",),
            aborts=None if last else 1,
        )
    if setup.reader == "rules":
        return None
    limit = DRAW_WITHIN if setup.style is DealingStyle.FACE_UP else DRAW_WITHIN_SQUEEZED
    if setup.style is DealingStyle.BANKER_TUCKED:
        limit = DRAW_WITHIN_SQUEEZED  # the shorter one may hold too: stay clear of both
    if last:
        return Verdict("missed draw", {at: "partial"}, may=("missing_draw",))
    if setup.rest > DRAW_WITHIN:
        dealing.coups[at + 1].before[-1].after += limit
        return Verdict(
            "missed draw, late next card",
            {at: "partial", at + 1: "partial"},
            must=("missing_draw",),
            may=("excess_card",),
            most=3,
            hides=False,
        )
    return None


def missed_then_ruled(dealing: Dealing, at: int) -> Verdict | None:
    """
    Forget a card; a supervisor rules that play continues.
    """
    if not dealing.setup.declares:
        return None
    verdict = missed_draw(dealing, at)
    if verdict is None:
        return None
    dealing.coups[at].end.append(Step(_rule("missing_draw", "continue"), 8.0))
    verdict.mistake, verdict.stays, verdict.aborts = "missed draw, ruled continue", (), None
    if at == len(dealing.coups) - 1:
        return None
    verdict.aborts = 1
    return verdict


def drawn_after_ruling(dealing: Dealing, at: int) -> Verdict | None:
    """
    Forget a card; a supervisor has it drawn, and the end is declared again.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if coup.truth.used == 4 or setup.reader == "pair" or setup.end == "none":
        return None
    late = [step for step in coup.play if step.face == coup.truth.cards[-1]]
    if setup.reader == "hidden":
        return None
    _cut_from(coup, _last_card(coup))
    _declare(coup, _winner(_kept(coup)))
    coup.end = coup.end[:1]
    coup.end.append(Step(_rule("missing_draw", "draw_now"), 8.0))
    late[0].after = 6.0
    coup.end += late
    if setup.style is DealingStyle.SQUEEZE:
        late[0].shows = ()
    coup.end += dealing.ending(coup.truth)
    return Verdict("draw ordered", {}, must=("missing_draw",), may=("premature_collect",))


def _rule(kind: str, action: str) -> Callable[[Table], seen.Observation | None]:
    def order(table: Table) -> seen.Observation | None:
        for alert in table.public().alerts:
            if alert.data.kind == kind:
                return command("rule", irregularity=alert.data.id, action=action)
        return None

    return order


def excess_card(dealing: Dealing, at: int) -> Verdict | None:
    """
    Draw one card too many before the end of a coup is declared.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair"}:
        return None
    face = dealing.spare.pop()
    if setup.slots:
        error = seen.DeviceError(cause=seen.Cause.OVERDRAW)
        card = seen.CardDrawn(
            card=None if setup.reader == "hidden" else Card(face), role=seen.Role.OUTSIDE
        )
        coup.play += [
            Step(error, 2.0),
            Step(card, 0.2, face=face),
            Step(seen.DeviceErrorCleared(cause=seen.Cause.OVERDRAW), 6.0),
        ]
    else:
        shown = (face,) if setup.style is DealingStyle.FACE_UP else ()
        coup.play.append(Step(seen.CardDrawn(card=Card(face)), 2.0, face=face, shows=shown))
    return Verdict("excess card", {}, must=("excess_card",), may=_collects(setup), most=2)


def _collects(setup: Setup) -> tuple[str, ...]:
    held = setup.hold_from is not None and setup.cleared
    return ("premature_collect",) if held else ()


def wrong_winner(dealing: Dealing, at: int) -> Verdict | None:
    """
    Declare another winner than the cards give.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.end != "result":
        return None
    others = sorted({"player", "banker", "tie"} - {coup.truth.outcome})
    _declare(coup, dealing.random.choice(others))
    return Verdict("wrong winner", {}, must=("result_mismatch",), may=_collects(setup), most=2)


def _twin(coup: Coup, at: int) -> Step:
    return coup.play[at]


def _as_read(faces: list[str], declared: tuple[str, bool, bool] | None) -> oracle.Expected | None:
    # The coup as it was read, if nothing in it contradicts the rules or the end.
    if len(faces) < 4:
        return None
    coup = oracle.deal([*faces, "0X", "0X"]) if len(faces) < 6 else oracle.deal(faces)
    if coup.used != len(faces):
        return None
    if declared and (coup.outcome, coup.player_pair, coup.banker_pair) != declared:
        return None
    return coup


def _shortfall(faces: list[str]) -> int:
    # How many cards more (or fewer, below 0) the rules want than were read.
    padded = [*faces, *["2X"] * max(0, 6 - len(faces))]
    return oracle.deal(padded).used - len(faces)


def _declared(setup: Setup, truth: oracle.Expected) -> tuple[str, bool, bool] | None:
    if setup.end != "result":
        return None
    return (truth.outcome, truth.player_pair, truth.banker_pair)


def misread(dealing: Dealing, at: int) -> Verdict | None:
    """
    Read one card as another.
    """
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
    return _consequence("misread", dealing, at, faces)


def _consequence(name: str, dealing: Dealing, at: int, faces: list[str]) -> Verdict | None:
    # What follows where the reader's faces differ from the cards, and nothing says so.
    setup, truth = dealing.setup, dealing.coups[at].truth
    read = _as_read(faces, _declared(setup, truth))
    if read is not None:
        if setup.slots and read.slots != truth.slots:
            return _flagged(name, setup, at)
        return Verdict(name + ", invisible", {at: "any"}, most=0, accepted=[read])
    short = _shortfall(faces)
    last = at == len(dealing.coups) - 1
    if setup.reader == "rules" and not setup.declares and short != 0:
        return None
    if setup.reader == "rules" and short < 0:
        return None
    if short > 0 and not setup.declares:
        return None if not last else Verdict(name, {at: "partial"}, may=("missing_draw",))
    return _flagged(name, setup, at)


def _flagged(name: str, setup: Setup, at: int) -> Verdict:
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


def unread(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let one card pass unread, and say so.
    """
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
        may=_collects(setup),
        most=1 + len(_collects(setup)),
    )


def unread_as_error(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let one card pass unread, reported as an error of the device that is cleared.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    coup.play[place].says = seen.DeviceError(cause=seen.Cause.UNREADABLE)
    cleared = Step(seen.DeviceErrorCleared(cause=seen.Cause.UNREADABLE), 0.5)
    coup.play.insert(place + 1, cleared)
    return _unread_verdict(dealing, at, "unread, device error")


def unread_then_entered(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let one card pass unread; a person enters it, rightly or with a typing error.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair", "hidden"} or setup.style is not DealingStyle.FACE_UP:
        return None
    verdict = unread(dealing, at)
    if verdict is None:
        return None
    step = next(s for s in coup.play if isinstance(s.says, seen.Unreadable))
    slot, truth = Slot(step.slot or "P1"), coup.truth
    typed = step.face if dealing.random.random() < 0.4 else dealing.spare.pop()
    late = dealing.random.random() < 0.5
    order = Step(
        command("enter_card", slot=slot, card=Card(typed or "")), 4.0, shows=(typed or "",)
    )
    if late:
        coup.end.insert(1 if setup.end != "none" else 0, order)
    else:
        coup.play.insert(coup.play.index(step) + 1, order)
    if setup.end == "none" and not setup.declares:
        return None
    if typed == step.face:
        verdict.mistake, verdict.damaged = "unread, entered", {}
        return verdict
    faces = [typed if f == step.face else f for f in truth.cards]
    made = _consequence("unread, typing error", dealing, at, [f or "" for f in faces])
    if made is None:
        return None
    made.must = ("unreadable_card",)
    if not made.accepted and setup.end == "result" and _shortfall([f or "" for f in faces]) == 0:
        made.must = ("unreadable_card", "result_mismatch")
    made.may, made.most = (*made.may, "premature_collect"), made.most + 1
    return made


def corrected_wrongly(dealing: Dealing, at: int) -> Verdict | None:
    """
    Correct a card that was read rightly into another, after or before the end.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"rules", "pair", "hidden"} or setup.style is not DealingStyle.FACE_UP:
        return None
    if setup.end == "none":
        return None
    step = coup.play[dealing.random.choice(coup.drawn())]
    face = dealing.spare.pop()
    order = Step(
        command("correct_card", slot=Slot(step.slot or ""), card=Card(face)), 3.0, shows=(face,)
    )
    late = dealing.random.random() < 0.5
    faces = [face if f == step.face else f for f in coup.truth.cards]
    if late:
        coup.end.insert(1, order)
    else:
        coup.play.insert(coup.play.index(step) + 1, order)
    made = _consequence("corrected wrongly", dealing, at, faces)
    declared = setup.end == "result" and _shortfall(faces) == 0
    if made is not None and not made.accepted and declared:
        made.must = ("result_mismatch",)
    return made


def unseen(dealing: Dealing, at: int) -> Verdict | None:
    """
    Lose the report of one card, without any sign of it.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader in {"pair", "hidden"}:
        return None
    place = dealing.random.choice(coup.drawn())
    step, truth = coup.play[place], coup.truth
    step.says = seen.Tick()
    faces = [f for f in truth.cards if f != step.face]
    read = None if setup.slots else _as_read(faces, _declared(setup, truth))
    if read is not None:
        return Verdict("unseen, invisible", {at: "any"}, most=0, accepted=[read], hides=False)
    if setup.slots:
        return _flagged("unseen", setup, at)
    if not setup.declares:
        return None
    if setup.reader == "rules":
        return None
    made = _flagged("unseen", setup, at)
    made.hides = False
    return made


def lost_frame(dealing: Dealing, at: int) -> Verdict | None:
    """
    Lose the report of one card, and notice the lost frame.
    """
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
    """
    Notice a lost frame between two rounds, in which there was no card.
    """
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
    """
    Read the same card twice.
    """
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
    read = _as_read(faces, _declared(setup, truth))
    if read is not None:
        may = (*twice, *_collects(setup))
        return Verdict(
            "read twice, invisible", {at: "any"}, (), may, 2, accepted=[read], hides=False
        )
    if setup.reader == "rules":
        return None
    if _shortfall(faces[:6]) > 0 and not setup.declares:
        return None
    made = _flagged("read twice", setup, at)
    made.may, made.most, made.hides = (*made.may, *twice), 5, False
    return made


def swapped(dealing: Dealing, at: int) -> Verdict | None:
    """
    Lay two neighbours on each other's places.
    """
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
        may=_collects(setup),
        most=2,
        hides=setup.style is DealingStyle.FACE_UP,
    )


def power_cycle(dealing: Dealing, at: int) -> Verdict | None:
    """
    Break the connection to the reader, or its power, at any moment.
    """
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


def void_in_between(dealing: Dealing, at: int) -> Verdict | None:
    """
    Void a round while it is being dealt; the rest of its coup is still dealt.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader == "pair":
        return None
    where = dealing.random.choice(coup.drawn()[:-1])
    coup.play.insert(where + 1, Step(command("void_round"), 1.0))
    if setup.reader == "rules" and not setup.declares:
        return None
    return Verdict(
        "void while dealt",
        {at: "never"},
        must=("manual_void",),
        hides=True,
        aborts=0,
    )


def forgotten_burn(dealing: Dealing, at: int) -> Verdict | None:
    """
    Burn no card from a new shoe.
    """
    if not dealing.burned:
        return None
    dealing.start = dealing.start[:1]
    return Verdict("forgotten burn", {}, must=("burn_error",))


def late_card(dealing: Dealing, at: int) -> Verdict | None:
    """
    Draw a card much later than a dealer does.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader != "quiet" or setup.declares:
        return None
    place = dealing.random.choice(coup.drawn()[1:])
    step = coup.play[place]
    step.after = DRAW_WITHIN_SQUEEZED + 20
    hurt = {at: "partial"} | ({at + 1: "any"} if at + 1 < len(dealing.coups) else {})
    return Verdict(
        "late card",
        hurt,
        must=("missing_draw",),
        may=("excess_card",),
        most=3,
        hides=False,
    )


def error_without_end(dealing: Dealing, at: int) -> Verdict | None:
    """
    Report an error twice, in different rounds, and never its end.
    """
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
        may=_collects(setup),
        most=4 if _collects(setup) else 2,
    )


def checker_misreads(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let the checking reader read a card wrongly, or not at all.
    """
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
        may=("source_conflict", *_collects(dealing.setup)),
        most=1 + len(_collects(dealing.setup)),
    )


def checker_without_burn(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let the checking reader see nothing of the burn.
    """
    if dealing.setup.reader != "pair" or not dealing.burned:
        return None
    dealing.start = [
        step for step in dealing.start if getattr(step.says, "source", None) != "scanner"
    ]
    return Verdict("checker without burn", {}, most=0)


def main_misreads(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let the main reader of two read a card wrongly.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader != "pair" or setup.style is not DealingStyle.FACE_UP:
        return None
    step = coup.play[dealing.random.choice(coup.drawn())]
    assert isinstance(step.says, seen.CardDrawn)
    face = dealing.spare.pop()
    step.says = replace(step.says, card=Card(face))
    faces = [face if f == step.face else f for f in coup.truth.cards]
    if _shortfall(faces) > 0 and not setup.declares:
        return None
    read = _as_read(faces, None)
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
    """
    Let the main reader go away in mid-round after the checking one lost a card.
    """
    if dealing.setup.reader != "pair":
        return None
    reads = [s for s in dealing.coups[at].play if getattr(s.says, "source", None) == "scanner"]
    verdict = _checker(dealing, at, lose=True) if reads else None
    coup = dealing.coups[at]
    if verdict is None or not coup.play:
        return None
    where = dealing.random.randrange(len(coup.play))
    gone = coup.play[where:] + coup.end + [s for c in dealing.coups[at + 1 :] for s in c.steps]
    for step in gone:
        if getattr(step.says, "source", None) == "shoe":
            step.says = seen.Tick()
    coup.play.insert(where, Step(seen.Link(up=False, source="shoe"), 0.1))
    hurt = {at: "partial"} | ({at + 1: "any"} if at + 1 < len(dealing.coups) else {})
    if not dealing.setup.declares:
        hurt |= dict.fromkeys(range(at, len(dealing.coups)), "any")
    verdict.mistake, verdict.damaged = "main drops out after the checker lost a card", hurt
    verdict.hides = False
    verdict.may, verdict.most = ("source_conflict", *_collects(dealing.setup)), 2
    return verdict


def lost_signal(dealing: Dealing, at: int) -> Verdict | None:
    """
    Lose one signal of the table: bets opened or closed, cards cleared, a result.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    signals = (seen.BettingOpen, seen.NoMoreBets, seen.TableCleared, seen.Result)
    there = [step for step in coup.before + coup.end if isinstance(step.says, signals)]
    if not there or setup.style is not DealingStyle.FACE_UP:
        return None
    step = dealing.random.choice(there)
    kind, step.says = type(step.says), seen.Tick()
    if kind is seen.NoMoreBets:
        return Verdict("no_more_bets lost", {}, must=("premature_draw",))
    if kind is seen.Result and not setup.slots and not (setup.betting or setup.cleared):
        return None  # a button forgotten: the next cards are excess cards
    hurt = {at: "any"} if kind is seen.Result and setup.confirmed else {}
    return Verdict(f"{kind.__name__} lost", hurt, most=0)


def signal_twice(dealing: Dealing, at: int) -> Verdict | None:
    """
    Give one signal twice.
    """
    coup = dealing.coups[at]
    signals = (seen.BettingOpen, seen.NoMoreBets, seen.TableCleared, seen.Result, seen.Command)
    part = dealing.random.choice([coup.before, coup.end])
    there = [n for n, step in enumerate(part) if isinstance(step.says, signals)]
    if not there:
        return None
    place = dealing.random.choice(there)
    part.insert(place + 1, Step(part[place].says, 0.5))
    return Verdict("a signal twice", {}, most=0)


def premature_draw(dealing: Dealing, at: int) -> Verdict | None:
    """
    Draw the first card before betting is closed.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if not setup.betting or setup.reader == "pair":
        return None
    closing = next(s for s in coup.before if isinstance(s.says, seen.NoMoreBets))
    coup.before.remove(closing)
    if dealing.random.random() < 0.5:
        coup.play.insert(1, closing)
    return Verdict("premature draw", {}, must=("premature_draw",))


def read_again(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let a card pass unread, and read it on the second try.
    """
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
    may = _collects(setup)
    return Verdict("read on the second try", hurt, ("unreadable_card",), may, 1 + len(may))


def result_entered(dealing: Dealing, at: int) -> Verdict | None:
    """
    Enter the right result by hand while the coup is still being dealt.
    """
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.reader == "pair" or (setup.reader == "rules" and not setup.declares):
        return None
    where = dealing.random.choice(coup.drawn()[:-1])
    order = command("enter_result", outcome=Outcome(coup.truth.outcome))
    coup.play.insert(where + 1, Step(order, 1.0))
    return Verdict(
        "result entered while dealt", {at: "entered"}, most=0, aborts=0, entered=coup.truth.outcome
    )


def shoe_changed(dealing: Dealing, at: int) -> Verdict | None:
    """
    Change the shoe while the daemon is down: old cards come again.
    """
    setup, random = dealing.setup, dealing.random
    if setup.decks != 1 or setup.reader in {"pair", "rules"} or setup.house == "single-deck":
        return None
    if at == 0:
        return None
    old = [face for coup in dealing.coups[:at] for face in coup.truth.cards]
    deck = [*old, *dealing.spare]
    random.shuffle(deck)
    later: list[Coup] = []
    while len(deck) >= 6 and len(later) < 3:
        truth = oracle.deal(deck)
        deck = deck[truth.used :]
        later.append(dealing.coup(truth))
    down = [
        Step(setup.session(), 60.0),
        Step(seen.Gap(detail=seen.GapDetail.RESTART), 0),
    ]
    later[0].before[:0] = down
    dealing.coups[at:] = later
    hurt = {at - 1: "any"} if not setup.declares else {}
    if not setup.slots:
        hurt[at] = "any"
    if not setup.declares:
        hurt[at + 1] = "any"
    hurt = {place: how for place, how in hurt.items() if place < len(dealing.coups)}
    return Verdict("shoe changed while down", hurt, may=("duplicate_card",), most=1)


def miscounted(dealing: Dealing, at: int) -> Verdict | None:
    """
    Put a new shoe on and count too few cards in the old one.
    """
    setup = dealing.setup
    if at == 0 or setup.house is not None or setup.reader == "pair" or setup.decks != 1:
        return None
    dealing.start.append(Step(command("new_shoe")))
    out = sum(coup.truth.used for coup in dealing.coups[:at])
    order = command("new_shoe", left=52 - out - dealing.random.randint(1, 3))
    dealing.coups[at].before.insert(0, Step(order, 20.0))
    may = ("premature_collect",) if setup.cleared else ()
    return Verdict("cards miscounted", {}, ("card_count_mismatch",), may, 1 + len(may))


def main_goes_between(dealing: Dealing, at: int) -> Verdict | None:
    """
    Let the main reader of two go away between two rounds, with nothing wrong before.
    """
    if dealing.setup.reader != "pair":
        return None
    gone = [step for coup in dealing.coups[at:] for step in coup.steps]
    for step in gone:
        if getattr(step.says, "source", None) == "shoe":
            step.says = seen.Tick()
    coup = dealing.coups[at]
    coup.before.insert(len(coup.before) - 1, Step(seen.Link(up=False, source="shoe"), 5.0))
    return Verdict("main reader goes away between rounds", {}, most=0)


def misread_then_corrected(dealing: Dealing, at: int) -> Verdict | None:
    """
    Read a card wrongly; a person corrects it, in the coup or later in the shoe.
    """
    setup, coup, random = dealing.setup, dealing.coups[at], dealing.random
    if setup.reader in {"rules", "pair", "hidden"} or setup.style is not DealingStyle.FACE_UP:
        return None
    if not setup.declares:
        return None
    verdict = misread(dealing, at)
    if verdict is None:
        return None
    step = next(s for s in coup.play if _reads_other(s))
    order = command("correct_card", slot=Slot(step.slot or ""), card=Card(step.face or ""))
    place = coup.play.index(step) + 1
    when = random.choice(["at once", "later in the coup", "after it", "a coup later"])
    if when == "at once":
        coup.play.insert(place, Step(order, 1.0, shows=(step.face or "",)))
        return Verdict("misread, corrected at once", may=verdict.may, most=1, in_the_end=True)
    order = replace(order, round=at + 1)
    late = Step(order, 2.0, shows=(step.face or "",))
    if when == "later in the coup":
        coup.play.append(late)
    elif when == "after it" or at + 1 >= len(dealing.coups):
        coup.end.append(late)
    else:
        following = dealing.coups[at + 1]
        following.play.insert(random.randrange(len(following.play) + 1), late)
    kinds = (*verdict.may, "result_mismatch", "excess_card", "missing_draw")
    made = Verdict(f"misread, corrected {when}", {}, may=kinds, most=verdict.most)
    made.in_the_end = True
    faces = [str(s.says.card) for s in coup.play if isinstance(s.says, seen.CardDrawn)]
    if _shortfall(faces) > 0 and when != "later in the coup":
        made.damaged = {at: "any"}  # its round came to nothing: no card of it can be corrected
    return made


def _reads_other(step: Step) -> bool:
    told = step.says
    return isinstance(told, seen.CardDrawn) and step.slot is not None and told.card != step.face


def change_then_undo(dealing: Dealing, at: int) -> Verdict | None:
    """
    Correct a card wrongly, or void the round, and take that back a little later.
    """
    setup, coup, random = dealing.setup, dealing.coups[at], dealing.random
    if setup.reader in {"rules", "pair"} or setup.style is not DealingStyle.FACE_UP:
        return None
    step = coup.play[random.choice(coup.drawn())]
    place = coup.play.index(step) + 1
    name = random.choice(["correct_card", "void_round", "enter_result"])
    fields: dict[str, Any] = {}
    if name == "correct_card":
        fields = {"slot": Slot(step.slot or ""), "card": Card(dealing.spare.pop())}
    elif name == "enter_result":
        fields = {"outcome": random.choice(list(Outcome))}
    else:
        fields = {"round": at + 1}
    shows = (str(fields["card"]),) if "card" in fields else ()
    steps = coup.play + coup.end
    one = random.randrange(place, len(steps) + 1)
    two = random.randrange(one, min(len(steps), one + 3) + 1)
    steps.insert(two, Step(command("undo"), 0.5))
    steps.insert(one, Step(command(name, **fields), 0.5, shows=shows))
    coup.play, coup.end = steps, []
    kinds = ("excess_card", "missing_draw", "result_mismatch", "manual_void", "wrong_hand")
    return Verdict(
        f"{name}, undone",
        {},
        may=(*kinds, "player_third_unauthorised", "premature_collect", "duplicate_card"),
        most=5,
        flagged=True,
        undone=True,
        in_the_end=True,
    )


MISTAKES: Final[tuple[Mistake, ...]] = (
    missed_draw,
    missed_then_ruled,
    drawn_after_ruling,
    excess_card,
    wrong_winner,
    misread,
    unread,
    unread_as_error,
    unread_then_entered,
    corrected_wrongly,
    unseen,
    lost_frame,
    lost_frame_between,
    repeated,
    swapped,
    power_cycle,
    void_in_between,
    forgotten_burn,
    late_card,
    error_without_end,
    checker_misreads,
    checker_without_burn,
    main_misreads,
    main_drops_out,
    lost_signal,
    signal_twice,
    premature_draw,
    read_again,
    result_entered,
    shoe_changed,
    miscounted,
    main_goes_between,
    misread_then_corrected,
    change_then_undo,
)


WITH_BURN: Final = (forgotten_burn, checker_without_burn)


def make_log(
    seed: int,
    mistake: Mistake | None = None,
    rounds: int = 5,
    **fixed: Any,  # noqa: ANN401
) -> tuple[Dealing, Verdict]:
    """
    Make one log with one mistake out of a seed.
    """
    random = Random(seed)
    while True:
        setup = make_setup(random, **fixed)
        if mistake in WITH_BURN:
            setup = make_setup(random, **(fixed | {"house": "chickasaw"}))
        dealing = Dealing(setup, random, rounds)
        at = random.randrange(len(dealing.coups))
        verdict = (mistake or random.choice(MISTAKES))(dealing, at)
        if verdict is not None:
            return dealing, verdict
        rounds = max(rounds, 2)


LOGS: Final = int(os.environ.get("MISTAKE_LOGS", "400"))
"""How many logs a test plays."""
SEED: Final = int(os.environ.get("MISTAKE_SEED", "0"))


def shortest(seed: int, mistake: Mistake, tries: int = 300) -> tuple[int, Dealing, Verdict]:
    """
    Look for a shorter log in which the same mistake leads to a disagreement.
    """
    dealing, verdict = make_log(seed, mistake)
    best = (seed, dealing, verdict)
    wanted = _complaints(dealing, verdict)
    for other in range(tries):
        for rounds in (1, 2, 3):
            dealing, verdict = make_log(other, mistake, rounds, house=None, cleared=False)
            if len(dealing.steps()) < len(best[1].steps()) and wanted & _complaints(
                dealing, verdict
            ):
                best = (other, dealing, verdict)
    return best


def _complaints(dealing: Dealing, verdict: Verdict) -> set[str]:
    wrong = judge(dealing, verdict, play(dealing.steps()))
    return {re.sub(r"\d+.*", "", each) for each in wrong}


def report(dealing: Dealing, verdict: Verdict, run: Run, wrong: list[str], seed: int) -> str:
    """
    Write down a disagreement: the truth, the log and what differs.
    """
    coups = "\n".join(
        f"  coup {at}: {' '.join(c.truth.player)} | {' '.join(c.truth.banker)} {c.truth.outcome}"
        for at, c in enumerate(dealing.coups)
    )
    lines = [f"seed {seed}: {verdict.mistake}", coups, run.lines(), *(f"! {w}" for w in wrong)]
    return "\n".join(lines)
