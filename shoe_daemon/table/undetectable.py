"""The irregularities that a table cannot detect with its equipment and its settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from shoe_daemon.game import IRREGULARITIES, DealingStyle, House, IrregularityKind, Requirement
from shoe_daemon.table.options import Options, RoundEnd, Signal

_R = Requirement

_SIGNALS: Final[dict[Requirement, tuple[Signal, ...]]] = {
    _R.BETTING_SIGNAL: (Signal.BETTING,),
    _R.SLOT_SIGNAL: (Signal.SLOTS, Signal.PLACEMENT),
    _R.RESULT_SIGNAL: (Signal.RESULTS,),
    _R.CLEARED_SIGNAL: (Signal.CLEARED,),
    _R.UNREAD_SIGNAL: (Signal.FAULTS, Signal.PLACEMENT),
    _R.RETURN_SIGNAL: (Signal.FAULTS,),
    _R.FAULT_SIGNAL: (Signal.FAULTS,),
    _R.CUT_CARD_SIGNAL: (Signal.CUT_CARD,),
}
"""Requirements that any of these signals meets."""

_END_SIGNALS: Final = (Signal.RESULTS, Signal.BETTING, Signal.CLEARED)

_SETTINGS: Final[dict[Requirement, Callable[[House, Options], bool]]] = {
    _R.PERSON: lambda _house, _options: False,
    _R.END_SIGNAL: lambda _, options: (
        options.round_end is RoundEnd.BUTTON or _has_signal(options, _END_SIGNALS)
    ),
    _R.END_NOT_BY_RULES: lambda _, options: options.round_end is not RoundEnd.RULES,
    _R.FACES_OR_HOLD: lambda house, options: (
        house.dealing_style is not DealingStyle.FACE_UP or options.hold_from is not None
    ),
    _R.SECOND_READER: lambda _, options: (
        bool(options.checkers) or _has_signal(options, (Signal.PLACEMENT,))
    ),
    _R.LEAST_GAP: lambda _, options: options.least_gap is not None,
    _R.SUSPECT_RUN: lambda _, options: options.suspect_run is not None,
    _R.BURN_CHECKED: lambda house, _: house.burn.mode != "unchecked",
    _R.BURN_AT_START: lambda house, _: house.burn.mode not in {"none", "unchecked"},
    _R.CUT_CARD_CHECKED: lambda house, _: house.cut_card.mode == "checked",
    _R.CUT_CARD_POSITION: lambda house, _: (
        house.cut_card.mode == "checked" and house.cut_card.position is not None
    ),
}
"""Requirements that the house or the options meet."""


def undetectable_kinds(house: House, options: Options) -> dict[IrregularityKind, str]:
    """
    Return the kinds that this table cannot detect, in the order of the list, and why.

    Without configured signals the equipment is unknown: every signal may come.
    """
    unmet = [each for each in Requirement if not _is_met(each, house, options)]
    # The first of them is the reason: it overwrites those after it.
    return {
        kind: each.value
        for kind, facts in IRREGULARITIES.items()
        for each in reversed(facts.requires)
        if each in unmet
    }


def _is_met(requirement: Requirement, house: House, options: Options) -> bool:
    if requirement in _SIGNALS:
        return _has_signal(options, _SIGNALS[requirement])
    return _SETTINGS[requirement](house, options)


def _has_signal(options: Options, signals: tuple[Signal, ...]) -> bool:
    return options.signals is None or not set(signals).isdisjoint(options.signals)
