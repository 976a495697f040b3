"""Corrections of a past round, whose cards are no longer on the table."""

from __future__ import annotations

from typing import Final

from msgspec.structs import replace

from shoe_daemon.game import (
    DEALING_ORDER,
    FIRST_CARDS,
    Card,
    CountedHand,
    Coup,
    IrregularityKind,
    Slot,
)
from shoe_daemon.table import alerts
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.events import HandResult, RoundFinished
from shoe_daemon.table.rounds import result_publication, round_result
from shoe_daemon.table.shoe_state import HeldResult, PlayedRound
from shoe_daemon.table.table_context import TableContext
from shoe_daemon.table.table_state import OpenAlert

_KNOWN_CARD: Final = "known card"
"""Evidence of an excess card that is among the cards of its round."""
_EXCESS_CARD: Final = IrregularityKind.EXCESS_CARD
_MISSING_DRAW: Final = IrregularityKind.MISSING_DRAW
_PLAYER_THIRD: Final = IrregularityKind.PLAYER_THIRD_UNAUTHORISED
_WRONG_HAND: Final = IrregularityKind.WRONG_HAND


def find_record(context: TableContext, number: int | None) -> PlayedRound | HeldResult | None:
    """Return the result of a round of this shoe if it is not void; the latest without a number."""
    held = [each for each in context.state.held if each.number == number]
    if held:
        return held[0]
    found = result_publication.find_played_round(context, number)
    return (
        found
        if found is not None or number is None
        else result_publication.find_lost_round(context, number)
    )


def face_on_slot(record: PlayedRound | HeldResult, slot: Slot) -> Card | None:
    """Return the card that lay on a slot."""
    cards = _cards_by_slot(record.data)
    if record.data.partial or not record.dealt or slot not in cards:
        return cards.get(slot)
    return record.dealt[list(cards).index(slot)]


def _cards_by_slot(data: RoundFinished) -> dict[Slot, Card | None]:
    """Return the cards of both hands, in dealing order."""
    hands = (data.player.cards, data.banker.cards)
    places = [(slot, hands[spot % 2], spot // 2) for spot, slot in enumerate(DEALING_ORDER)]
    return {slot: hand[place] for slot, hand, place in places if place < len(hand)}


def correct_face(
    context: TableContext, record: PlayedRound | HeldResult, slot: Slot, after: Card
) -> None:
    """Replace the face on a slot; the result follows."""
    data, cards = record.data, _cards_by_slot(record.data)
    changed = _with_face(data, slot, after)
    if slot not in cards or (data.partial and None in {data.player.total, data.banker.total}):
        _replace_result(context, record, changed)
        return
    dealt = list(record.dealt or filter(None, cards.values()))
    dealt[list(cards).index(slot)] = after
    if record.excess and (excess := _round_alerts(context, record.number, _EXCESS_CARD)):
        dealt, record.excess = [*dealt, *record.excess], ()
        for alert in excess:
            if "card" in alert.evidence:  # else the reader reports a card that it has not read
                alert.evidence.append(_KNOWN_CARD)
    record.dealt = tuple(dealt)
    coup = _deal_coup(record.dealt)
    over = [] if coup is None else dealt[len(coup.player.cards) + len(coup.banker.cards) :]
    result = None
    if coup is not None:
        result = round_result.result_of_coup(context, coup, kind=data.kind, partial=data.partial)
    if data.partial:
        if over or result is None or result.outcome is not data.outcome:
            result = replace(changed, wagers=())  # as declared, which the cards do not confirm
        _replace_result(context, record, result)
        return
    _update_alerts(context, record.number, over, lacks=coup is None)
    if coup is not None:
        _close_wrong_thirds(context, record.number, coup)
    _replace_result(context, record, result)


def _with_face(data: RoundFinished, slot: Slot, after: Card) -> RoundFinished:
    spot = DEALING_ORDER.index(slot)
    before, place = (data.banker if spot % 2 else data.player), spot // 2
    hand = _with_cards(before, (*before.cards[:place], after, *before.cards[place + 1 :]))
    return replace(data, banker=hand) if spot % 2 else replace(data, player=hand)


def _with_cards(before: HandResult, cards: tuple[Card | None, ...]) -> HandResult:
    known = tuple(filter(None, cards))
    if before.total is None or known != cards:
        pair = None if before.pair is None else round_result.is_pair(cards)
        return replace(before, cards=cards, pair=before.pair if pair is None else pair)
    return round_result.hand_result(CountedHand.of(known))


def _deal_coup(cards: tuple[Card, ...]) -> Coup | None:
    try:
        return Coup.deal(cards)
    except IndexError:
        return None


def _replace_result(
    context: TableContext, record: PlayedRound | HeldResult, after: RoundFinished | None
) -> None:
    if after is not None:
        round_result.compare_with_result(context, record.number, after)
    if after is not None and getattr(record, "lost", False):
        result_publication.publish_or_hold(context, record.number, after, entered=record.entered)
    else:
        result_publication.replace_result(context, record, after)


def _update_alerts(context: TableContext, number: int, over: list[Card], *, lacks: bool) -> None:
    """Raise or close what the cards as corrected show; `over` are excess cards."""
    excess = [a for a in _round_alerts(context, number, _EXCESS_CARD) if _KNOWN_CARD in a.evidence]
    missing = _round_alerts(context, number, _MISSING_DRAW)
    for alert in excess[: max(len(excess) - len(over), 0)]:
        alerts.close_as_corrected(context, alert, "the card was due")
    if over and not excess:
        detail = make_detail("excess_by_correction", card=over[0], round=number)
        alert = alerts.raise_alert(context, _EXCESS_CARD, detail, card=over[0], number=number)
        alert.evidence.append(_KNOWN_CARD)
    if lacks and not missing:
        detail = make_detail("missing_by_correction", round=number)
        alerts.raise_alert(context, _MISSING_DRAW, detail, number=number)
    elif not lacks:
        for alert in missing:
            alerts.close_as_corrected(context, alert)


def _close_wrong_thirds(context: TableContext, number: int, coup: Coup) -> None:
    """Close a third card with the wrong hand that lies right, or in no hand, after all."""
    fifth = None  # the slot of the fifth card out of the shoe
    if len(coup.player.cards) > FIRST_CARDS:
        fifth = Slot.P3
    elif len(coup.banker.cards) > FIRST_CARDS:
        fifth = Slot.B3
    wrong = [
        *((each, Slot.P3) for each in _round_alerts(context, number, _PLAYER_THIRD)),
        *((each, Slot.B3) for each in _round_alerts(context, number, _WRONG_HAND)),
    ]
    for alert, laid in wrong:
        if alert.data.kind == _WRONG_HAND and (
            alert.data.slot is not Slot.P3 or alert.data.detail_values.get("laid") != laid
        ):
            continue  # it is about one of the first four cards, or about the sixth
        if fifth is None:
            alerts.close_as_corrected(context, alert, "the card belongs to no hand")
        elif fifth is laid:
            alerts.close_as_corrected(context, alert)


def _round_alerts(context: TableContext, number: int, kind: IrregularityKind) -> list[OpenAlert]:
    return [a for a in context.state.alerts if a.data.kind == kind and a.round == number]
