"""A model of roads and history, built from the public events only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable

    from shoe_daemon.table.table import Table

LETTERS = {"player": "P", "banker": "B", "tie": "T"}
NOTHING: dict[str, Any] = {"cards": [], "natural": None, "pair": None, "total": None}


class HistoryModel:
    """
    One table's past, from its public events in their JSON form.

    Attributes:
        shoe: The number of the shoe; None before the first.
        rounds: Its rounds: when each was told, its data or None where it has none any
            more, and whether it is void.
        without_result: The rounds that are aborted, held, or void before their end:
            what their line in the history must be.
        shoes: The shoes before it: number and sequence.
    """

    def __init__(self) -> None:
        self.shoe: int | None = None
        self.rounds: dict[int, tuple[str, dict[str, Any] | None, bool]] = {}
        self.told_again: dict[int, set[str]] = {}
        self.without_result: dict[int, dict[str, Any]] = {}
        self.shoes: list[tuple[int, str]] = []

    def hear(self, events: Iterable[dict[str, Any]]) -> None:
        """Write down what public events say of rounds."""
        for event in events:
            self._hear_of_results(event)
            self._hear_of_none(event)

    def _hear_of_results(self, event: dict[str, Any]) -> None:
        at, number, data = event["at"], event["round"], event["data"]
        match event["type"]:
            case "shoe_started":
                if self.shoe is not None:
                    self.shoes.append((self.shoe, self.sequence()))
                self.shoe, self.rounds, self.without_result = event["shoe"], {}, {}
            case "round_finished":
                self.rounds[number] = (at, data, False)
            case "round_held":
                # What was published is taken back; its moment stays, for what comes again.
                if number in self.rounds:
                    self.rounds[number] = (self.rounds[number][0], None, False)
            case "result_revised":
                before = self.rounds.get(number, (at, None, False))[0]
                self.rounds[number] = (before, data["after"], False)
                if data["before"] is None:
                    self.told_again.setdefault(number, set()).add(at)
            case "round_voided" if data["before"] is not None:
                before, known, _ = self.rounds.get(number, (at, None, False))
                self.rounds[number] = (before, data["before"], True)
                if known is None:
                    self.told_again.setdefault(number, set()).add(at)

    def _hear_of_none(self, event: dict[str, Any]) -> None:
        at, number, data = event["at"], event["round"], event["data"]
        match event["type"]:
            case "round_aborted":
                self._end_without_result(number, at, aborted=data["cause"])
            case "round_voided" if data["before"] is None:
                self._end_without_result(number, at, voided=True)
            case "round_held":
                self._end_without_result(number, at, held=True)
            case "round_released" | "round_voided":
                self.without_result.pop(number, None)

    def _end_without_result(self, number: int, at: str, **what: object) -> None:
        plain = {"aborted": None, "held": False, "voided": False}
        self.without_result[number] = {"at": at, **plain, **what}

    def sequence(self) -> str:
        """Write what is on the roads."""
        return "".join(
            LETTERS[data["outcome"]]
            + "p" * bool(data["player"]["pair"])
            + "b" * bool(data["banker"]["pair"])
            + "n" * bool(data["player"]["natural"] or data["banker"]["natural"])
            for _, (_, data, void) in sorted(self.rounds.items())
            if data is not None and data["outcome"] and data["kind"] == "normal" and not void
        )

    def check(self, table: Table) -> None:
        """Hold a table's own account against this one."""
        told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(table.history()))
        assert told["shoe"] == self.shoe
        assert [(each["shoe"], each["sequence"]) for each in told["shoes"]] == self.shoes[-12:]
        rounds = {each["round"]: each for each in told["rounds"]}
        assert [each["round"] for each in told["rounds"]] == sorted(rounds)
        told_of = {number for number, known in self.rounds.items() if known[1] is not None}
        assert told_of | self.without_result.keys() - numbers_in_progress(table) <= rounds.keys()
        for number, each in rounds.items():
            # A result that was held back and then was none was never told: nothing is
            # shown of it.
            known = self.rounds.get(number, (each["at"], None, False))
            if known[1] is None and is_without_result(each):
                self._check_without_result(each)
            elif each["held"]:
                assert self.without_result[number]["held"]
            else:
                self._check_round(each, known)

    def _check_without_result(self, told: dict[str, Any]) -> None:
        # Why it has none is not compared: what an undo puts back is told by no event.
        if told["held"]:
            assert self.without_result[told["round"]]["held"]
        assert (told["player"], told["banker"], told["wins"]) == ([], [], [])

    def _check_round(
        self, told: dict[str, Any], known: tuple[str, dict[str, Any] | None, bool]
    ) -> None:
        at, data, void = known
        # A result that was taken back may come again with an earlier moment, or a new one.
        assert told["at"] in {at, *self.told_again.get(told["round"], ())}
        assert told["voided"] == void
        player, banker = (data["player"], data["banker"]) if data else (NOTHING, NOTHING)
        for name, hand in (("player", player), ("banker", banker)):
            assert told[name] == hand["cards"]
            assert (told[f"{name}_total"], told[f"{name}_pair"]) == (hand["total"], hand["pair"])
        naturals = {player["natural"], banker["natural"]}
        assert told["natural"] is (
            True if True in naturals else None if None in naturals else False
        )
        assert told["outcome"] == (data["outcome"] if data else None)
        assert told["partial"] is (data["partial"] if data else True)
        wagers = data["wagers"] if data else []
        assert told["wins"] == [each["wager"] for each in wagers if each["result"] == "win"]
        if data:
            assert told["kind"] == data["kind"]


def is_without_result(told: dict[str, Any]) -> bool:
    """Tell whether the history has a round as aborted, held, or void before its end."""
    void = told["voided"] and told["outcome"] is None
    return bool(told["aborted"] or told["held"] or void)


def numbers_in_progress(table: Table) -> set[int]:
    """Return the number of the round that goes on, where one does."""
    round_ = table.state.round
    return set() if round_ is None or round_.ended else {round_.number}
