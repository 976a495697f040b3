"""MQTT messages of one table of `simulate floor`, shoe after shoe, with times of their own."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from random import Random
from typing import Final, NamedTuple

from shoe_daemon.demo.floor import CARD_S, DealtTable
from shoe_daemon.mqtt import documents, topics
from shoe_daemon.mqtt.topics import TableIdentity
from shoe_daemon.table import from_microseconds, is_staff, to_microseconds

__all__ = ["SITE", "TABLE", "Message", "Step", "latest", "simulated_steps", "status"]

SITE: Final = "bench"
TABLE: Final = "table-0000"

_IDENTITY: Final = TableIdentity(SITE, TABLE, "0123abcd", "Baccarat")
_HEARTBEAT: Final = 10
_BEGIN: Final = to_microseconds("2026-11-21T20:00:00Z")


class Message(NamedTuple):
    """A message below the table's topic."""

    suffix: str
    payload: bytes
    retained: bool = True


class Step(NamedTuple):
    """
    The messages caused by one card or one result.

    Attributes:
        seq: The state's number afterwards.
        messages: In the daemon's order.
        begins: The first step of a shoe.
    """

    seq: int
    messages: list[Message]
    begins: bool


def status() -> Message:
    """Return the birth message."""
    online = documents.Status(seq=0, session=_IDENTITY.session, state="online")
    return Message(topics.STATUS, documents.encode_message(online))


def simulated_steps(seed: int) -> Iterator[Step]:
    """Yield the steps of a table endlessly; each is three seconds of table time."""
    table, now_us = DealtTable(_IDENTITY, _HEARTBEAT, Random(seed)), _BEGIN
    while True:
        now_us += int(CARD_S * 1_000_000)
        step, at = table.step(now_us), from_microseconds(now_us)
        messages = [
            Message(f"event/{each.type}", each.body, retained=False)
            for each in step.events
            if not is_staff(each.type)
        ]
        messages += [
            Message(suffix, document if isinstance(document, bytes) else document(at))
            for suffix, document in step.documents
        ]
        begins = any(each.type == "shoe_started" for each in step.events)
        yield Step(table.seq, messages, begins)


def latest(steps: list[Step], until: int) -> list[Message]:
    """Return the retained messages after some steps."""
    messages = chain.from_iterable(step.messages for step in steps[: until + 1])
    return list({each.suffix: each for each in messages if each.retained}.values())
