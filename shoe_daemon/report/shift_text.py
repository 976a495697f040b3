"""The report on a shift as text, 80 columns wide, and as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from io import StringIO
from typing import Final

from shoe_daemon.game import IrregularityKind
from shoe_daemon.report import wording
from shoe_daemon.report.figures import (
    Availability,
    CommandCounts,
    Figures,
    ShiftExpectation,
    ShiftReport,
)
from shoe_daemon.report.shift_wording import Action, ShiftWording, limits
from shoe_daemon.report.text import entry, headline, signature_lines, wrapped

_NAME: Final = 17
_BAR: Final = 50
"""Characters of the longest bar."""

_WIDTHS: Final = (6, 7, 6, 8, 5, 5, 5, 7, 6, 8)
_PERSON_WIDTHS: Final = (8, 8, 10, 11, 8, 9, 9)
_OUTCOMES: Final = tuple(wording.COUNTED)


def shift_text(report: ShiftReport, zone: tzinfo) -> str:
    """Render a report; no line exceeds `COLUMNS`."""
    shift = ShiftWording(report, zone)
    parts: list[Iterable[str]] = [
        [*headline("SHIFT", shift.where()), *wrapped(shift.title(), "", "")],
        _rows("OVERVIEW", shift.overview()),
        _expected(shift),
        _tables(shift),
    ]
    if report.dealers:
        parts.append(_dealers(shift))
    parts += [
        _people(shift),
        _actions("REFUSED COMMANDS", *shift.refusals()),
        _actions("TAKEN BACK BY THE SAME PERSON", *shift.reversals()),
        _hours(shift),
        _kinds(shift),
        _incidents(shift),
        _readers(shift),
        *_proofs(shift),
        signature_lines(shift.SIGNERS),
        wrapped(wording.FOR_STAFF, "", ""),
    ]
    return wording.plain("\n\n".join(filter(None, map("\n".join, parts))))


def _rows(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield title
    for name, text in rows:
        yield from entry(name, text)


def _expected(shift: ShiftWording) -> Iterator[str]:
    expectations = shift.report.expectations
    if not expectations:
        yield "AGAINST THE ODDS"
        yield from wrapped(shift.odds_sentence())
        return
    heads = f"{'found':>7}{'expected':>10}{'share':>8}{'95 % limits':>14}{'odds':>9}"
    yield f"{'AGAINST THE ODDS':<16}{heads}"
    for each in expectations:
        share, low, high = limits(each)
        counts = f"{each.found:>7}{each.expected:>10.1f}{share + ' %':>8}"
        chances = f"{shift.to(low, high):>14}{wording.percentage(each) + ' %':>9}"
        name = shift.counted(each.name)
        line = f"  {name:<14}{counts}{chances}  {each.words.partition(',')[0]}"
        yield line.rstrip()
    yield ""
    yield from wrapped(shift.odds_sentence())
    yield from wrapped(shift.SOURCE)


def _row(name: str, cells: Sequence[str], widths: Sequence[int] = _WIDTHS) -> Iterator[str]:
    """Give a row of figures; a name that is too long has a line of its own."""
    if len(name) >= _NAME:
        yield from wrapped(name.strip())
        name = ""
    columns = zip(cells, widths, strict=True)
    yield f"{name:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in columns)


def _tables(shift: ShiftWording) -> Iterator[str]:
    report = shift.report
    yield from _row("TABLES", shift.FIGURE_HEADS)
    for each in report.tables:
        name = shift.names[each.site, each.table]
        yield from _row(f"  {name}", shift.figure_cells(each.figures))
    if len(report.tables) > 1:
        yield from _row("  all", shift.figure_cells(report.all))
    yield ""
    yield from wrapped(f"{shift.PLAY} {shift.HEADS_EXPLAINED}")


def _dealers(shift: ShiftWording) -> Iterator[str]:
    yield from _row("DEALERS", shift.FIGURE_HEADS)
    for each in shift.report.dealers:
        yield from _row(f"  {shift.dealer(each)}", shift.figure_cells(each.figures))
    yield ""
    yield from wrapped(shift.DEALERS)


def _hours(shift: ShiftWording) -> Iterator[str]:
    yield "ROUNDS BY HOUR"
    most = max((each.rounds for each in shift.report.hours), default=0) or 1
    for each in shift.report.hours:
        bar = "█" * round(_BAR * each.rounds / most)
        yield f"  {shift.hour_label(each.at)}  {bar}{' ' if bar else ''}{each.rounds:,}"


def _kinds(shift: ShiftWording) -> Iterator[str]:
    kinds = shift.kinds()
    yield "IRREGULARITIES BY KIND" if kinds else "IRREGULARITIES  none"
    for name, severity, count, tables, dealers in kinds:
        where = f"{tables}; {dealers}" if dealers else tables
        yield from wrapped(where, f"  {count:>5}  {name} (severity {severity}): ", " " * 9)


def _incidents(shift: ShiftWording) -> list[str]:
    shown, more = shift.listed()
    if not shown and not more:
        return []
    lines = ["IRREGULARITIES OF SEVERITY 3 AND MORE, OR OPEN"]
    for each in shown:
        at = shift.clock(each.incident.at)
        place = ", ".join(filter(None, shift.incident_place(each)))
        what = f"{place}: {wording.incident_title(each.incident)}"
        indent = " " * (len(at) + 4)
        lines += wrapped(f"{what} (severity {each.incident.severity})", f"  {at}  ", indent)
        lines += wrapped(f"→ {wording.decision(each.incident)}", indent, f"{indent}  ")
    return lines + (wrapped(more) if more else [])


def _people(shift: ShiftWording) -> Iterator[str]:
    if shift.report.people:
        yield from _row("PEOPLE", shift.PERSON_HEADS, _PERSON_WIDTHS)
        for each in shift.report.people:
            name = f"  {shift.person_name(each)}"
            yield from _row(name, shift.person_cells(each), _PERSON_WIDTHS)
        yield ""
        yield from wrapped(shift.PEOPLE)


def _actions(title: str, rows: Sequence[Action], more: str) -> Iterator[str]:
    if rows:
        yield title
        for at, place, who, what in rows:
            yield from wrapped(f"{place}, {who}: {what}", f"  {at}  ", " " * (len(at) + 4))
        if more:
            yield from wrapped(more)


def _readers(shift: ShiftWording) -> Iterator[str]:
    yield "READERS"
    for each in shift.report.tables:
        name, worked = shift.names[each.site, each.table], shift.availability(each.availability)
        yield from wrapped(f"{name}: worked {worked}; without: {shift.outages(each)}")
    yield ""
    yield from wrapped(shift.READERS)


def _proofs(shift: ShiftWording) -> Iterator[Iterable[str]]:
    for each in shift.report.tables:
        rows = [("Events", "none")]
        if each.proof is not None:
            rows = wording.proof_rows(each.proof, "shift")
        yield _rows(f"PROOF, {shift.names[each.site, each.table]}", rows)


def shift_csv(report: ShiftReport) -> str:
    """
    Render the figures as comma-separated values: a row for all, for each table and each dealer.

    The columns are always the same.
    """
    odds, worked = report.expectations, report.availability
    rows = [_csv_row("all", "", report.all, odds, worked) | _csv_commands(report.commands)]
    for each in report.tables:
        name = f"{each.site}/{each.table}"
        row = _csv_row("table", name, each.figures, each.expectations, each.availability)
        rows.append(row | _csv_commands(each.commands))
    rows += [
        _csv_row("dealer", dealer.dealer or "", dealer.figures, (), None) | _csv_commands(None)
        for dealer in report.dealers
    ]
    if report.source == "log":
        for row in rows:
            row["results_entered"] = None  # not known without the orders
    out = StringIO()
    writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _csv_commands(counts: CommandCounts | None) -> dict[str, object]:
    return {
        "commands": counts.given if counts else None,
        "commands_refused": counts.refused if counts else None,
        "wrong_pins": counts.wrong_pins if counts else None,
        "decisions_taken_back": counts.reversals if counts else None,
    }


def _csv_row(
    scope: str,
    name: str,
    figures: Figures,
    expectations: Sequence[ShiftExpectation],
    availability: Availability | None,
) -> dict[str, object]:
    rounds = figures.rounds
    row: dict[str, object] = {
        "of": scope,
        "name": wording.plain(wording.csv_cell(name)),
        "hours": round(figures.seconds / 3600, 3),
        "rounds": rounds.begun,
        "rounds_counted": rounds.counted,
        "rounds_per_hour": figures.rounds_per_hour,
        "cards": figures.cards,
        "cards_per_hour": figures.cards_per_hour,
        "cards_unread": figures.unread,
        "rounds_held": figures.held,
        "rounds_void": rounds.void,
        "rounds_aborted": rounds.aborted,
        "rounds_partial": rounds.partial,
        "results_entered": rounds.entered,
        "results_changed": rounds.revised,
        "decided_by_people": figures.decided_by_people,
        "median_decision_s": figures.median_decision,
        "longest_decision_s": figures.longest_decision,
        "still_open": figures.still_open,
        "available_least": round(availability.least, 5) if availability else None,
        "available_most": round(availability.most, 5) if availability else None,
    }
    found = {each.name: each for each in expectations}
    for each in _OUTCOMES:
        row[each] = found[each].found if each in found else None
        row[f"{each}_expected"] = found[each].expected if each in found else None
    row["irregularities"] = figures.irregularities
    return row | {kind.value: figures.kinds.get(kind, 0) for kind in IrregularityKind}
