"""
What ends a round, or begins betting, beside a card: results, buttons, silence,
boots, and the orders of an operator.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.coup import FOUR_CARDS
from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.table import checking, declared, events, readers, rounds, shoes
from shoe_daemon.table.details import detail
from shoe_daemon.table.drawing import lay_unread
from shoe_daemon.table.options import RoundEnd

if TYPE_CHECKING:
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.observations import Booted, Result
    from shoe_daemon.table.state import RoundState

_DECLARED_ENDS: Final = frozenset({RoundEnd.DEVICE, RoundEnd.BUTTON})


def result(fold: Fold, obs: Result) -> None:
    """
    Take what the reader, or the dealer's button, says of the round.
    """
    fold.result_declared()
    round_ = fold.state.round
    if round_ is None or (round_.ended and round_.declared):
        readers.synced(fold)
    elif obs.forced or obs.outcome == "forced":
        _forced(fold, round_)
    elif round_.ended:
        declared.record(fold, round_, obs)
    else:
        _declared(fold, round_, obs)


def _forced(fold: Fold, round_: RoundState) -> None:
    if round_.ended:
        return
    readers.synced(fold)
    if not round_.finished:
        rounds.abort(fold, round_, "forced")
        return
    round_.declared = True
    said = detail("forced_after_result")
    fold.raise_alert(IrregularityKind.RESULT_MISMATCH, said, evidence="device")
    rounds.end(fold, round_)


def _declared(fold: Fold, round_: RoundState, obs: Result) -> None:
    rounds.reveal(fold, round_)
    lay_unread(fold, round_)
    verdict = rounds.truth(round_)
    if not round_.partial and verdict.known and verdict.spot is not None:
        checking.boundary(fold)
        rounds.find_missing(fold, round_, "missing_at_result")
        rounds.say_due(fold, round_, repeat=False)
        return
    declared.record(fold, round_, obs)
    if fold.mode in _DECLARED_ENDS or round_.partial or not verdict.known:
        rounds.end(fold, round_, declared.winner(obs))
        readers.synced(fold)
    else:
        rounds.go_on(fold, round_, repeat=False)


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
    round_ = rounds.in_progress(fold)
    if round_ is not None and not round_.partial and _unpublished(fold, round_):
        rounds.reveal(fold, round_)
        fold.raise_alert(IrregularityKind.PREMATURE_COLLECT, detail("collected_early"))
    _boundary(fold, "missing_at_clearing")
    if fold.state.round is not None:
        fold.state.round.cleared = True


def _unpublished(fold: Fold, round_: RoundState) -> bool:
    if any(held.number == round_.number for held in fold.state.held):
        return True
    return rounds.is_complete(round_) and rounds.awaits_faces(round_)


def no_more_bets(fold: Fold) -> None:
    """
    Betting closed for the round that begins.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None and (
        round_.partial or rounds.is_complete(round_) or _is_past_its_bets(round_)
    ):
        _boundary(fold, "missing_at_closed_betting", drawing=True)
    round_ = rounds.in_progress(fold)
    if round_ is None:
        readers.synced(fold, drawing=True)
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
    round_ = rounds.in_progress(fold)
    if round_ is not None:
        lay_unread(fold, round_)
        verdict = rounds.truth(round_)
        if verdict.known and verdict.spot is not None and not round_.partial:
            rounds.reveal(fold, round_)
            checking.boundary(fold, drawing=drawing)
            rounds.find_missing(fold, round_, code)
            rounds.say_due(fold, round_, repeat=False)
            return
        rounds.leave(fold, round_)
    readers.synced(fold, drawing=drawing)


def confirm_result(fold: Fold) -> None:
    """
    The dealer's button: the round is over, with whatever is known of it.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None and (round_.partial or not rounds.truth(round_).known):
        rounds.end(fold, round_)
    _boundary(fold, "missing_at_confirmation")


def quiet(fold: Fold) -> None:
    """
    No card came for so long that the next one belongs to another round.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None:
        if rounds.awaits_faces(round_) and not round_.partial:
            round_.over = True
        elif rounds.is_stuck(round_) and not round_.partial:
            rounds.end(fold, round_)
        else:
            rounds.leave(fold, round_)
    readers.synced(fold, drawing=True)


def reveal(fold: Fold) -> None:
    """
    The cards that lay face down have been turned over.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None:
        rounds.reveal(fold, round_)
        rounds.go_on(fold, round_, repeat=False)


def booted(fold: Fold, _obs: Booted) -> None:
    """
    The reader started: in mid-round that round comes to nothing; after the cut
    card a new shoe begins.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None:
        betting, aborted = fold.state.betting, not (round_.finished or _is_seen_over(round_))
        _drop(fold, round_, whole=not round_.hidden and rounds.is_complete(round_))
        if aborted and fold.state.round is round_ and not round_.finished:
            fold.state.betting = betting  # bets were closed before its first card
        if _may_go_on(round_):
            round_.interrupted = fold.state.unsynced = True
    last, shoe = fold.state.round, fold.state.shoe
    if last is not None and last.interrupted and fold.state.unsynced:
        readers.await_quiet(fold)
    else:
        readers.synced(fold)
    if fold.state.cut_card or (shoe is not None and shoe.cut_card):
        shoes.start(fold, announced=True)


def _is_seen_over(round_: RoundState) -> bool:
    # An end that only hidden faces show is for nobody to know.
    return round_.over and not round_.hidden


def _may_go_on(round_: RoundState) -> bool:
    # Without places, nothing tells the rest of this coup from another round.
    if _is_seen_over(round_) or rounds.is_seen_complete(round_):
        return False
    return all(card.declared is None for card in round_.cards)


def _drop(fold: Fold, round_: RoundState, *, whole: bool) -> None:
    if round_.finished or (whole and not round_.partial):
        rounds.end(fold, round_)
    else:
        rounds.abort(fold, round_, "reset")


def new_shoe(fold: Fold, left: int | None = None) -> None:
    """
    A new shoe was put on the table; `left` cards were counted in the one before.
    """
    round_ = rounds.in_progress(fold)
    if round_ is not None:
        _drop(fold, round_, whole=rounds.is_complete(round_))
    readers.synced(fold)
    shoes.start(fold, announced=True, left=left)


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
    round_ = rounds.in_progress(fold)
    # Rounds are counted in public: a round of hidden faces is dealt until they are seen.
    over = round_ is None or round_.finished or rounds.is_seen_complete(round_)
    shoes.cut_card(fold, shoe, mid_round=not over)
