"""
The figures of a shift: of its tables and dealers, and how long its readers worked.

`shift` computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from msgspec import UNSET, Struct, UnsetType

from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.odds import Expectation
from shoe_daemon.report.rounds import Incident, RoundCounts, decision_time
from shoe_daemon.report.shoe import Proof
from shoe_daemon.table import Command

LEAST_PACE_S: Final = 600
"""A pace over less than ten minutes says nothing."""

PAUSE_S: Final = 900
"""A time without cards and results of this length or more is no time in play."""

CHARTED_BY_HOUR_S: Final = 48 * 3600
"""Longer periods are charted by days."""

Source = Literal["journals", "log"]


class JournaledCommand(NamedTuple):
    """A command of a person or a button, with the id of its observation."""

    observation: int
    command: Command


class TableEvents(NamedTuple):
    """
    The events of one table.

    Attributes:
        events: In order. They begin before the shift, best with the start of a shoe, so that
            what was under way is known; later events than the shift's are ignored.
        silences: Times in microseconds between two records, in which the daemon may have been
            off: before each start of the daemon, and at the ends of the record.
        starts: Starts of the daemon in the shift.
        proof: For the report.
        commands: Those from the first event to the end of the shift or later, in order; None
            where they are not known.
    """

    site: str
    table: str
    events: Iterable[CausedEvent]
    silences: Sequence[tuple[int, int]] = ()
    starts: int = 0
    proof: Proof | None = None
    commands: Sequence[JournaledCommand] | None = None


class CommandCounts(Struct, frozen=True):
    """
    Commands in a shift.

    Attributes:
        given: Those that were carried out.
        refused: Those that the table refused.
        wrong_pins: Those of them that had a wrong PIN.
        reversals: Decisions that the same person undid or changed.
    """

    given: int
    refused: int
    wrong_pins: int
    reversals: int


class RefusedCommand(Struct, frozen=True):
    """
    A command that a table refused.

    Attributes:
        command: The verb; None for one that does not exist.
        operator: None for a button, and where the table did not find the name among its own.
        code: The reason of the refusal; None for one without a code.
        why: The same as a sentence, without values.
    """

    site: str
    table: str
    at: str
    command: str | None
    operator: str | None
    code: str | None
    why: str


class Reversal(Struct, frozen=True):
    """
    A decision on a round that the same person undid or changed.

    Attributes:
        command: The decision: ``correct_card``, ``enter_card``, ``enter_result``, ``void_round``.
        command_at: When it was made.
        by: What changed it: one of these, or ``undo``.
        at: When it was changed.
        seconds: Between the two.
        reason: Why it was changed, in the person's words.
    """

    site: str
    table: str
    shoe: int | None
    round: int | None
    operator: str
    command: str
    command_at: str
    by: str
    at: str
    seconds: float
    reason: str | None


class PersonShift(Struct, frozen=True):
    """
    One operator in a shift, at all tables.

    Attributes:
        operator: None for buttons and for names that are not known.
        decided: Irregularities that this person closed.
        median_decision: Seconds from opening to closing of those.
        longest_decision: Likewise.
    """

    operator: str | None
    commands: CommandCounts
    decided: int
    median_decision: float | None
    longest_decision: float | None


class Figures(Struct, frozen=True):
    """
    Figures of a shift: at a table, by a dealer, or by all.

    Attributes:
        seconds: In play: the time between cards and results, without pauses.
        rounds: Those that ended in the shift.
        held: Rounds whose result had to wait for a person.
        cards: Cards that left the shoe.
        unread: Those of them whose face is unknown at the end of the shift.
        rounds_per_hour: Rounds with a result, per hour in play; None below `LEAST_PACE_S`.
        cards_per_hour: Likewise.
        kinds: Irregularities by kind.
        decided_by_people: Irregularities that operators closed.
        median_decision: Seconds from opening to closing of those.
        longest_decision: Likewise.
        still_open: Irregularities that were open at the end of the shift.
    """

    seconds: float
    rounds: RoundCounts
    held: int
    cards: int
    unread: int
    rounds_per_hour: float | None
    cards_per_hour: float | None
    kinds: dict[str, int]
    decided_by_people: int
    median_decision: float | None
    longest_decision: float | None
    still_open: int

    @property
    def irregularities(self) -> int:
        """The number of irregularities."""
        return sum(self.kinds.values())


class Outage(Struct, frozen=True):
    """A time without a working reader, as far as it lies in the shift."""

    at: str
    seconds: float
    cause: Literal["link down", "fault", "locked", "not known"]


class Availability(Struct, frozen=True):
    """
    The time with a working reader.

    Attributes:
        seconds: Of the shift; of all tables together.
        working: A reader was connected, without error, and not locked.
        unknown: Nothing is recorded: the daemon was off, or no reader has reported yet.
        starts: Starts of the daemon.
        outages: The other times.
    """

    seconds: float
    working: float
    unknown: float
    starts: int
    outages: tuple[Outage, ...]

    @property
    def least(self) -> float:
        """The share of the time with a working reader, if none worked in the unknown times."""
        return self.working / self.seconds

    @property
    def most(self) -> float:
        """The same, if one worked in all the unknown times."""
        return min(1.0, (self.working + self.unknown) / self.seconds)


class ShiftExpectation(Expectation, frozen=True):
    """
    A count, its expected value, and the limits of its share with 95 % confidence.

    Attributes:
        low: From 0 to 1.
        high: Likewise.
    """

    low: float
    high: float

    @property
    def expected_share(self) -> float:
        """The exact probability in one round."""
        return float(Fraction(self.share))


class ShiftIncident(Struct, frozen=True):
    """An irregularity with its table, shoe and dealer."""

    site: str
    table: str
    shoe: int | None
    dealer: str | None
    incident: Incident


class TableShift(Struct, frozen=True):
    """
    One table in a shift.

    Attributes:
        simulated: No real cards were dealt, at least in a part of it; absent at a real table.
        dealers: Who had signed on while cards were dealt, in order.
        proof: None without a journal.
        commands: Likewise.
    """

    site: str
    table: str
    dealers: tuple[str, ...]
    figures: Figures
    expectations: tuple[ShiftExpectation, ...]
    availability: Availability
    proof: Proof | None
    commands: CommandCounts | None
    simulated: bool | UnsetType = UNSET


class DealerShift(Struct, frozen=True):
    """One dealer in a shift, at all tables; `dealer` is None while no dealer had signed on."""

    dealer: str | None
    tables: tuple[str, ...]
    figures: Figures


class HourCount(Struct, frozen=True):
    """Rounds with a result in an hour, or a day; the first may begin later, with the shift."""

    at: str
    rounds: int


class ShiftReport(Struct, frozen=True):
    """
    The report on a shift.

    Attributes:
        start: The first moment of the shift, in UTC like all times.
        end: The first moment after it.
        time_zone: The zone in which the text and the page give times.
        hours: Rounds of all tables by hour of that zone; by day where the period is long.
        dealers: Empty if no dealer has signed on at any table.
        expectations: Empty without counted rounds of a shoe with known decks.
        commands: None if they are not known of any table.
        people: Who gave commands or closed irregularities.
        not_included: What could not be read, and why.
        source: Where the events are from; the log of a display has public events only.
        reported_by: The version of the program.
    """

    start: str
    end: str
    time_zone: str
    all: Figures
    availability: Availability
    expectations: tuple[ShiftExpectation, ...]
    hours: tuple[HourCount, ...]
    tables: tuple[TableShift, ...]
    dealers: tuple[DealerShift, ...]
    incidents: tuple[ShiftIncident, ...]
    commands: CommandCounts | None
    people: tuple[PersonShift, ...]
    refused: tuple[RefusedCommand, ...]
    reversals: tuple[Reversal, ...]
    not_included: tuple[str, ...]
    reported_by: str
    source: Source

    @property
    def slowest(self) -> ShiftIncident | None:
        """The irregularity that a person took longest to close."""
        closed = [each for each in self.incidents if decision_time(each.incident) is not None]
        return max(closed, key=lambda each: each.incident.seconds or 0.0, default=None)

    @property
    def refuted(self) -> bool:
        """True if a journal was changed after it was written."""
        return any(each.proof is not None and each.proof.refuted for each in self.tables)
