"""What a table cannot see, with the equipment that it has: a pit must know."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shoe_daemon.game import DealingStyle, IrregularityKind
from shoe_daemon.table.options import RoundEnd, Signal

if TYPE_CHECKING:
    from shoe_daemon.game import House
    from shoe_daemon.table.options import Options

_K = IrregularityKind
_ENDS: Final = (Signal.RESULTS, Signal.BETTING, Signal.CLEARED)
_PLACES: Final = (Signal.SLOTS, Signal.PLACEMENT)
_PERSON: Final = "only a person can see it, and report it with the order `hold`"
_NEEDS: Final = {
    _K.PREMATURE_DRAW: ((Signal.BETTING,), "nothing tells when bets are open"),
    _K.PLAYER_THIRD_UNAUTHORISED: (_PLACES, "nothing tells where a card is laid"),
    _K.WRONG_HAND: (_PLACES, "nothing tells where a card is laid"),
    _K.RESULT_MISMATCH: ((Signal.RESULTS,), "nobody declares a result"),
    _K.UNREADABLE_CARD: (
        (Signal.FAULTS, Signal.PLACEMENT),
        "the reader does not say that a card passed unread",
    ),
    _K.CARD_RETURNED: ((Signal.FAULTS,), "the reader does not say that a card went back"),
    _K.DEVICE_FAULT: ((Signal.FAULTS,), "the reader does not report errors of its own"),
    _K.CUT_CARD_OVERRUN: ((Signal.CUT_CARD,), "the reader does not tell the cut card"),
    _K.CUT_CARD_MISSING: ((Signal.CUT_CARD,), "the reader does not tell the cut card"),
}


def undetectable_kinds(house: House, options: Options) -> dict[IrregularityKind, str]:
    """
    Return the kinds that this table cannot detect, in the list's order, and why.

    Where nobody has said what the equipment can tell, what it might is left out.
    """
    reasons: dict[IrregularityKind, str] = dict.fromkeys(
        (_K.FACE_UP_IN_SHOE, _K.FOREIGN_CARD, _K.CARD_OFF_TABLE), _PERSON
    )
    for kind, (signals, why) in _NEEDS.items():
        if options.signals is not None and not set(signals) & set(options.signals):
            reasons[kind] = why
    reasons |= {kind: why for kind, why, blind in _settings(house, options) if blind}
    return {kind: reasons[kind] for kind in IrregularityKind if kind in reasons}


def _settings(house: House, options: Options) -> list[tuple[IrregularityKind, str, bool]]:
    signals = options.signals
    no_camera = signals is not None and Signal.PLACEMENT not in signals
    return [
        (
            _K.EXCESS_CARD,
            "rounds end by the rules alone, so such a card begins the next one",
            options.round_end is RoundEnd.RULES,
        ),
        (
            _K.MISSING_DRAW,
            "nothing tells when a round is over",
            options.round_end is not RoundEnd.BUTTON
            and signals is not None
            and not set(_ENDS) & set(signals),
        ),
        (
            _K.PREMATURE_COLLECT,
            "all cards are seen at once, and nothing waits for a person",
            house.dealing_style is DealingStyle.FACE_UP and options.hold_from is None,
        ),
        (
            _K.PREMATURE_COLLECT,
            "nothing tells when cards are taken off",
            signals is not None and Signal.CLEARED not in signals,
        ),
        (_K.DOUBLE_FEED, "no `least_gap` between two cards is set", options.least_gap is None),
        (
            _K.SOURCE_CONFLICT,
            "there is no second reader",
            no_camera and not options.checkers,
        ),
        (_K.BURN_ERROR, "the house's burn is not checked", house.burn.mode == "unchecked"),
        (
            _K.CUT_CARD_OVERRUN,
            "the house's cut card is not checked",
            house.cut_card.mode != "checked",
        ),
        (
            _K.CUT_CARD_OVERRUN,
            "no burn is checked, which would tell a new shoe from one that goes on",
            house.burn.mode in {"none", "unchecked"},
        ),
        (
            _K.CUT_CARD_MISSING,
            "the house does not say where its cut card lies",
            house.cut_card.mode != "checked" or house.cut_card.position is None,
        ),
        (
            _K.SUSPECT_SEQUENCE,
            "it is not looked for; `suspect_run` sets it",
            options.suspect_run is None,
        ),
    ]
