"""
One mistake of a dealer or an operator in a log of true coups.

Every function makes one kind of mistake in the dealing that it is given, and returns
what must come of it; None where that mistake cannot happen at that table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from msgspec.structs import replace

from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.game.house_rules import DealingStyle
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from tests.table import reference_rules
from tests.table.mistake_rules import collecting_signals, consequence, contradicts_cards, shortfall
from tests.table.mistakes_of_readers import misread, unread
from tests.table.table_judge import Verdict
from tests.table.table_model import Coup, Dealing, Step, command

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
    won = reference_rules.hand_total(player) - reference_rules.hand_total(banker)
    return "tie" if won == 0 else "player" if won > 0 else "banker"


def missed_draw(dealing: Dealing, at: int) -> Verdict | None:
    """Forget the last card of a coup that needs one, and declare its end."""
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
    """Forget a card; a supervisor rules that play continues."""
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
    """Forget a card; a supervisor has it drawn, and the end is declared again."""
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
    """Draw one card too many before the end of a coup is declared."""
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
        # While the Banker's first two lie face down it counts as a third card, and these
        # are seen at the draw.
        is_third = setup.style is DealingStyle.BANKER_TUCKED and coup.play[-1].later
        shown = (face,) if setup.style is DealingStyle.FACE_UP or is_third else ()
        coup.play.append(Step(seen.CardDrawn(card=Card(face)), 2.0, face=face, shows=shown))
    return Verdict("excess card", {}, must=("excess_card",), may=collecting_signals(setup), most=2)


def wrong_winner(dealing: Dealing, at: int) -> Verdict | None:
    """Declare another winner than the cards give."""
    setup, coup = dealing.setup, dealing.coups[at]
    if setup.end != "result":
        return None
    others = sorted({"player", "banker", "tie"} - {coup.truth.outcome})
    _declare(coup, dealing.random.choice(others))
    return Verdict(
        "wrong winner", {}, must=("result_mismatch",), may=collecting_signals(setup), most=2
    )


def unread_then_entered(dealing: Dealing, at: int) -> Verdict | None:
    """Let one card pass unread; a person enters it, rightly or with a typing error."""
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
    made = consequence("unread, typing error", dealing, at, [f or "" for f in faces])
    if made is None:
        return None
    made.must = ("unreadable_card",)
    if contradicts_cards(setup, truth, [f or "" for f in faces]):
        made.must = ("unreadable_card", "result_mismatch")
    made.may, made.most = (*made.may, "premature_collect"), made.most + 1
    return made


def corrected_wrongly(dealing: Dealing, at: int) -> Verdict | None:
    """Correct a card that was read rightly into another, after or before the end."""
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
    made = consequence("corrected wrongly", dealing, at, faces)
    if made is not None and contradicts_cards(setup, coup.truth, faces):
        made.must = ("result_mismatch",)
    return made


def void_in_between(dealing: Dealing, at: int) -> Verdict | None:
    """Void a round while it is being dealt; the rest of its coup is still dealt."""
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
    """Burn no card from a new shoe."""
    if not dealing.burned:
        return None
    dealing.start = dealing.start[:1]
    return Verdict("forgotten burn", {}, must=("burn_error",))


def late_card(dealing: Dealing, at: int) -> Verdict | None:
    """Draw a card much later than a dealer does."""
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


def lost_signal(dealing: Dealing, at: int) -> Verdict | None:
    """Lose one signal of the table: bets opened or closed, cards cleared, a result."""
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
    """Give one signal twice."""
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
    """Draw the first card before betting is closed."""
    setup, coup = dealing.setup, dealing.coups[at]
    if not setup.betting or setup.reader == "pair":
        return None
    closing = next(s for s in coup.before if isinstance(s.says, seen.NoMoreBets))
    coup.before.remove(closing)
    if dealing.random.random() < 0.5:
        coup.play.insert(1, closing)
    return Verdict("premature draw", {}, must=("premature_draw",))


def result_entered(dealing: Dealing, at: int) -> Verdict | None:
    """Enter the right result by hand while the coup is still being dealt."""
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
    """Change the shoe while the daemon is down: old cards come again."""
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
        truth = reference_rules.deal(deck)
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
    may = ("duplicate_card", *collecting_signals(setup))
    return Verdict("shoe changed while down", hurt, may=may, most=len(may))


def miscounted(dealing: Dealing, at: int) -> Verdict | None:
    """Put a new shoe on and count too few cards in the old one."""
    setup = dealing.setup
    if at == 0 or setup.house is not None or setup.reader == "pair" or setup.decks != 1:
        return None
    dealing.start.append(Step(command("new_shoe")))
    out = sum(coup.truth.used for coup in dealing.coups[:at])
    order = command("new_shoe", left=52 - out - dealing.random.randint(1, 3))
    dealing.coups[at].before.insert(0, Step(order, 20.0))
    may = ("premature_collect",) if setup.cleared else ()
    return Verdict("cards miscounted", {}, ("card_count_mismatch",), may, 1 + len(may))


def misread_then_corrected(dealing: Dealing, at: int) -> Verdict | None:
    """Read a card wrongly; a person corrects it, in the coup or later in the shoe."""
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
    if shortfall(faces) > 0 and when != "later in the coup":
        made.damaged = {at: "any"}  # its round came to nothing: no card of it can be corrected
    return made


def _reads_other(step: Step) -> bool:
    told = step.says
    return isinstance(told, seen.CardDrawn) and step.slot is not None and told.card != step.face


def change_then_undo(dealing: Dealing, at: int) -> Verdict | None:
    """Correct a card wrongly, or void the round, and take that back a little later."""
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
