"""A journal in memory, and a publisher that is always stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
import pytest

from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts
from shoe_daemon.mqtt.topics import TableIdentity
from tests.volume import sample

ROOT = "shoe/v1/casino/table-7"

QUICK = Timeouts(
    first_retry_s=0.05,
    max_retry_s=0.5,
    refused_retry_s=0.2,
    max_refused_retry_s=0.4,
    will_delay_s=1,
    copies_s=0.1,
)
"""Waits that a test can bear."""

PATIENT = msgspec.structs.replace(QUICK, stable_session_s=0.0)
"""As above, where young sessions are the test's own doing."""


every_protocol = pytest.mark.parametrize("protocol", sample(["5", "3.1.1"], 2))


class Stored(NamedTuple):
    seq: int
    type: str
    body: bytes


class Journal:
    """An outbox in memory; `cursor` is what the publisher has handed over."""

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
        """Append one event and return its seq."""
        seq = len(self.all) + 1
        self.all.append(Stored(seq, type_, b'{"seq":%d}' % seq))
        return seq

    def events(self, after_seq: int, limit: int) -> list[Stored]:
        """Part of the journal that the publisher reads."""
        return self.all[after_seq : after_seq + limit]


@contextmanager
def publishing(
    port: int | None,
    journal: Journal,
    *,
    prepare: Callable[[Publisher], object] = lambda _: None,
    timeouts: Timeouts = QUICK,
    options: dict[str, Any] | None = None,
    **settings: Any,  # noqa: ANN401 - those of MqttSettings
) -> Iterator[Publisher]:
    """A publisher that runs; `prepare` is done with it before its start."""
    publisher = Publisher(
        MqttSettings(port=port, **settings),
        TableIdentity("casino", "table-7", journal.session, "Table 7"),
        journal,
        journal.cursor,
        journal.cursors.append,
        timeouts=timeouts,
        **(options or {}),
    )
    prepare(publisher)
    publisher.start()
    try:
        yield publisher
    finally:
        publisher.stop()
