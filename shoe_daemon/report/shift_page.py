"""The report on a shift as one HTML page with charts, in the form of `page`."""

from __future__ import annotations

from datetime import tzinfo
from typing import Final, NamedTuple
from urllib.parse import urlencode

from shoe_daemon.report import shift_wording, wording
from shoe_daemon.report.figures import (
    CommandCounts,
    ShiftExpectation,
    ShiftReport,
    TableShift,
)
from shoe_daemon.report.page import Keys, render
from shoe_daemon.table import to_microseconds

_CHART_WIDTH: Final = 720
_BAR_HEIGHT: Final = 110
_ABOVE_BARS: Final = 18
_MAX_BAR: Final = 54
_MAX_LABELS: Final = 16
_PLOT: Final = 200
_STRIP: Final = 240
_KIND_BAR: Final = 140
_LEAST_WIDTH: Final = 1.2
"""An outage of seconds in a shift of hours is still seen."""

_UNUSUAL: Final = 0.05
_STATES: Final = {"link down": "down", "not known": "unknown"}

_Row = tuple[str, str, list[str]]
"""A row of figures: its kind, its name, its cells."""


def shift_page(report: ShiftReport, zone: tzinfo, *, asked: str | None = None) -> str:
    """
    Render a report as one HTML page.

    Args:
        report: The report.
        zone: The time zone of the page.
        asked: The tables that were asked for. With it, the page has a form for other times and
            tables, and links to CSV and JSON; they are not printed.
    """
    listed, more = shift_wording.listed(report)
    most = max(report.all.kinds.values(), default=0)
    return render(
        "shift.html",
        "Shift",
        shift_wording.where(report),
        (shift_wording.title(report, zone), f"report by shoe-daemon {report.reported_by}"),
        report=report,
        zone=zone,
        shift=shift_wording,
        form=None if asked is None else _form(report, zone, asked),
        keys=_keys(report),
        chart=_chart(report, zone),
        odds=_odds(report),
        tables=_tables(report),
        dealers=[
            ("", shift_wording.dealer(each), shift_wording.figure_cells(each.figures))
            for each in report.dealers
        ],
        people=[
            ("", shift_wording.person_name(each), shift_wording.person_cells(report, each))
            for each in report.people or ()
        ],
        kind_width=lambda count: _unit(_KIND_BAR * count / most),
        listed=listed,
        more=more,
        called=shift_wording.names(report),
        outages=lambda table: _outages(report, table),
    )


def style_of(page: str) -> str:
    """Return the style sheet of a page, for the hash in its security policy."""
    return page.partition("<style>")[2].partition("</style>")[0]


def _form(report: ShiftReport, zone: tzinfo, asked: str) -> dict[str, str]:
    start, end = (shift_wording.local(each, zone) for each in (report.start, report.end))
    query = urlencode({"from": start, "to": end, "table": asked})
    return {"start": start, "end": end, "table": asked, "query": query}


def _keys(report: ShiftReport) -> Keys:
    figures = report.all
    pairs = [
        ("rounds", f"{figures.rounds.begun:,}"),
        ("rounds an hour in play", wording.number(figures.rounds_per_hour)),
        ("cards", f"{figures.cards:,}"),
        ("irregularities", f"{figures.irregularities:,}"),
        ("void rounds", f"{figures.rounds.void:,}"),
        ("half decided within", wording.span(figures.median_decision)),
        ("slowest decision", wording.span(figures.longest_decision)),
        *_command_keys(report.commands),
    ]
    return [(name, value, "") for name, value in pairs]


def _command_keys(counts: CommandCounts | None) -> list[tuple[str, str]]:
    if counts is None:
        return []
    return [
        ("commands refused", f"{counts.refused:,}"),
        ("wrong PINs", f"{counts.wrong_pins:,}"),
        ("decisions taken back", f"{counts.reversals:,}"),
    ]


class _Bar(NamedTuple):
    """The rounds of an hour; `label` is None where there is no room for it."""

    x: str
    y: str
    width: str
    height: str
    middle: str
    above: str
    label: str | None
    value: str


def _chart(report: ShiftReport, zone: tzinfo) -> dict[str, object]:
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
                label=shift_wording.hour_label(report, each.at, zone) if is_labelled else None,
                value=f"{each.rounds:,}",
            )
        )
    label = f"rounds by hour, {most} at most"
    return {"height": base + 20, "base": base, "labels": base + 15, "label": label, "bars": bars}


def _unit(value: float) -> str:
    """Format a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def _odds(report: ShiftReport) -> list[dict[str, str]]:
    # All rows have the same scale, with the exact odds in the middle.
    reach = max(
        (
            max(abs(each.low - each.expected_share), abs(each.high - each.expected_share))
            for each in report.expectations
        ),
        default=1.0,
    )
    return [_odds_row(each, reach) for each in report.expectations]


def _odds_row(each: ShiftExpectation, reach: float) -> dict[str, str]:
    share, low, high = shift_wording.limits(each)

    def place(value: float) -> str:
        return _unit(_PLOT / 2 + (value - each.expected_share) / reach * (_PLOT / 2 - 6))

    return {
        "name": wording.COUNTED[each.name],
        "found": f"{each.found:,}",
        "expected": f"{each.expected:,.1f}",
        "share": share,
        "low": low,
        "high": high,
        "odds": wording.percentage(each),
        "label": f"{share} %, odds {wording.percentage(each)} %",
        "odd": "odd" if each.chance < _UNUSUAL else "",
        "x_low": place(each.low),
        "x_high": place(each.high),
        "x_found": place(each.found / each.rounds if each.rounds else each.expected_share),
        "x_odds": place(each.expected_share),
        "words": each.words,
    }


def _tables(report: ShiftReport) -> list[_Row]:
    called = shift_wording.names(report)
    rows: list[_Row] = [
        ("", called[each.site, each.table], shift_wording.figure_cells(each.figures))
        for each in report.tables
    ]
    if len(rows) > 1:
        rows.append(("all", "all", shift_wording.figure_cells(report.all)))
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
