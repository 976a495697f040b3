"""
Roads expected from the journal's events alone.

Nothing of the project's own counting is used: the events are read as JSON, and the roads are
drawn by the tests' own implementation.
"""

from __future__ import annotations

import json
from copy import copy
from typing import Any, Self

from shoe_daemon.journal import JournalReader
from tests.game.reference_roads import reference_roads

__all__ = ["Ledger"]

_LETTERS = {"player": "P", "banker": "B", "tie": "T"}


class Ledger:
    """
    The last shoe of a journal, as its events tell it.

    Attributes:
        seq: The last event.
        shoe: Its number; None before the first.
        rounds: The result of every round that has one and is not void, by its number.
    """

    def __init__(self) -> None:
        self.seq = 0
        self.shoe: int | None = None
        self.rounds: dict[int, dict[str, Any]] = {}

    def read_on(self, journal: JournalReader) -> Self:
        """Read what has come into the journal since, and return a copy that stays as it is."""
        while stored := journal.events(self.seq):
            for each in stored:
                self._read(json.loads(each.body))
        same = copy(self)
        same.rounds = dict(self.rounds)
        return same

    def _read(self, event: dict[str, Any]) -> None:
        self.seq = event["seq"]
        data = event["data"]
        match event["type"]:
            case "shoe_started":
                self.shoe, self.rounds = event["shoe"], {}
            case "round_finished":
                self.rounds[event["round"]] = data
            case "round_voided":
                self.rounds.pop(event["round"], None)
            case "result_revised" if event["shoe"] == self.shoe:
                self.rounds.pop(event["round"], None)
                if data["after"] is not None:
                    self.rounds[event["round"]] = data["after"]

    @property
    def last(self) -> dict[str, Any]:
        """The result of the last round."""
        return self.rounds[max(self.rounds)]

    @property
    def on_roads(self) -> list[dict[str, Any]]:
        """The rounds that are on the roads, the oldest first."""
        return [
            data
            for _, data in sorted(self.rounds.items())
            if data["outcome"] is not None and data["kind"] == "normal"
        ]

    @property
    def sequence(self) -> str:
        """The same, one letter a round with its flags."""
        return "".join(map(_letter, self.on_roads))

    def roads(self) -> dict[str, Any]:
        """Return the roads that follow, drawn by the tests' own way."""
        return reference_roads(self.sequence)


def _letter(data: dict[str, Any]) -> str:
    player, banker = data["player"], data["banker"]
    flags = {
        "p": player["pair"],
        "b": banker["pair"],
        "n": player["natural"] or banker["natural"],
    }
    return _LETTERS[data["outcome"]] + "".join(flag for flag, holds in flags.items() if holds)
