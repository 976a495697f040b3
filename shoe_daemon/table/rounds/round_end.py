"""
What ends a round, or begins betting, beside a card: results, buttons, silence,
boots, and the orders of an operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import FOUR_CARDS, IrregularityKind
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import detail
from shoe_daemon.table.options import RoundEnd
from shoe_daemon.table.readers import reader_state, second_reader
from shoe_daemon.table.rounds import declared_result, lifecycle
from shoe_daemon.table.rounds.card_draw import lay_unread
from shoe_daemon.table.shoes import shoe_lifecycle

if TYPE_CHECKING:
    from shoe_daemon.table.observations import Booted, Result
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import RoundState

_DECLARED_ENDS: Final = frozenset({RoundEnd.DEVICE, RoundEnd.BUTTON})


def result(fold: Fold, obs: Result) -> None:
    """
    Take what the reader, or the dealer's button, says of the round.
    """
    fold.result_declared()
    round_ = fold.state.round
    if round_ is None or (round_.ended and round_.declared):
        reader_state.synced(fold)
    elif obs.forced or obs.outcome == "forced":
        _forced(fold, round_)
    elif round_.ended:
        declared_result.record(fold, round_, obs)
    else:
        _declared(fold, round_, obs)


def _forced(fold: Fold, round_: RoundState) -> None:
    if round_.ended:
        return
    reader_state.synced(fold)
    if not round_.finished:
        lifecycle.abort(fold, round_, "forced")
        return
    round_.declared = True
    said = detail("forced_after_result")
    fold.raise_alert(IrregularityKind.RESULT_MISMATCH, said, evidence="device")
    lifecycle.end(fold, round_)


def _declared(fold: Fold, round_: RoundState, obs: Result) -> None:
    lifecycle.reveal(fold, round_)
    lay_unread(fold, round_)
    verdict = lifecycle.truth(round_)
    if not round_.partial and verdict.known and verdict.spot is not None:
        second_reader.boundary(fold)
        lifecycle.find_missing(fold, round_, "missing_at_result")
        lifecycle.say_due(fold, round_, repeat=False)
        return
    declared_result.record(fold, round_, obs)
    if fold.mode in _DECLARED_ENDS or round_.partial or not verdict.known:
        lifecycle.end(fold, round_, declared_result.winner(obs))
        reader_state.synced(fold)
    else:
        lifecycle.go_on(fold, round_, repeat=False)


def betting_open(fold: Fold) -> None:
    """
    Betting opened: the round before is over.
    """
    _boundary(fold, "missing_at_betting")
    fold.state.betting = "open"


def table_cleared(fold: Fold) -> None:
    """
    The cards were taken off the table: the round is over.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None and not round_.partial and _unpublished(fold, round_):
        lifecycle.reveal(fold, round_)
        fold.raise_alert(IrregularityKind.PREMATURE_COLLECT, detail("collected_early"))
    _boundary(fold, "missing_at_clearing")
    if fold.state.round is not None:
        fold.state.round.cleared = True


def _unpublished(fold: Fold, round_: RoundState) -> bool:
    if any(held.number == round_.number for held in fold.state.held):
        return True
    return lifecycle.is_complete(round_) and lifecycle.awaits_faces(round_)


def no_more_bets(fold: Fold) -> None:
    """
    Betting closed for the round that begins.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None and (
        round_.partial or lifecycle.is_complete(round_) or _is_past_its_bets(round_)
    ):
        _boundary(fold, "missing_at_closed_betting", drawing=True)
    round_ = lifecycle.in_progress(fold)
    if round_ is None:
        reader_state.synced(fold, drawing=True)
    closed = fold.state.betting == "closed"
    if round_ is not None and not round_.missing:
        return
    if round_ is not None:
        # The table goes on to the next round without the card that is due.
        closed, round_.next_closed = round_.next_closed, True
    if not closed:
        fold.state.betting = "closed"
        fold.emit(events.BettingClosed("no_more_bets"))


def _is_past_its_bets(round_: RoundState) -> bool:
    # Its own bets were closed before its first card, and it has come as far as its draws.
    return round_.bets_closed and len(round_.cards) >= FOUR_CARDS


def _boundary(fold: Fold, code: str, *, drawing: bool = False) -> None:
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        lay_unread(fold, round_)
        verdict = lifecycle.truth(round_)
        if verdict.known and verdict.spot is not None and not round_.partial:
            lifecycle.reveal(fold, round_)
            second_reader.boundary(fold, drawing=drawing)
            lifecycle.find_missing(fold, round_, code)
            lifecycle.say_due(fold, round_, repeat=False)
            return
        lifecycle.leave(fold, round_)
    reader_state.synced(fold, drawing=drawing)


def confirm_result(fold: Fold) -> None:
    """
    The dealer's button: the round is over, with whatever is known of it.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None and (round_.partial or not lifecycle.truth(round_).known):
        lifecycle.end(fold, round_)
    _boundary(fold, "missing_at_confirmation")


def quiet(fold: Fold) -> None:
    """
    No card came for so long that the next one belongs to another round.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        if lifecycle.awaits_faces(round_) and not round_.partial:
            round_.over = True
        elif lifecycle.is_stuck(round_) and not round_.partial:
            lifecycle.end(fold, round_)
        else:
            lifecycle.leave(fold, round_)
    reader_state.synced(fold, drawing=True)


def reveal(fold: Fold) -> None:
    """
    The cards that lay face down have been turned over.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        lifecycle.reveal(fold, round_)
        lifecycle.go_on(fold, round_, repeat=False)


def booted(fold: Fold, _obs: Booted) -> None:
    """
    The reader started: in mid-round that round comes to nothing; after the cut
    card a new shoe begins.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        betting, aborted = fold.state.betting, not (round_.finished or _is_seen_over(round_))
        _drop(fold, round_, whole=not round_.hidden and lifecycle.is_complete(round_))
        if aborted and fold.state.round is round_ and not round_.finished:
            fold.state.betting = betting  # bets were closed before its first card
        if _may_go_on(round_):
            round_.interrupted = fold.state.unsynced = True
    last, shoe = fold.state.round, fold.state.shoe
    if last is not None and last.interrupted and fold.state.unsynced:
        reader_state.await_quiet(fold)
    else:
        reader_state.synced(fold)
    if fold.state.cut_card or (shoe is not None and shoe.cut_card):
        shoe_lifecycle.start(fold, announced=True)


def _is_seen_over(round_: RoundState) -> bool:
    # An end that only hidden faces show is for nobody to know.
    return round_.over and not round_.hidden


def _may_go_on(round_: RoundState) -> bool:
    # Without places, nothing tells the rest of this coup from another round.
    if _is_seen_over(round_) or lifecycle.is_seen_complete(round_):
        return False
    return all(card.declared is None for card in round_.cards)


def _drop(fold: Fold, round_: RoundState, *, whole: bool) -> None:
    if round_.finished or (whole and not round_.partial):
        lifecycle.end(fold, round_)
    else:
        lifecycle.abort(fold, round_, "reset")


def new_shoe(fold: Fold, left: int | None = None) -> None:
    """
    A new shoe was put on the table; `left` cards were counted in the one before.
    """
    round_ = lifecycle.in_progress(fold)
    if round_ is not None:
        _drop(fold, round_, whole=lifecycle.is_complete(round_))
    reader_state.synced(fold)
    shoe_lifecycle.start(fold, announced=True, left=left)


def cut_card(fold: Fold) -> None:
    """
    The cut card came out; in place of a round's first card, where no round is
    being dealt.
    """
    shoe = fold.state.shoe
    if shoe is None:
        if not fold.state.cut_card:
            fold.state.cut_card = True
            fold.emit(events.CutCard(0, 0, 0, 0))
        return
    round_ = lifecycle.in_progress(fold)
    # Rounds are counted in public: a round of hidden faces is dealt until they are seen.
    over = round_ is None or round_.finished or lifecycle.is_seen_complete(round_)
    shoe_lifecycle.cut_card(fold, shoe, mid_round=not over)
