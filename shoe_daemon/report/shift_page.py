"""The report on a shift as one HTML page with charts, in the form of `page`."""

from __future__ import annotations

from datetime import tzinfo
from typing import Final, NamedTuple
from urllib.parse import urlencode

from shoe_daemon.report import wording
from shoe_daemon.report.figures import (
    CommandCounts,
    ShiftExpectation,
    ShiftReport,
    TableShift,
)
from shoe_daemon.report.page import Keys, render
from shoe_daemon.report.shift_wording import ShiftWording, limits
from shoe_daemon.report.translation import ENGLISH, Translation
from shoe_daemon.table import to_microseconds

_CHART_WIDTH: Final = 720
_BAR_HEIGHT: Final = 110
_ABOVE_BARS: Final = 22
_MAX_BAR: Final = 54
_MAX_LABELS: Final = 12
_PLOT: Final = 200
_STRIP: Final = 240
_KIND_BAR: Final = 140
_LEAST_WIDTH: Final = 1.2
"""An outage of seconds in a shift of hours is still seen."""

_UNUSUAL: Final = 0.05
_STATES: Final = {"link down": "down", "not known": "unknown"}

_Row = tuple[str, str, list[str]]
"""A row of figures: its kind, its name, its cells."""


class Pit(NamedTuple):
    """
    The report as a page of the pit: it has a form for other times and tables, and links to other
    languages, to CSV and to JSON; they are not printed.

    Attributes:
        start: What was asked for, in the zone of the page.
        end: Likewise.
        table: The tables that were asked for.
        language: The code of the page's language.
        languages: Codes and names of all.
        fonts: The address of the style sheet with the fonts of the pit.
    """

    start: str
    end: str
    table: str
    language: str
    languages: tuple[tuple[str, str], ...]
    fonts: str

    @property
    def query(self) -> str:
        """The parameters that ask for the same times and tables."""
        return urlencode({"from": self.start, "to": self.end, "table": self.table})


def shift_page(
    report: ShiftReport, zone: tzinfo, translate: Translation = ENGLISH, pit: Pit | None = None
) -> str:
    """Render a report as one HTML page; a page of the pit has the times of the report."""
    shift = ShiftWording(report, zone, translate)
    if pit is not None:
        pit = pit._replace(start=shift.local(report.start), end=shift.local(report.end))
    listed, more = shift.listed()
    most = max(report.all.kinds.values(), default=0)
    return render(
        "shift.html",
        translate("Shift"),
        shift.where(),
        (
            shift.title(),
            translate("report by {program}", program=f"shoe-daemon {report.reported_by}"),
        ),
        translate=translate,
        report=report,
        problem=None,
        shift=shift,
        pit=pit,
        keys=_keys(shift),
        chart=_chart(shift),
        odds=_odds(shift),
        tables=_tables(shift),
        dealers=[
            ("", shift.dealer(each), shift.figure_cells(each.figures)) for each in report.dealers
        ],
        people=[
            ("", shift.person_name(each), shift.person_cells(each)) for each in report.people or ()
        ],
        kind_width=lambda count: _unit(_KIND_BAR * count / most),
        listed=listed,
        more=more,
        outages=lambda table: _outages(report, table),
    )


def shift_problem_page(problem: str, translate: Translation, pit: Pit) -> str:
    """Render the problem and the form, in place of a report in the pit."""
    return render(
        "shift.html",
        translate("Shift"),
        "",
        ("", ""),
        translate=translate,
        problem=problem,
        pit=pit,
    )


def style_of(page: str) -> str:
    """Return the style sheet of a page, for the hash in its security policy."""
    return page.partition("<style>")[2].partition("</style>")[0]


def _keys(shift: ShiftWording) -> Keys:
    figures, translate = shift.report.all, shift.translate
    pairs = [
        ("rounds", f"{figures.rounds.begun:,}"),
        ("rounds an hour in play", wording.number(figures.rounds_per_hour)),
        ("cards", f"{figures.cards:,}"),
        ("irregularities", f"{figures.irregularities:,}"),
        ("void rounds", f"{figures.rounds.void:,}"),
        ("half decided within", shift.span(figures.median_decision)),
        ("slowest decision", shift.span(figures.longest_decision)),
        *_command_keys(shift.report.commands),
    ]
    return [(translate(name), value, "") for name, value in pairs]


def _command_keys(counts: CommandCounts | None) -> list[tuple[str, str]]:
    if counts is None:
        return []
    return [
        ("commands refused", f"{counts.refused:,}"),
        ("wrong PINs", f"{counts.wrong_pins:,}"),
        ("decisions taken back", f"{counts.reversals:,}"),
    ]


class _Bar(NamedTuple):
    """The rounds of an hour; `label` is None where it does not fit."""

    x: str
    y: str
    width: str
    height: str
    middle: str
    above: str
    label: str | None
    value: str


def _chart(shift: ShiftWording) -> dict[str, object]:
    report = shift.report
    most = max((each.rounds for each in report.hours), default=0) or 1
    step = _CHART_WIDTH / max(len(report.hours), 1)
    width = min(step * 0.72, _MAX_BAR)
    every = -(-len(report.hours) // _MAX_LABELS)
    base = _ABOVE_BARS + _BAR_HEIGHT
    bars = []
    for place, each in enumerate(report.hours):
        middle, height = step * (place + 0.5), _BAR_HEIGHT * each.rounds / most
        is_labelled = place % every == 0
        bars.append(
            _Bar(
                x=_unit(middle - width / 2),
                y=_unit(base - height),
                width=_unit(width),
                height=_unit(height),
                middle=_unit(middle),
                above=_unit(base - height - 5),
                label=shift.hour_label(each.at) if is_labelled else None,
                value=f"{each.rounds:,}",
            )
        )
    label = shift.translate("rounds by hour, {most} at most", most=most)
    return {"height": base + 24, "base": base, "labels": base + 19, "label": label, "bars": bars}


def _unit(value: float) -> str:
    """Format a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def _odds(shift: ShiftWording) -> list[dict[str, str]]:
    report = shift.report
    # All rows have the same scale, with the exact odds in the middle.
    reach = max(
        (
            max(abs(each.low - each.expected_share), abs(each.high - each.expected_share))
            for each in report.expectations
        ),
        default=1.0,
    )
    return [_odds_row(shift, each, reach) for each in report.expectations]


def _odds_row(shift: ShiftWording, each: ShiftExpectation, reach: float) -> dict[str, str]:
    share, low, high = limits(each)

    def place(value: float) -> str:
        return _unit(_PLOT / 2 + (value - each.expected_share) / reach * (_PLOT / 2 - 6))

    return {
        "name": shift.counted(each.name),
        "found": f"{each.found:,}",
        "expected": f"{each.expected:,.1f}",
        "share": share,
        "low": low,
        "high": high,
        "odds": wording.percentage(each),
        "label": shift.translate(
            "{share} %, odds {odds} %", share=share, odds=wording.percentage(each)
        ),
        "odd": "odd" if each.chance < _UNUSUAL else "",
        "x_low": place(each.low),
        "x_high": place(each.high),
        "x_found": place(each.found / each.rounds if each.rounds else each.expected_share),
        "x_odds": place(each.expected_share),
        "words": shift.chance(each),
    }


def _tables(shift: ShiftWording) -> list[_Row]:
    report = shift.report
    rows: list[_Row] = [
        ("", shift.names[each.site, each.table], shift.figure_cells(each.figures))
        for each in report.tables
    ]
    if len(rows) > 1:
        rows.append(("all", shift.translate("all"), shift.figure_cells(report.all)))
    return rows


def _outages(report: ShiftReport, table: TableShift) -> list[tuple[str, str, str]]:
    """Return the spans without a working reader: kind, place and width."""
    scale = _STRIP / table.availability.seconds
    start = to_microseconds(report.start)
    return [
        (
            _STATES.get(each.cause, each.cause),
            _unit((to_microseconds(each.at) - start) / 1_000_000 * scale),
            _unit(max(each.seconds * scale, _LEAST_WIDTH)),
        )
        for each in table.availability.outages
    ]
