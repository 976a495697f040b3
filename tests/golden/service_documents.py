"""
The documents that need more than a table: `device/<id>`, `status` and `reply/<id>`, made by the
product's own code without a line, a broker or a thread.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any, Final, cast
from unittest.mock import patch

from drivers.reader_thread import Ages, Counts
from shoe_daemon.config.sections import Config, TableSettings
from shoe_daemon.config.table import set_up
from shoe_daemon.mqtt.commands import ReceivedCommand
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.mqtt.publication import ChainHead, PublisherState
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts
from shoe_daemon.mqtt.topics import TableIdentity
from shoe_daemon.service.clock import Clock
from shoe_daemon.service.commands import Commands
from shoe_daemon.service.core import Core
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table.observations import CardDrawn
from shoe_daemon.threads import Wakeup

START_S: Final = 1_800_000_000.0
SESSION: Final = "golden"

READERS: Final = (
    ("closed", Ages(), False),
    ("opened", Ages(link=10.0), False),
    ("reading", Ages(10.0, 99.5, 99.0, 98.0), False),
    ("slow", Ages(10.0, 99.5, 95.5, 95.5), False),
    ("stale", Ages(10.0, 99.5, 94.0, 93.0), False),
    ("stale-from-the-start", Ages(10.0, 99.5), False),
    ("faulty", Ages(10.0, 99.5, 99.0, 98.0), True),
    ("faulty-and-closed", Ages(None, 50.0, 50.0, 40.0), True),
)
"""The state of each reader at second 100: its ages, and whether it reports an error."""

COMMANDS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("no-more-bets", {"id": "1"}),
    ("new-shoe", {"id": "2", "left": 7}),
    ("new-shoe", {"id": "2"}),
    ("enter-card", {"id": "3", "card": "KD"}),
    ("void-round", {"id": "4", "reason": "dealt to a wrong seat"}),
    ("undo", {"id": "5"}),
    ("void-round", {"id": "21", "dry_run": True, "reason": "dealt to a wrong seat"}),
    ("new-shoe", {"id": "21", "dry_run": True, "expects_seq": 99}),
    ("new-shoe", {"id": "21", "dry_run": True, "expects_seq": 3}),
    ("hold", {"id": "21", "dry_run": True, "kind": "card_off_table"}),
    ("replay", {"id": "21", "dry_run": True, "from_seq": 2}),
    ("undo", {"id": "21", "expects_seq": 3}),
    ("hold", {"id": "22", "dry_run": "yes"}),
    ("replay", {"id": "6", "from_seq": 2}),
    ("replay", {"id": "7"}),
    ("replay", {"id": "8", "from_seq": 99}),
    ("hold", {"id": "9", "kind": "no_such_kind"}),
    ("hold", {"id": "10", "expires_at": "2027-01-15T07:59:59Z"}),
    ("hold", {"id": "11", "expires_at": "soon"}),
    ("hold", {"operator": ""}),
    ("no-such-verb", {"id": "12"}),
)


def documents() -> str:
    """Return the text of the case: each document after a line with its cause."""
    return "".join(f"{line}\n" for line in (*_statuses(), *_devices(), *_replies()))


def _statuses() -> Iterator[str]:
    for name, head in ((None, None), ("Table 7", (6, "5e" * 32))):
        identity = TableIdentity("site", "table", SESSION, name)
        context = PublisherState(
            MqttSettings(),
            identity,
            cast("Any", None),
            6,
            on_acknowledged=print,
            on_command=None,
            chain_head=partial(ChainHead, *head) if head else lambda: None,
            timeouts=Timeouts(),
            wakeup=Wakeup(),
        )
        yield f"# the status of a table {'without' if name is None else 'with'} a name"
        for state in ("online", "stopping", "offline"):
            yield f"  status {context.status(state).decode()}"
        yield f"  last will {context.will().decode()}"


def _devices() -> Iterator[str]:
    readers = [
        SimpleNamespace(name=name, ages=ages, counts=Counts(4096, 64, 32, 5, 1))
        for name, ages, _ in READERS
    ]
    records = {name: SimpleNamespace(errors=["E1"] if bad else []) for name, _, bad in READERS}
    state = SimpleNamespace(seq=6, readers=records)
    table = SimpleNamespace(state=state, deals_face_down=False)
    core: Any = SimpleNamespace(
        alarm=None,
        clock_alarm=None,
        fault=None,
        flood=None,
        notice=None,
        repeats=Counter(),
        table=table,
    )
    said: list[str] = []
    publisher: Any = SimpleNamespace(
        alarm=None,
        retain=lambda suffix, payload, _seq: said.append(f"  {suffix} {payload.decode()}"),
    )
    daemon = StatePublisher(core, publisher, cast("Any", readers), SESSION, 10)
    clock = SimpleNamespace(monotonic=lambda: 100.0)
    with patch("shoe_daemon.service.state.time", clock):
        daemon.publish_devices(blocked=False)
    yield "# the health of readers"
    yield from said


def _replies() -> Iterator[str]:
    with TemporaryDirectory() as folder:
        setup = set_up(Config(site="site", table=TableSettings(id="table")), Path(folder))
        clock = Clock(wall=lambda: int(START_S * 1_000_000), monotonic=lambda: START_S)
        core = Core(setup, clock=clock)
        said: list[str] = []
        pending: list[ReceivedCommand] = []
        handler = Commands(core, setup, SESSION, pending.append)
        handler.publisher = cast("Any", _replying(said))
        core.record_start()
        core.observe(CardDrawn(card=None))
        for verb, fields in COMMANDS:
            payload = json.dumps({"operator": "maria", **fields}).encode()
            yield f"# {verb} {payload.decode()}"
            handler.receive(verb, MessageReceived(verb, payload))
            handler.judge(pending.pop())
            yield from said
            said.clear()
        for title, message in _unusual_commands():
            yield f"# {title}"
            handler.receive(message.topic, message)
            handler.judge(pending.pop())
            yield from said
            said.clear()
        handler.close()
        handler.receive("undo", MessageReceived("undo", b'{"id":"20","operator":"maria"}'))
        yield "# a command to a daemon that is stopping"
        yield from said
        core.close()


def _unusual_commands() -> Iterator[tuple[str, MessageReceived]]:
    payload = b'{"id":"13","operator":"maria"}'
    yield "a retained command", MessageReceived("hold", payload, retained=True)
    queued = MessageReceived("hold", payload, queued=True)
    yield "a command that the broker had queued", queued
    yield "no JSON", MessageReceived("hold", b"hold")
    yield "too long", MessageReceived("hold", b" " * 5000)


def _replying(said: list[str]) -> SimpleNamespace:
    """Return an object in the publisher's place, which adds a line for each reply."""

    def reply(payload: bytes, seq: int, *, command_id: str | None, **_: object) -> None:
        said.append(f"  reply/{command_id} after event {seq}: {payload.decode()}")

    return SimpleNamespace(
        is_replaying=False,
        replay=lambda first, last: said.append(f"  events {first} to {last} again"),
        reply=reply,
    )
