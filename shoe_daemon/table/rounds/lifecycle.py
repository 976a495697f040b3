"""
The life cycle of a round: begin, deadlines, reveal, end, abort.

A round is finished when its result is published or held, and ended when the next card belongs
to another round.
"""

from __future__ import annotations

from typing import Final

from shoe_daemon.game import FOUR_CARDS, Kind, Outcome
from shoe_daemon.table import events, publish
from shoe_daemon.table.context import TableContext
from shoe_daemon.table.facts import DECLARED, Doubt, PastRound, Phase, Round
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import checker, status
from shoe_daemon.table.rounds.results import MAX_PLAYED_ROUNDS
from shoe_daemon.table.shoes import holder, shoe_lifecycle

# Constants: in Python 3.11 looking up an enumeration's member takes longer than a call.
_QUIET_MODE: Final = RoundEnd.QUIET
_RULES_MODE: Final = RoundEnd.RULES
_NORMAL_KIND: Final = Kind.NORMAL


def in_progress(context: TableContext) -> Round | None:
    """Return the round that has begun and not ended."""
    round_ = context.state.round
    return None if round_ is None or round_.phase else round_


def begin_round(context: TableContext, doubts: Doubt = Doubt.NONE) -> Round:
    """Begin a round, and a shoe if there is none; its first card follows."""
    state = context.state
    shoe = state.shoe
    if shoe is None or shoe.finished:
        shoe = shoe_lifecycle.start_shoe(
            context, announced=shoe is not None, overrun=shoe is not None
        )
    if state.round is not None and state.round.cause is None:
        state.past_rounds.append(PastRound.of(state.round))
        del state.past_rounds[:-MAX_PLAYED_ROUNDS]
    round_ = Round(
        shoe.begun + 1,
        state.next_kind,
        doubts=int(doubts),
        chooses=context.house.player_chooses,
    )
    state.round, state.quiet_at, state.next_kind = round_, None, _NORMAL_KIND
    state.unread_pending = False
    context.in_round = True
    round_.bets_closed = state.betting == "closed"
    if state.betting != "closed":
        context.emit(events.BettingClosed("first_card"))
    context.emit(events.RoundStarted())
    shoe_lifecycle.register_round(context, shoe, round_)
    round_.out_before, round_.holder = shoe.out, state.rotation.holder
    return round_


def set_card_deadlines(context: TableContext, round_: Round) -> None:
    """Start the deadlines that run from a card: the quiet gap and the reveal."""
    if context.mode is _QUIET_MODE:
        await_quiet_end(context, round_)
    after = context.options.reveal_after
    if after is None or not context.banker_tucked:
        return
    dealt = len(round_.cards)
    if context.options.timeless:
        if round_.view.hidden and round_.is_complete:
            publish.commit(
                context, round_, cards_only=True
            )  # it is dealt face down, then turned over
            reveal_faces(context, round_)
    elif dealt == FOUR_CARDS or (round_.doubts and dealt > FOUR_CARDS):
        # In a partial round the fourth card is unknown: this one is the earliest possible.
        context.state.reveal_at = context.now_us() + int(after * 1_000_000)


def await_quiet_end(context: TableContext, round_: Round) -> None:
    """Start the quiet gap if it would end this round; stop it while a card is due."""
    if context.mode is not _QUIET_MODE:
        return
    if round_.doubts or round_.is_complete or round_.is_due_unreadable:
        status.start_quiet_timer(context)
    elif not context.state.unsynced:
        context.state.quiet_at = None


def reveal_faces(context: TableContext, round_: Round) -> None:
    """Turn over the known cards of both hands; what follows is published with the next commit."""
    context.state.reveal_at = None
    while round_.view.hidden:
        hidden = [card for card in round_.cards if card.face is not None and not card.public]
        if not hidden:
            return
        first = [card for card in hidden if any(card is each for each in round_.cards[:4])]
        # The first four cards decide the slots of the others, and each third card the next one's.
        for card in first or hidden[:1]:
            card.public = True
        round_.changed()


def end_if_over(context: TableContext, round_: Round) -> None:
    """End a round that is complete now, by the rules or by an end that was declared before."""
    if round_.doubts:
        if context.mode is _RULES_MODE:
            _end_partial_round(context, round_)
        return
    if not round_.known.complete:
        return
    if context.mode is _RULES_MODE and not round_.over:
        round_.end = DECLARED
    if round_.over and not round_.awaits_faces:
        end_round(context, round_)


def _end_partial_round(context: TableContext, round_: Round) -> None:
    """End a round by the rules after a gap, once each of its cards has its slot."""
    if round_.is_complete and all(card.slot for card in round_.cards):
        end_or_abort_round(context, round_)
        status.resync_readers(context, drawing=True)


def end_round(context: TableContext, round_: Round, declared: Outcome | None = None) -> None:
    """End a round whose cards are complete, or whose result was declared."""
    reveal_faces(context, round_)
    round_.winner = declared
    close_round(context, round_)


def abort_round(context: TableContext, round_: Round, cause: str, *, rest: bool = False) -> None:
    """
    End a round without a result: its number is used up, its cards stay counted.

    `cause` is as in `Round.cause`. `rest`: further cards may belong to its coup. A
    `missing_draw` of the round stays open until a person closes it.
    """
    round_.cause = cause
    round_.said = True
    close_round(context, round_, rest=rest)
    holder.pass_after_round(context, None)


def end_or_abort_round(context: TableContext, round_: Round) -> None:
    """End a round because another begins; abort it if it has no result."""
    if round_.finished or (not round_.doubts and round_.may_end):
        end_round(context, round_)
    else:
        abort_round(context, round_, "restart" if round_.doubts & Doubt.RESTART else "new_round")


def close_round(context: TableContext, round_: Round, *, rest: bool = False) -> None:
    """End a round as its facts say; `rest` as in `abort_round`."""
    state = context.state
    round_.phase = Phase.REST if rest else Phase.ENDED
    if round_.chooses:
        round_.changed()
    publish.commit(context, round_, closing=True)
    checker.record_hidden_cards(context, round_)
    context.in_round = False
    state.quiet_at = state.reveal_at = None
    if rest:
        if round_.hides_faces:
            round_.end = None  # hidden faces alone end no coup
        status.start_quiet_timer(context)
    elif state.betting == "closed" and not round_.next_closed:
        state.betting = "open"
    if state.shoe is not None:
        shoe_lifecycle.check_last_round(context, state.shoe)
    if state.next_session is not None:
        context.apply_session(state.next_session)


def declare_missing(context: TableContext, round_: Round, code: str) -> None:
    """Record that the end was declared while a card is due; the round stays open."""
    if not (round_.over and round_.is_missing):
        round_.end = code
    publish.commit(context, round_)
