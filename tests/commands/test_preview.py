"""
A preview (`dry_run`) changes nothing and predicts what the command then does; a command for
another state of the table (`expects_seq`) is refused.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from shoe_daemon.journal import Journal
from shoe_daemon.mqtt import commands, documents, schemas
from shoe_daemon.mqtt.commands import OrderMessage
from shoe_daemon.mqtt.documents import SIZE_LIMIT
from shoe_daemon.table import (
    COMMANDS,
    Event,
    RoundHeld,
    RoundReleased,
    encode_event,
    to_microseconds,
)
from shoe_daemon.table import observations as seen
from shoe_daemon.table.table import Table
from tests.commands.command_table import Pit
from tests.commands.test_command_handler import Bench, set_up
from tests.table.command_model import with_commands
from tests.table.mistake_logs import make_log
from tests.table.random_observations import RandomObservations
from tests.table.table_model import Dealing, Step, make_setup
from tests.volume import volume
from tests.waiting import wait_for

SEEDS = range(volume(12, 150))
"""Each gives a log with about ten commands."""

SCHEMA = Draft202012Validator(schemas.schema_of("reply"))
FIELDS = {*OrderMessage.__struct_fields__} & {*seen.Command.__struct_fields__} - {"id"}
EVENT_KEYS = ("data", "round", "shoe", "type")

Rounds = dict[tuple[int, int], dict[str, Any]]


def random_steps(random: Random, seed: int) -> tuple[list[Step], bool]:
    """Return a random log with commands; whether all its cards lie face up."""
    if random.random() < 0.2:
        return weather(seed), False
    if random.random() < 0.5:
        dealing = make_log(seed, rounds=random.choice([1, 2, 3]))[0]
    else:
        dealing = Dealing(make_setup(random), random, random.choice([1, 2, 3]))
    face_up = dealing.setup.style == "face_up" and dealing.setup.reader != "hidden"
    return with_commands(dealing.steps(), random, 12), face_up


def weather(seed: int) -> list[Step]:
    """Return observations of any kind, with commands of any kind."""
    source, steps, now = RandomObservations(seed), list[Step](), 0
    for each in source.generate(60):
        at = to_microseconds(each.at)
        steps.append(Step(each, (at - now) / 1_000_000 if now else 1.0))
        now = at
        if source.random.random() < 0.15:
            steps.append(Step(source.decision(), 0.5))
    return steps


class Run:
    """
    A log at a table with a journal; every command is previewed before it is given.

    Attributes:
        counted: How often something was compared.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.random = Random(seed)
        self.bench = Bench(set_up(folder))
        self.counted: Counter[str] = Counter()
        self.steps, self.face_up = random_steps(self.random, seed)

    @property
    def table(self) -> Table:
        """The table."""
        return self.bench.core.table

    def play(self) -> None:
        """Play the log."""
        own = self.table.state.session
        for step in self.steps:
            self.bench.time.now += step.after
            told = step.says if isinstance(step.says, seen.Observation) else step.says(self.table)
            if isinstance(told, seen.Command):
                self.give(told)
            elif isinstance(told, seen.Session):
                self.bench.core.observe(replace(told, site=own.site, table=own.table))
            elif told is not None:
                self.bench.core.observe(told)
        self.bench.core.close()

    def ask(self, command: seen.Command, **more: object) -> Any:  # noqa: ANN401 - JSON
        """Give a command, or preview it, and return the answer."""
        fields = msgspec.to_builtins(command)
        fields = {name: fields[name] for name in FIELDS & fields.keys()}
        number = f"n{self.counted['commands']}"
        self.bench.receive(number, verb_of(command), **{**fields, "operator": "Maria", **more})
        self.bench.judge_all()
        (answer,) = self.bench.answers.given
        self.bench.answers.given.clear()
        SCHEMA.validate(answer)
        return answer

    def everything(self) -> list[bytes]:
        """Return all that a preview must leave as it is."""
        files = [path for path in sorted(self.folder.iterdir()) if path.suffix != ".db-shm"]
        return [self.table.checkpoint(), *(path.read_bytes() for path in files)]

    def give(self, command: seen.Command) -> None:
        """Preview a command, give it, and compare."""
        self.counted["commands"] += 1
        before = self.everything()
        previewed = self.ask(command, dry_run=True)
        assert self.everything() == before
        preview, earlier = previewed["preview"], None
        if self.random.random() < 0.5:
            earlier = bool(self.bench.core.process_deadlines())
        shown = rounds(self.table)
        expects = {"expects_seq": preview["seq"]} if preview else {}
        answer = self.ask(command, **expects)
        assert previewed["events"] == []
        if preview and preview["faces_hidden"] and answer["name"] == "undo" and not answer["ok"]:
            return  # a card that lies face down has decided
        assert (preview is None) is (answer["refused"] is not None)
        for field in ("name", "ok", "refused", "replayed"):
            assert answer[field] == previewed[field]
        if preview is None:
            self.counted["refused"] += 1
            return
        assert preview["seq"] == answer["seq"] - len(answer["events"])
        if preview["faces_hidden"]:
            self.counted["hidden"] += 1
            assert not self.face_up
            assert (preview["events"], preview["before"], preview["after"]) == ([], None, None)
            return
        self.counted[answer["name"]] += 1
        self.compare_events(preview, answer["events"], moved=bool(earlier))
        self.compare_rounds(preview, None if earlier is None else shown)

    def compare_events(self, preview: dict[str, Any], numbers: list[int], *, moved: bool) -> None:
        """Compare the previewed events with the journaled ones; `moved`: the chain's head is."""
        stored = self.bench.core.written.events(numbers[0] - 1, len(numbers)) if numbers else ()
        events = [json.loads(each.body) for each in stored if not each.type.startswith("staff_")]
        caused = [{key: each[key] for key in EVENT_KEYS} for each in events]
        told = preview["events"]
        for each in [*caused, *told] if moved else ():
            each["data"].pop("head", None)
        assert told == caused[: len(told)]
        assert preview["left_out"] == len(caused) - len(told)
        self.counted["events"] += len(told)

    def compare_rounds(self, preview: dict[str, Any], before: Rounds | None) -> None:
        """Compare the previewed round with the documents before and after the command."""
        after = rounds(self.table)
        one, other = preview["before"], preview["after"]
        if one is not None and before is not None:
            assert one in before.values()
        if other is not None:
            assert other in after.values()
        elif one is None and before is not None and (not before or before.keys() & after.keys()):
            assert after == before, "a round is changed"
        if one != other:
            self.counted["changed rounds"] += 1


def rounds(table: Table) -> Rounds:
    """Return the rounds of this shoe as the documents on MQTT show them, by shoe and number."""
    published = documents.state(
        table.public(), session="s", alarm=None, heartbeat=10, published=""
    )
    history = json.loads(documents.history(table.history(), seq=1, session="s"))
    rows = {row["round"]: row for row in history["rounds"]}
    view = json.loads(published)["round"]
    views = {} if view is None else {view["number"]: view}
    return {
        (history["shoe"], number): {
            "history": rows.get(number),
            "round": number,
            "state": views.get(number),
        }
        for number in rows.keys() | views.keys()
    }


def verb_of(command: seen.Command) -> str:
    """Return the verb in the topic; some names are no order's."""
    return command.name.replace("_", "-")


def test_a_preview_changes_nothing_and_predicts_what_the_command_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The disk's speed is not the subject.
    monkeypatch.setattr(Journal, "open", partial(Journal.open, durable=False))
    counted: Counter[str] = Counter()
    for seed in SEEDS:
        with TemporaryDirectory() as folder:
            run = Run(Path(folder), seed)
            try:
                run.play()
            except AssertionError as error:
                error.add_note(f"seed {seed}")
                raise
        counted += run.counted
    carried_out = {name for name in COMMANDS if counted[name]}
    assert len(carried_out) > 9, "too few kinds of commands were previewed"
    assert min(counted[each] for each in ("hidden", "refused", "changed rounds")) > len(SEEDS) // 9
    assert counted["events"] > counted["commands"] // 3


def test_a_previewed_end_of_the_shoe_has_the_head_of_the_chain(tmp_path: Path) -> None:
    bench = Bench(set_up(tmp_path))
    bench.receive("a", "new-shoe")
    bench.receive("b", kind="foreign_card")
    bench.receive("c", "rule", action="stop_shoe", dry_run=True)
    bench.receive("c", "rule", action="stop_shoe")
    bench.judge_all()
    (previewed,) = [each for each in bench.answers.given if each["preview"]]
    heads = [each["data"].get("head") for each in previewed["preview"]["events"]]
    stored = bench.core.written.events(0, 99)
    (finished,) = [json.loads(each.body) for each in stored if each.type == "shoe_finished"]
    assert finished["data"]["head"] in heads
    bench.core.close()


NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:5C")


def _is_published(pit: Pit, document: str, seq: int) -> bool:
    """Return whether a document with this event was received; it may follow the reply."""
    return any(each.json["seq"] >= seq for each in pit.of(document))


@pytest.mark.mosquitto
def test_a_preview_is_answered_and_nothing_else_is_published(pit: Pit) -> None:
    pit.draw(*NATURAL)
    finished = pit.wait("event/round_finished")[-1].json["seq"]
    for document in ("result/last", "roads", "history"):
        wait_for(partial(_is_published, pit, document, finished), document)
    pit.order("hold")
    count, seq, journaled = len(pit.heard), pit.seq, len(pit.journaled())
    previewed = pit.order("void-round", dry_run=True, reason="a card on the floor")
    preview = previewed["preview"]
    assert [each["type"] for each in preview["events"]] == [
        "irregularity",
        "round_voided",
        "irregularity_closed",
    ]
    assert preview["before"]["history"]["player"] == ["9S", "KD"]
    assert not preview["before"]["history"]["voided"]
    assert preview["after"]["history"]["voided"]
    assert (preview["seq"], previewed["events"], previewed["ok"]) == (seq, [], True)
    pit.order("resume")
    topics = [each.topic.removeprefix(f"{pit.root}/") for each in pit.heard[count:]]
    news = {each for each in topics if each.startswith(("event/", "result/", "roads", "history"))}
    assert not news
    assert (pit.seq, len(pit.journaled())) == (seq, journaled + 1)


@pytest.mark.mosquitto
def test_an_order_for_another_state_is_refused(pit: Pit) -> None:
    pit.draw(*NATURAL)
    pit.wait("event/round_finished")
    first = pit.order("void-round", dry_run=True)["preview"]["seq"]
    assert pit.order("void-round", expects_seq=first)["ok"]
    pit.draw("P1:2S")
    late = pit.order("undo", expects_seq=first)
    why = f"the table has moved on: it was at {first}, and is at {pit.seq}"
    assert (late["ok"], late["refused"], late["events"]) == (False, why, [])
    assert (pit.journaled()[-1].refused, pit.journaled()[-1].expects_seq) == (why, first)
    early = pit.order("undo", expects_seq=pit.seq + 9)
    assert early["refused"] == f"the table is at {pit.seq}, and has not reached {pit.seq + 9}"
    assert pit.order("undo", dry_run=True, expects_seq=first)["refused"] == why
    assert pit.order("undo", expects_seq=pit.seq)["ok"]


def test_a_long_preview_is_cut() -> None:
    data = [RoundReleased("Maria", "x" * 200), RoundHeld((1,), None, "y" * 900)] * 20
    events = [Event("", each, n, "1.0", n, 1, "s", "t", each.type) for n, each in enumerate(data)]
    preview = commands.Preview(
        after=None,
        before=None,
        events=commands.previewed_events(events),
        faces_hidden=False,
        seq=7,
    )
    message = commands.Reply(
        id="x", name="resume", ok=True, preview=preview, refused=None, seq=7, session="s"
    )
    payload = commands.reply(message)
    told = json.loads(payload)["preview"]
    longest = max(len(encode_event(each)) for each in events)
    assert SIZE_LIMIT - longest - 200 < len(payload) < SIZE_LIMIT
    assert len(told["events"]) + told["left_out"] == len(events)
    assert [each["round"] for each in told["events"]] == list(range(len(told["events"])))
