"""The report on a shift as text, 80 columns wide, and as a table for spreadsheets."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from datetime import tzinfo
from io import StringIO
from typing import Final

from shoe_daemon.game import IrregularityKind
from shoe_daemon.report import shift_wording, wording
from shoe_daemon.report.figures import (
    Availability,
    CommandCounts,
    Figures,
    ShiftExpectation,
    ShiftReport,
)
from shoe_daemon.report.text import entry, headline, signature_lines, wrapped

_NAME: Final = 17
_BAR: Final = 50
"""Characters of the longest bar."""

_WIDTHS: Final = (6, 7, 6, 8, 5, 5, 5, 7, 6, 8)
_PERSON_WIDTHS: Final = (8, 8, 10, 11, 8, 9, 9)
_OUTCOMES: Final = tuple(wording.COUNTED)


def shift_text(report: ShiftReport, zone: tzinfo) -> str:
    """Render a report; no line exceeds `COLUMNS`."""
    parts: list[Iterable[str]] = [
        [
            *headline("SHIFT", shift_wording.where(report)),
            *wrapped(shift_wording.title(report, zone), "", ""),
        ],
        _rows("OVERVIEW", shift_wording.overview(report)),
        _expected(report),
        _tables(report),
    ]
    if report.dealers:
        parts.append(_dealers(report))
    parts += [
        _people(report),
        _actions("REFUSED COMMANDS", *shift_wording.refusals(report, zone)),
        _actions("TAKEN BACK BY THE SAME PERSON", *shift_wording.reversals(report, zone)),
        _hours(report, zone),
        _kinds(report),
        _incidents(report, zone),
        _readers(report, zone),
        *_proofs(report),
        signature_lines(shift_wording.SIGNERS),
        wrapped(wording.FOR_STAFF, "", ""),
    ]
    return wording.plain("\n\n".join(filter(None, map("\n".join, parts))))


def _rows(title: str, rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    yield title
    for name, text in rows:
        yield from entry(name, text)


def _expected(report: ShiftReport) -> Iterator[str]:
    if not report.expectations:
        yield "AGAINST THE ODDS"
        yield from wrapped(shift_wording.odds_sentence(report))
        return
    heads = f"{'found':>7}{'expected':>10}{'share':>8}{'95 % limits':>14}{'odds':>9}"
    yield f"{'AGAINST THE ODDS':<16}{heads}"
    for each in report.expectations:
        share, low, high = shift_wording.limits(each)
        name = wording.COUNTED[each.name]
        counts = f"{each.found:>7}{each.expected:>10.1f}{share + ' %':>8}"
        chances = f"{f'{low} to {high}':>14}{wording.percentage(each) + ' %':>9}"
        line = f"  {name:<14}{counts}{chances}  {each.words.partition(',')[0]}"
        yield line.rstrip()
    yield ""
    yield from wrapped(shift_wording.odds_sentence(report))
    yield from wrapped(shift_wording.SOURCE)


def _row(name: str, cells: Sequence[str] = shift_wording.FIGURE_HEADS) -> str:
    columns = zip(cells, _WIDTHS, strict=True)
    return f"{name:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in columns)


def _figures(name: str, figures: Figures) -> Iterator[str]:
    name = f"  {name}"
    if len(name) >= _NAME:
        yield from wrapped(name.strip())
        name = ""
    yield _row(name, shift_wording.figure_cells(figures))


def _tables(report: ShiftReport) -> Iterator[str]:
    called = shift_wording.names(report)
    yield _row("TABLES")
    for each in report.tables:
        yield from _figures(called[each.site, each.table], each.figures)
    if len(report.tables) > 1:
        yield from _figures("all", report.all)
    yield ""
    yield from wrapped(f"{shift_wording.PLAY} {shift_wording.HEADS_EXPLAINED}")


def _dealers(report: ShiftReport) -> Iterator[str]:
    yield _row("DEALERS")
    for each in report.dealers:
        yield from _figures(shift_wording.dealer(each), each.figures)
    yield ""
    yield from wrapped(shift_wording.DEALERS)


def _hours(report: ShiftReport, zone: tzinfo) -> Iterator[str]:
    yield "ROUNDS BY HOUR"
    most = max((each.rounds for each in report.hours), default=0) or 1
    for each in report.hours:
        bar = "█" * round(_BAR * each.rounds / most)
        label = shift_wording.hour_label(report, each.at, zone)
        yield f"  {label}  {bar}{' ' if bar else ''}{each.rounds:,}"


def _kinds(report: ShiftReport) -> Iterator[str]:
    kinds = shift_wording.kinds(report)
    yield "IRREGULARITIES BY KIND" if kinds else "IRREGULARITIES  none"
    for name, severity, count, tables, dealers in kinds:
        where = f"{tables}; {dealers}" if dealers else tables
        yield from wrapped(where, f"  {count:>5}  {name} (severity {severity}): ", " " * 9)


def _incidents(report: ShiftReport, zone: tzinfo) -> list[str]:
    shown, more = shift_wording.listed(report)
    if not shown and not more:
        return []
    lines = ["IRREGULARITIES OF SEVERITY 3 AND MORE, OR OPEN"]
    for each in shown:
        at = shift_wording.clock(report, each.incident.at, zone)
        place = ", ".join(filter(None, shift_wording.incident_place(report, each)))
        what = f"{place}: {wording.incident_title(each.incident)}"
        indent = " " * (len(at) + 4)
        lines += wrapped(f"{what} (severity {each.incident.severity})", f"  {at}  ", indent)
        lines += wrapped(f"→ {wording.decision(each.incident)}", indent, f"{indent}  ")
    return lines + (wrapped(more) if more else [])


def _people(report: ShiftReport) -> Iterator[str]:
    if report.people:
        yield _person_row("PEOPLE", shift_wording.PERSON_HEADS)
        for each in report.people:
            name = f"  {shift_wording.person_name(each)}"
            if len(name) >= _NAME:
                yield from wrapped(name.strip())
                name = ""
            yield _person_row(name, shift_wording.person_cells(report, each))
        yield ""
        yield from wrapped(shift_wording.PEOPLE)


def _person_row(name: str, cells: Sequence[str]) -> str:
    columns = zip(cells, _PERSON_WIDTHS, strict=True)
    return f"{name:<{_NAME}}" + "".join(f"{cell:>{width}}" for cell, width in columns)


def _actions(title: str, rows: Sequence[tuple[str, str, str, str]], more: str) -> Iterator[str]:
    if rows:
        yield title
        for at, place, who, what in rows:
            yield from wrapped(f"{place}, {who}: {what}", f"  {at}  ", " " * (len(at) + 4))
        if more:
            yield from wrapped(more)


def _readers(report: ShiftReport, zone: tzinfo) -> Iterator[str]:
    yield "READERS"
    called = shift_wording.names(report)
    for each in report.tables:
        worked = shift_wording.availability(each.availability)
        without = shift_wording.outages(report, each, zone)
        yield from wrapped(f"{called[each.site, each.table]}: worked {worked}; without: {without}")
    yield ""
    yield from wrapped(shift_wording.READERS)


def _proofs(report: ShiftReport) -> Iterator[Iterable[str]]:
    called = shift_wording.names(report)
    for each in report.tables:
        rows = [("Events", "none")]
        if each.proof is not None:
            rows = wording.proof_rows(each.proof, "shift")
        yield _rows(f"PROOF, {called[each.site, each.table]}", rows)


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
