"""What events, and the facts in them, are called in English: in terminals and in reports."""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import ACTION_NAMES, Action, Outcome, card_text
from shoe_daemon.table import (
    CardBurned,
    CardCorrected,
    DealerChanged,
    Event,
    HandResult,
    Irregularity,
    IrregularityClosed,
    LastRound,
    PastRound,
    Proposal,
    ReaderStatus,
    ResultRevised,
    RoundAborted,
    RoundDocuments,
    RoundFinished,
    RoundHeld,
    RoundReleased,
    RoundView,
    RoundVoided,
    RulingGiven,
    ShoeFinished,
    ShoeStarted,
)

WINNERS: Final = {
    Outcome.PLAYER: "Player wins",
    Outcome.BANKER: "Banker wins",
    Outcome.TIE: "Tie",
    None: "no result known",
}
_ABORTED: Final[dict[str, str]] = {
    "reset": "the reader was reset",
    "restart": "the daemon was away",
    "forced": "ended by force",
    "new_round": "another round began",
}


def aborted_text(cause: str) -> str:
    """Return the reason why a round was aborted, as text."""
    return _ABORTED.get(cause, cause)


def hand_text(hand: HandResult) -> str:
    """Return a hand and its total: ``K♠ 9♥ = 9``."""
    cards = " ".join(card_text(card) for card in hand.cards)
    return f"{cards} = {'?' if hand.total is None else hand.total}"


def hand_notes(player: HandResult, banker: HandResult) -> list[str]:
    """Return the naturals and pairs of two hands: ``natural``, ``Player pair``."""
    notes = (
        ("natural", player.natural or banker.natural),
        ("Player pair", player.pair),
        ("Banker pair", banker.pair),
    )
    return [text for text, holds in notes if holds]


def result_notes(data: RoundFinished) -> str:
    """Return naturals and pairs of a result, and whether it is partial."""
    return ", ".join(
        [*hand_notes(data.player, data.banker), *(["partial"] if data.partial else [])]
    )


def kind_text(kind: str) -> str:
    """Return the name of a kind of irregularity."""
    return kind.replace("_", " ")


def action_text(action: str) -> str:
    """Return an action in words: ``burn the card``."""
    return ACTION_NAMES[Action(action)].text if action in set(Action) else action


def result_text(data: RoundFinished) -> str:
    """Return a result: both hands and the winner."""
    more = result_notes(data)
    return (
        f"Player {hand_text(data.player):<15} Banker {hand_text(data.banker):<15} "
        f"{WINNERS[data.outcome]}{f' ({more})' if more else ''}"
    )


def round_text(round_: RoundDocuments) -> str:
    """Return a round as the public documents show it: number, cards, result and state."""
    row, view = round_.history, round_.state
    if row is not None and (row.player or row.banker):
        hands = [
            HandResult(row.player, None, None, row.player_total),
            HandResult(row.banker, None, None, row.banker_total),
        ]
    else:
        hands = [] if view is None else [_hand_in_view(view, "P"), _hand_in_view(view, "B")]
    parts = [f"{name} {hand_text(hand)}" for name, hand in zip(("Player", "Banker"), hands)]  # noqa: B905
    state = "in progress" if row is None else _state_text(row)
    return f"round {round_.round}: {', '.join([*parts, state])}"


def _hand_in_view(view: RoundView, side: str) -> HandResult:
    cards = tuple(card.card for card in view.cards if card.slot and card.slot[0] == side)
    total = view.player_total if side == "P" else view.banker_total
    return HandResult(cards, None, None, total)


def _state_text(row: PastRound) -> str:
    if row.aborted is not None:
        return f"came to nothing: {aborted_text(row.aborted)}"
    if row.held:
        return "result held"
    notes = (("void", row.voided), ("partial", row.partial), ("entered", row.entered))
    return ", ".join([WINNERS[row.outcome], *(text for text, holds in notes if holds)])


def _decision_text(data: RoundHeld | RoundReleased | RoundVoided | ResultRevised) -> str:
    by = f" by {data.operator}" if data.operator else ""
    if isinstance(data, RoundHeld):
        return f"result held: {data.reason}"
    if isinstance(data, RoundReleased):
        return f"result released{by}"
    if isinstance(data, RoundVoided):
        return f"void{by}: {data.reason or 'no reason given'}"
    if data.after is None:
        return f"result taken back{by}"
    return f"{result_text(data.after)}, revised{by}"


def _correction_text(data: CardCorrected) -> str:
    by = f"{data.operator}: " if data.operator else ""
    before = f", not {card_text(data.before)}" if data.before else ""
    return f"{by}{data.slot} is {card_text(data.after)}{before}"


def event_lines(event: Event) -> list[str]:
    """Return an event in lines; an irregularity has a line for each proposal."""
    line = event_line(event)
    lines = [] if line is None else [line]
    if isinstance(event.data, Irregularity):
        lines += map(_proposal_line, event.data.proposals)
    return lines


def _proposal_line(proposal: Proposal) -> str:
    source = f"{proposal.authority}, {proposal.section}"
    verified = "" if proposal.verified else ", NOT VERIFIED"
    return f"      ▸ {action_text(proposal.action)}  {source}{verified}"


def event_line(event: Event) -> str | None:
    """Return an event in one line; None for events that need no line."""
    data = event.data
    match data:
        case ShoeStarted():
            return f"Shoe {event.shoe}: {data.decks} decks, {data.house or 'no house configured'}"
        case RoundFinished():
            return f"{event.round:>4}  {result_text(data)}"
        case RoundHeld() | RoundReleased() | RoundVoided() | ResultRevised():
            return f"{event.round:>4}  {_decision_text(data)}"
        case RoundAborted():
            return f"{event.round:>4}  came to nothing: {_ABORTED[data.cause]}"
        case _:
            return _minor_event_line(event)


def _minor_event_line(event: Event) -> str | None:  # noqa: PLR0911 - one for each kind
    data = event.data
    match data:
        case Irregularity():
            return f"   !  {kind_text(data.kind)}: {data.detail}"
        case IrregularityClosed(operator=str() as operator) | RulingGiven(operator=operator):
            waits = ", ordered" if isinstance(data, RulingGiven) else ""
            by = operator or "a ruling"
            return f"   ·  {by}: {action_text(data.action)}{waits} (irregularity {data.id})"
        case CardCorrected():
            return f"   ·  {_correction_text(data)}"
        case IrregularityClosed():
            return f"   ·  irregularity {data.id} closed: {data.reason}"
        case CardBurned() if data.remaining is not None:
            return f"   ·  burned {card_text(data.card)}, {data.remaining} to go"
        case DealerChanged():
            return f"   ·  dealer: {data.dealer or 'signed off'}"
        case LastRound():
            return "   ·  last round of this shoe"
        case ShoeFinished():
            return (
                f"Shoe {event.shoe} ended: {data.rounds} rounds, "
                f"Player {data.player}, Banker {data.banker}, tie {data.tie}"
            )
        case ReaderStatus():
            link = "" if data.link == "unknown" else f", link {data.link}"
            return f"   ·  reader {data.source or ''}: {data.state}{link}".replace(" :", ":")
        case _:
            return None
