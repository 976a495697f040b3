"""
Two tables, played through with the real daemon, a shoe on a pty and the real
broker, so that everything is said at least once; the clock is the script's own.

At table 7 all cards lie face up; at table 3 the players draw them and turn them.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final, NamedTuple
from unittest.mock import patch

from paho.mqtt import client as paho
from paho.mqtt.subscribeoptions import SubscribeOptions

from drivers.angel_eye_ii.decoder import (
    BURN,
    FIRST_CARD,
    face_code,
    place_code,
    result_code,
)
from shoe_daemon.config.table import load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome, Slot
from shoe_daemon.mqtt import publication
from shoe_daemon.mqtt.topics import STATE, STATUS, Topics, staff
from shoe_daemon.service import Daemon, state
from shoe_daemon.service.clock import Clock
from shoe_daemon.table.times import from_microseconds, to_microseconds
from tests.brokers import Listener, Message, Mosquitto
from tests.commands.command_table import Supervisor
from tests.journal.signing_keys import write_key
from tests.service.daemon_process import Shoe
from tests.waiting import PATIENCE, wait_for

__all__ = ["Played", "Said", "play"]

SITE = "casino"
_BEGIN = "2026-11-21T09:30:00.000Z"
_SESSION = "9f2c41d0"
_UNREAD = 0xFF
"""The face of a card that passed and could not be read."""

_OPEN = """
house = "seven-feathers"
policy = "fr_2007"
hold_from = 2
name = "Table 7"
limits = { player = "25-5000", banker = "25-5000", tie = "5-500" }
"""
_SQUEEZE = """
house = "curator"
name = "Table 3"
seats = [1, 3, 5]
"""

BOTH_DRAW = ("P1:4D", "B1:2D", "P2:AD", "B2:3D", "P3:AC")
"""6 against 5: the Player drew an ace, and the Banker stands."""
NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
PAIR = ("P1:8S", "B1:8H", "P2:8D", "B2:AC")
"""The Player has 6 with a pair of eights, the Banker a natural 9."""
BANKER = ("P1:6S", "B1:7H", "P2:KD", "B2:QC")
TIE = ("P1:7S", "B1:7H", "P2:KD", "B2:QC")


class Said(NamedTuple):
    """A message of the run, and what it is an example of."""

    name: str
    payload: bytes
    summary: str = ""


class Played(NamedTuple):
    """
    Messages and examples of a run.

    Attributes:
        messages: Everything that went over the broker, in order.
        examples: The first event of every type, and the rest that the script chose.
    """

    messages: list[Message]
    examples: list[Said]


_RAISED: Final = {
    "excess_card",
    "manual_void",
    "player_third_unauthorised",
    "unreadable_card",
}
"""Kinds of irregularities of both tables; one that nobody closes would hold results."""


class Witness(Listener):
    """Hears everything, and whether it was sent to be retained."""

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe(self._topic, options=SubscribeOptions(qos=1, retainAsPublished=True))


class _ScriptsClock(Clock):
    """Stands still until the script goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.moment = to_microseconds(_BEGIN)

    def set(self, after: int = 0) -> None:
        del after

    def at(self, received: float | None = None) -> str:
        return from_microseconds(self.moment)

    def wall_us(self) -> int:
        return self.moment

    def difference_us(self) -> int:
        return 0

    def until(self, moment: int) -> float:
        return max(0.0, (moment - self.moment) / 1_000_000)

    def published(self) -> str:
        """The moment of a publication, a little later."""
        return from_microseconds(self.moment + 4000)


class _Stage:
    """
    One table while it is played.

    Attributes:
        examples: What the script has chosen.
    """

    def __init__(
        self, table: str, daemon: Daemon, clock: _ScriptsClock, shoe: Shoe, witness: Witness
    ) -> None:
        self.examples: list[Said] = []
        self._root = f"{Topics(SITE, table).root}/"
        self._core = daemon.core
        self._clock = clock
        self._shoe = shoe
        self._witness = witness

    def wait(self, seconds: float) -> None:
        """Let time go by."""
        self._clock.moment += int(seconds * 1_000_000)

    def say(self, code: str, *data: int, after: float = 2.0) -> None:
        """Send a frame of the shoe, and wait until its events are published."""
        self.wait(after)
        before = self._core.journal.head.observation
        self._shoe.say(code, *data)
        _wait(lambda: self._core.journal.head.observation > before, f"{code} in the journal")
        self.settle()

    def settle(self) -> None:
        """Wait until all events, and the state after them, have arrived."""
        _wait(self._is_settled, "what the table is now")

    def _is_settled(self) -> bool:
        seq, states = self._core.table.state.seq, self.of(STATE)
        heard = {each.json["seq"] for each in self._events()}
        return bool(states) and states[-1].json["seq"] == seq and seq in heard

    def _events(self) -> list[Message]:
        kinds = (f"{self._root}event/", f"{self._root}{staff('event/')}")
        return [each for each in self._witness.messages if each.topic.startswith(kinds)]

    def of(self, suffix: str) -> list[Message]:
        """Return the messages on a topic of the table."""
        return [each for each in self._witness.messages if each.topic == self._root + suffix]

    def deal(self, *cards: str) -> None:
        """Deal cards, ``P1:AS``; one that is ``??`` passes unread."""
        for slot, _, card in (each.partition(":") for each in cards):
            face = _UNREAD if card == "??" else face_code(Card(card))
            self.say("D", place_code(Slot(slot)), face)

    def burn(self, first: str, count: int) -> None:
        """Burn the first card face up, and `count` more face down."""
        self.say("D", 0x80 | FIRST_CARD << 4, face_code(Card(first)))
        for _ in range(count):
            self.say("D", 0x80 | BURN << 4, face_code(None), after=1)

    def call(self, outcome: Outcome, *, player_pair: bool = False) -> None:
        """Let the shoe say who has won."""
        code = result_code(outcome, player_pair=player_pair, banker_pair=False)
        self.say("G", code, after=3)

    def play(self, cards: tuple[str, ...], outcome: Outcome, *, player_pair: bool = False) -> None:
        """Play a round."""
        self.wait(20)
        self.deal(*cards)
        self.call(outcome, player_pair=player_pair)

    def last_irregularity(self) -> int:
        """Return the number of the latest irregularity."""
        return int(self.of("event/irregularity")[-1].json["seq"])

    def note(
        self, suffix: str, summary: str, *, name: str | None = None, after: str | None = None
    ) -> None:
        """
        Take the last message on a topic as an example.

        Args:
            suffix: The topic.
            summary: Of what it is one.
            name: That of its schema, where it is not the topic's.
            after: The type of the event that it has to be told after.
        """
        if after is not None:
            seq = self.of(f"event/{after}")[-1].json["seq"]
            _wait(lambda: self._has_reached(suffix, seq), f"{suffix} after {after}")
        self.examples.append(Said(name or suffix, self.of(suffix)[-1].payload, summary))

    def _has_reached(self, suffix: str, seq: int) -> bool:
        heard = self.of(suffix)
        return bool(heard) and heard[-1].json["seq"] >= seq

    def note_events(self) -> None:
        """Take the first event of each type that the script has not chosen one of."""
        for message in self._events():
            name = message.topic.removeprefix(self._root)
            if all(each.name != name for each in self.examples):
                self.examples.append(Said(name, message.payload))


class _Tablet:
    """The supervisor's, which asks for every answer twice."""

    def __init__(self, stage: _Stage, supervisor: Supervisor) -> None:
        self._stage = stage
        self._supervisor = supervisor
        self._given = 411

    def order(
        self,
        verb: str,
        *,
        note: str = "",
        answer: str = "",
        again: bool = False,
        refused: bool = False,
        **fields: object,
    ) -> None:
        """
        Give an order and wait for its answers.

        Args:
            verb: As in the topic.
            note: The order is an example, of this.
            answer: The answer is one, of this.
            again: It has the id of the one before.
            refused: The table refuses it.
            fields: What the verb takes.
        """
        self._stage.wait(5)
        self._given += not again
        order_id = f"tablet-3-{self._given:06}"
        order = {"id": order_id, "operator": "Maria", **fields}
        payload = json.dumps(order, sort_keys=True, separators=(",", ":")).encode()
        replies = (f"reply/{order_id}", "reply/tablet-3")
        before = [len(self._stage.of(each)) for each in replies]
        response = f"{self._supervisor.root}/{replies[1]}"
        self._supervisor.send(verb, payload, answer_to=response, correlation=b"7")
        for reply, count in zip(replies, before, strict=True):
            _wait(lambda r=reply, n=count: len(self._stage.of(r)) > n, f"an answer to {verb}")  # type: ignore[misc]
        self._stage.settle()
        reply = self._stage.of(replies[0])[-1].json
        assert reply["ok"] is not (refused or again), reply
        if note:
            self._stage.examples.append(Said("cmd", payload, note))
        if answer:
            self._stage.note(replies[0], answer, name="reply")


def play(broker: Mosquitto, folder: Path) -> Played:
    """Play both tables through."""
    examples: list[Said] = []
    with Witness(broker.port, name="witness") as witness:
        for table, text, script in (
            ("table-7", _OPEN, _play_open),
            ("table-3", _SQUEEZE, _play_squeeze),
        ):
            with (
                _table(folder / table, broker.port, table, text, witness) as stage,
                Supervisor(broker.port, Topics(SITE, table).root) as supervisor,
            ):
                script(stage, _Tablet(stage, supervisor))
            _wait(lambda s=stage: s.of(STATUS)[-1].json["state"] == "offline", "the farewell")  # type: ignore[misc]
            stage.note(STATUS, "It was stopped. A last will has `head_at_connect`, not `head`.")
            stage.note_events()
            known = {each.name for each in examples}
            examples += [each for each in stage.examples if each.name not in known]
        _check_kinds(witness.messages)
        return Played(list(witness.messages), examples)


def _check_kinds(messages: Iterable[Message]) -> None:
    raised = {
        each.json["data"]["kind"] for each in messages if each.topic.endswith("irregularity")
    }
    assert raised == _RAISED, (
        f"also raised: {raised - _RAISED}, not raised: {_RAISED - raised}; expected an order that "
        "closes each, by its number, and the kind in _RAISED"
    )


@contextmanager
def _table(folder: Path, port: int, table: str, text: str, witness: Witness) -> Iterator[_Stage]:
    """Run the daemon of a table in a thread, on the script's time."""
    folder.mkdir()
    path, line, clock = folder / "table.toml", folder / "line", _ScriptsClock()
    path.write_text(
        f'site = "{SITE}"\n[mqtt]\nport = {port}\n[journal]\npath = "journal.db"\n'
        'key_file = "journal.key"\n'
        f'[[reader]]\ndriver = "angel-eye-ii"\nport = "{line}"\n'
        f'[table]\nid = "{table}"\n{text}\n',
        encoding="utf-8",
    )
    write_key(folder / "journal.key")
    with ExitStack() as stack:
        shoe = stack.enter_context(Shoe(line))
        for where, what, instead in (
            (publication, "_now_text", clock.published),
            (secrets, "token_hex", lambda _: _SESSION),
            (state, "_DEVICE_INTERVAL_S", 0.5),
        ):
            stack.enter_context(patch.object(where, what, instead))
        daemon = Daemon(load_config(path))
        daemon.core.clock = clock
        thread = threading.Thread(target=daemon.run, daemon=True)
        thread.start()
        stack.callback(thread.join, PATIENCE)
        stack.callback(daemon.stop)
        stage = _Stage(table, daemon, clock, shoe, witness)
        _wait(lambda: stage.of("event/reader_status") and stage.of(STATUS), "a table")
        shoe.wait_heard()
        stage.settle()
        yield stage


def _wait(condition: Callable[[], object], what: str) -> None:
    wait_for(condition, what)


def _play_open(stage: _Stage, tablet: _Tablet) -> None:
    """A shoe with what may happen in one, and the beginning of the next."""
    stage.note("result/last", "Before the first result.")
    stage.note("alert/active", "Nothing is open.")
    stage.note(STATUS, "The daemon speaks for the table.")
    stage.burn("4H", 4)
    stage.wait(20)
    stage.deal(*BOTH_DRAW)
    stage.note("event/card_dealt", "The Player's third card.")
    stage.note("event/draw_due", "What follows from the Player's third card.")
    stage.call(Outcome.PLAYER)
    stage.note("result/last", "The last round.", after="round_finished")
    tablet.order("dealer", dealer="Kim")
    stage.play(NATURAL, Outcome.PLAYER)
    stage.play(PAIR, Outcome.BANKER, player_pair=True)
    stage.play(BANKER, Outcome.BANKER)
    tablet.order(
        "correct-card",
        note="To `cmd/correct-card`; the fields of the verb stand beside those of every order.",
        answer="It was carried out, and caused these events.",
        card="2C",
        expires_at="2026-11-21T09:35:00Z",
        reason="seen on the camera",
        round=4,
        slot="B2",
    )
    stage.play(TIE, Outcome.TIE)
    tablet.order("void-round", reason="a card on the floor", round=5)
    _draw_too_many(stage, tablet)
    _pass_unread(stage, tablet)
    _give_to_the_wrong_hand(stage, tablet)
    stage.play(TIE, Outcome.TIE)
    _lose_the_reader(stage, tablet)
    _end_the_shoe(stage)
    stage.burn("2H", 2)
    stage.play(BOTH_DRAW, Outcome.PLAYER)
    stage.note("history", "In the second shoe.", after="round_finished")
    tablet.order("replay", answer="The events from there on come again.", from_seq=150)
    tablet.order(
        "void-round",
        note="To `cmd/void-round`: it is not carried out, only answered.",
        answer="A preview: nothing has changed.",
        dry_run=True,
        reason="a card on the floor",
    )


def _draw_too_many(stage: _Stage, tablet: _Tablet) -> None:
    stage.wait(20)
    stage.deal(*BANKER, "P3:5D")
    stage.note("event/irregularity", "With what the house's policy says.")
    stage.note("alert/active", "A card too many.", after="irregularity")
    tablet.order("rule", note="To `cmd/rule`.", action="burn_card")
    tablet.order(
        "rule",
        again=True,
        answer="The same id once more: nothing is done, and `earlier` says what became of it.",
        action="burn_card",
    )
    stage.call(Outcome.BANKER)


def _pass_unread(stage: _Stage, tablet: _Tablet) -> None:
    stage.wait(20)
    first, _, *others = BOTH_DRAW
    stage.deal(first, "B1:??", *others)
    tablet.order("rule", action="manual_entry", reason="it lies face up")
    stage.note("alert/active", "What was ordered waits for the card.", after="ruling_given")
    tablet.order("enter-card", card="2D", reason="read aloud by the dealer")
    stage.call(Outcome.PLAYER)


def _give_to_the_wrong_hand(stage: _Stage, tablet: _Tablet) -> None:
    """The Banker's third card is given to the Player: the result waits for a person."""
    stage.wait(20)
    stage.deal("P1:6S", "B1:2H", "P2:KD", "B2:3C")
    stage.note(STATE, "The Banker's third card is due.")
    stage.deal("P3:4D")
    stage.note(STATE, "It was given to the Player, and the result is held.")
    tablet.order(
        "void-round",
        answer="It was refused; the sentence is for the person at the tablet.",
        refused=True,
        round=5,
    )
    tablet.order("rule", action="reassign_to_banker", irregularity=stage.last_irregularity())
    stage.call(Outcome.BANKER)


def _lose_the_reader(stage: _Stage, tablet: _Tablet) -> None:
    """It is switched off in the middle of a round; the next result is entered by hand."""
    stage.wait(20)
    stage.deal(*TIE[:2])
    stage.say("S")
    tablet.order("enter-result", outcome="banker", player_pair=False, banker_pair=False)


def _end_the_shoe(stage: _Stage) -> None:
    stage.wait(20)
    stage.deal(*NATURAL[:2])
    stage.say("C")
    stage.deal(*NATURAL[2:])
    stage.call(Outcome.PLAYER)
    stage.play(PAIR, Outcome.BANKER, player_pair=True)
    stage.note("roads", "At the end of a short shoe.", after="round_finished")
    stage.note("history", "The rounds of a short shoe.", after="round_finished")
    stage.note("signature", "The end of the first shoe.", after="shoe_finished")
    _wait(lambda: stage.of("device/shoe")[-1].json["frames"] > 50, "the reader's health")
    stage.note("device/shoe", "", name="device")


def _play_squeeze(stage: _Stage, tablet: _Tablet) -> None:
    stage.burn("2H", 2)
    stage.wait(20)
    stage.note("staff/alert/active", "Nothing is open.")
    stage.deal(*NATURAL, "P3:5D")
    kind = "staff/event/staff_irregularity"
    stage.note(kind, "A card too many, which only the faces show that still lie face down.")
    seq = stage.of(kind)[-1].json["seq"]
    _wait(lambda: stage.of("staff/alert/active")[-1].json["seq"] >= seq, "what staff know")
    stage.note("staff/alert/active", "The same, until the faces are public.")
    tablet.order("acknowledge", irregularity=seq, reason="taken away by the dealer")
    tablet.order("reveal")
