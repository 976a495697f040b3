"""Policies and their differences as text, 80 columns wide."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

from shoe_daemon.cli.terminal import ends, indented, indented_zh
from shoe_daemon.game import (
    ACTION_NAMES,
    SEVERITY,
    SITUATION_NAMES,
    Action,
    IrregularityKind,
    Policy,
    Provision,
    Ruling,
    Situation,
)

NO_RULING = "no ruling"
UNVERIFIED = "UNVERIFIED"


def policy_list(policies: Iterable[Policy]) -> str:
    """List policies, one per line, with the share of verified rulings."""
    return "\n".join(f"{each.id:<17}{each.name:<39}{_trust(each)}" for each in policies)


def _trust(policy: Policy) -> str:
    rulings = policy.all_rulings
    verified = sum(ruling.verified for ruling in rulings)
    if not rulings:
        return NO_RULING
    if not verified:
        return f"{len(rulings)}, {UNVERIFIED}"
    return f"{len(rulings)}, {'' if verified == len(rulings) else f'{verified} '}verified"


def policy_sheet(policy: Policy) -> str:
    """Format all rulings of an authority, and the situations without one."""
    parts = [
        _heading(policy),
        *(_situation(each, policy.by_situation[each]) for each in _ruled(policy)),
        _severities(policy),
        _false_draw(policy),
        _silent(policy),
    ]
    return "\n\n".join("\n".join(lines) for part in parts if (lines := list(part)))


def _ruled(policy: Policy) -> list[Situation]:
    return [each for each in Situation if policy.by_situation.get(each)]


def _heading(policy: Policy) -> Iterator[str]:
    yield ends(policy.name, policy.id)
    yield policy.name_zh
    yield from indented(policy.about, 2)
    rulings = policy.all_rulings
    doubtful = sum(not ruling.verified for ruling in rulings)
    if doubtful:
        many = (
            "none of the rulings below is"
            if doubtful == len(rulings)
            else f"{doubtful} of the {len(rulings)} rulings below are not"
        )
        warning = f"{UNVERIFIED}: {many} verified; compare them with the text of the authority "
        yield ""
        yield from indented(f"{warning}before a table follows them.", 2)


def _situation(situation: Situation, rulings: Iterable[Ruling]) -> Iterator[str]:
    words = SITUATION_NAMES[situation]
    yield ends(words.text.upper(), situation)
    yield words.text_zh
    for number, ruling in enumerate(rulings, start=1):
        done = ACTION_NAMES[ruling.action]
        mark = "" if ruling.verified else f"  {UNVERIFIED}"
        yield ends(f"  {number}  {done.text}  {done.text_zh}{mark}", ruling.action)
        yield from _provision(ruling)


def _provision(provision: Provision) -> Iterator[str]:
    yield from indented(provision.text, 5)
    yield from indented_zh(provision.text_zh, 5)
    yield from indented(f"{provision.authority}, {provision.section}", 7)
    if provision.note:
        why = "note" if provision.verified else "not verified"
        yield from indented(f"{why}: {provision.note}", 7)


def _severities(policy: Policy) -> Iterator[str]:
    if policy.raised_severity:
        yield "SEVERITY"
    for kind, severity in policy.raised_severity.items():
        yield f"  {kind:<27}{severity}, elsewhere {SEVERITY[kind]}"


def _false_draw(policy: Policy) -> Iterator[str]:
    false_draw = policy.false_draw_passes_shoe
    if false_draw is not None:
        mark = "" if false_draw.verified else f"  {UNVERIFIED}"
        yield ends(f"WHERE A PLAYER HOLDS THE SHOE{mark}", "false_draw_passes_shoe")
        yield from _provision(false_draw)
        yield from indented(f"false draws: {', '.join(false_draw.kinds)}", 7)


def _silent(policy: Policy) -> Iterator[str]:
    silent = [each for each in Situation if each not in _ruled(policy)]
    if silent == list(Situation):
        yield "NO RULING IN ANY SITUATION"
    elif silent:
        yield "NO RULING: NOT IN THE TEXT, OR THE TEXT COULD NOT BE OBTAINED"
        yield from indented(", ".join(silent), 2)


def differing_situations(one: Policy, other: Policy) -> list[Situation]:
    """List the situations whose proposals differ."""
    return [each for each in Situation if _actions(one, each) != _actions(other, each)]


def differing_severities(one: Policy, other: Policy) -> list[IrregularityKind]:
    """List the irregularities whose severity differs."""
    return [each for each in IrregularityKind if one.severity(each) != other.severity(each)]


def differing_false_draws(one: Policy, other: Policy) -> list[IrregularityKind]:
    """List the irregularities after which only one policy passes the shoe."""
    return [each for each in IrregularityKind if one.passes_shoe(each) != other.passes_shoe(each)]


def _actions(policy: Policy, situation: Situation) -> list[Action]:
    return [ruling.action for ruling in policy.by_situation.get(situation, ())]


def difference_table(one: Policy, other: Policy) -> str:
    """Format the differences of two policies, one column each."""
    both = (one, other)
    situations = differing_situations(one, other)
    rows = [_row("", *(each.id for each in both)), ""]
    for situation in situations:
        cells = (_cell(each.by_situation.get(situation, ())) for each in both)
        names = (situation.value,)
        rows += [_row(*row) for row in zip_longest(names, *cells, fillvalue="")]
    severities = differing_severities(one, other)
    rows += ["", "SEVERITY"] if severities else []
    rows += [
        _row(f"  {kind}", *(str(each.severity(kind)) for each in both)) for kind in severities
    ]
    false_draws = differing_false_draws(one, other)
    rows += ["", "THE SHOE AFTER A FALSE DRAW"] if false_draws else []
    rows += [_row(f"  {kind}", *(_passes(each, kind) for each in both)) for kind in false_draws]
    if len(rows) == len(both):  # only the header
        rows.append("They do not differ.")
    return "\n".join([*rows, "", *_agreement(one, other, situations)])


def _row(name: str, one: str, other: str) -> str:
    return f"{name:<28}{one:<26}{other}".rstrip()


def _cell(rulings: Iterable[Ruling]) -> list[str]:
    return [f"{each.action}{'' if each.verified else ' *'}" for each in rulings] or [NO_RULING]


def _passes(policy: Policy, kind: IrregularityKind) -> str:
    return "passes" if policy.passes_shoe(kind) else "stays"


def _agreement(one: Policy, other: Policy, differing: list[Situation]) -> Iterator[str]:
    alike = [each for each in Situation if each not in differing]
    agreed = [each for each in alike if _actions(one, each)]
    if agreed:
        yield from indented(f"The same in both: {', '.join(agreed)}.", 0)
    if silent := [each for each in alike if each not in agreed]:
        yield from indented(f"No ruling in either: {', '.join(silent)}.", 0)
    if not all(ruling.verified for ruling in (*one.all_rulings, *other.all_rulings)):
        yield f"* {UNVERIFIED.lower()}: compare it with the text before a table follows it."
