"""The public snapshot of a table, built from its state; the types are in `public_types`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.table.events import SCHEMA
from shoe_daemon.table.public_types import (
    Alert,
    CardView,
    Counts,
    PublicTable,
    RoundView,
    ShoeView,
)
from shoe_daemon.table.readers.reader_state import reader_status
from shoe_daemon.table.readers.undetectable import undetectable_kinds
from shoe_daemon.table.rounds import next_card

if TYPE_CHECKING:
    from shoe_daemon.game import House, Policy
    from shoe_daemon.table.options import Options
    from shoe_daemon.table.table_state import TableState


def public_table(state: TableState, house: House, policy: Policy) -> PublicTable:
    """Return the public facts of a table."""
    session = state.session
    return PublicTable(
        alerts=_open_alerts(state, staff_only=False),
        at=state.now,
        betting=state.betting,  # type: ignore[arg-type]
        blind=_undetectable_kinds(house, session.options),
        counts=_shoe_counts(state),
        curator=state.rotation.holder,
        held=tuple(each.number for each in state.held),
        house=house.id,
        house_name=house.name if house.id is not None else None,
        last_result=state.last_result,
        limits=session.options.limits,
        name=session.options.name,
        on_hold=state.on_hold,
        policy=session.policy,
        policy_name=policy.name,
        readers=tuple(
            reader_status(source, reader) for source, reader in sorted(state.readers.items())
        ),
        round=_round_view(state),
        schema=SCHEMA,
        seq=state.seq,
        shoe=_shoe_view(state),
        site=session.site,
        table=session.table,
    )


def staff_alerts(state: TableState) -> tuple[Alert, ...]:
    """Return the open irregularities that are for staff only."""
    return _open_alerts(state, staff_only=True)


def _open_alerts(state: TableState, *, staff_only: bool) -> tuple[Alert, ...]:
    return tuple(
        Alert(each.at, each.data, each.round, each.shoe)
        for each in state.alerts
        if each.staff_only is staff_only
    )


def _undetectable_kinds(house: House, options: Options) -> tuple[str, ...]:
    return tuple(kind.value for kind in undetectable_kinds(house, options))


def _shoe_counts(state: TableState) -> Counts:
    shoe = state.shoe
    if shoe is None:
        return Counts(0, 0, 0, 0, 0, 0, 0)
    return Counts(
        banker=shoe.banker,
        banker_pair=shoe.banker_pair,
        natural=shoe.natural,
        player=shoe.player,
        player_pair=shoe.player_pair,
        rounds=shoe.rounds,
        tie=shoe.tie,
    )


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
    if round_ is None or (round_.ended and not round_.finished):
        return None  # an aborted round is not shown
    player, banker = next_card.public_totals(round_.spots)
    return RoundView(
        banker_total=banker,
        cards=tuple(
            CardView(card.face if card.public else None, card.slot, card.unread)
            for card in round_.cards
        ),
        draw_due=round_.due,
        finished=round_.finished,
        number=round_.number,
        partial=round_.partial,
        player_total=player,
    )
