"""
Checks after any number of kills: of the journal, of the received messages, and of the cards dealt.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from drivers.simulators.angel_eye import Scenario
from drivers.simulators.shoe import DealtRound
from shoe_daemon.journal import JournalReader
from shoe_daemon.table.table import Table
from tests.brokers import Message
from tests.public_json import encode_public_table
from tests.service.daemon_process import ROOT, cli

PUBLICATION = (
    "alarm",
    "detail_code",
    "detail_values",
    "heartbeat",
    "published",
    "session",
)
"""Fields of `state` that do not belong to the table."""


class Figures(NamedTuple):
    """Figures of a check."""

    events: int
    rounds: int
    partial: int
    aborted: int
    dealt: int
    irregularities: dict[str, int]


def stored_events(journal: Path) -> list[dict[str, Any]]:
    """Return all events of a journal."""
    return [json.loads(line) for line in exported(journal, "--events").splitlines()]


def exported(journal: Path, what: str) -> bytes:
    """Return the output of `journal export`."""
    answer = cli("journal", "export", what, journal)
    assert answer.exit_code == 0, answer.stderr
    return answer.stdout_bytes


def check_chain(journal: Path) -> None:
    """The hash chain is valid, and the observations fold to the events."""
    answer = cli("journal", "verify", "--refold", journal)
    assert answer.exit_code == 0, answer.output


def check_replay(journal: Path, folder: Path) -> None:
    """`replay --json` of the exported observations gives the same bytes."""
    log = folder / "observations.jsonl"
    log.write_bytes(exported(journal, "--observations"))
    answer = cli("replay", "--json", log)
    assert answer.exit_code == 0, answer.stderr
    assert answer.stdout_bytes == exported(journal, "--events")


def check_received(journal: Path, messages: Iterable[Message]) -> set[int]:
    """
    Every received event is in the journal, byte for byte.

    Returns:
        The numbers of the received events.
    """
    stored = dict(enumerate(exported(journal, "--events").splitlines(), start=1))
    received = set()
    for message in received_events(messages):
        seq = message.json["seq"]
        assert stored.get(seq) == message.payload, f"event {seq} is another one in the journal"
        received.add(seq)
    return received


def received_events(messages: Iterable[Message]) -> Iterator[Message]:
    """Yield the messages with events, including staff events."""
    for message in messages:
        suffix = message.topic.removeprefix(ROOT)
        if suffix.startswith(("event/", "staff/event/")):
            yield message


def check_nothing_is_missing(messages: Iterable[Message], head: int) -> None:
    """All events were received, first deliveries in order."""
    highest = 0
    for message in received_events(messages):
        seq = message.json["seq"]
        assert seq <= highest + 1, f"event {seq} came after event {highest}"
        highest = max(highest, seq)
    assert highest == head


def check_state(journal: Path, retained: bytes) -> None:
    """The retained `state` is what the journal folds to."""
    with JournalReader(journal) as reader:
        table = Table()
        for observation in reader.observations():
            table.apply(observation)
    expected = json.loads(encode_public_table(table.public()))
    state = json.loads(retained)
    assert {key: value for key, value in state.items() if key not in PUBLICATION} == expected


def check_nothing_is_doubled(journal: Path, scenario: Scenario) -> None:
    """The journal's frames were sent, each at most once, in order."""
    sent = iter(step.report.to_bytes() for step in scenario.steps if step.report)
    with JournalReader(journal) as reader:
        rows = reader.connection.execute(
            "SELECT id, bytes FROM capture WHERE length(bytes) > 0 ORDER BY id"
        )
        for number, raw in rows:
            assert raw in sent, f"capture {number}, {raw!r}, was not sent after the one before"


def check_rounds(events: list[dict[str, Any]], scenario: Scenario) -> Figures:
    """Every complete finished round was dealt, in order and once."""
    dealt = iter(scenario.rounds)
    finished = [event for event in events if event["type"] == "round_finished"]
    whole = [event for event in finished if not event["data"]["partial"]]
    for event in whole:
        assert any(_same(event["data"], each) for each in dealt), f"never dealt: {event}"
    kinds = Counter(e["data"]["kind"] for e in events if e["type"] == "irregularity")
    aborted = sum(event["type"] == "round_aborted" for event in events)
    return Figures(
        len(events),
        len(whole),
        len(finished) - len(whole),
        aborted,
        len(scenario.rounds),
        dict(kinds),
    )


def _same(data: dict[str, Any], dealt: DealtRound) -> bool:
    if dealt.aborted:
        return False
    coup = dealt.coup
    return data["outcome"] == coup.outcome.value and all(
        data[side]["cards"] == [str(card) for card in hand.cards]
        and data[side]["total"] == hand.total
        and data[side]["natural"] == hand.natural
        and data[side]["pair"] == hand.pair
        for side, hand in (("player", coup.player), ("banker", coup.banker))
    )
