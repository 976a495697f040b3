"""
A journal in memory, and a publisher that is stopped whatever happens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec

from shoe_daemon.mqtt import Identity, MqttSettings, Publisher
from shoe_daemon.mqtt.timeouts import Pace

ROOT = "shoe/v1/casino/table-7"

QUICK = Pace(first=0.05, most=0.5, refused=0.2, refused_most=0.4, will_delay=1)
"""Waits that a test can bear."""

PATIENT = msgspec.structs.replace(QUICK, settled=0.0)
"""As above, where young sessions are the test's own doing."""


class Stored(NamedTuple):
    seq: int
    type: str
    body: bytes


class Journal:
    """
    An outbox in memory; `cursor` is what the publisher has handed over.
    """

    def __init__(self, count: int = 0, session: str = "start-1") -> None:
        self.all: list[Stored] = []
        self.cursors: list[int] = []
        self.session = session
        for _ in range(count):
            self.add()

    @property
    def cursor(self) -> int:
        return self.cursors[-1] if self.cursors else 0

    def add(self, type_: str = "card_dealt") -> int:
        """
        Append one event and return its seq.
        """
        seq = len(self.all) + 1
        self.all.append(Stored(seq, type_, b'{"seq":%d}' % seq))
        return seq

    def events(self, after_seq: int, limit: int) -> list[Stored]:
        """
        What the publisher reads.
        """
        return self.all[after_seq : after_seq + limit]


@contextmanager
def publishing(
    port: int,
    journal: Journal,
    *,
    prepare: Callable[[Publisher], object] = lambda _: None,
    pace: Pace = QUICK,
    options: dict[str, Any] | None = None,
    **settings: Any,  # noqa: ANN401 - those of MqttSettings
) -> Iterator[Publisher]:
    """
    A publisher that runs; `prepare` is done with it before its start.
    """
    publisher = Publisher(
        MqttSettings(port=port, **settings),
        Identity("casino", "table-7", journal.session, "Table 7"),
        journal,
        journal.cursor,
        journal.cursors.append,
        pace=pace,
        **(options or {}),
    )
    prepare(publisher)
    publisher.start()
    try:
        yield publisher
    finally:
        publisher.stop()
