"""The signals of a table's readers, and the mode in which its rounds end."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from shoe_daemon.table import RoundEnd, Signal, automatic_round_end

__all__ = ["all_signals", "round_end_of"]

Signals = Collection[Signal]


def all_signals(readers: Mapping[str, Signals], others: Iterable[Signal]) -> tuple[Signal, ...]:
    """Return the signals of all readers and of the table's other equipment."""
    return tuple(sorted(set(others).union(*readers.values())))


def round_end_of(
    readers: Mapping[str, Signals], others: Signals, checkers: Collection[str]
) -> RoundEnd:
    """
    Return the mode that ``auto`` stands for with these readers.

    Only a reader that deals the cards makes it `device`; a checker does not deal, nor
    does a camera that confirms cards of another reader.

    Args:
        readers: The signals of each reader, by its id.
        others: The signals of the table's other equipment.
        checkers: The ids of the readers that only check.
    """
    main = [signals for name, signals in readers.items() if name not in checkers]
    dealing = [signals for signals in main if not _only_places(signals)]
    slots = any(Signal.SLOTS in signals for signals in (*dealing, others))
    placed = not dealing and any(_only_places(signals) for signals in main)
    results = any(Signal.RESULTS in signals for signals in (*readers.values(), others))
    return automatic_round_end(slots=slots or placed, results=results)


def _only_places(signals: Signals) -> bool:
    return Signal.PLACEMENT in signals and Signal.SLOTS not in signals
