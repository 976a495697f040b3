"""
Logs of true coups with exactly one mistake, and what the rules say of each.

Every function makes one kind of mistake in the dealing that it is given, and returns
what must come of it; None where that mistake cannot happen at that table.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final

from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.house import DealingStyle
from shoe_daemon.game.round import Slot
from shoe_daemon.table import observations as seen
from shoe_daemon.table.machine import Table
from tests.table import oracle
from tests.table.table_model import Coup, Dealing, Setup, Step, Verdict, command, make_setup

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
    truth = coup.truth
    if truth.used == 6 or truth.slots[-1] == "P3":
        winner = _winner(kept)
    else:
        winner = _winner(kept)
    _declare(coup, winner)
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
    return Verdict(
        "wrong winner", {}, must=("result_mismatch",), may=_collects(setup), most=2
    )


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
    for extra in range(7):
        padded = [*faces, *["2X"] * extra]
        if len(padded) >= 6:
            break
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
    if made is not None and not made.accepted:
        if setup.end == "result" and _shortfall(faces) == 0:
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
        made = _flagged("unseen", setup, at)
        return made
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
    return Verdict("gap between rounds", {k: "any" for k in hurt}, most=0)


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
        return Verdict(
            "read twice, invisible", {at: "any"}, may=twice, accepted=[read], hides=False
        )
    if setup.reader == "rules":
        return None
    if _shortfall(faces[:6]) > 0 and not setup.declares:
        return None
    made = _flagged("read twice", setup, at)
    made.may, made.hides = (*made.may, *twice), False
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
    if setup.reader in {"pair"}:
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
    if kind == "booted" and 0 < where and not done:
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
    hurt = {at: "partial"} | ({at + 1: "partial"} if at + 1 < len(dealing.coups) else {})
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
        note="two",
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
        step
        for step in dealing.start
        if getattr(step.says, "source", None) != "scanner"
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
    hurt = {at: "partial", at + 1: "any"}
    if not dealing.setup.declares:
        hurt |= {place: "any" for place in range(at, len(dealing.coups))}
    verdict.mistake, verdict.damaged = "main drops out after the checker lost a card", hurt
    verdict.hides = False
    verdict.may, verdict.most = ("source_conflict", *_collects(dealing.setup)), 2
    return verdict


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
)


def make_log(
    seed: int, mistake: Mistake | None = None, rounds: int = 5, **fixed: Any  # noqa: ANN401
) -> tuple[Dealing, Verdict]:
    """
    Make one log with one mistake out of a seed.
    """
    random = Random(seed)
    chosen = random.choice(MISTAKES)
    chosen = mistake or chosen
    while True:
        setup = make_setup(random, **fixed)
        dealing = Dealing(setup, random, rounds)
        at = random.randrange(len(dealing.coups))
        verdict = chosen(dealing, at)
        if verdict is not None:
            return dealing, verdict
