"""The report on a shoe as data: its JSON, and the input of text and HTML."""

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
    The operator who gave a command.

    Attributes:
        operator: None without a name.
        claimed: The name was not authenticated.
        reason: As given by the operator.
    """

    operator: str | None
    claimed: bool
    reason: str | None


class RoundLine(Struct):
    """
    One round after all corrections.

    Attributes:
        started_at: Time of the first card, or of entry by hand.
        ended_at: Time of the first published result, or of the abort.
        status:
            ``finished``, ``aborted``, ``void``, ``held`` (until an operator decides),
            ``withdrawn`` (result revoked), ``open`` (in progress).
        cause: The cause of an abort.
        counts: Included in the shoe's counts and roads.
        entered: The operator who entered the result; None if it follows from the cards.
        corrected: Number of cards corrected or entered.
        revised: The result was changed after publication.
        excess: Cards drawn during or after the round that belong to neither hand.
        irregularities: Ids.
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


class IncidentOrder(Struct, frozen=True):
    """
    A ruling that waited until it was carried out.

    Attributes:
        seconds: From opening to the ruling.
    """

    action: str
    seconds: float
    by: Person


class Incident(Struct):
    """
    An irregularity and its ruling.

    Attributes:
        seconds: From opening to closing; None while open.
        orders: The rulings that waited until they were carried out.
        action: The ruling; None while open.
        by: The operator; None while open, or if equipment or game closed it.
    """

    id: int
    at: str
    round: int | None
    kind: str
    severity: int
    slot: Slot | None
    card: Card | None
    detail: str
    orders: list[IncidentOrder] = []
    action: str | None = None
    closed_at: str | None = None
    seconds: float | None = None
    why: str | None = None
    by: Person | None = None


class Change(Struct, frozen=True):
    """
    A change of published data by an operator.

    Attributes:
        what: ``void``, ``restored``, ``card``, ``result``, ``entered``.
        before: In words; None if there was no value.
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
    """A time without cards, between two cards."""

    at: str
    seconds: float
    round: int | None


class Tempo(Struct, frozen=True):
    """
    Dealing speed, from the first card to the last.

    Attributes:
        cards_per_minute: None if no time passed.
        rounds_per_hour: Likewise.
        longest_pause: None with fewer than two cards.
        decided_by_people: Irregularities closed by operators.
        median_decision: Seconds from opening to closing of those irregularities.
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
    The rounds of a shoe, by how they ended.

    Attributes:
        begun: All rounds.
        counted: Rounds in the shoe's counts: finished, not void, with wagers.
        partial: Finished, with missing data.
        void: Declared void and not restored.
        aborted: Without a result.
        entered: With a result entered by hand.
        corrected: With cards corrected or entered.
        revised: With a changed result.
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


class ProofSignature(Struct, frozen=True):
    """
    The signature that covers a shoe.

    Attributes:
        seq: The last event that it covers.
        key: The public key, in hex.
        signature: In hex.
    """

    seq: int
    key: str
    signature: str


class Verified(Struct, frozen=True):
    """
    The events whose chain was verified for a report.

    Attributes:
        of: The last event of the journal.
        after: What they follow: the start of the journal, a signature, or the checkpoint of a
            shoe, which proves nothing about what is before it.
    """

    first: int
    last: int
    of: int
    after: Literal["start", "signature", "shoe"]


class Proof(Struct, frozen=True):
    """
    Data for comparing a printed report with its journal.

    Attributes:
        first_event: The first event of the shoe.
        last_event: The last event of the shoe.
        head: The chain's hash after the last event, in hex.
        published: The head in the shoe's `shoe_finished`; None if it has none.
        published_at: The journal's row with that hash; None if not found or not verified.
        chain: The result of verifying a part of the chain, which contains these events.
        broken: The first fault; None otherwise.
        written_by: The program versions that wrote the shoe; None for an unrecorded version.
        reported_by: The version that made the report.
        signature: The first signature that covers the shoe; None if none does.
        verified: That part; None if it was not verified, or is broken.
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
    signature: ProofSignature | None = None
    verified: Verified | None = None

    @property
    def refuted(self) -> bool:
        """True if the journal was changed after it was written."""
        lost = self.published is not None and self.published_at is None
        return self.chain == "broken" or (self.chain == "good" and lost)


class ShoeReport(Struct, frozen=True):
    """
    The report on one shoe.

    Attributes:
        proof: None for a report made of events without a journal.
        status:
            ``finished`` by its last permitted round, ``replaced`` by another
            shoe before that, or ``under way``.
        expectations: Outcomes, naturals and pairs compared with chance.
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
