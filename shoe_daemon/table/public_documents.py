"""
The public documents of a table, built from its state: the snapshot, and the history with the
results on the roads. `public_document_types` has their types.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from msgspec import UNSET, convert
from msgspec.structs import replace

from shoe_daemon.game import Kind, Outcome, Result, format_sequence
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.events import SCHEMA, HandResult
from shoe_daemon.table.public_document_types import (
    Alert,
    CardView,
    Counts,
    PastRound,
    PastShoe,
    PublicHistory,
    PublicTable,
    RoundDocuments,
    RoundView,
    ShoeView,
)
from shoe_daemon.table.readers.status import reader_status
from shoe_daemon.table.shoe_state import HeldResult, PlayedRound, ShoeState
from shoe_daemon.table.state import TableState
from shoe_daemon.table.view import totals

MAX_PAST_SHOES: Final = 12
"""Past shoes of which a summary is kept."""

Rounds = dict[tuple[int, int], RoundDocuments]
"""Rounds by shoe and number."""

_UNKNOWN_HAND: Final = HandResult(cards=(), natural=None, pair=None, total=None)
_EMPTY_ROUND: Final = PastRound(
    at="",
    banker=(),
    banker_pair=None,
    banker_total=None,
    entered=False,
    kind=Kind.NORMAL,
    natural=None,
    outcome=None,
    partial=False,
    player=(),
    player_pair=None,
    player_total=None,
    round=0,
    voided=False,
    wins=(),
)


def public_table(
    state: TableState, context: TableContext, alerts: tuple[Alert, ...]
) -> PublicTable:
    """Return the public facts of a table."""
    session, house = state.session, context.house
    return PublicTable(
        alerts=alerts,
        alerts_omitted=state.alerts_omitted,
        at=state.now,
        betting=state.betting,  # type: ignore[arg-type]
        blind=context.undetectable,
        counts=_shoe_counts(state),
        curator=state.rotation.holder,
        dealer=state.dealer,
        held=tuple(each.number for each in state.held),
        house=house.id,
        house_name=house.name if house.id is not None else None,
        last_result=state.last_result,
        limits=session.options.limits,
        name=session.options.name,
        on_hold=state.on_hold,
        policy=session.policy,
        policy_name=context.policy.name,
        readers=tuple(
            reader_status(source, reader) for source, reader in sorted(state.readers.items())
        ),
        round=_round_view(state),
        schema=SCHEMA,
        seq=state.seq,
        shoe=_shoe_view(state),
        simulated=session.options.simulated or UNSET,
        site=session.site,
        table=session.table,
    )


def _shoe_counts(state: TableState) -> Counts:
    shoe = state.shoe
    if shoe is None:
        return Counts(0, 0, 0, 0, 0, 0, 0)
    return convert(shoe, Counts, from_attributes=True)


def _shoe_view(state: TableState) -> ShoeView | None:
    shoe = state.shoe
    if shoe is None:
        return None
    return ShoeView(
        cut_card=shoe.cut_card,
        decks=shoe.decks,
        last_round=shoe.last_announced,
        number=shoe.number,
        started_at=shoe.started_at,
    )


def _round_view(state: TableState) -> RoundView | None:
    round_ = state.round
    if round_ is None or (round_.phase and not round_.finished):
        return None  # an aborted round is not shown
    player, banker = totals(round_.view)
    return RoundView(
        banker_total=banker,
        cards=tuple(
            CardView(card.face if card.public else None, card.slot, card.unread)
            for card in round_.cards
        ),
        draw_due=round_.due,
        finished=round_.finished,
        number=round_.number,
        partial=round_.lacks,
        player_total=player,
    )


def road_results(shoe: ShoeState | None) -> list[Result]:
    """
    Return the results on the roads of a shoe, oldest first.

    Rounds without a winner, void rounds and rounds without wagers are on no road. Unseen pairs
    and naturals are not marked.
    """
    return [
        Result(
            played.data.outcome,
            bool(played.data.player.pair),
            bool(played.data.banker.pair),
            bool(played.data.player.natural or played.data.banker.natural),
        )
        for played in (shoe.played if shoe is not None else ())
        if played.data.outcome is not None
        and played.data.kind is Kind.NORMAL
        and not (played.voided or played.lost)
    ]


def store_past_shoe(state: TableState) -> None:
    """Store the summary of the finished shoe."""
    shoe = state.shoe
    if shoe is None:
        return
    results = road_results(shoe)
    outcomes = Counter(each.outcome for each in results)
    over = PastShoe(
        banker=outcomes[Outcome.BANKER],
        ended_at=shoe.played[-1].at if shoe.played else None,
        player=outcomes[Outcome.PLAYER],
        rounds=len(results),
        sequence=format_sequence(results),
        shoe=shoe.number,
        started_at=shoe.started_at,
        tie=outcomes[Outcome.TIE],
    )
    state.past = [*state.past[-(MAX_PAST_SHOES - 1) :], over]


def public_history(state: TableState) -> PublicHistory:
    """Return the public facts of the past rounds and shoes."""
    shoe = state.shoe
    return PublicHistory(
        rounds=() if shoe is None else _past_rounds(shoe, state.held),
        shoe=None if shoe is None else shoe.number,
        shoes=tuple(state.past),
    )


def round_documents(state: TableState) -> Rounds:
    """Return every round of this shoe that a public document shows, by shoe and number."""
    if state.shoe is None:
        return {}
    rows = {row.round: row for row in public_history(state).rounds}
    view = _round_view(state)
    numbers = rows.keys() if view is None else rows.keys() | {view.number}
    return {
        (state.shoe.number, number): RoundDocuments(
            history=rows.get(number),
            round=number,
            state=view if view is not None and view.number == number else None,
        )
        for number in numbers
    }


def changed_round(before: Rounds, after: Rounds, number: int | None) -> tuple[int, int] | None:
    """Return the earliest round that changed, or the one of this number if it is among them."""
    changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
    if before and before.keys().isdisjoint(after):
        # Another shoe: no document shows the rounds of the last one any more.
        changed = [key for key, each in before.items() if each.state and not each.state.finished]
    return min((key for key in changed if key[1] == number), default=min(changed, default=None))


def _past_rounds(shoe: ShoeState, held: list[HeldResult]) -> tuple[PastRound, ...]:
    found = {
        each.number: replace(
            _EMPTY_ROUND,
            aborted=each.cause,
            at=each.at,
            round=each.number,
            voided=each.cause is None,
        )
        for each in shoe.unfinished
    }
    found |= {each.number: _past_played_round(each) for each in shoe.played}
    for each in held:
        # Without cards and winner: a held result is not public.
        found[each.number] = replace(_EMPTY_ROUND, at=each.at, held=True, round=each.number)
    return tuple(found[number] for number in sorted(found))


def _past_played_round(played: PlayedRound) -> PastRound:
    data = played.data
    # A round without a result after a correction is not shown with one.
    player, banker = (_UNKNOWN_HAND, _UNKNOWN_HAND) if played.lost else (data.player, data.banker)
    return PastRound(
        at=played.at,
        banker=banker.cards,
        banker_pair=banker.pair,
        banker_total=banker.total,
        entered=played.entered,
        kind=data.kind,
        natural=_either_natural(player, banker),
        outcome=None if played.lost else data.outcome,
        partial=data.partial or played.lost,
        player=player.cards,
        player_pair=player.pair,
        player_total=player.total,
        round=played.number,
        voided=played.voided,
        wins=()
        if played.lost
        else tuple(each.wager for each in data.wagers if each.result == "win"),
    )


def _either_natural(player: HandResult, banker: HandResult) -> bool | None:
    if player.natural or banker.natural:
        return True
    return None if None in {player.natural, banker.natural} else False
