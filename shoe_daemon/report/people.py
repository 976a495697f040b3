"""
What people did in a shift: commands that were refused, and decisions that their own giver changed.

A refused command may hold what was never meant to be printed: a PIN that was typed in place of a
name, or a face. So the report has its verb and its reason without values, and the name of an
operator only where the table had found it among its own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from statistics import median
from typing import Final, NamedTuple

from shoe_daemon.report.cards import CausedEvent
from shoe_daemon.report.figures import (
    CommandCounts,
    JournaledCommand,
    PersonShift,
    RefusedCommand,
    Reversal,
    ShiftIncident,
)
from shoe_daemon.report.period import Period
from shoe_daemon.report.rounds import decision_time
from shoe_daemon.table import COMMANDS, DETAIL_TEMPLATES, Command, to_microseconds

WRONG_PIN: Final = "refused_wrong_pin"

_NAME_NOT_CHECKED: Final = frozenset(
    {None, "refused_plain_pin", "refused_pin_not_checked", "refused_unknown_operator"}
)
_UNDOABLE: Final = frozenset({"correct_card", "enter_card", "enter_result", "void_round"})
_CARDS: Final = frozenset({"correct_card", "enter_card"})
_VALUES: Final = re.compile(r"\[[^]]*\]|\{\w+\}")


@cache
def _reasons() -> dict[str, re.Pattern[str]]:
    """Return a pattern of the sentence of each reason of a refusal."""
    patterns = {}
    for code, template in DETAIL_TEMPLATES.items():
        if code.startswith("refused_") or code == "internal_error":
            parts = map(re.escape, _VALUES.split(template))
            patterns[code] = re.compile(".*".join(parts), re.DOTALL)
    return patterns


def refusal_code(text: str) -> str | None:
    """Return the code of a refusal; None for one that has none, or of another version."""
    return next((code for code, each in _reasons().items() if each.fullmatch(text)), None)


class _Decision(NamedTuple):
    """A command that changed a round, with the shoe and round that it changed."""

    command: Command
    shoe: int | None
    round: int | None

    @property
    def verb(self) -> str:
        is_void = self.command.action == "void_round"
        return "void_round" if is_void else self.command.name

    def changes(self, earlier: _Decision) -> bool:
        """Return whether this decision changes an earlier one of the same person."""
        if self.command.operator != earlier.command.operator:
            return False
        if (self.shoe, self.round) != (earlier.shoe, earlier.round) or self.round is None:
            return False
        if self.verb in _CARDS:
            return earlier.verb in _CARDS and self.command.slot == earlier.command.slot
        return self.verb == "void_round" or earlier.verb not in _CARDS


class PeopleFold:
    """Collects the commands at a table, and which decisions were taken back."""

    def __init__(self) -> None:
        self._places: dict[int, tuple[int | None, int | None]] = {}

    def take(self, caused: CausedEvent) -> None:
        """Process the next event."""
        event = caused.event
        if caused.order is not None and event.round is not None:
            self._places.setdefault(caused.observation, (event.shoe, event.round))

    def reversals(
        self, site: str, table: str, commands: Iterable[JournaledCommand]
    ) -> Iterator[Reversal]:
        """
        Yield the decisions that their giver undid or changed, in order.

        ``undo`` takes back the latest command of the shoe that can be undone.
        """
        standing: list[_Decision] = []
        for number, command in commands:
            if command.refused is not None:
                continue
            earlier = None
            made = _Decision(command, *self._places.get(number, (None, None)))
            if command.name == "undo":
                earlier = standing.pop() if standing else None
                if earlier and earlier.command.operator != command.operator:
                    earlier = None
            elif made.verb in _UNDOABLE:
                earlier = next((each for each in reversed(standing) if made.changes(each)), None)
                standing.append(made)
            if earlier is not None and command.operator is not None:
                yield _reversal(site, table, command, earlier)


def _reversal(site: str, table: str, command: Command, earlier: _Decision) -> Reversal:
    waited = to_microseconds(command.at) - to_microseconds(earlier.command.at)
    return Reversal(
        site=site,
        table=table,
        shoe=earlier.shoe,
        round=earlier.round,
        operator=command.operator or "",
        command=earlier.verb,
        command_at=earlier.command.at,
        by="void_round" if command.action == "void_round" else command.name,
        at=command.at,
        seconds=waited / 1_000_000,
        reason=command.reason,
    )


def refused_command(site: str, table: str, command: Command) -> RefusedCommand:
    """Return a refused command without what its sender typed."""
    code = refusal_code(command.refused or "")
    template = DETAIL_TEMPLATES[code] if code else "another reason"
    return RefusedCommand(
        site=site,
        table=table,
        at=command.at,
        command=command.name if command.name in COMMANDS else None,
        operator=None if code in _NAME_NOT_CHECKED else command.operator,
        code=code,
        why=_VALUES.sub(lambda part: "" if part[0].startswith("[") else "…", template),
    )


def within(commands: Iterable[JournaledCommand], period: Period) -> list[Command]:
    """Return the commands of a shift."""
    times = ((each.command, to_microseconds(each.command.at)) for each in commands)
    return [command for command, at in times if period.start <= at < period.end]


def count_commands(
    given: int, refused: Sequence[RefusedCommand], reversals: Sequence[Reversal]
) -> CommandCounts:
    """Count commands: `given` are those that were carried out."""
    wrong = sum(each.code == WRONG_PIN for each in refused)
    return CommandCounts(given, len(refused), wrong, len(reversals))


def people(
    given: Counter[str | None],
    refused: Sequence[RefusedCommand],
    reversals: Sequence[Reversal],
    incidents: Sequence[ShiftIncident],
) -> Iterator[PersonShift]:
    """Yield the figures of each operator, by name; commands without a name come last."""
    waits: defaultdict[str | None, list[float]] = defaultdict(list)
    for each in incidents:
        if each.incident.by and (wait := decision_time(each.incident)) is not None:
            waits[each.incident.by.operator].append(wait)
    names = {*given, *waits, *(each.operator for each in refused)}
    for name in sorted(names, key=lambda each: (each is None, each or "")):
        mine = waits[name]
        yield PersonShift(
            operator=name,
            commands=count_commands(
                given[name],
                [each for each in refused if each.operator == name],
                [each for each in reversals if each.operator == name],
            ),
            decided=len(mine),
            median_decision=round(median(mine), 3) if mine else None,
            longest_decision=max(mine, default=None),
        )
