"""The report on a shift as one HTML page with charts, in the form of `html_report`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import tzinfo
from typing import Final
from urllib.parse import urlencode

from shoe_daemon.report import shift_wording, wording
from shoe_daemon.report.html_report import (
    NOTHING,
    Html,
    fill,
    fill_rows,
    joined,
    keys,
    page,
    proof_block,
    signatures,
)
from shoe_daemon.report.shift_report_model import (
    CommandCounts,
    Figures,
    PersonShift,
    ShiftExpectation,
    ShiftIncident,
    ShiftReport,
    TableShift,
)
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


def shift_page(report: ShiftReport, zone: tzinfo, *, asked: str | None = None) -> str:
    """
    Render a report as one HTML page.

    Args:
        report: The report.
        zone: The time zone of the page.
        asked: The tables that were asked for. With it, the page has a form for other times and
            tables, and links to CSV and JSON; they are not printed.
    """
    body = fill(
        "shift",
        form=NOTHING if asked is None else _form(report, zone, asked),
        keys=_keys(report),
        missing=joined(fill("missing", text=text) for text in report.not_included),
        overview=joined(
            fill("proof_row", name=name, value=text)
            for name, text in shift_wording.overview(report)
        ),
        hours=_hours(report, zone),
        sentence=shift_wording.odds_sentence(report),
        odds=_odds(report),
        tables=_tables(report),
        play=f"{shift_wording.PLAY} {shift_wording.HEADS_EXPLAINED}",
        dealers=_dealers(report),
        none="" if report.incidents else ": none",
        kinds=_kinds(report),
        incidents=_incidents(report, zone),
        people=_people(report),
        refused=_actions("Refused commands", *shift_wording.refusals(report, zone)),
        reversals=_actions(
            "Taken back by the same person", *shift_wording.reversals(report, zone)
        ),
        readers=_readers(report, zone),
        proofs=_proofs(report),
        signatures=signatures(shift_wording.SIGNERS),
    )
    lines = shift_wording.title(report, zone), f"report by shoe-daemon {report.reported_by}"
    style = Html("\n" + fill("shift_style"))
    return page("Shift", shift_wording.where(report), lines, body, style)


def style_of(page: str) -> str:
    """Return the style sheet of a page, for the hash in its security policy."""
    return page.partition("<style>")[2].partition("</style>")[0]


def _form(report: ShiftReport, zone: tzinfo, asked: str) -> Html:
    start, end = (shift_wording.local(each, zone) for each in (report.start, report.end))
    query = urlencode({"from": start, "to": end, "table": asked})
    links = joined(
        fill("shift_link", query=f"?{query}&format={kind}", name=kind.upper())
        for kind in ("csv", "json")
    )
    return fill("shift_form", start=start, end=end, table=asked, links=links)


def _keys(report: ShiftReport) -> Html:
    figures = report.all
    return keys(
        [
            ("rounds", f"{figures.rounds.begun:,}"),
            ("rounds an hour in play", wording.number(figures.rounds_per_hour)),
            ("cards", f"{figures.cards:,}"),
            ("irregularities", f"{figures.irregularities:,}"),
            ("void rounds", f"{figures.rounds.void:,}"),
            ("half decided within", wording.span(figures.median_decision)),
            ("slowest decision", wording.span(figures.longest_decision)),
            *_command_keys(report.commands),
        ]
    )


def _command_keys(counts: CommandCounts | None) -> list[tuple[str, str]]:
    if counts is None:
        return []
    return [
        ("commands refused", f"{counts.refused:,}"),
        ("wrong PINs", f"{counts.wrong_pins:,}"),
        ("decisions taken back", f"{counts.reversals:,}"),
    ]


def _hours(report: ShiftReport, zone: tzinfo) -> Html:
    most = max((each.rounds for each in report.hours), default=0) or 1
    step = _CHART_WIDTH / max(len(report.hours), 1)
    width = min(step * 0.72, _MAX_BAR)
    every = -(-len(report.hours) // _MAX_LABELS)
    base = _ABOVE_BARS + _BAR_HEIGHT
    parts = []
    for place, each in enumerate(report.hours):
        middle = step * (place + 0.5)
        height = _BAR_HEIGHT * each.rounds / most
        parts.append(
            fill(
                "hour_bar",
                x=_unit(middle - width / 2),
                y=_unit(base - height),
                width=_unit(width),
                height=_unit(height),
            )
        )
        if place % every == 0:
            label = shift_wording.hour_label(report, each.at, zone)
            parts.append(_text("label", middle, base + 15, label))
            parts.append(_text("value", middle, base - height - 5, f"{each.rounds:,}"))
    label = f"rounds by hour, {most} at most"
    bars = joined(parts)
    return fill("hour_chart", height=base + 20, base=base, label=label, bars=bars)


def _text(kind: str, x: float, y: float, text: str) -> Html:
    return fill("chart_text", kind=kind, x=_unit(x), y=_unit(y), text=text)


def _unit(value: float) -> str:
    """Format a coordinate."""
    return f"{value:.1f}".removesuffix(".0")


def _odds(report: ShiftReport) -> Html:
    if not report.expectations:
        return NOTHING
    # All rows have the same scale, with the exact odds in the middle.
    reach = max(
        max(abs(each.low - each.expected_share), abs(each.high - each.expected_share))
        for each in report.expectations
    )
    rows = joined(_odds_row(each, reach) for each in report.expectations)
    return fill("odds", rows=rows, source=shift_wording.SOURCE)


def _odds_row(each: ShiftExpectation, reach: float) -> Html:
    share, low, high = shift_wording.limits(each)

    def place(value: float) -> str:
        return _unit(_PLOT / 2 + (value - each.expected_share) / reach * (_PLOT / 2 - 6))

    return fill(
        "odds_row",
        name=wording.COUNTED[each.name],
        found=f"{each.found:,}",
        expected=f"{each.expected:,.1f}",
        share=share,
        low=low,
        high=high,
        odds=wording.percentage(each),
        label=f"{share} %, odds {wording.percentage(each)} %",
        odd="odd" if each.chance < _UNUSUAL else "",
        x_low=place(each.low),
        x_high=place(each.high),
        x_found=place(each.found / each.rounds if each.rounds else each.expected_share),
        x_odds=place(each.expected_share),
        words=each.words,
    )


def _tables(report: ShiftReport) -> Html:
    called = shift_wording.names(report)
    rows = [_figure_row(called[each.site, each.table], each.figures) for each in report.tables]
    if len(rows) > 1:
        rows.append(_figure_row("all", report.all, "all"))
    return _figures(rows)


def _figures(rows: list[Html]) -> Html:
    heads = joined(fill("figure_head", head=head) for head in shift_wording.PAGE_HEADS)
    return fill("figures", heads=heads, rows=joined(rows))


def _figure_row(name: str, figures: Figures, kind: str = "") -> Html:
    cells = shift_wording.figure_cells(figures)
    values = joined(fill("figure_cell", value=value) for value in cells)
    return fill("figure_row", kind=kind, name=name, cells=values)


def _dealers(report: ShiftReport) -> Html:
    if not report.dealers:
        return NOTHING
    rows = [_figure_row(shift_wording.dealer(each), each.figures) for each in report.dealers]
    return fill("dealers", figures=_figures(rows), note=shift_wording.DEALERS)


def _kinds(report: ShiftReport) -> Html:
    most = max(report.all.kinds.values(), default=0)
    rows = (
        fill(
            "kind_row",
            severity=severity,
            name=name,
            count=f"{count:,}",
            width=_unit(_KIND_BAR * count / most),
            tables=tables,
            dealers=dealers,
        )
        for name, severity, count, tables, dealers in shift_wording.kinds(report)
    )
    return fill_rows("kinds", rows)


def _incidents(report: ShiftReport, zone: tzinfo) -> Html:
    shown, more = shift_wording.listed(report)
    table = fill_rows("shift_incidents", (_incident(report, each, zone) for each in shown))
    sentence = fill("sentence", text=more) if more else NOTHING
    return joined(filter(None, [table, sentence]))


def _incident(report: ShiftReport, each: ShiftIncident, zone: tzinfo) -> Html:
    incident = each.incident
    place, dealer = shift_wording.incident_place(report, each)
    return fill(
        "shift_incident",
        time=shift_wording.clock(report, incident.at, zone),
        place=place,
        dealer=dealer,
        severity=incident.severity,
        what=wording.incident_title(incident),
        detail=incident.detail,
        open="open" if incident.action is None else "",
        decision=wording.decision(incident),
    )


def _people(report: ShiftReport) -> Html:
    if not report.people:
        return NOTHING
    heads = joined(fill("figure_head", head=head) for head in shift_wording.PERSON_HEADS)
    rows = joined(_person_row(report, each) for each in report.people)
    return fill(
        "people", figures=fill("figures", heads=heads, rows=rows), note=shift_wording.PEOPLE
    )


def _person_row(report: ShiftReport, each: PersonShift) -> Html:
    cells = shift_wording.person_cells(report, each)
    values = joined(fill("figure_cell", value=value) for value in cells)
    return fill("figure_row", kind="", name=shift_wording.person_name(each), cells=values)


def _actions(title: str, rows: Sequence[tuple[str, str, str, str]], more: str) -> Html:
    if not rows:
        return NOTHING
    filled = (
        fill("action", time=at, place=at_, who=who, what=what) for at, at_, who, what in rows
    )
    sentence = fill("sentence", text=more) if more else NOTHING
    return fill("actions", title=title, rows=joined(filled), more=sentence)


def _readers(report: ShiftReport, zone: tzinfo) -> Html:
    return fill(
        "readers",
        start=shift_wording.clock(report, report.start, zone),
        end=shift_wording.clock(report, report.end, zone),
        rows=joined(_reader(report, each, zone) for each in report.tables),
        note=shift_wording.READERS,
    )


def _reader(report: ShiftReport, table: TableShift, zone: tzinfo) -> Html:
    scale = _STRIP / table.availability.seconds
    start = to_microseconds(report.start)
    parts = (
        fill(
            "outage",
            kind=_STATES.get(each.cause, each.cause),
            x=_unit((to_microseconds(each.at) - start) / 1_000_000 * scale),
            width=_unit(max(each.seconds * scale, _LEAST_WIDTH)),
        )
        for each in table.availability.outages
    )
    return fill(
        "reader_row",
        name=shift_wording.names(report)[table.site, table.table],
        worked=shift_wording.availability(table.availability),
        parts=joined(parts),
        without=shift_wording.outages(report, table, zone),
    )


def _proofs(report: ShiftReport) -> Html:
    called = shift_wording.names(report)
    return joined(
        proof_block(each.proof, f"Proof of {called[each.site, each.table]}", "shift")
        for each in report.tables
        if each.proof is not None
    )
