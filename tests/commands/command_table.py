"""
A table with its daemon in this process, a shoe on a pty, and a supervisor who gives
commands over a real broker.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from shoe_daemon.config.table import load_config
from shoe_daemon.journal import JournalReader
from shoe_daemon.mqtt.connection import leave
from shoe_daemon.service import Daemon
from shoe_daemon.table.detail_texts import make_detail
from shoe_daemon.table.observations import Command
from tests.service.daemon_process import Shoe
from tests.waiting import PATIENCE, wait_for

SITE = "hall"
_numbers = itertools.count(1)


class Heard(NamedTuple):
    """Messages that the supervisor received."""

    topic: str
    payload: bytes
    retain: bool
    qos: int
    correlation: bytes | None

    @property
    def json(self) -> Any:  # noqa: ANN401 - whatever was said
        """The payload, decoded."""
        return json.loads(self.payload)


class Supervisor:
    """Hears everything, and gives orders over MQTT 5."""

    def __init__(
        self, port: int, root: str, *, name: str | None = None, protocol: str = "5"
    ) -> None:
        self.root = root
        self.heard: list[Heard] = []
        self._listens = threading.Event()
        self._is_5 = protocol == "5"
        self._client = client = paho.Client(
            CallbackAPIVersion.VERSION2,
            protocol=MQTTProtocolVersion.MQTTv5 if self._is_5 else MQTTProtocolVersion.MQTTv311,
        )
        if name is not None:
            client.username_pw_set(name, name)
        client.on_connect = self._on_connect
        client.on_subscribe = self._on_subscribe
        client.on_message = self._on_message
        client.connect("127.0.0.1", port)

    def __enter__(self) -> Self:
        self._client.loop_start()
        assert self._listens.wait(PATIENCE)
        return self

    def __exit__(self, *_: object) -> None:
        leave(self._client)
        client = self._client
        client.on_connect = client.on_subscribe = client.on_message = None

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe([(f"{self.root}/#", 1), ("answers/#", 1)])

    def _on_subscribe(self, *_: object) -> None:
        self._listens.set()

    def _on_message(self, _c: object, _u: object, message: paho.MQTTMessage) -> None:
        correlation = getattr(message.properties, "CorrelationData", None)
        self.heard.append(
            Heard(message.topic, bytes(message.payload), message.retain, message.qos, correlation)
        )

    def of(self, suffix: str) -> list[Heard]:
        """Return what came to a topic of the table; an event that was sent again only once."""
        found = [each for each in self.heard if each.topic == f"{self.root}/{suffix}"]
        if suffix.startswith("event/"):
            # A display's log asks a new table for all that it may have missed.
            return list({each.payload: each for each in found}.values())
        return found

    def wait(self, suffix: str, count: int = 1) -> list[Heard]:
        """Wait for so many messages on a topic of the table."""
        wait_for(lambda: len(self.of(suffix)) >= count, f"{count} of {suffix}")
        return self.of(suffix)

    def send(
        self,
        verb: str,
        payload: bytes,
        *,
        retain: bool = False,
        answer_to: str | None = None,
        correlation: bytes | None = None,
    ) -> int:
        """Publish bytes to a verb; return the broker's reason code."""
        properties = None
        if answer_to is not None or correlation is not None:
            properties = Properties(PacketTypes.PUBLISH)  # type: ignore[no-untyped-call]
            if answer_to is not None:
                properties.ResponseTopic = answer_to
            if correlation is not None:
                properties.CorrelationData = correlation
        topic = f"{self.root}/cmd/{verb}"
        info = self._client.publish(topic, payload, 1, retain, properties)
        info.wait_for_publish(PATIENCE)
        return info.rc

    def ask(self, verb: str, payload: bytes, *, retain: bool = False) -> Any:  # noqa: ANN401 - JSON
        """Publish bytes to a verb, and return the answer that comes to a topic of our own."""
        mine = f"answers/{next(_numbers)}"
        self.send(verb, payload, retain=retain, answer_to=mine)
        wait_for(lambda: any(each.topic == mine for each in self.heard), f"an answer: {payload!r}")
        (answer,) = [each for each in self.heard if each.topic == mine]
        return answer.json

    def order(self, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Give an order as it should be, and return its answer."""
        order = {"id": f"order-{next(_numbers)}", "operator": "Maria", **fields}
        self.send(verb, json.dumps(order).encode())
        answer = self.wait(f"reply/{order['id']}")[-1].json
        if code := answer["detail_code"]:
            assert answer["refused"] == make_detail(code, **answer["detail_values"]).text
        return answer


class Pit(Supervisor):
    """A table, its daemon and its shoe, seen from the pit."""

    def __init__(self, port: int, table: str, daemon: Daemon, journal: Path, shoe: Shoe) -> None:
        super().__init__(port, f"shoe/v1/{SITE}/{table}")
        self.daemon = daemon
        self.journal = journal
        self.shoe = shoe
        self._thread = threading.Thread(target=daemon.run, daemon=True)

    def start(self) -> None:
        """Start the daemon."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the daemon, and wait for its last word: a log must not outlive its test."""
        self.daemon.stop()
        self._thread.join(PATIENCE)

    @property
    def seq(self) -> int:
        """The last event."""
        return self.daemon.core.table.state.seq

    def journaled(self) -> list[Command]:
        """Return all orders in the journal, in order."""
        with JournalReader(self.journal) as reader:
            return [each for each in reader.observations() if isinstance(each, Command)]

    def draw(self, *cards: str) -> None:
        """Let cards come out of the shoe, ``P1:AS``, and wait for the last one's event."""
        before = len(self._drawn())
        self.shoe.draw(*cards)
        wait_for(lambda: len(self._drawn()) >= before + len(cards), f"the cards {cards}")

    def _drawn(self) -> list[Heard]:
        return self.of("event/card_dealt")

    def events(self, type_: str) -> list[Any]:
        """Return the data of all received events of a type."""
        return [each.json["data"] for each in self.of(f"event/{type_}")]


def write_config(folder: Path, table: str, port: int, text: str = "", protocol: str = "5") -> Path:
    """
    Write the configuration of a table with an Angel Eye on a pty.

    Args:
        folder: Where; the pty is ``shoe`` in it.
        table: Its id.
        port: Of the broker.
        text: More of the section ``[table]``, and further sections.
        protocol: Of MQTT.
    """
    path = folder / f"{table}.toml"
    path.write_text(
        f'site = "{SITE}"\n[mqtt]\nport = {port}\nprotocol = "{protocol}"\n'
        f'[journal]\npath = "{table}.db"\n'
        f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{folder / "shoe"}"\n'
        f'[table]\nid = "{table}"\nreveal_after = 3600\n{text}\n',
        encoding="utf-8",
    )
    return path


@contextmanager
def open_pit(folder: Path, port: int, text: str = "", protocol: str = "5") -> Iterator[Pit]:
    """Open a new table, with the daemon in a thread of this process."""
    table = f"table-{next(_numbers)}"
    setup = load_config(write_config(folder, table, port, text, protocol), serving=True)
    with ExitStack() as stack:
        shoe = stack.enter_context(Shoe(folder / "shoe"))
        daemon = Daemon(setup)
        pit = stack.enter_context(Pit(port, table, daemon, setup.journal, shoe))
        pit.start()
        stack.callback(pit.stop)
        wait_for(lambda: any(s.json["state"] == "online" for s in pit.of("status")), "online")
        shoe.wait_heard()
        # That the line is up is the first event.
        pit.wait("event/reader_status")
        yield pit
