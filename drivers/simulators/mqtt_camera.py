"""
A table with a recogniser, simulated (``mqtt-camera``): snapshots of the cards, on a broker.

Cards, dealing and faults are those of the simulated Angel Eye; only cards on the table are seen.
A recogniser repeats snapshots, publishes some late, loses cards behind hands, and publishes other
messages: that is no fault. The faults, as snapshots show them:

- ``overdraw``: the card lies on a free place until it is burned; never beside six cards.
- ``missed-draw``: the table is cleared although a draw is due.
- ``misread``: a card has another face at first.
- ``unreadable``: a card has no name; half of them are read after a second.
- ``lost-frame``: the first snapshots of a card, or of the cleared table, are lost.
- ``noise``: a damaged message.
- ``reset``: the program starts again, and publishes a table without cards, or its last snapshot
  of the round before.
- ``unplug``: the connection is lost, and what is published meanwhile.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from random import Random
from threading import Event
from typing import Any, ClassVar, Final

import msgspec
from msgspec.structs import replace
from paho.mqtt import client as paho
from paho.mqtt.reasoncodes import ReasonCode

from drivers.mqtt_camera import MqttCamera, put_at
from drivers.mqtt_line import CONNECT_TIMEOUT_S
from drivers.simulators.angel_eye import Mode, Scene, Settings, scenes
from drivers.simulators.lines import Line
from drivers.simulators.shoe import Excess, Fault, Placed
from drivers.simulators.text_readers import Messages, TableWithReader
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import DEALING_ORDER, FOUR_CARDS, Card, Slot
from shoe_daemon.table.observations import Role

_UNREAD: Final = "??"
_RESTLESS: Final = 0.4
"""The chance of a card that a snapshot between two of it is not the same."""

_BET_SNAPSHOTS: Final = 4
_POLL_S: Final = 0.1


class SimulatedRecogniser:
    """
    The simulator of the driver ``mqtt-camera``.

    Attributes:
        once: Whether only changes are published.
    """

    about: ClassVar[str] = "a recogniser that publishes the cards on the table"
    faults: ClassVar[tuple[Fault, ...]] = tuple(Fault)
    modes: ClassVar[tuple[Mode, ...]] = (Mode.OPEN,)
    ends_in_silence: ClassVar[bool] = False
    repeat_options: ClassVar[tuple[str, ...]] = ("cleared_after",)
    # The demo's broker knows MQTT 3.1.1 only.
    demo_options: ClassVar[Mapping[str, Any]] = {
        "slots": ["P1", "P2", "P3", "B1", "B2", "B3"],
        "protocol": "3.1.1",
    }

    def __init__(self, driver: MqttCamera) -> None:
        self.once = False
        self._driver = driver
        self._options = driver.options
        self._names = {card: name for name, card in driver.cards().items()}
        self._chance = Random(0)
        self._texts: dict[Slot, str] = {}
        self._last_round: dict[Slot, str] = {}

    def open_line(self, url: str) -> BrokerLine:
        """
        Connect to a broker.

        Args:
            url: A broker and a topic, as `port` in the configuration.

        Raises:
            UserError: It is invalid, the options are, or the broker cannot be used.
        """
        return BrokerLine(self._driver, url)

    def scenes(self, settings: Settings, *, once: bool) -> Iterator[Scene]:
        """
        Deal scene by scene.

        Args:
            settings: What is dealt; `mode`, `excess` and `make_good` have one value here.
            once: Whether only changes are published.
        """
        self.once, self._chance = once, Random(f"reader {settings.seed}")
        dealt = replace(settings, mode=Mode.OPEN, excess=Excess.BURNED, make_good=False)
        return scenes(dealt, _SeenTable(dealt, self))

    def card(self, card: Card, role: Role) -> Messages:
        """Lay a card on the next free place, in dealing order; a burned one is not seen."""
        if role is not Role.PLAY:
            return []
        return self.lay(next(slot for slot in DEALING_ORDER if slot not in self._texts), card)

    def lay(self, slot: Slot, card: Card | None) -> Messages:
        """Return what is published of a card on a place; None for one that cannot be read."""
        before = self.snapshot()
        # A card that the table lacks has no name.
        named = not self._names or card in self._names
        self._texts[slot] = self._names.get(card, str(card)) if card and named else _UNREAD
        said = [(0.0, self.snapshot())]
        if self.once:
            return said
        if self._chance.random() < _RESTLESS:
            late, hand = before, self._behind_a_hand()
            between = self._chance.choice([late, hand, self._other_message()])
            said += [(0.2, between), (0.4, self.snapshot())]
        return [*said, (0.6, self.snapshot())]

    def take_away(self, slot: Slot) -> Messages:
        """Return what is published when one card is taken away."""
        self._texts.pop(slot, None)
        return [(0.0, self.snapshot())]

    def clear(self) -> Messages:
        """Return what is published while the cards are collected."""
        all_cards, some = self.snapshot(), self._behind_a_hand()
        self._last_round, self._texts = self._texts, {}
        if self.once:
            return [(0.0, self.snapshot())]
        late = self._chance.choice([all_cards, some, self.snapshot()])
        return [(0.0, some), (0.4, self.snapshot()), (0.6, late), (0.8, self.snapshot())]

    def restart(self) -> Messages:
        """Return what the program publishes first after a start."""
        return [(0.0, self.snapshot(self._chance.choice([{}, self._last_round])))]

    def snapshot(self, texts: Mapping[Slot, str] | None = None) -> bytes:
        """Return a snapshot of some texts, or of all that lie on the table."""
        shown = self._texts if texts is None else texts
        slots = self._options.slots or DEALING_ORDER
        message = self._message(self._options.only)
        put_at(message, self._options.path, [shown.get(slot, "") for slot in slots])
        return msgspec.json.encode(message) + b"\n"

    def _message(self, values: Mapping[str, str]) -> dict[str, Any]:
        message: dict[str, Any] = {}
        for path, value in values.items():
            put_at(message, path, value)
        return message

    def _other_message(self) -> bytes:
        """Return a message of another kind; a snapshot if the options take every message."""
        other = {path: f"not {value}" for path, value in self._options.only.items()}
        return msgspec.json.encode(self._message(other)) + b"\n" if other else self.snapshot()

    def _behind_a_hand(self) -> bytes:
        """Return a snapshot without some cards; never without all of a round that may be over."""
        seen = {slot: text for slot, text in self._texts.items() if self._chance.random() < 0.5}  # noqa: PLR2004 - a coin
        if not seen and len(self._texts) >= FOUR_CARDS:
            slot = self._chance.choice(list(self._texts))
            seen = {slot: self._texts[slot]}
        return self.snapshot(seen)


class _SeenTable(TableWithReader):
    """A table with a recogniser above it."""

    def __init__(self, settings: Settings, recogniser: SimulatedRecogniser) -> None:
        super().__init__(settings)
        self._recogniser = recogniser
        self._misread_card: Card | None = None

    def _possible(self, fault: Fault, cards: tuple[Placed, ...]) -> bool:
        if fault is Fault.OVERDRAW:
            return len(cards) < len(DEALING_ORDER)
        return super()._possible(fault, cards)

    def _take_bets(self) -> None:
        for _ in range(_BET_SNAPSHOTS):
            self._wire.wait(3.3, 3.7)
            if not self._recogniser.once:
                self._line.say([(0.0, self._recogniser.snapshot())], is_card=False)

    def _scene(self, cards: tuple[Placed, ...], excess: Card | None, fault: Fault | None) -> Scene:
        scene = super()._scene(cards, excess, fault)
        assert scene.round is not None  # noqa: S101 - the scene of a round
        # Whatever becomes of the recogniser, the game goes on.
        return replace(scene, round=replace(scene.round, aborted=False))

    def _reset(self, cards: tuple[Placed, ...]) -> tuple[Placed, ...]:
        count = self._fault_rng.randrange(1, len(cards))
        self._deal(cards[:count], None, 0)
        self._wire.wait(0.7, 1)
        self._line.say(self._recogniser.restart(), is_card=False)
        self._wire.wait(0.5, 9)
        self._line.say([(0.0, self._recogniser.snapshot())], is_card=False)
        self._deal(cards[count:], None, 0)
        self._call_result(cards)
        return cards

    def _report_boot(self) -> None:
        self._line.say([(0.0, self._recogniser.snapshot())], is_card=False)

    def _report_burned(self, card: Card, left: int | None) -> None:
        """Report nothing: burned cards lie elsewhere."""

    def _report_cut_card(self) -> None:
        """Report nothing."""

    def _report_card(self, slot: Slot, card: Card) -> None:
        self._line.say(self._recogniser.lay(slot, card), is_card=True)
        if self._misread_card is not None:
            self._read_again(slot, self._misread_card)
            self._misread_card = None

    def _misread(self, card: Card) -> Card:
        self._misread_card = card
        return super()._misread(card)

    def _report_unreadable(self, slot: Slot, card: Card) -> None:
        self._line.say(self._recogniser.lay(slot, None), is_card=True)
        if self._fault_rng.random() < 0.5:  # noqa: PLR2004 - a coin
            self._read_again(slot, card)

    def _read_again(self, slot: Slot, card: Card) -> None:
        self._wire.wait(0.7, 1)
        self._line.say(self._recogniser.lay(slot, card), is_card=True)

    def _report_excess(self, excess: Card) -> None:
        """Lay the card on a place of a third card, and burn it."""
        free = [slot for slot in (Slot.P3, Slot.B3) if slot not in self._faces]
        slot = self._fault_rng.choice(free)
        self._line.say(self._recogniser.lay(slot, excess), is_card=True)
        self._wire.wait(3, 6)
        self._line.say(self._recogniser.take_away(slot), is_card=False)

    def _call_result(self, cards: tuple[Placed, ...]) -> None:
        """Pay the bets, and collect the cards."""
        del cards
        self._wire.wait(5, 8)
        self._line.say(self._recogniser.clear(), is_card=True)
        self._wire.wait(1, 2)
        self._faces.clear()


class BrokerLine(Line):
    """
    A topic of a broker: each line of bytes is a message.

    A broker names nobody who reads them: this line is ready while it is connected, and drained,
    as the broker has acknowledged everything. It connects again by itself.
    """

    def __init__(self, driver: MqttCamera, url: str) -> None:
        self._driver, self._url = driver, url
        self._client: paho.Client | None = None
        self._topic = self._refusal = ""
        self.plug()

    @property
    def address(self) -> str:
        """The broker and the topic."""
        return self._url

    def is_open(self) -> bool:
        """Return whether the broker is connected."""
        return self._client is not None and self._client.is_connected()

    def send(self, data: bytes, stopping: Event) -> None:
        """Publish each line, and wait for the broker; a line without a connection is lost."""
        for payload in filter(None, data.split(b"\n")):
            if self._client is None or not self.is_open():
                return
            sent = self._client.publish(self._topic, payload, qos=1)
            # A connection that ends meanwhile raises an error.
            with contextlib.suppress(RuntimeError):
                while self.is_open() and not (sent.is_published() or stopping.is_set()):
                    sent.wait_for_publish(_POLL_S)

    def unplug(self) -> None:
        """Disconnect."""
        client, self._client = self._client, None
        if client is not None:
            client.disconnect()
            client.loop_stop()

    def plug(self) -> None:
        """Connect to the broker."""
        client, where = self._driver.new_client(
            self._url, "shoe-simulated-recogniser", reconnects=True
        )
        self._client, self._topic, self._refusal = client, where.topic, ""
        client.on_connect = self._on_connect
        try:
            client.connect(where.host, where.port)
            client.loop_start()
            self._await_connection()
        except (OSError, ValueError, UserError) as error:
            self.unplug()
            raise UserError(f"{self._url}: {one_line(error)}") from error

    def _await_connection(self) -> None:
        until = time.monotonic() + CONNECT_TIMEOUT_S
        while not self.is_open():
            if self._refusal:
                raise UserError(f"the broker refuses us: {self._refusal}")
            if time.monotonic() > until:
                raise UserError(f"the broker does not answer for {CONNECT_TIMEOUT_S:g} s")
            time.sleep(_POLL_S / 10)

    def _on_connect(
        self, _c: object, _u: object, _f: object, reason: ReasonCode, _p: object
    ) -> None:
        self._refusal = str(reason) if reason.is_failure else ""
