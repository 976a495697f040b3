"""Wording shared by the text and the page of the report on a shift."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, tzinfo
from typing import Final

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
from shoe_daemon.report.translation import ENGLISH, Translation
from shoe_daemon.table import to_microseconds

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
_MORE: Final = "{n} more: the JSON has all of them."

Action = tuple[str, str, str, str]
"""A row of refused commands or of reversals: time, place, person and sentence."""


def percent(share: float) -> str:
    """Format a share, rounded down: 99.96 % is not all the time."""
    return f"{int(share * 1000 + 1e-6) / 10:.1f}"


def hours(figures: Figures) -> str:
    """Format the time in play: ``7:42``."""
    minutes = round(figures.seconds / 60)
    return f"{minutes // 60}:{minutes % 60:02}"


def limits(each: ShiftExpectation) -> tuple[str, str, str]:
    """Format the found share and its limits in percent."""
    share = each.found / each.rounds if each.rounds else 0.0
    return f"{100 * share:.1f}", f"{100 * each.low:.1f}", f"{100 * each.high:.1f}"


class ShiftWording:
    """
    The texts of a report on a shift.

    Texts on commands and proofs, which a display does not have, are always in English.

    Args:
        report: The report.
        zone: The time zone of all times.
        translate: The language.
    """

    SIGNERS: Final = ("Shift manager", "Supervisor", "Auditor")
    SOURCE: Final = (
        "The odds are exact, from all draws of the decks. Between the two limits the true share"
        " lies with 95 % confidence (Wilson). Of six counts, one is unusual in every fourth shift"
        " by chance alone: compare other shifts before you conclude anything."
    )
    PICTURE: Final = (
        "In the picture the dot is the share that was found, the line its limits, and the green"
        " mark the exact odds."
    )
    PLAY: Final = (
        "Hours are those in play: from card to card and result, without pauses of 15 minutes or"
        " more. A round counts where it ended, with all corrections up to the end of the shift."
    )
    DEALERS: Final = (
        "An irregularity is counted for the dealer who had signed on when it was raised. Many of"
        " them are the reader's or the player's doing: look at the list before you conclude"
        " anything."
    )
    READERS: Final = (
        "A reader works while it is connected, reports no error and is not locked; an error that a"
        " card too many causes counts until it is cleared. Nothing is recorded while the daemon is"
        " off, nor while nothing happens: the time from the last record to a start of the daemon"
        " is not known."
    )
    LOG: Final = (
        "the log of a display, with public events only. It has no hash chain, and does not know"
        " whether a name was authenticated or a result was entered by hand; the command"
        " shoe-daemon report shift reads the journals."
    )
    PEOPLE: Final = (
        "Taken back: decisions on a round that the same person undid or changed. Decided:"
        " irregularities that the person closed, half of them in this time or less. Not named:"
        " buttons, and senders whose name the table did not know. A wrong PIN at a display is in"
        " the log of the display."
    )
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
    PERSON_HEADS: Final = (
        "commands", "refused", "wrong PIN", "taken back", "decided", "half in", "slowest",
    )  # fmt: skip

    def __init__(
        self, report: ShiftReport, zone: tzinfo, translate: Translation = ENGLISH
    ) -> None:
        self.report, self.zone, self.translate = report, zone, translate
        self.seconds = (to_microseconds(report.end) - to_microseconds(report.start)) / 1_000_000
        several = len({each.site for each in report.tables}) > 1
        self.names = {
            (each.site, each.table): self._name(each, with_site=several) for each in report.tables
        }
        """How each table is called: with its site only where there are several sites."""

    def _name(self, each: TableShift, *, with_site: bool) -> str:
        name = f"{each.site}/{each.table}" if with_site else each.table
        return (
            self.translate("{table} (simulated)", table=name) if each.simulated is True else name
        )

    def local(self, at: str) -> str:
        """Return a time in the zone, in the form of a timestamp without the zone."""
        return datetime.fromisoformat(at).astimezone(self.zone).isoformat()[:19]

    def clock(self, at: str) -> str:
        """Format a time of the shift, with its date where the shift is longer than a day."""
        text = self.local(at)
        return wording.time(text) if self.seconds <= _DAY_S else text[5:].replace("T", " ")

    def hour_label(self, at: str) -> str:
        """Format the start of an hour, or of a day, of the chart."""
        text = self.local(at)
        return text[5:10] if self.seconds > CHARTED_BY_HOUR_S else text[11:16]

    def span(self, seconds: float | None) -> str:
        """Format a duration; a dash for None."""
        return wording.span(seconds, self.translate)

    def title(self) -> str:
        """Format when the shift was."""
        start, end = self.local(self.report.start), self.local(self.report.end)
        first, last = (wording.day(each, self.translate) for each in (start, end))
        return self.translate(
            "{start} to {end} ({lasted}), time zone {zone}",
            start=self._moment(first, start),
            end=wording.time(end) if first == last else self._moment(last, end),
            lasted=self.span(self.seconds),
            zone=self.report.time_zone,
        )

    def _moment(self, day: str, at: str) -> str:
        return self.translate(", ").join([day, wording.time(at)])

    def where(self) -> str:
        """Format sites and tables."""
        tables = self.report.tables
        sites = ", ".join(dict.fromkeys(each.site for each in tables))
        if len(tables) == 1:
            return f"{sites} / {tables[0].table}"
        return self.translate(", ").join(
            [sites, wording.plural(len(tables), "table", self.translate)]
        )

    def counted(self, name: str) -> str:
        """Return the name of a counted event."""
        return self.translate.word(name, wording.COUNTED[name])

    def availability(self, each: Availability) -> str:
        """Format the share of the time with a working reader, ``97.1 %``; a range if unknown."""
        least, most = percent(each.least), percent(each.most)
        if (least, most) == ("0.0", "100.0"):
            return self.translate("not known")
        return f"{least} %" if least == most else f"{self.to(least, most)} %"

    def to(self, low: str, high: str) -> str:
        """Format a range."""
        return self.translate("{low} to {high}", low=low, high=high)

    def overview(self) -> list[tuple[str, str]]:
        """Format the sums as rows of name and sentence."""
        translate, figures, readers = self.translate, self.report.all, self.report.availability
        found = translate(
            "{irregularities} raised, {open} open at the end of the shift",
            irregularities=wording.plural(figures.irregularities, "irregularity", translate),
            open=f"{figures.still_open:,}",
        )
        pace = translate("less than ten minutes of play")
        if figures.rounds_per_hour is not None:
            pace = translate(
                "{rounds} rounds and {cards} cards an hour at a table in play, in {hours} hours of"
                " play",
                rounds=wording.number(figures.rounds_per_hour),
                cards=wording.number(figures.cards_per_hour),
                hours=hours(figures),
            )
        cards = translate(
            "{cards} left the shoe, {unread} of them with a face not known",
            cards=f"{figures.cards:,}",
            unread=f"{figures.unread:,}",
        )
        held = translate.counted(
            figures.held,
            "{count} result waited for a person before publication",
            "{count} results waited for a person before publication",
        )
        worked = translate(
            "worked {share} of the time; {starts} of the daemon",
            share=self.availability(readers),
            starts=wording.plural(readers.starts, "start", translate),
        )
        rows = [
            ("Rounds", wording.how_rounds_ended(figures.rounds, "ended", translate)),
            ("Held", held),
            ("Pace", pace),
            ("Cards", cards),
            ("Alerts", translate("; ").join(filter(None, [found, self._decisions()]))),
            *_commands(self.report.commands),
            ("Readers", worked),
        ]
        if self.report.source == "log":
            rows.append(("Source", translate(self.LOG)))
        rows += [("Left out", text) for text in self.report.not_included]
        return [(translate(name), text) for name, text in rows]

    def _decisions(self) -> str:
        """Format the times to decide, with the longest by name."""
        slowest = self.report.slowest
        if slowest is None or slowest.incident.by is None:
            return ""
        place, _ = self.incident_place(slowest)
        return self.translate(
            "{decisions}: {what}, {place}, by {name}",
            decisions=wording.decisions(self.report.all, self.translate),
            what=wording.kind(slowest.incident.kind, self.translate),
            place=place,
            name=wording.person(slowest.incident.by, self.translate),
        )

    def person_name(self, each: PersonShift) -> str:
        """Format the name of an operator."""
        return self.translate("not named") if each.operator is None else each.operator

    def person_cells(self, each: PersonShift) -> list[str]:
        """Format the figures of a person, as in `PERSON_HEADS`."""
        counts, known = each.commands, self.report.commands is not None
        numbers = (counts.given, counts.refused, counts.wrong_pins, counts.reversals)
        return [
            *(f"{number:,}" if known else wording.NONE for number in numbers),
            f"{each.decided:,}",
            self.span(each.median_decision),
            self.span(each.longest_decision),
        ]

    def refusals(self) -> tuple[list[Action], str]:
        """
        Return the refused commands to list, and a sentence about the others. Those that differ in
        their times only are one.
        """
        alike: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
        for each in self.report.refused:
            who, what = each.operator or "not named", f"{_verb(each.command)}: {each.why}"
            alike[self.names[each.site, each.table], who, what].append(self.clock(each.at))
        rows = [
            (times[0], table, who, what + _repeated(times))
            for (table, who, what), times in alike.items()
        ]
        return rows[:MAX_LISTED_ACTIONS], self._others(len(rows) - MAX_LISTED_ACTIONS)

    def reversals(self) -> tuple[list[Action], str]:
        """Return the reversals to list, in the same form."""
        rows = [
            (
                self.clock(each.at),
                f"{self.names[each.site, each.table]}{_round_of(each)}",
                each.operator,
                f"{_verb(each.command)} of {self.clock(each.command_at)}, then"
                f" {_verb(each.by)} after {wording.span(each.seconds)}"
                + (f": “{each.reason}”" if each.reason else ""),
            )
            for each in self.report.reversals[:MAX_LISTED_ACTIONS]
        ]
        return rows, self._others(len(self.report.reversals) - MAX_LISTED_ACTIONS)

    def _others(self, count: int) -> str:
        return self.translate(_MORE, n=f"{count:,}") if count > 0 else ""

    def odds_sentence(self) -> str:
        """Compare the outcomes with the odds in one or two sentences."""
        if not self.report.expectations:
            return self.translate("No round was counted, so there is nothing to compare.")
        odd = [each for each in self.report.expectations if each.chance < _ORDINARY]
        if not odd:
            return self._compared(
                "All counts are what chance gives: {name} {found} times in {rounds}, and"
                " {expected} were expected.",
                self.report.expectations[0],
            )
        return " ".join(
            self._compared(
                "{name} came {found} times in {rounds}, and {expected} were expected: {words}.",
                each,
            )
            for each in odd
        )

    def _compared(self, text: str, each: ShiftExpectation) -> str:
        return self.translate(
            text,
            name=self.counted(each.name),
            found=f"{each.found:,}",
            rounds=wording.plural(each.rounds, "round", self.translate),
            expected=f"{each.expected:,.1f}",
            words=self.chance(each),
        )

    def chance(self, each: ShiftExpectation) -> str:
        """Describe how unusual a count is: ``rare, 1 shift in 240``."""
        word, in_shifts, number = each.words.partition(", 1 shift in ")
        if not in_shifts:
            return self.translate(word)
        return self.translate(
            "{word}, 1 shift in {number}", word=self.translate(word), number=self.translate(number)
        )

    def figure_cells(self, figures: Figures) -> list[str]:
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
            self.span(figures.median_decision),
        ]

    def dealer(self, each: DealerShift | ShiftIncident) -> str:
        """Format the name of a dealer."""
        return self.translate("nobody signed on") if each.dealer is None else each.dealer

    def kinds(self) -> list[tuple[str, int, int, str, str]]:
        """Return irregularities by kind: name, severity, count, and those by table and dealer."""
        rows = []
        for kind, count in self.report.all.kinds.items():
            mine = [each for each in self.report.incidents if each.incident.kind == kind]
            tables = _counted([self.names[each.site, each.table] for each in mine])
            dealers = _counted(list(map(self.dealer, mine))) if self.report.dealers else ""
            severity = max(each.incident.severity for each in mine)
            rows.append((wording.kind(kind, self.translate), severity, count, tables, dealers))
        return rows

    def listed(self) -> tuple[list[ShiftIncident], str]:
        """Return the irregularities to list, and a sentence about the others, if any."""
        weighty = [
            each
            for each in self.report.incidents
            if each.incident.severity >= _LISTED_FROM or each.incident.action is None
        ]
        shown = weighty[:MAX_LISTED]
        left = len(self.report.incidents) - len(shown)
        if left and len(shown) == len(weighty):
            text = "{n} more, of severity 1 or 2 and closed: the JSON has all of them."
            return shown, self.translate(text, n=f"{left:,}")
        return shown, self._others(left)

    def incident_place(self, each: ShiftIncident) -> tuple[str, str]:
        """Format table and shoe of an irregularity, and its dealer; empty where none signs on."""
        parts = [self.names[each.site, each.table]]
        if each.shoe is not None:
            parts.append(self.translate("shoe {n}", n=each.shoe))
        return self.translate(", ").join(parts), self.dealer(each) if self.report.dealers else ""

    def outages(self, table: TableShift) -> str:
        """Format the longest times without a working reader."""
        found = table.availability.outages
        longest = sorted(found, key=lambda each: -each.seconds)[:MAX_OUTAGES]
        shown = [self._outage(each) for each in found if each in longest]
        if more := len(found) - len(shown):
            shown.append(self.translate("and {n} shorter", n=more))
        return self.translate("; ").join(shown) or self.translate("none")

    def _outage(self, each: Outage) -> str:
        return f"{self.clock(each.at)} {self.translate(each.cause)} ({self.span(each.seconds)})"


def _commands(counts: CommandCounts | None) -> Iterator[tuple[str, str]]:
    if counts is not None:
        pins = f", {counts.wrong_pins:,} of them for a wrong PIN" if counts.wrong_pins else ""
        undone = wording.plural(counts.reversals, "decision")
        done = f"{counts.given:,} carried out, {counts.refused:,} refused{pins}"
        yield "Commands", f"{done}; {undone} taken back by the same person"


def _repeated(times: list[str]) -> str:
    return f" ({len(times):,} times until {times[-1]})" if len(times) > 1 else ""


def _round_of(each: Reversal) -> str:
    shoe = "" if each.shoe is None else f", shoe {each.shoe}"
    return shoe if each.round is None else f"{shoe}, round {each.round}"


def _verb(name: str | None) -> str:
    return "unknown command" if name is None else name.replace("_", " ")


def _counted(things: list[str]) -> str:
    return ", ".join(f"{each}: {things.count(each)}" for each in sorted(set(things)))
