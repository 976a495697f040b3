"""What a report on a shoe says, as data: its JSON, and what its pages are made of."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from shoe_daemon.game import Card, Kind, Outcome, Slot
from shoe_daemon.report.expected_counts import Expectation
from shoe_daemon.report.shoe_composition import Composition
from shoe_daemon.table import HandResult

RoundStatus = Literal["finished", "aborted", "void", "held", "withdrawn", "open"]
ShoeStatus = Literal["finished", "replaced", "under way"]


class Person(Struct, frozen=True):
    """
    Who gave an order.

    Attributes:
        operator: By what name; None where no name was given.
        claimed: Nobody vouched for that name.
        reason: Why, in their words.
    """

    operator: str | None
    claimed: bool
    reason: str | None


class RoundLine(Struct):
    """
    One round as it stands in the end, after all corrections.

    Attributes:
        started_at: When its first card, or its entry by hand, came.
        ended_at: When its result was first published, or it came to nothing.
        status:
            ``finished``, ``aborted``, ``void``, ``held`` (waits for a person),
            ``withdrawn`` (its result was taken back), ``open`` (under way).
        cause: Why it was aborted.
        counts: It is in the shoe's counts and on its roads.
        entered: Who entered its result by hand; None where the cards gave it.
        corrected: How many of its cards were corrected, or entered.
        revised: Its result was changed after it was published.
        excess: Cards that were drawn in it, or after it, and belong to neither hand.
        irregularities: Their ids.
    """

    number: int
    started_at: str
    ended_at: str | None
    status: RoundStatus
    player: HandResult
    banker: HandResult
    outcome: Outcome | None = None
    kind: Kind = Kind.NORMAL
    partial: bool = False
    cause: str | None = None
    counts: bool = False
    entered: Person | None = None
    corrected: int = 0
    revised: bool = False
    excess: list[Card | None] = []
    irregularities: list[int] = []


class Incident(Struct):
    """
    An irregularity, and what was decided.

    Attributes:
        seconds: From the irregularity to its end; None while it is open.
        action: What was decided; None while it is open.
        by: Who decided; None where the equipment or the game did, or nobody yet.
    """

    id: int
    at: str
    round: int | None
    kind: str
    severity: int
    slot: Slot | None
    card: Card | None
    detail: str
    action: str | None = None
    closed_at: str | None = None
    seconds: float | None = None
    why: str | None = None
    by: Person | None = None


class Change(Struct, frozen=True):
    """
    What a person changed of what had been said.

    Attributes:
        what: ``void``, ``restored``, ``card``, ``result``, ``entered``.
        before: In words; None where there was nothing.
        after: Likewise.
    """

    seq: int
    at: str
    round: int | None
    what: Literal["void", "restored", "card", "result", "entered"]
    slot: Slot | None
    before: str | None
    after: str | None
    by: Person


class Pause(Struct, frozen=True):
    """A time without a card: from the last one before it to the first after it."""

    at: str
    seconds: float
    round: int | None


class Tempo(Struct, frozen=True):
    """
    How fast it was dealt, from the first card to the last.

    Attributes:
        cards_per_minute: None where no time passed.
        rounds_per_hour: Likewise.
        longest_pause: None with fewer than two cards.
        decided_by_people: Irregularities that a person closed.
        median_decision: Seconds from such an irregularity to its end.
        longest_decision: Likewise.
    """

    seconds: float
    cards_per_minute: float | None
    rounds_per_hour: float | None
    longest_pause: Pause | None
    decided_by_people: int
    median_decision: float | None
    longest_decision: float | None


class RoundCounts(Struct, frozen=True):
    """
    How the rounds of a shoe ended.

    Attributes:
        begun: All of them.
        counted: Those in the shoe's counts: finished, not void, with wagers.
        partial: Finished, with something missing.
        void: Declared void, and left so.
        aborted: Came to nothing.
        entered: Result entered by hand.
        corrected: With cards that were corrected or entered.
        revised: With a result that was changed.
        without_wagers: Free and dummy hands.
    """

    begun: int
    counted: int
    partial: int
    void: int
    aborted: int
    entered: int
    corrected: int
    revised: int
    without_wagers: int


class Proof(Struct, frozen=True):
    """
    How a printed report can be compared with the journal, now and later.

    Attributes:
        first_event: The first event of the shoe.
        last_event: The last.
        head: The hash of the journal's chain after the last event, in hex.
        published: The head in the shoe's `shoe_finished`; None where it has none.
        published_at: The row of the journal at which that hash stands; None if at none, or
            if the chain was not verified.
        chain: The result of walking the whole chain.
        broken: Where and how the chain is broken; None otherwise.
        written_by: The versions of the program that wrote the shoe; None stands for one that
            the journal does not record.
        reported_by: The version that made the report.
    """

    first_event: int
    last_event: int
    head: str
    published: str | None
    published_at: str | None
    chain: Literal["good", "broken", "not verified"]
    broken: str | None
    written_by: tuple[str | None, ...]
    reported_by: str

    @property
    def refuted(self) -> bool:
        """Tell whether the journal is not as it was written."""
        lost = self.published is not None and self.published_at is None
        return self.chain == "broken" or (self.chain == "good" and lost)


class ShoeReport(Struct, frozen=True):
    """
    All that the events of one shoe tell.

    Attributes:
        proof: How to compare it with the journal; None if it was made of bare events.
        status:
            ``finished`` by its last permitted round, ``replaced`` by another
            shoe before that, or ``under way``.
        expectations: Outcomes, naturals and pairs beside what chance gives.
    """

    site: str
    table: str
    shoe: int
    status: ShoeStatus
    decks: int
    house: str | None
    policy: str
    started_at: str
    last_at: str
    counts: RoundCounts
    expectations: tuple[Expectation, ...]
    composition: Composition
    incidents: tuple[Incident, ...]
    changes: tuple[Change, ...]
    tempo: Tempo
    rounds: tuple[RoundLine, ...]
    proof: Proof | None = None
