"""
Random commands at random moments of a log, and an outside consumer that folds the
events: what it knows must be what the table shows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.coup import DEALING_ORDER, Outcome
from shoe_daemon.game.rulings import Action
from shoe_daemon.table import (
    Event,
    Irregularity,
    IrregularityClosed,
    ResultRevised,
    RoundFinished,
    RoundVoided,
    encode_event,
    is_staff,
)
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from shoe_daemon.table.times import from_microseconds
from tests.table.dealer import START, public_json, refusal_text
from tests.table.history_model import HistoryModel
from tests.table.mistake_logs import make_log
from tests.table.table_model import Dealing, Observed, Step, command, make_setup

CHANGES = ("correct_card", "enter_card", "enter_result", "void_round")
"""Commands that an undo takes back."""
VERBS = (
    *CHANGES,
    *CHANGES,
    "undo",
    "undo",
    "acknowledge",
    "acknowledge",
    "rule",
    "hold",
    "resume",
    "confirm_result",
    "reveal",
    "new_shoe",
    "pass_shoe",
    "free_hand",
    "dealer",
    "no_more_bets",
    "betting_open",
)
IGNORED = {"seq", "now", "at", "id", "alert", "changes", "after", "begun", "since"}
"""Counters and moments, apart from which an undone command leaves no trace."""
NUMBERS = {"number", "round", "started_at"}
"""Numbers that a round or a shoe, begun and undone, moves on for those after it."""


def random_command(random: Random, verb: str | None = None) -> Observed:
    """Make a command that fits the table most of the time."""
    verb = verb or random.choice(VERBS)
    state = random.getrandbits(32)

    def order(table: Table) -> seen.Observation | None:
        pick = Random(state)
        public = table.public()
        now = public.round.number if public.round else None
        fields: dict[str, Any] = {}
        if verb in {"correct_card", "enter_card"}:
            fields = {"slot": pick.choice(DEALING_ORDER), "card": pick.choice(DECK)}
        if verb in {"correct_card", "enter_card", "void_round"}:
            past = [each.round for each in table.history().rounds]
            fields["round"] = pick.choice([None, None, now, *past[-2:]])
        if verb == "enter_result":
            fields = {"outcome": pick.choice(list(Outcome))}
        if verb in {"acknowledge", "rule"} and public.alerts:
            fields = {"irregularity": pick.choice(public.alerts).data.id}
        if verb == "rule":
            fields["action"] = pick.choice([*map(str, Action)])
        if verb == "hold":
            fields["kind"] = pick.choice([None, None, "card_off_table", "face_up_in_shoe"])
        return command(verb, **fields)

    return order


def with_commands(steps: list[Step], random: Random, most: int = 6) -> list[Step]:
    """Put random commands between the observations of a log."""
    mixed = list(steps)
    for _ in range(random.randint(1, most)):
        place = random.randrange(2, len(mixed))
        follow = [Step(random_command(random), random.choice([0.2, 1.0]))]
        if random.random() < 0.4:
            follow.append(Step(random_command(random, "undo"), random.choice([0.2, 1.0])))
        mixed[place:place] = follow
    return mixed


class Consumer:
    """
    Folds events as a display or a back office does.

    Attributes:
        wrong: Every contradiction so far.
    """

    def __init__(self, hold_from: int | None) -> None:
        self.board = HistoryModel()
        self.hold_from = hold_from
        self.undoes = False
        self.open: dict[int, tuple[int, int | None, int | None]] = {}
        self.results: dict[int, RoundFinished] = {}
        self.ordered = False
        self.wrong: list[str] = []

    def hear(self, events: list[Event]) -> None:
        """Take the events of one observation."""
        public = [event for event in events if not is_staff(event.type)]
        for event in public:
            self._enter(event)
        self.board.hear(public_json(public))

    def _enter(self, event: Event) -> None:
        data = event.data
        if event.type == "shoe_started":
            self.results = {}
        elif isinstance(data, Irregularity):
            self.open[data.id] = (data.severity, event.shoe, event.round)
        elif isinstance(data, IrregularityClosed):
            if self.open.pop(data.id, None) is None:
                self.wrong.append(f"irregularity {data.id} is closed, and was not open")
        else:
            self._result(event)

    def _result(self, event: Event) -> None:
        data, number = event.data, event.round or 0
        if isinstance(data, RoundFinished):
            if number in self.results:
                self.wrong.append(f"round {number} is finished twice")
            self._set(event, data)
        elif isinstance(data, ResultRevised):
            if self.results.get(number) != data.before:
                self.wrong.append(f"round {number} is revised, `before` is not what it was")
            self._set(event, data.after)
        elif isinstance(data, RoundVoided):
            self.results.pop(number, None)

    def _set(self, event: Event, data: RoundFinished | None) -> None:
        self.results.pop(event.round or 0, None)
        if data is not None:
            self._hold(event)
            self.results[event.round or 0] = data

    def _hold(self, event: Event) -> None:
        held = self.hold_from is not None and any(
            severity >= (self.hold_from or 9) and (shoe, round_) == (event.shoe, event.round)
            for severity, shoe, round_ in self.open.values()
        )
        if held and not self.undoes:
            what = "published" if isinstance(event.data, RoundFinished) else "revised"
            self.wrong.append(f"round {event.round} is {what} while its irregularity is open")

    def compare(self, table: Table) -> list[str]:
        """Return in what the table differs from what the events say."""
        public, wrong = table.public(), self.wrong
        self.wrong = []
        try:
            self.board.check(table)
        except (AssertionError, KeyError) as error:
            wrong.append(f"history differs from the events: {str(error)[:160]!r}")
        counted = [data for data in self.results.values() if data.kind == "normal"]
        counts = (len(counted), *(sum(d.outcome == o for d in counted) for o in Outcome))
        shown = public.counts
        told = (shown.rounds, *(getattr(shown, str(o)) for o in Outcome))
        if told != counts:
            wrong.append(f"counts are {told}, events give {counts}")
        ids = sorted(alert.data.id for alert in public.alerts)
        if ids != sorted(self.open):
            wrong.append(f"open alerts are {ids}, events give {sorted(self.open)}")
        last = max(self.results, default=None)
        seen_last = public.last_result
        if (last is None) != (seen_last is None) or (
            seen_last and (seen_last.round, seen_last.data) != (last, self.results[last or 0])
        ):
            wrong.append(f"last result is {seen_last and seen_last.round}, events give {last}")
        return wrong


def full_state(table: Table) -> Any:  # noqa: ANN401 - plain data
    """Return the complete state of a table, without counters and moments."""
    state = msgspec.to_builtins(table.state)
    state["alerts"] = [
        [alert["data"]["kind"], alert["shoe"], alert["round"], alert["data"]["slot"]]
        for alert in state["alerts"]
    ]
    return _without_fields(state)


def undo(table: Table, order: seen.Command) -> None:
    """
    Undo, and forget the round that the undone command had begun: its number is used up, so
    that the history lists it as aborted.
    """
    ended = [event.round for event in table.apply(order) if event.type == "round_aborted"]
    if table.state.shoe is not None:
        unfinished = table.state.shoe.unfinished
        table.state.shoe.unfinished = [each for each in unfinished if each.number not in ended]


def _without_fields(value: Any, without: set[str] = IGNORED) -> Any:  # noqa: ANN401 - plain data
    if isinstance(value, dict):
        return {
            key: _without_fields(each, without)
            for key, each in value.items()
            if key not in without
        }
    if isinstance(value, list | tuple):
        return [_without_fields(each, without) for each in value]
    return value


def differences(one: Any, two: Any, path: str = "") -> list[str]:  # noqa: ANN401
    """Name the places in which two pieces of plain data differ."""
    if isinstance(one, dict) and isinstance(two, dict):
        keys = sorted({*one, *two}, key=str)
        return [d for k in keys for d in differences(one.get(k), two.get(k), f"{path}.{k}")]
    if isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        pairs = enumerate(zip(one, two, strict=True))
        return [d for n, (a, b) in pairs for d in differences(a, b, f"{path}[{n}]")]
    return [] if one == two else [f"{path}: {str(one)[:120]} became {str(two)[:120]}"]


def copy_table(table: Table) -> Table:
    """Copy a table through its checkpoint."""
    return Table.restore(table.checkpoint())


UNDO = seen.Command(name="undo", operator="ann", reason="a mistake")


@dataclass
class CommandedRun:
    """
    A log with commands.

    Attributes:
        log: Its observations, stamped.
        table: The table at its end.
        hold_from: Of the table.
        changes: Where in the log a command was carried out that an undo takes back,
            and the checkpoints before and after it.
    """

    hold_from: int | None
    log: list[seen.Observation]
    table: Table
    changes: list[tuple[int, bytes, bytes]]

    def lines(self) -> str:
        """Write the log as JSON lines."""
        return "\n".join(seen.encode_observation(told).decode() for told in self.log)


def make_commanded_run(seed: int) -> CommandedRun:
    """Make and play a log with random commands out of a seed."""
    random = Random(seed)
    rounds = random.choice([1, 2, 3])
    if random.random() < 0.5:
        dealing = make_log(seed, rounds=rounds)[0]
    else:
        dealing = Dealing(make_setup(random), random, rounds)
    run = CommandedRun(dealing.setup.hold_from, [], Table(), [])
    now = START
    for step in with_commands(dealing.steps(), random):
        now += round(step.after * 1_000_000)
        told = step.says if isinstance(step.says, seen.Observation) else step.says(run.table)
        if told is not None:
            _tell(run, replace(told, at=from_microseconds(now)))
    return run


def smallest_failing_run(
    run: CommandedRun, wrong: Callable[[CommandedRun], list[str]]
) -> CommandedRun:
    """Leave out observations, one after another, as long as something stays wrong."""
    place = len(run.log)
    while place > 1:
        place -= 1
        shorter = CommandedRun(run.hold_from, [], Table(), [])
        for told in run.log[:place] + run.log[place + 1 :]:
            _tell(shorter, replace(told, refused=None) if _is_order(told) else told)
        if wrong(shorter):
            run, place = shorter, min(place, len(shorter.log))
    return run


def _is_order(told: seen.Observation) -> bool:
    return isinstance(told, seen.Command)


def _tell(run: CommandedRun, told: seen.Observation) -> None:
    if isinstance(told, seen.Command):
        if (
            run.table.deadline is not None and run.log[-1].at != told.at
        ):  # what is due by now is no effect of the command
            run.table.apply(seen.Tick(at=told.at))
            run.log.append(seen.Tick(at=told.at))
        told = replace(told, refused=refusal_text(run.table, told))
        # The first card or result of a table starts its shoe, which no undo takes away.
        has_shoe = run.table.state.shoe is not None
        if told.name in CHANGES and told.refused is None and has_shoe:
            before = run.table.checkpoint()
            run.table.apply(told)
            run.log.append(told)
            run.changes.append((len(run.log), before, run.table.checkpoint()))
            return
    run.log.append(told)
    run.table.apply(told)


def consumer_differences(run: CommandedRun) -> list[str]:
    """Return where an outside consumer of the events differs from the table."""
    table, consumer = Table(), Consumer(run.hold_from)
    for told in run.log:
        said = table.apply(told)
        # What an undo puts back had been published before it was changed.
        consumer.undoes = isinstance(told, seen.Command) and told.name == "undo"
        consumer.hear(said)
        if said and (wrong := consumer.compare(table)):
            return [f"at {told.at}: {each}" for each in wrong]
    return []


def replay_differences(run: CommandedRun) -> list[str]:
    """Return whether the log as text, or with restored checkpoints, gives other bytes."""
    random, plain, restored = Random(len(run.log)), Table(), Table()
    for told in run.log:
        again = seen.decode_observation(seen.encode_observation(told))
        if random.random() < 0.2:
            restored = copy_table(restored)
        one, two = plain.apply(again), restored.apply(told)
        if list(map(encode_event, one)) != list(map(encode_event, two)):
            return [f"at {told.at}: other events"]
    same = plain.checkpoint() == restored.checkpoint() == run.table.checkpoint()
    return [] if same else ["another state at the end"]


def undo_differences(run: CommandedRun) -> list[str]:
    """Undo every change before anything else happens; return what it does not restore."""
    wrong = []
    for place, before, after in run.changes:
        table, order = Table.restore(after), run.log[place - 1]
        taking_back = replace(UNDO, at=order.at)
        if (refused := refusal_text(table, taking_back)) is not None:
            wrong += [] if refused else [f"at {order.at}: refused without a reason"]
            continue
        undo(table, taking_back)
        found = differences(full_state(Table.restore(before)), full_state(table))
        wrong += [f"at {order.at}: {each}" for each in found]
    return wrong


def late_undo_differences(run: CommandedRun) -> list[str]:
    """Undo every change after a few observations; return what differs from a log without it."""
    wrong = []
    for place, before, after in run.changes:
        follow = run.log[place : place + 1 + place % 12]
        follow = [told for told in follow if not isinstance(told, seen.Command)]
        one, two = Table.restore(before), Table.restore(after)
        for told in follow:
            one.apply(told)
            two.apply(told)
        taking_back = replace(UNDO, at=two.state.now)
        if two.refusal(taking_back) is None:
            undo(two, taking_back)
            found = differences(_documents(one), _documents(two))
            wrong += [f"at {run.log[place - 1].at}, undone {taking_back.at}: {d}" for d in found]
    return wrong


def _documents(table: Table) -> Any:  # noqa: ANN401 - plain data
    public = msgspec.to_builtins(table.public())
    names = ("counts", "last_result", "shoe", "on_hold")
    picture = {name: public[name] for name in names}
    picture["table"] = public["round"]
    picture["alerts"] = sorted(each["data"]["kind"] for each in public["alerts"])
    picture["held"] = len(public["held"])
    picture["history"] = msgspec.to_builtins(table.history())["rounds"]
    return _without_fields(picture, IGNORED | NUMBERS)
