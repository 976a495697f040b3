"""
The daemon is killed between a command and its reply: the command is in the journal or
was never given, and is carried out at most once.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from shoe_daemon.journal import JournalReader
from shoe_daemon.table.observations import Command
from tests.brokers import Mosquitto
from tests.chaos import journal_checks
from tests.commands.command_table import Heard, Supervisor
from tests.service.daemon_process import ROOT, DaemonProcess, configure
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.mosquitto

DIE = """
import os, signal
def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)
"""
BEFORE_THE_JOURNAL = DIE + ("from shoe_daemon.service.core import Core\nCore.judge = die")
BEFORE_THE_ANSWER = DIE + (
    "from shoe_daemon.service.commands import Commands\nCommands._reply = die"
)

LONG = "2999-01-01T00:00:00Z"


def journaled(journal: Path) -> list[Command]:
    with JournalReader(journal) as reader:
        return [each for each in reader.observations() if isinstance(each, Command)]


def payload(order_id: str, **fields: object) -> bytes:
    order: dict[str, Any] = {"id": order_id, "operator": "Maria", "expires_at": LONG, **fields}
    return json.dumps(order).encode()


class Night:
    """A daemon that is killed and started again, and who gives it orders."""

    def __init__(self, stack: ExitStack, folder: Path, broker: Mosquitto) -> None:
        self.config = configure(folder, port=broker.port)
        self._stack = stack
        self.pit = stack.enter_context(Supervisor(broker.port, ROOT.rstrip("/")))

    def start(self, patch: str = "") -> DaemonProcess:
        """Start the daemon, and wait until it receives commands."""
        online = len(self._online())
        # A service manager of its own: those of the dead still listen.
        manager = str(self.config.with_name(f"{online}.sock"))
        process = DaemonProcess(self.config, patch=patch, address=manager, forked=True)
        daemon = self._stack.enter_context(process).start()
        wait_for(lambda: len(self._online()) > online, "online")
        return daemon

    def _online(self) -> list[Heard]:
        return [each for each in self.pit.of("status") if each.json["state"] == "online"]


@pytest.fixture
def night(tmp_path: Path, mosquitto: Mosquitto) -> Iterator[Night]:
    with ExitStack() as stack:
        yield Night(stack, tmp_path / "table", mosquitto)


def test_killed_before_the_journal(night: Night) -> None:
    daemon = night.start(BEFORE_THE_JOURNAL)
    night.pit.send("new-shoe", payload("one"))
    daemon.process.wait(PATIENCE)
    daemon.kill()
    assert journaled(daemon.journal) == []
    daemon = night.start()
    night.pit.send("new-shoe", payload("one"))
    night.pit.wait("reply/one")
    # The broker may have given it once more by itself: once is enough.
    wait_for(lambda: journaled(daemon.journal), "the order")
    assert [order.refused for order in journaled(daemon.journal)].count(None) == 1


def test_killed_before_the_answer(night: Night) -> None:
    daemon = night.start(BEFORE_THE_ANSWER)
    night.pit.send("new-shoe", payload("one"))
    daemon.process.wait(PATIENCE)
    (order,) = journaled(daemon.journal)
    assert order.refused is None
    assert not night.pit.of("reply/one")
    daemon = night.start()
    night.pit.send("new-shoe", payload("one"))
    answer = night.pit.wait("reply/one")[0].json
    assert answer["refused"] == f"its id was given before, at {order.at}, and carried out"
    assert answer["earlier"] == {
        "at": order.at,
        "detail_code": None,
        "detail_values": {},
        "name": "new_shoe",
        "ok": True,
        "refused": None,
    }
    shoes = [
        e for e in journal_checks.stored_events(daemon.journal) if e["type"] == "shoe_started"
    ]
    assert len(shoes) == 1


def test_killed_at_any_moment(night: Night) -> None:
    sent = 0
    for kill in range(3):
        daemon = night.start()
        timer = threading.Timer(0.02 + 0.03 * kill, daemon.kill)
        timer.start()
        # Every order twice, as one who does not trust the first.
        while timer.is_alive():
            for _ in range(2):
                night.pit.send("new-shoe", payload(f"n{sent}"))
            sent += 1
            time.sleep(0)
        timer.join()
    daemon = night.start()
    night.pit.order("hold", expires_at=LONG)
    daemon.kill()
    journal_checks.check_chain(daemon.journal)
    done = [order for order in journaled(daemon.journal) if order.refused is None]
    assert max(Counter(order.id for order in done).values()) == 1
    for reply in [each.json for each in night.pit.heard if "/reply/" in each.topic]:
        if reply["ok"]:
            assert reply["id"] in {order.id for order in done}
