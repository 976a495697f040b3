"""
What went wrong at the reader: errors of the device, cards it could not read,
cards outside the round, and gaps in what was seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game.irregularities import IrregularityKind
from shoe_daemon.table import checking, drawing, events, faces, readers, rounds, shoes
from shoe_daemon.table.details import Detail, detail
from shoe_daemon.table.observations import Cause, GapDetail
from shoe_daemon.table.state import Drawn

if TYPE_CHECKING:
    from shoe_daemon.game.cards import Card
    from shoe_daemon.table.fold import Fold
    from shoe_daemon.table.observations import (
        Carried,
        DeviceError,
        DeviceErrorCleared,
        Gap,
        Unreadable,
        Withdrawn,
    )
    from shoe_daemon.table.state import OpenAlert

_NAMES: Final = {
    Cause.UNREADABLE: IrregularityKind.UNREADABLE_CARD,
    Cause.OVERDRAW: IrregularityKind.EXCESS_CARD,
    Cause.CARD_RETURNED: IrregularityKind.CARD_RETURNED,
}
_LONGEST: Final = 200
"""As much of a device's own words as is told."""

_OVER_WITH_ERROR: Final = {IrregularityKind.DEVICE_FAULT, IrregularityKind.CARD_RETURNED}
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
    readers.change(fold, obs.source, lambda each: each.errors.append(obs.cause))
    if obs.cause is Cause.TIMEOUT and (
        Cause.OVERDRAW in reader.errors or fold.open_alert(IrregularityKind.EXCESS_CARD)
    ):
        return
    kind = _NAMES.get(obs.cause, IrregularityKind.DEVICE_FAULT)
    if kind in _OVER_WITH_ERROR:
        if _alert_of(fold, obs.source, obs.cause) is None:
            said = _SAYS.get(kind) or _fault(obs)
            fold.raise_alert(kind, said, evidence=_error(obs.source, obs.cause))
        return
    round_ = rounds.in_progress(fold)
    joined = fold.join_alert(kind, "device")
    if joined is None:
        fold.raise_alert(kind, _SAYS[kind], evidence="device")
        if kind is IrregularityKind.UNREADABLE_CARD:
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
    Take the end of an error: a fault of the device, or a returned card, is over
    with it; a card too many, or an unread one, is not.
    """
    reader = fold.reader(obs.source)
    over = [obs.cause] if obs.cause is not None else list(reader.errors)
    readers.change(fold, obs.source, lambda each: _forget(each.errors, over))
    for cause in over:
        alert = _alert_of(fold, obs.source, cause)
        if alert is not None:
            action = alert.chosen or "continue"
            fold.close_alert(alert, action, "the reader's error was cleared")


def _forget(errors: list[str], over: list[Cause] | list[str]) -> None:
    for cause in over:
        if cause in errors:
            errors.remove(cause)


def unreadable(fold: Fold, obs: Unreadable) -> None:
    """
    Take a card that passed unread: it lies on its place, its face unknown.
    """
    round_ = rounds.in_progress(fold)
    if checking.only_checks(fold, obs.source, None) or _only_looks(fold, obs.source):
        return
    if round_ is not None:
        if faces.unread_on(round_, obs.slot) is not None:
            return
        round_.unread_pending = False
    drawing.play(fold, Drawn(declared=obs.slot, unread=True))


def _only_looks(fold: Fold, source: str | None) -> bool:
    # A camera that cannot read a card which another reader has drawn has drawn no card.
    if source is None or not fold.reader(source).places or fold.state.placing:
        return False
    return not checking.stands_alone(fold, source)


def outside(fold: Fold, face: Card | None) -> None:
    """
    Take a card that was drawn outside the game: an excess card.
    """
    _excess(fold, face)


def withdrawn(fold: Fold, obs: Withdrawn) -> None:
    """
    An excess card was taken out of play.
    """
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
        shoes.start(fold, announced=False)
    drawing.take_excess(fold, fold.state.round, Drawn(face))


def _learn_excess(fold: Fold, face: Card | None) -> None:
    round_ = fold.state.round
    if face is None or round_ is None:
        return
    for card in round_.excess:
        if card.face is None:
            card.face = face
            fold.emit(events.StaffCardDealt(face, None))
            if fold.state.shoe is not None:
                shoes.count(fold, fold.state.shoe, face, public=False)
            return


def carried(fold: Fold, obs: Carried) -> None:
    """
    An excess card became the first card of the next round: the same one card.
    """
    alert = fold.open_alert(IrregularityKind.EXCESS_CARD)
    round_ = fold.state.round
    card, fold.state.seed = fold.state.seed, None
    if card is None and round_ is not None and round_.excess:
        card = round_.excess.pop()
    face = obs.card or (None if card is None else card.face)
    drawing.play(fold, Drawn(face, obs.slot), carried=card or True)
    if alert is not None and alert in fold.state.alerts:
        fold.close_alert(alert, "carry_to_next_hand", "the card begins the next round")


def gap(fold: Fold, obs: Gap) -> None:
    """
    Something is known to be missing: the round in progress is partial from
    here on, and so is all that comes before a clean boundary.
    """
    restart = obs.detail is GapDetail.RESTART
    if not restart and checking.lost(fold, obs.source):
        return
    round_ = rounds.in_progress(fold)
    if round_ is not None and rounds.is_complete(round_):
        round_.over = True  # its end may have been missed, and the next card be of another
    if round_ is not None and not round_.finished:
        round_.partial = True
        round_.torn = round_.torn or obs.detail is not GapDetail.LOST_FRAMES
        round_.restarted = round_.restarted or restart
        rounds.await_quiet(fold, round_)
    if restart:
        fold.state.betting = "unknown"
        readers.restarted(fold)
    else:
        readers.missed(fold, obs.source)
    if fold.state.quiet_at is None:
        readers.await_quiet(fold)
