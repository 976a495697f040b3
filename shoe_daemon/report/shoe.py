"""The report on one shoe: its data, which are its JSON, made from the shoe's events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from typing import Final, Literal

from msgspec import UNSET, Struct, UnsetType

from shoe_daemon.errors import UserError
from shoe_daemon.game import CARDS_PER_DECK, DECK, Card, load_house
from shoe_daemon.report.cards import CausedEvent, DrawnCard
from shoe_daemon.report.odds import Expectation, compare_with_odds
from shoe_daemon.report.rounds import (
    Change,
    Incident,
    RoundCounts,
    RoundLine,
    TableFold,
    count_rounds,
    decision_times,
)
from shoe_daemon.table import Event, ShoeStarted, StaffComposition, to_microseconds

_SECOND: Final = 1_000_000

ShoeStatus = Literal["finished", "replaced", "under way"]


class Composition(Struct, frozen=True):
    """
    The cards of a shoe, by face.

    Attributes:
        cards: Number of cards in the decks.
        out: Number of cards known to be drawn.
        left: The rest; negative if more cards were drawn than the decks hold.
        unread: Drawn cards with an unknown face.
        read: Number of copies read of each face.
        surplus: Copies beyond those in the decks; always a fault.
        missing:
            Copies never read. Empty if the shoe was not dealt out, since they may still be in it.
        dealt_out: All cards were drawn.
        reshuffled: Cards went back into the shoe, so that copies cannot be compared.
        told: Source of the faces: ``table`` (its count at the end of the shoe) or ``events``.
        events_differ: The events yield other counts than the table.
    """

    cards: int
    out: int
    left: int
    unread: int
    read: dict[str, int]
    surplus: dict[str, int]
    missing: dict[str, int]
    dealt_out: bool
    reshuffled: bool
    told: str
    events_differ: bool


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
        simulated: No real cards were dealt; it is absent at a real table.
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
    simulated: bool | UnsetType = UNSET


def report_on(caused: Iterable[CausedEvent], *, replaced: bool = False) -> ShoeReport:
    """
    Report on the events of one shoe, from its start.

    Raises:
        UserError: The first event is not a shoe's start.
    """
    table = TableFold()
    first: Event | None = None
    last: Event | None = None
    for each in caused:
        last = each.event
        first = first or last
        table.take(each)
    if first is None or last is None:
        raise UserError("these are no events of a shoe")
    if not isinstance(started := first.data, ShoeStarted):
        raise UserError(f"event {first.seq} is {first.type}: expected a shoe's start")
    shoe = table.shoes[first.shoe]
    lines = shoe.finish()
    status: ShoeStatus = "replaced" if replaced else "under way"
    return ShoeReport(
        site=first.site,
        table=first.table,
        shoe=first.shoe or 0,
        status="finished" if shoe.finished else status,
        decks=started.decks,
        house=started.house,
        policy=started.policy,
        started_at=first.at,
        last_at=last.at,
        counts=count_rounds(lines),
        expectations=tuple(
            compare_with_odds(
                [(each, started.decks) for each in lines if each.counts], started.decks
            )
        ),
        composition=compose(started.decks, started.house, shoe.cards, shoe.composition),
        incidents=tuple(table.incidents),
        changes=tuple(table.changes),
        tempo=_tempo(shoe.cards, lines, table.incidents),
        rounds=tuple(lines),
        simulated=started.simulated,
    )


def _tempo(cards: list[DrawnCard], lines: list[RoundLine], incidents: list[Incident]) -> Tempo:
    moments = [to_microseconds(card.at) for card in cards]
    ends = [to_microseconds(line.ended_at) for line in lines if line.ended_at]
    span = (max([*moments, *ends]) - moments[0]) / _SECOND if moments else 0.0
    done = sum(line.status == "finished" for line in lines)
    return Tempo(
        seconds=round(span, 3),
        cards_per_minute=round(len(cards) * 60 / span, 1) if span else None,
        rounds_per_hour=round(done * 3600 / span, 1) if span else None,
        longest_pause=_longest_pause(cards, moments),
        **decision_times(incidents),
    )


def _longest_pause(cards: list[DrawnCard], moments: list[int]) -> Pause | None:
    gaps = [after - before for before, after in pairwise(moments)]
    if not gaps:
        return None
    place = gaps.index(max(gaps))
    return Pause(cards[place].at, gaps[place] / _SECOND, cards[place + 1].round)


def compose(
    decks: int, house: str | None, cards: Iterable[DrawnCard], table: StaffComposition | None
) -> Composition:
    """
    Compare the cards drawn from a shoe with the contents of its decks.

    Args:
        decks: Number of decks.
        house: The house's id; it determines whether cards go back into the shoe.
        cards: The cards drawn, in order.
        table: The table's count at the end of the shoe; takes precedence.
    """
    drawn = [card.face for card in cards if not card.is_repeat]
    known = Counter(face for face in drawn if face is not None)
    unread = len(drawn) - known.total()
    differ = False
    if table is not None:
        counted = Counter({Card(face): count for face, count in table.read.items()})
        differ = (+counted, table.unread) != (known, unread)
        known, unread = counted, table.unread
    reshuffled = reshuffles(house)
    out = known.total() + unread
    left = decks * CARDS_PER_DECK - out
    dealt_out = left <= 0 and not reshuffled
    read = {str(card): known[card] for card in DECK}
    over = {face: count - decks for face, count in read.items() if count > decks}
    short = {face: decks - count for face, count in read.items() if count < decks}
    return Composition(
        cards=decks * CARDS_PER_DECK,
        out=out,
        left=left,
        unread=unread,
        read=read,
        surplus={} if reshuffled else over,
        missing=short if dealt_out else {},
        dealt_out=dealt_out,
        reshuffled=reshuffled,
        told="events" if table is None else "table",
        events_differ=differ,
    )


def reshuffles(house: str | None) -> bool:
    """Return whether the house puts cards back before the end of the shoe."""
    if house is None:
        return False
    try:
        return load_house(house).reshuffle != "per_shoe"
    except UserError:  # a custom house; events contain only its name
        return False
