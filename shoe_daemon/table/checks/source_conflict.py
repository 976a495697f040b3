"""Two sources name different faces for the same card."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks.irregularity import Irregularity

IRREGULARITY: Final = Irregularity(
    kind="source_conflict",
    severity=3,
    evidence=("placement",),
    text="Two sources name different faces for the same card.",
    requires=("second_reader",),
    sentences={
        "another_card_on_place": (
            "Another card is now said to lie on {slot} than was read before; the first "
            "reading stands until a person decides."
        ),
        "readers_differ": (
            "Two readers differ: {source} read another card[ on {slot}]; the first reading "
            "stands until a person decides."
        ),
        "reader_read_more": (
            "Two readers differ: {source} read more cards than were dealt; the first reading "
            "stands until a person decides."
        ),
    },
    raised_by=("rounds.faces", "readers.checker"),
)
