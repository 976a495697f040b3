"""
What went wrong at the reader: errors of the device, cards it could not read,
cards outside the round, and gaps in what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import IrregularityKind
from shoe_daemon.table import events
from shoe_daemon.table.detail_texts import Detail, detail
from shoe_daemon.table.observations import Cause, GapDetail
from shoe_daemon.table.readers import reader_state, second_reader
from shoe_daemon.table.rounds import card_draw, disclosure, hidden_faces, lifecycle, round_end
from shoe_daemon.table.shoes import shoe_lifecycle
from shoe_daemon.table.table_state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.game import Card
    from shoe_daemon.table.observations import (
        Booted,
        CardDrawn,
        Carried,
        DeviceError,
        DeviceErrorCleared,
        Gap,
        Lock,
        Unreadable,
        Withdrawn,
    )
    from shoe_daemon.table.table_context import Fold
    from shoe_daemon.table.table_state import OpenAlert

_NAMES: Final = {
    Cause.UNREADABLE: IrregularityKind.UNREADABLE_CARD,
    Cause.OVERDRAW: IrregularityKind.EXCESS_CARD,
    Cause.CARD_RETURNED: IrregularityKind.CARD_RETURNED,
}
_LONGEST: Final = 200
"""As much of a device's own words as is told."""

_OVER_WITH_ERROR: Final = {IrregularityKind.DEVICE_FAULT, IrregularityKind.CARD_RETURNED}
_DEALT: Final = "the reader dealt a card"
_SAYS: Final = {
    IrregularityKind.UNREADABLE_CARD: detail("unread_by_reader"),
    IrregularityKind.EXCESS_CARD: detail("excess_by_reader"),
    IrregularityKind.CARD_RETURNED: detail("card_returned"),
}


def device_error(fold: Fold, obs: DeviceError) -> None:
    """
    Take an error of the device: evidence for the kind that it names, or else a
    fault of the device.
    """
    reader = fold.reader(obs.source)
    if obs.cause in reader.errors:
        return
    reader_state.change(fold, obs.source, lambda each: each.errors.append(obs.cause))
    if obs.cause is Cause.TIMEOUT and (
        Cause.OVERDRAW in reader.errors or fold.open_alert(IrregularityKind.EXCESS_CARD)
    ):
        return
    if obs.cause is Cause.UNREADABLE and second_reader.confirms(fold, obs.source):
        return
    kind = _NAMES.get(obs.cause, IrregularityKind.DEVICE_FAULT)
    if kind in _OVER_WITH_ERROR:
        if _alert_of(fold, obs.source, obs.cause) is None:
            said = _SAYS.get(kind) or _fault(obs)
            fold.raise_alert(kind, said, evidence=_error(obs.source, obs.cause))
        return
    round_ = lifecycle.in_progress(fold)
    joined = fold.join_alert(kind, "device")
    if joined is None:
        unread = kind is IrregularityKind.UNREADABLE_CARD
        slot = lifecycle.public_due(round_) if unread and round_ is not None else None
        fold.raise_alert(kind, _SAYS[kind], slot=slot, evidence="device")
        if unread:
            reader.unread_at = _out(fold)
            (round_ or fold.state).unread_pending = True


def _error(source: str | None, cause: str) -> str:
    return f"{source or ''}:{cause}"


def _alert_of(fold: Fold, source: str | None, cause: str) -> OpenAlert | None:
    # An error may last longer than the round that it began in.
    for alert in fold.state.alerts:
        if _error(source, cause) in alert.evidence:
            return alert
    return None


def _fault(obs: DeviceError) -> Detail:
    code = {
        Cause.BUTTON: "fault_button",
        Cause.CARD_CODE: "fault_card_code",
        Cause.TIMEOUT: "fault_timeout",
    }.get(obs.cause, "fault")
    text = obs.text[:_LONGEST] if obs.text else None
    return detail(code, code=obs.code, text=text)


def device_error_cleared(fold: Fold, obs: DeviceErrorCleared) -> None:
    """
    Take the end of an error, as the reader reports it.
    """
    over = list(fold.reader(obs.source).errors) if obs.cause is None else [obs.cause]
    _end_errors(fold, obs.source, over, "the reader's error was cleared")


def _end_errors(
    fold: Fold, source: str | None, over: list[str] | list[Cause], reason: str
) -> None:
    """
    End errors of a reader: a fault of the device, or a returned card, is over
    with its error; a card too many, or an unread one, is not.
    """
    reader_state.change(fold, source, lambda each: _forget(each.errors, over))
    for cause in over:
        alert = _alert_of(fold, source, cause)
        if alert is not None:
            fold.close_alert(alert, alert.chosen or "continue", reason)


def _forget(errors: list[str], over: list[Cause] | list[str]) -> None:
    for cause in over:
        if cause in errors:
            errors.remove(cause)


def locked(fold: Fold, obs: Lock) -> None:
    """
    Take a turn of a reader's key: a locked reader has no errors any more.
    """
    reader_state.locked(fold, obs.source, is_locked=obs.locked)
    if obs.locked:
        _end_all(fold, obs.source, "the reader was locked")


def booted(fold: Fold, obs: Booted) -> None:
    """
    Take the start of a reader: its errors are over. If it only checks, the round
    goes on without it.
    """
    _end_all(fold, obs.source, "the reader was started")
    if not second_reader.misses(fold, obs.source):
        round_end.booted(fold, obs)


def _end_all(fold: Fold, source: str | None, reason: str) -> None:
    errors = fold.reader(source).errors
    if errors:
        _end_errors(fold, source, list(errors), reason)


def play(fold: Fold, obs: CardDrawn) -> None:
    """
    Take a card that was drawn for play. Once it is dealt, the reader's errors are
    over, but for one about this very card.
    """
    card, reader = Drawn(obs.card, obs.slot), fold.state.readers.get(obs.source or "")
    if reader is None or not reader.errors:
        card_draw.play(fold, card)
        return
    out = _out(fold)
    card_draw.play(fold, card)
    round_ = fold.state.round
    if round_ is None or not any(each is card for each in (*round_.cards, *round_.rest)):
        return
    is_about = reader.unread_at == out and _out(fold) == out + 1
    over = [cause for cause in reader.errors if not (is_about and cause == Cause.UNREADABLE)]
    _end_errors(fold, obs.source, over, _DEALT)


def _out(fold: Fold) -> int:
    return 0 if fold.state.shoe is None else fold.state.shoe.out


def unreadable(fold: Fold, obs: Unreadable) -> None:
    """
    Take a card that passed unread: it lies on its place, its face unknown.
    """
    round_ = lifecycle.in_progress(fold)
    if only_checks(fold, obs.source, None) or _only_looks(fold, obs.source):
        return
    if round_ is not None:
        if disclosure.unread_on(round_, obs.slot) is not None:
            return
        round_.unread_pending = False
    card_draw.play(fold, Drawn(declared=obs.slot, unread=True))


def only_checks(fold: Fold, source: str | None, face: Card | None) -> bool:
    """
    Take a card of a checking reader, None for one that it could not read.

    Returns:
        Whether it is only compared; otherwise it is to be dealt.
    """
    if not fold.options.checkers:
        return False
    if second_reader.only_checks(fold, source, face):
        _end_all(fold, source, _DEALT)
        return True
    dealt = second_reader.was_dealt(fold, source, face)
    if dealt or second_reader.take_over(fold, source, face):
        _tear(fold)
        fold.state.unsynced = True
    return dealt


def linked(fold: Fold, source: str | None, *, up: bool) -> None:
    """
    The connection to a reader came up, or went: the one that replaces it may be out of step.
    """
    reader_state.linked(fold, source, up=up)
    if not up and second_reader.is_replaced_out_of_step(fold, source):
        _tear(fold)
        fold.state.unsynced = True


def _only_looks(fold: Fold, source: str | None) -> bool:
    # A camera that cannot read a card which another reader has drawn has drawn no card.
    if source is None or not fold.reader(source).places or fold.state.placing:
        return False
    return not second_reader.stands_alone(fold, source)


def outside(fold: Fold, face: Card | None) -> None:
    """
    Take a card that was drawn outside the game: an excess card.
    """
    _excess(fold, face)


def withdrawn(fold: Fold, obs: Withdrawn) -> None:
    """
    An excess card was taken out of play.
    """
    hidden_faces.expel(fold, lifecycle.in_progress(fold))
    alert = fold.open_alert(IrregularityKind.EXCESS_CARD)
    if alert is None and _is_decided(fold, obs.card):
        _learn_excess(fold, obs.card)
    elif alert is None or "card" not in alert.evidence:
        _excess(fold, obs.card)
    else:
        _learn_excess(fold, obs.card)
    alert = fold.open_alert(IrregularityKind.EXCESS_CARD)
    if alert is not None:
        fold.close_alert(alert, "burn_card", "the reader saw the card withdrawn")


def _is_decided(fold: Fold, face: Card | None) -> bool:
    # A person has said what becomes of the card before the reader saw it done.
    round_ = fold.state.round
    return round_ is not None and any(
        face is None or card.face in {None, face} for card in round_.excess
    )


def _excess(fold: Fold, face: Card | None) -> None:
    if fold.state.shoe is None:
        shoe_lifecycle.start(fold, announced=False)
    card_draw.take_excess(fold, fold.state.round, Drawn(face))


def _learn_excess(fold: Fold, face: Card | None) -> None:
    round_ = fold.state.round
    if face is None or round_ is None:
        return
    for card in round_.excess:
        if card.face is None:
            card.face = face
            fold.emit(events.StaffCardDealt(face, None))
            if fold.state.shoe is not None:
                shoe_lifecycle.count(fold, fold.state.shoe, card)
            return


def carried(fold: Fold, obs: Carried) -> None:
    """
    An excess card became the first card of the next round: the same one card.
    """
    hidden_faces.expel(fold, lifecycle.in_progress(fold))
    alert = fold.open_alert(IrregularityKind.EXCESS_CARD)
    round_ = fold.state.round
    card, fold.state.seed = fold.state.seed, None
    if card is None and round_ is not None and round_.excess:
        card = round_.excess.pop()
    face = obs.card or (None if card is None else card.face)
    card_draw.play(fold, Drawn(face, obs.slot), carried=card or True)
    if alert is not None and alert in fold.state.alerts:
        fold.close_alert(alert, "carry_to_next_hand", "the card begins the next round")


def gap(fold: Fold, obs: Gap) -> None:
    """
    Something is known to be missing: the round in progress is partial from
    here on, and so is all that comes before a clean boundary.
    """
    restart = obs.detail is GapDetail.RESTART
    if second_reader.misses(fold, None if restart else obs.source):
        reader_state.change(fold, obs.source, lambda reader: setattr(reader, "partial", True))
        return
    away = obs.detail is not GapDetail.LOST_FRAMES
    _tear(fold, torn=away, restarted=restart)
    if away and fold.state.shoe is not None and fold.house.reshuffle == "per_shoe":
        fold.state.shoe.unwatched = True
    if restart:
        fold.state.betting = "unknown"
        reader_state.restarted(fold)
    else:
        reader_state.missed(fold, obs.source)
    if fold.state.quiet_at is None:
        reader_state.await_quiet(fold)


def _tear(fold: Fold, *, torn: bool = True, restarted: bool = False) -> None:
    round_ = lifecycle.in_progress(fold)
    if round_ is not None and lifecycle.is_complete(round_):
        round_.over = True  # its end may have been missed, and the next card be of another
    if round_ is not None and not round_.finished:
        round_.partial = True
        round_.torn = round_.torn or torn
        round_.restarted = round_.restarted or restarted
        lifecycle.await_quiet(fold, round_)
