"""
Findings of the check at the start of a shoe, for changed cameras, lenses and lamps; and its false
alarms.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from bench.vision.calibration_table import FEW, calibrated, reader, table
from calibration.camera.calibration_output import write_result
from calibration.camera.comparison_with_reference_image import FindingKind
from calibration.camera.shoe_start_check import CheckResult, check_profile
from calibration.camera.simulated_table import SimulatedTable, TableState
from drivers.camera.profile.profile_file import load_profile
from shoe_daemon.game import DEALING_ORDER, Card

__all__ = ["measure_check"]

_PUSHES: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 50.0)
_BLURS: Final = (0.5, 0.8, 1.0, 1.3, 1.6, 2.0, 3.0)
_LIGHTS: Final = (0.85, 0.8, 0.75, 0.7, 0.6, 0.4)
_BRIGHTER: Final = (1.2, 1.3, 1.4, 1.5, 1.7)
_TOLD_FROM: Final = 2.5
"""Shorter pushes are not reported; in millimetres."""

_PICTURES: Final = 8

_MUST: Final = (("pushed, mm", 5.0), ("pushed, mm", 50.0), ("light, times", 0.6))
"""Changes that must be found at every table."""


class _Change(NamedTuple):
    """A change, its size, the changed table, and the expected finding."""

    name: str
    amount: float
    night: TableState
    kind: FindingKind


class _Tally:
    """
    Findings of all tables.

    Attributes:
        found: For each change, whether it was found, once per table.
        off: Errors of reported pushes in millimetres.
        false: Findings without a change.
        unchanged: Number of checks without a change.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[str, float], list[bool]] = defaultdict(list)
        self.off: list[float] = []
        self.false: list[str] = []
        self.unchanged = 0

    def change(self, change: _Change, found: CheckResult) -> None:
        """Count the findings after a change."""
        kinds = [each.kind for each in found.findings if each.bad]
        self.found[change.name, change.amount].append(change.kind in kinds)
        pushed_far = change.kind is FindingKind.MOVED and change.amount > _TOLD_FROM
        if pushed_far and found.moved is not None:
            self.off.append(abs(found.moved - change.amount))

    def nothing(self, number: int, found: CheckResult) -> None:
        """Count the findings without a change."""
        self.false += [f"table {number}: {each.text}" for each in found.findings if each.bad]
        self.unchanged += 1

    @property
    def is_good(self) -> bool:
        """True if all required changes were found, without a false alarm."""
        return all(all(self.found[change]) for change in _MUST) and not self.false


def measure_check(tables: int, checks: int) -> bool:
    """
    Print the findings at `tables` tables, with `checks` checks without a change; return whether
    the aim is met.
    """
    tally = _Tally()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(tables):
            share = checks // tables + (number < checks % tables)
            _check_table(number, Path(folder) / f"{number}.toml", share, tally)
    _print_told(tables, tally)
    print(f"nothing changed, {tally.unchanged} checks: {len(tally.false)} false alarms")
    for line in tally.false:
        print(f"    {line}")
    print()
    return tally.is_good


def _check_table(number: int, path: Path, unchanged: int, tally: _Tally) -> None:
    here, chance = table(number), np.random.default_rng(1000 + number)
    write_result(calibrated(here, FEW), path, "0.0")
    for change in _changes(chance):
        tally.change(change, _checked(here, path, change.night))
    for _ in range(unchanged):
        tally.nothing(number, _checked(here, path, _unchanged(here, chance)))


def _print_told(tables: int, tally: _Tally) -> None:
    found, off = tally.found, tally.off
    print(f"check, {tables} tables: how many of them were found")
    for name in dict.fromkeys(name for name, _ in found):
        row = [(amount, sum(values)) for (kind, amount), values in found.items() if kind == name]
        cells = "  ".join(f"{amount:g}: {count}" for amount, count in row)
        whole = [amount for amount, count in row if count == tables]
        least = f"{_nearest(name, whole):g}" if whole else "none"
        print(f"{name:16} {cells}\n{'':16} always told from {least} on")
    print(f"how far it was pushed was told to {max(off):.2f} mm, median {np.median(off):.2f} mm")


def _nearest(name: str, amounts: Sequence[float]) -> float:
    return max(amounts) if name == "light, times" else min(amounts)


def _changes(chance: np.random.Generator) -> Iterator[_Change]:
    for amount in _PUSHES:
        way = float(chance.uniform(0, 2 * np.pi))
        pushed = (amount * np.cos(way), amount * np.sin(way), 0.0)
        yield _Change("pushed, mm", amount, TableState(pushed=pushed), FindingKind.MOVED)
    for amount in _BLURS:
        yield _Change("blur, pixels", amount, TableState(blur=amount), FindingKind.BLURRED)
    for amount in _LIGHTS:
        yield _Change("light, times", amount, TableState(light=amount), FindingKind.DARKER)
    for amount in _BRIGHTER:
        yield _Change("bright, times", amount, TableState(light=amount), FindingKind.BRIGHTER)
    yield _Change("lamps out", 1, TableState(lamp_out=True), FindingKind.DARKER)
    yield _Change("flicker, Hz", 60, TableState(flicker=60), FindingKind.FLICKER)


def _unchanged(here: SimulatedTable, chance: np.random.Generator) -> TableState:
    """Vary what always varies a little, with some cards of the deck or none."""
    way, far = chance.uniform(0, 2 * np.pi), chance.uniform(0, 0.5)
    count = int(chance.integers(0, 5))
    slots = [DEALING_ORDER[n] for n in chance.permutation(len(DEALING_ORDER))[:count]]
    chosen = [FEW[n] for n in chance.integers(0, len(FEW), count)]
    suits = chance.integers(0, 4, count)
    cards = {
        slot: here.lay_like_dealer(Card(f"{card.rank}{'SHDC'[suit]}") if n else None)
        for n, (slot, card, suit) in enumerate(zip(slots, chosen, suits, strict=True))
    }
    return TableState(
        cards=cards,
        pushed=(far * np.cos(way), far * np.sin(way), 0.0),
        light=float(chance.uniform(0.9, 1.1)),
        blur=float(chance.uniform(0, 0.3)),
    )


def _checked(here: SimulatedTable, path: Path, night: TableState) -> CheckResult:
    pictures = [here.picture(night, number / 25) for number in range(_PICTURES)]
    return check_profile(load_profile(path), path, pictures, reader)
