"""Wording shared by the text and the page of the report on a shift."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final

from shoe_daemon.event_text import kind_text
from shoe_daemon.report import wording
from shoe_daemon.report.figures import (
    CHARTED_BY_HOUR_S,
    Availability,
    CommandCounts,
    DealerShift,
    Figures,
    Outage,
    PersonShift,
    Reversal,
    ShiftExpectation,
    ShiftIncident,
    ShiftReport,
    TableShift,
)
from shoe_daemon.table import to_microseconds

SIGNERS: Final = ("Shift manager", "Supervisor", "Auditor")
SOURCE: Final = (
    "The odds are exact, from all draws of the decks. Between the two limits the true share lies"
    " with 95 % confidence (Wilson). Of six counts, one is unusual in every fourth shift by chance"
    " alone: compare other shifts before you conclude anything."
)
PLAY: Final = (
    "Hours are those in play: from card to card and result, without pauses of 15 minutes or more."
    " A round counts where it ended, with all corrections up to the end of the shift."
)
DEALERS: Final = (
    "An irregularity is counted for the dealer who had signed on when it was raised. Many of them"
    " are the reader's or the player's doing: look at the list before you conclude anything."
)
READERS: Final = (
    "A reader works while it is connected, reports no error and is not locked; an error that a"
    " card too many causes counts until it is cleared. Nothing is recorded while the daemon is"
    " off, nor while nothing happens: the time from the last record to a start of the daemon is"
    " not known."
)
LOG: Final = (
    "the log of a display, with public events only. It has no hash chain, and does not know"
    " whether a name was authenticated or a result was entered by hand; the command shoe-daemon"
    " report shift reads the journals."
)
NOBODY: Final = "nobody signed on"
NOT_NAMED: Final = "not named"
PEOPLE: Final = (
    "Taken back: decisions on a round that the same person undid or changed. Decided:"
    " irregularities that the person closed, half of them in this time or less. Not named:"
    " buttons, and senders whose name the table did not know. A wrong PIN at a display is in the"
    " log of the display."
)
MAX_LISTED: Final = 200
"""Irregularities that are listed; the others are in the JSON."""

MAX_LISTED_ACTIONS: Final = 20
"""Refused commands, and decisions that were taken back, that are listed."""

MAX_OUTAGES: Final = 6
"""Outages of a table that are listed: the longest."""

_LISTED_FROM: Final = 3
"""The lowest severity of a listed irregularity."""
_ORDINARY: Final = 0.05
_DAY_S: Final = 86_400


def local(at: str, zone: tzinfo) -> str:
    """Return a time in a zone, in the form of a timestamp without the zone."""
    return datetime.fromisoformat(at).astimezone(zone).isoformat()[:19]


def clock(report: ShiftReport, at: str, zone: tzinfo) -> str:
    """Format a time of the shift, with its date where the shift is longer than a day."""
    text = local(at, zone)
    return wording.time(text) if seconds(report) <= _DAY_S else text[5:].replace("T", " ")


def seconds(report: ShiftReport) -> float:
    """Return the length of the shift."""
    return (to_microseconds(report.end) - to_microseconds(report.start)) / 1_000_000


def title(report: ShiftReport, zone: tzinfo) -> str:
    """Format when the shift was."""
    start, end = (local(at, zone) for at in (report.start, report.end))
    until = wording.time(end)
    if start[:10] != end[:10]:
        until = f"{wording.day(end)}, {until}"
    lasted = wording.span(seconds(report))
    when = f"{wording.day(start)}, {wording.time(start)} to {until}"
    return f"{when} ({lasted}), time zone {report.time_zone}"


def where(report: ShiftReport) -> str:
    """Format sites and tables."""
    sites = ", ".join(dict.fromkeys(each.site for each in report.tables))
    if len(report.tables) == 1:
        return f"{sites} / {report.tables[0].table}"
    return f"{sites}, {wording.plural(len(report.tables), 'table')}"


def hours(figures: Figures) -> str:
    """Format the time in play: ``7:42``."""
    minutes = round(figures.seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02}"


def percent(share: float) -> str:
    """Format a share, rounded down: 99.96 % is not all the time."""
    return f"{int(share * 1000 + 1e-6) / 10:.1f}"


def availability(each: Availability) -> str:
    """Format the share of the time with a working reader, ``97.1 %``; a range if unknown."""
    least, most = percent(each.least), percent(each.most)
    if each.most == 1 and not each.least:
        return "not known"
    return f"{least} %" if least == most else f"{least} to {most} %"


def overview(report: ShiftReport) -> list[tuple[str, str]]:
    """Format the sums as rows of name and sentence."""
    figures, readers = report.all, report.availability
    number, plural = wording.number, wording.plural
    rounds = wording.how_rounds_ended(figures.rounds, "ended")
    starts = plural(readers.starts, "start")
    held = plural(figures.held, "result")
    cards = f"{figures.cards:,} left the shoe, {figures.unread:,} of them with a face not known"
    irregular = plural(figures.irregularities, "irregularity").replace("ys", "ies")
    found = f"{irregular} raised, {figures.still_open:,} open at the end of the shift"
    pace = f"{number(figures.rounds_per_hour)} rounds and {number(figures.cards_per_hour)} cards"
    rows = [
        ("Rounds", rounds),
        ("Held", f"{held} waited for a person before publication"),
        ("Pace", f"{pace} an hour at a table in play, in {hours(figures)} hours of play"),
        ("Cards", cards),
        ("Alerts", "; ".join(filter(None, [found, _decisions(report)]))),
        *_commands(report.commands),
        ("Readers", f"worked {availability(readers)} of the time; {starts} of the daemon"),
    ]
    if report.source == "log":
        rows.append(("Source", LOG))
    return rows + [("Left out", text) for text in report.not_included]


def _decisions(report: ShiftReport) -> str:
    """Format the times to decide, with the longest by name."""
    slowest = report.slowest
    if slowest is None or slowest.incident.by is None:
        return ""
    place, _ = incident_place(report, slowest)
    what = kind_text(slowest.incident.kind)
    by = wording.person(slowest.incident.by)
    return f"{wording.decisions(report.all)}: {what}, {place}, by {by}"


def _commands(counts: CommandCounts | None) -> Iterator[tuple[str, str]]:
    if counts is not None:
        pins = f", {counts.wrong_pins:,} of them for a wrong PIN" if counts.wrong_pins else ""
        undone = wording.plural(counts.reversals, "decision")
        done = f"{counts.given:,} carried out, {counts.refused:,} refused{pins}"
        yield "Commands", f"{done}; {undone} taken back by the same person"


def person_name(each: PersonShift) -> str:
    """Format the name of an operator."""
    return NOT_NAMED if each.operator is None else each.operator


def person_cells(report: ShiftReport, each: PersonShift) -> list[str]:
    """Format the figures of a person, as in `PERSON_HEADS`."""
    counts = each.commands
    numbers = (counts.given, counts.refused, counts.wrong_pins, counts.reversals)
    return [
        *(wording.NONE if report.commands is None else f"{number:,}" for number in numbers),
        f"{each.decided:,}",
        wording.span(each.median_decision),
        wording.span(each.longest_decision),
    ]


PERSON_HEADS: Final = (
    "commands", "refused", "wrong PIN", "taken back", "decided", "half in", "slowest",
)  # fmt: skip


def refusals(report: ShiftReport, zone: tzinfo) -> tuple[list[tuple[str, str, str, str]], str]:
    """
    Return the refused commands to list, as time, place, person and sentence, and a sentence about
    the others. Those that differ in their times only are one.
    """
    called = names(report)
    alike: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for each in report.refused:
        who, what = each.operator or NOT_NAMED, f"{_verb(each.command)}: {each.why}"
        alike[called[each.site, each.table], who, what].append(clock(report, each.at, zone))
    rows = [
        (times[0], table, who, what + _repeated(times))
        for (table, who, what), times in alike.items()
    ]
    return rows[:MAX_LISTED_ACTIONS], _others(len(rows) - MAX_LISTED_ACTIONS)


def _repeated(times: list[str]) -> str:
    return f" ({len(times):,} times until {times[-1]})" if len(times) > 1 else ""


def reversals(report: ShiftReport, zone: tzinfo) -> tuple[list[tuple[str, str, str, str]], str]:
    """Return the reversals to list, in the same form."""
    called = names(report)
    rows = [
        (
            clock(report, each.at, zone),
            f"{called[each.site, each.table]}{_round_of(each)}",
            each.operator,
            f"{_verb(each.command)} of {clock(report, each.command_at, zone)}, then"
            f" {_verb(each.by)} after {wording.span(each.seconds)}"
            + (f": “{each.reason}”" if each.reason else ""),
        )
        for each in report.reversals[:MAX_LISTED_ACTIONS]
    ]
    return rows, _others(len(report.reversals) - MAX_LISTED_ACTIONS)


def _others(count: int) -> str:
    return f"{count:,} more: --json has all of them." if count > 0 else ""


def _round_of(each: Reversal) -> str:
    shoe = "" if each.shoe is None else f", shoe {each.shoe}"
    return shoe if each.round is None else f"{shoe}, round {each.round}"


def _verb(name: str | None) -> str:
    return "unknown command" if name is None else name.replace("_", " ")


def odds_sentence(report: ShiftReport) -> str:
    """Say in one or two sentences whether the outcomes are what the odds give."""
    if not report.expectations:
        return "No round was counted, so there is nothing to compare."
    odd = [each for each in report.expectations if each.chance < _ORDINARY]
    if not odd:
        first = report.expectations[0]
        name = wording.COUNTED[first.name]
        return (
            f"All counts are what chance gives: {name} {first.found:,} times in"
            f" {wording.plural(first.rounds, 'round')}, and {first.expected:,.1f} were expected."
        )
    return " ".join(
        f"{wording.COUNTED[each.name]} came {each.found:,} times in"
        f" {wording.plural(each.rounds, 'round')}, and {each.expected:,.1f} were expected:"
        f" {each.words}."
        for each in odd
    )


def limits(each: ShiftExpectation) -> tuple[str, str, str]:
    """Format the found share and its limits in percent."""
    share = each.found / each.rounds if each.rounds else 0.0
    return f"{100 * share:.1f}", f"{100 * each.low:.1f}", f"{100 * each.high:.1f}"


def figure_cells(figures: Figures) -> list[str]:
    """Format the figures that tables and dealers have in common, as in `FIGURE_HEADS`."""
    done = figures.rounds
    return [
        hours(figures),
        f"{done.begun:,}",
        wording.number(figures.rounds_per_hour),
        "-" if figures.cards_per_hour is None else f"{figures.cards_per_hour:,.0f}",
        *(f"{each:,}" for each in (done.void, figures.held, done.aborted)),
        f"{figures.unread:,}",
        f"{figures.irregularities:,}",
        wording.span(figures.median_decision),
    ]


PAGE_HEADS: Final = (
    "hours", "rounds", "rounds/h", "cards/h", "void", "held", "lost", "unread", "irregular",
    "decided",
)  # fmt: skip
"""The heads of `figure_cells` on paper, which has more room than the text."""

FIGURE_HEADS: Final = (
    "hours", "rounds", "/h", "cards/h", "void", "held", "lost", "unread", "irreg", "decided",
)  # fmt: skip
HEADS_EXPLAINED: Final = (
    "Lost: rounds without a result. Unread: cards. Decided: half of people's decisions took no"
    " longer."
)


def names(report: ShiftReport) -> dict[tuple[str, str], str]:
    """Return how each table is called: with its site only where there are several sites."""
    several = len({each.site for each in report.tables}) > 1
    return {
        (each.site, each.table): f"{f'{each.site}/' if several else ''}{each.table}"
        f"{' (simulated)' if each.simulated is True else ''}"
        for each in report.tables
    }


def dealer(each: DealerShift | ShiftIncident) -> str:
    """Format the name of a dealer."""
    return NOBODY if each.dealer is None else each.dealer


def kinds(report: ShiftReport) -> list[tuple[str, int, int, str, str]]:
    """Return irregularities by kind: name, severity, count, and the same by table and dealer."""
    called = names(report)
    rows = []
    for kind, count in report.all.kinds.items():
        mine = [each for each in report.incidents if each.incident.kind == kind]
        tables = _counted([called[each.site, each.table] for each in mine])
        dealers = _counted([dealer(each) for each in mine]) if report.dealers else ""
        severity = max(each.incident.severity for each in mine)
        rows.append((kind_text(kind), severity, count, tables, dealers))
    return rows


def _counted(things: list[str]) -> str:
    return ", ".join(f"{each}: {things.count(each)}" for each in sorted(set(things)))


def listed(report: ShiftReport) -> tuple[list[ShiftIncident], str]:
    """Return the irregularities to list, and a sentence about the others; empty without any."""
    weighty = [
        each
        for each in report.incidents
        if each.incident.severity >= _LISTED_FROM or each.incident.action is None
    ]
    shown = weighty[:MAX_LISTED]
    left = len(report.incidents) - len(shown)
    if not left:
        return shown, ""
    return shown, (
        f"{left:,} more, of severity 1 or 2 and closed"
        if len(shown) == len(weighty)
        else f"{left:,} more"
    ) + ": --json has all of them."


def incident_place(report: ShiftReport, each: ShiftIncident) -> tuple[str, str]:
    """Format table and shoe of an irregularity, and its dealer; empty where none signs on."""
    table = names(report)[each.site, each.table]
    shoe = "" if each.shoe is None else f", shoe {each.shoe}"
    return f"{table}{shoe}", dealer(each) if report.dealers else ""


def outages(report: ShiftReport, table: TableShift, zone: tzinfo) -> str:
    """Format the longest times without a working reader."""
    found = table.availability.outages
    longest = sorted(found, key=lambda each: -each.seconds)[:MAX_OUTAGES]
    shown = [_outage(report, each, zone) for each in found if each in longest]
    more = len(found) - len(shown)
    return "; ".join([*shown, *([f"and {more} shorter"] if more > 0 else [])]) or "none"


def _outage(report: ShiftReport, each: Outage, zone: tzinfo) -> str:
    return f"{clock(report, each.at, zone)} {each.cause} ({wording.span(each.seconds)})"


def hour_label(report: ShiftReport, at: str, zone: tzinfo) -> str:
    """Format the start of an hour, or of a day, of the chart."""
    text = local(at, zone)
    return text[5:10] if seconds(report) > CHARTED_BY_HOUR_S else text[11:16]
