"""Evaluation of the recogniser on labelled photos."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from calibration.photo_labels import Label, read_label, read_labels
from drivers.camera.image import read_image
from drivers.camera.recognition.recogniser import CardReading, Recogniser
from shoe_daemon.errors import UserError

OnReading = Callable[[Label, CardReading | None], None]


class Tally(Struct):
    """
    Counts of a group of cards.

    Attributes:
        cards: Cards with a photo.
        right: The most probable card is the right one, accepted or not.
        accepted: The confidence reached the threshold.
        wrong_accepted: Accepted but wrong; must be 0.
        missing: Labels without a photo; not in `cards`.
        ms_per_card: Mean reading time.
    """

    cards: int = 0
    right: int = 0
    accepted: int = 0
    wrong_accepted: int = 0
    missing: int = 0
    ms_per_card: float = 0.0

    def count(self, label: Label, reading: CardReading, milliseconds: float) -> None:
        """Count one card."""
        self.cards += 1
        self.right += reading.best == label.card
        self.accepted += reading.card is not None
        self.wrong_accepted += reading.card not in {None, label.card}
        self.ms_per_card += (milliseconds - self.ms_per_card) / self.cards


class Report(Tally):
    """Counts of all cards, and by kind, source and tag."""

    by_kind: dict[str, Tally] = msgspec.field(default_factory=lambda: defaultdict(Tally))
    by_source: dict[str, Tally] = msgspec.field(default_factory=lambda: defaultdict(Tally))
    by_tag: dict[str, Tally] = msgspec.field(default_factory=lambda: defaultdict(Tally))

    def tallies(self, label: Label) -> Iterator[Tally]:
        """Yield the tallies that a label belongs to."""
        yield self
        yield self.by_kind[label.kind.value]
        yield self.by_source[label.source]
        for tag in label.tags:
            yield self.by_tag[tag]


def evaluate(
    labels: Path,
    photos: Path,
    recogniser: Recogniser,
    on_reading: OnReading = lambda _label, _reading: None,
) -> Report:
    """Read and count all labelled cards; `on_reading` gets None for a card without a photo."""
    if not photos.is_dir():
        raise UserError(f"{photos}: no folder of photos")
    report, last, image = Report(), "", None
    for label in sorted(read_labels(labels), key=lambda each: each.file):
        if label.file != last:
            last, image = label.file, read_image(photos / label.file)
        if image is None:
            for tally in report.tallies(label):
                tally.missing += 1
            on_reading(label, None)
            continue
        began = time.perf_counter()
        reading = read_label(recogniser, image, label)
        milliseconds = (time.perf_counter() - began) * 1000
        for tally in report.tallies(label):
            tally.count(label, reading, milliseconds)
        on_reading(label, reading)
    return report
