"""
The types of the public snapshot of a table, complete for a display.

These types cannot hold hidden faces. Fields stand in alphabetical order, as in `events`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import UNSET, Struct, UnsetType

from shoe_daemon.game import Card, Kind, Outcome, Slot
from shoe_daemon.table.events import AbortCause, DrawDue, Irregularity, ReaderStatus, RoundFinished


class CardView(Struct, frozen=True):
    """
    A card on the table; `card` is None while its face is not public.

    `unreadable` is true for a card that no reader could read: nobody can turn it over
    on a screen before a person has entered it.
    """

    card: Card | None
    slot: Slot | None
    unreadable: bool = False


class RoundView(Struct, frozen=True):
    """The round in progress, or finished and still on the table."""

    banker_total: int | None
    cards: tuple[CardView, ...]
    draw_due: DrawDue | None
    finished: bool
    number: int
    partial: bool
    player_total: int | None


class ShoeView(Struct, frozen=True):
    """The shoe: never what is left in it."""

    cut_card: bool
    decks: int
    last_round: bool
    number: int
    started_at: str


class Counts(Struct, frozen=True):
    """What the finished rounds of this shoe came to."""

    banker: int
    banker_pair: int
    natural: int
    player: int
    player_pair: int
    rounds: int
    tie: int


class LastResult(Struct, frozen=True):
    """
    The last finished round, and when and where it was; `entered` by a person
    where no reader saw it.
    """

    at: str
    data: RoundFinished
    entered: bool
    round: int
    seq: int
    shoe: int


class Ordered(Struct, frozen=True):
    """The ruling that waits to be carried out: what was ordered, when, and by whom."""

    action: str
    at: str
    operator: str | None


class Alert(Struct, frozen=True, kw_only=True):
    """
    An open irregularity, and when and where it arose.

    `ordered` is the ruling that waits; it is absent if there is none.
    """

    at: str
    data: Irregularity
    ordered: Ordered | UnsetType = UNSET
    round: int | None
    shoe: int | None


class PublicTable(Struct, frozen=True, kw_only=True):
    """
    The public table after the event `seq` (0 before the first).

    Attributes:
        alerts_omitted: Open irregularities that are not in `alerts`: they were too many, or did
            not fit into this message.
        blind: The kinds of irregularity that this table cannot detect.
        curator: The seat that draws the cards; None where the dealer does.
        dealer: Who has signed on as the dealer; None if nobody has.
        held: The rounds whose results wait for a person.
        house_name: The name of the house; None where none is configured.
        on_hold: A person has put the table on hold.
        policy_name: The name of the policy.
        simulated: No real cards are dealt; it is absent at a real table.
    """

    alerts: tuple[Alert, ...]
    alerts_omitted: int = 0
    at: str
    betting: Literal["open", "closed", "unknown"]
    blind: tuple[str, ...]
    counts: Counts
    curator: int | None
    dealer: str | None
    held: tuple[int, ...]
    house: str | None
    house_name: str | None = None
    last_result: LastResult | None
    limits: dict[str, str]
    name: str | None
    on_hold: bool
    policy: str
    policy_name: str | None = None
    readers: tuple[ReaderStatus, ...]
    round: RoundView | None
    schema: str
    seq: int
    shoe: ShoeView | None
    simulated: bool | UnsetType = UNSET
    site: str
    table: str


class PastRound(Struct, frozen=True, kw_only=True):
    """
    A round of this shoe that is over: with a result, held, void or aborted.

    Attributes:
        aborted: Why the round was aborted; None for every other round.
        at: When its result was published or held, or when it was aborted.
        banker: Its cards; None for one that nobody could read.
        banker_pair: None where a card is missing.
        banker_total: None where a card is missing.
        entered: A person entered its result.
        held: Its result waits for a person's decision and is not told yet.
        kind: Whether wagers were taken on it; a hand without is on no road.
        natural: Either hand was one; None where that is not known.
        outcome: None where it is not known, or no more.
        partial: Something of it is missing.
        player: As `banker`.
        player_pair: As `banker_pair`.
        player_total: As `banker_total`.
        round: Its number.
        voided: It is void: on no road, in no count.
        wins: The wagers that won, by their ids.
    """

    aborted: AbortCause | None = None
    at: str
    banker: tuple[Card | None, ...]
    banker_pair: bool | None
    banker_total: int | None
    entered: bool
    held: bool = False
    kind: Kind
    natural: bool | None
    outcome: Outcome | None
    partial: bool
    player: tuple[Card | None, ...]
    player_pair: bool | None
    player_total: int | None
    round: int
    voided: bool
    wins: tuple[str, ...]


class PastShoe(Struct, frozen=True):
    """
    What is remembered of a shoe that is over.

    Attributes:
        banker: Rounds on the roads that the Banker won.
        ended_at: When its last round ended; None where none did.
        player: Those that the Player won.
        rounds: All on the roads.
        sequence: The same, as in `game.sequences`.
        shoe: Its number.
        started_at: When.
        tie: Those that nobody won.
    """

    banker: int
    ended_at: str | None
    player: int
    rounds: int
    sequence: str
    shoe: int
    started_at: str
    tie: int


class PublicHistory(Struct, frozen=True):
    """
    The rounds of this shoe and the shoes before it, oldest first.

    Attributes:
        rounds: Of this shoe.
        shoe: Its number; None before the first.
        shoes: The latest ones before it.
    """

    rounds: tuple[PastRound, ...]
    shoe: int | None
    shoes: tuple[PastShoe, ...]


class RoundDocuments(Struct, frozen=True, kw_only=True):
    """
    A round as the public documents show it.

    Attributes:
        history: Its row in `history`; None where it has none.
        round: Its number.
        state: As `round` of `state`; None where that shows another round, or none.
    """

    history: PastRound | None
    round: int
    state: RoundView | None
