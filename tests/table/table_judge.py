"""The verdict of the rules on a log with one mistake, compared with the table."""

from __future__ import annotations

from dataclasses import dataclass, field

from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    ResultRevised,
    RoundFinished,
    RoundVoided,
)
from shoe_daemon.table import observations as seen
from tests.table import reference_rules
from tests.table.table_model import Dealing, Run


@dataclass
class Verdict:
    """
    What the rules say of a log with one mistake.

    Attributes:
        mistake: Its name.
        damaged: Coups whose result need not be exact, and what may be published of
            each: ``never`` anything, ``partial`` or nothing, ``any``, ``exact``,
            ``entered`` by a person.
        must: Kinds of irregularity that must be raised.
        may: Kinds that may be raised besides.
        most: How many irregularities may be raised at most.
        accepted: Coups as they were read, where nothing could show the mistake.
        flagged: A complete result other than the truth may stand where an
            irregularity of its round is raised.
        stays: Kinds that stay open until a person closes them.
        aborts: How many rounds come to nothing; None where that is left open.
        hides: Whether faces are checked for being shown too early.
        entered: The result that a person entered for the coup that is ``entered``.
        in_the_end: A person changes results meanwhile: only the last ones are compared.
        undone: Nothing is compared where the table refused the command, or to undo it.
    """

    mistake: str
    damaged: dict[int, str] = field(default_factory=dict)
    must: tuple[str, ...] = ()
    may: tuple[str, ...] = ()
    most: int = 1
    accepted: list[reference_rules.ExpectedRound] = field(default_factory=list)
    flagged: bool = False
    stays: tuple[str, ...] = ()
    aborts: int | None = None
    hides: bool = True
    entered: str | None = None
    undone: bool = False
    in_the_end: bool = False


Where = tuple[int | None, int | None]

Result = tuple[tuple[str, ...], tuple[str, ...], str]


def as_result(truth: reference_rules.ExpectedRound) -> Result:
    """Name a coup by its cards and winner."""
    return (tuple(truth.player), tuple(truth.banker), truth.outcome)


def published_result(data: RoundFinished) -> Result:
    """Name a published result likewise."""
    return (
        tuple(str(card) for card in data.player.cards),
        tuple(str(card) for card in data.banker.cards),
        str(data.outcome),
    )


def judge(dealing: Dealing, verdict: Verdict, run: Run) -> list[str]:
    """Compare the table with the truth; return every disagreement."""
    refused = (isinstance(told, seen.Command) and told.refused for told in run.log)
    if verdict.undone and any(refused):
        return []
    return [
        *_judge_results(dealing, verdict, run),
        *_judge_kinds(verdict, run),
        *_judge_holding(dealing, run),
        *(f"leak of {leak}" for leak in (run.leaks[:2] if verdict.hides else [])),
        *_judge_history(run),
    ]


def _every_result(run: Run) -> list[tuple[Where, RoundFinished]]:
    found: list[tuple[Where, RoundFinished]] = []
    for event in run.events:
        where, data = (event.shoe, event.round), event.data
        if isinstance(data, RoundFinished):
            found.append((where, data))
        elif isinstance(data, ResultRevised) and data.after is not None:
            found.append((where, data.after))
    return found


def final_results(events: list[Event]) -> dict[Where, RoundFinished]:
    """Return what every round came to in the end, by shoe and round."""
    final: dict[Where, RoundFinished] = {}
    for event in events:
        where, data = (event.shoe, event.round), event.data
        if isinstance(data, RoundFinished):
            final[where] = data
        elif isinstance(data, ResultRevised):
            final.pop(where, None)
            if data.after is not None:
                final[where] = data.after
        elif isinstance(data, RoundVoided):
            final.pop(where, None)
    return final


def _judge_results(dealing: Dealing, verdict: Verdict, run: Run) -> list[str]:
    truths = {as_result(coup.truth): at for at, coup in enumerate(dealing.coups)}
    return [
        *_judge_complete(verdict, run, truths),
        *_judge_coups(dealing, verdict, run, truths),
        *_judge_damage(dealing, verdict, run),
    ]


def _judge_complete(verdict: Verdict, run: Run, truths: dict[Result, int]) -> list[str]:
    # Whatever was ever published as complete is a true coup, or is flagged where it may be.
    accepted = {as_result(each) for each in verdict.accepted}
    flagged = {(e.shoe, e.round) for e in run.events if e.type == "irregularity" and e.round}
    wrong = []
    final = list(final_results(run.events).items())
    every = final if verdict.in_the_end else _every_result(run)
    for where, data in every:
        result = published_result(data)
        if data.partial or result in truths or result in accepted:
            continue
        if not verdict.flagged or where not in flagged or verdict.in_the_end:
            wrong.append(f"wrong complete result in round {where[1]}: {result}")
    return wrong


def _judge_coups(
    dealing: Dealing, verdict: Verdict, run: Run, truths: dict[Result, int]
) -> list[str]:
    wrong, exact = [], list[int]()
    for _, data in sorted(final_results(run.events).items(), key=str):
        place = truths.get(published_result(data))
        if place is None:
            continue
        how = verdict.damaged.get(place, "exact")
        if data.partial and how == "exact":
            wrong.append(f"coup {place} is partial")
        if place in exact:
            wrong.append(f"coup {place} is published twice")
        if not data.partial and how in {"never", "partial"}:
            wrong.append(f"coup {place} is published complete: {how}")
        exact.append(place)
    for place, coup in enumerate(dealing.coups):
        if place not in exact and verdict.damaged.get(place, "exact") == "exact":
            wrong.append(f"coup {place} is missing: {as_result(coup.truth)}")
    return wrong


def _judge_damage(dealing: Dealing, verdict: Verdict, run: Run) -> list[str]:
    wrong = []
    final = final_results(run.events)
    for place, how in verdict.damaged.items():
        faces = set(dealing.coups[place].truth.cards)
        for (shoe, number), data in final.items():
            cards = {str(c) for c in (*data.player.cards, *data.banker.cards) if c is not None}
            if how == "never" and cards & faces:
                wrong.append(f"coup {place} is published, as round {shoe}/{number}: never")
        if how == "entered" and len(final) != len(dealing.coups):
            wrong.append(
                f"{len(final)} rounds have a result, {len(dealing.coups)} coups were dealt"
            )
    aborted = sum(event.type == "round_aborted" for event in run.events)
    if verdict.aborts is not None and aborted != verdict.aborts:
        wrong.append(f"{aborted} rounds are aborted instead of {verdict.aborts}")
    return wrong


def _judge_kinds(verdict: Verdict, run: Run) -> list[str]:
    raised = [str(e.data.kind) for e in run.events if isinstance(e.data, Irregularity)]
    wrong = [f"{kind} is not raised" for kind in verdict.must if kind not in raised]
    wrong += [f"{kind} is raised" for kind in raised if kind not in {*verdict.must, *verdict.may}]
    if len(raised) > verdict.most:
        wrong.append(f"{len(raised)} irregularities: {raised}")
    wrong += [
        f"{kind} does not stay open" for kind in verdict.stays if kind not in run.open_before
    ]
    return wrong


def _judge_holding(dealing: Dealing, run: Run) -> list[str]:
    # An irregularity that was raised between two rounds holds the next one.
    wrong, least = [], dealing.setup.hold_from or 9
    open_now: dict[int, int | None] = {}
    for event in run.events:
        data = event.data
        if isinstance(data, Irregularity) and data.severity >= least:
            open_now[data.id] = event.round
        elif isinstance(data, IrregularityClosed):
            open_now.pop(data.id, None)
        elif event.type == "round_started":
            open_now = {k: event.round if r is None else r for k, r in open_now.items()}
        elif isinstance(data, RoundFinished) and event.round in open_now.values():
            wrong.append(f"round {event.round} is published while its irregularity is open")
    return wrong


def _judge_history(run: Run) -> list[str]:
    history = run.table.history()
    numbers = [each.round for each in history.rounds]
    wrong = [] if numbers == sorted(set(numbers)) else [f"history lists rounds {numbers}"]
    final = final_results([e for e in run.events if e.shoe == history.shoe])
    listed = {(history.shoe, each.round) for each in history.rounds if not each.voided}
    known = {
        (history.shoe, each.round)
        for each in history.rounds
        if not each.voided and each.outcome is not None
    }
    if not known <= set(final) <= listed:
        wrong.append(f"history has {sorted(map(str, listed))}, events {sorted(map(str, final))}")
    on_roads = [
        data.outcome
        for _, data in sorted(final.items(), key=lambda item: item[0][1] or 0)
        if data.outcome is not None and data.kind == "normal"
    ]
    if [each.outcome for each in run.table.results()] != on_roads:
        wrong.append("the roads are not those of the events")
    return wrong
