"""An older journal put back publishes no number with two meanings, and is an alarm."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from shoe_daemon.config.table import load_config
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Outcome
from shoe_daemon.journal.chain import Head, Identity
from shoe_daemon.journal.reader import JournalReader
from shoe_daemon.journal.signatures import Signer, make_signature
from shoe_daemon.mqtt.documents import SignatureLast, Status, encode_message
from shoe_daemon.service.core import CURSOR, Core
from shoe_daemon.service.rollback import MAX_JUMP, UNSIGNED, Rollback
from shoe_daemon.table.observations import CardDrawn, Gap
from tests.brokers import Listener, Mosquitto, Relay
from tests.chaos import journal_checks
from tests.journal.signing_keys import signing_key, write_key
from tests.service.conftest import Run
from tests.service.daemon_process import ROOT, DaemonProcess, Shoe, configure
from tests.volume import sample
from tests.waiting import wait_for

KEY = '[journal]\nkey_file = "journal.key"'


class Floor:
    """A table with a key, its broker, and everything that was published."""

    def __init__(self, folder: Path, run: Run, shoe: Shoe, broker: Mosquitto, port: int) -> None:
        self.run, self.shoe = run, shoe
        self.listener = Listener(broker.port)
        self.folder = folder / "table"
        self.config = configure(self.folder, KEY, port=port, line=shoe.link)
        write_key(self.folder / "journal.key")
        self.journal = self.folder / "journal.db"
        self.copy = folder / "copy.db"
        self.orders = 0
        self.daemon: DaemonProcess | None = None

    def start(self) -> None:
        """Start the daemon, for the first time or again."""
        if self.daemon is None:
            self.daemon = self.run(self.config)
        else:
            self.daemon.start()
        self.daemon.wait_ready()
        self.shoe.wait_heard()

    def stop(self) -> None:
        """Stop the daemon."""
        assert self.daemon is not None
        assert self.daemon.stop() == 0
        self.shoe.wait_alone()

    def play(self, *cards: str) -> None:
        self.shoe.say("S")
        self.shoe.draw(*cards)
        self.shoe.call(Outcome.PLAYER)

    def order(self, verb: str, **fields: object) -> dict[str, object]:
        self.orders += 1
        order = {"id": f"order-{self.orders}", "operator": "Maria", **fields}
        self.listener.publish(f"{ROOT}cmd/{verb}", json.dumps(order).encode())
        reply: dict[str, object] = self.listener.wait(f"reply/order-{self.orders}")[0].json
        assert reply["ok"], reply
        return reply

    @property
    def bodies(self) -> dict[int, set[bytes]]:
        """The bytes of all events that were published, by number."""
        found: dict[int, set[bytes]] = {}
        for each in self.listener.messages:
            if "/event/" in each.topic:
                found.setdefault(each.json["seq"], set()).add(each.payload)
        return found

    @property
    def alarm(self) -> str | None:
        """The code of the alarm in the last `state`."""
        code: str | None = self.listener.of("/state")[-1].json["detail_code"]
        return code

    def put_older_one_back(self) -> int:
        """Play, copy, play on, put the copy back; return the last number that was published."""
        self.start()
        self.play("P1:9S", "B1:2H", "P2:KD", "B2:5C")
        self.listener.wait("event/round_finished")
        self.order("new-shoe")
        self.listener.wait("/signature")
        self.stop()
        shutil.copy(self.journal, self.copy)
        self.start()
        self.play("P1:9D", "B1:3H", "P2:QD", "B2:4C")
        self.listener.wait("event/round_finished", 2)
        self.order("new-shoe")
        self.listener.wait("/signature", 3)
        self.stop()
        for each in self.folder.glob("journal.db*"):
            each.unlink()
        shutil.copy(self.copy, self.journal)
        return max(self.bodies)

    def replay(self, from_seq: int) -> int:
        """Have events published again; return the number of public ones."""
        before = self.public_events
        expected = self.order("replay", from_seq=from_seq)["replayed_public"]
        assert isinstance(expected, int)
        wait_for(lambda: self.public_events >= before + expected, "the replay")
        return expected

    @property
    def public_events(self) -> int:
        topics = [each.topic for each in self.listener.messages]
        return sum(each.startswith(f"{ROOT}event/") for each in topics)

    def gaps(self) -> list[Gap]:
        with JournalReader(self.journal) as reader:
            found = [each for each in reader.observations() if isinstance(each, Gap)]
        return [each for each in found if each.next_seq is not None]


@pytest.mark.mosquitto
@pytest.mark.parametrize("away", sample([True, False], 2))
def test_no_number_is_published_with_two_meanings(
    tmp_path: Path, run: Run, shoe: Shoe, mosquitto: Mosquitto, *, away: bool
) -> None:
    with Relay(mosquitto.port) as relay:
        floor = Floor(tmp_path, run, shoe, mosquitto, relay.port)
        with floor.listener:
            last = floor.put_older_one_back()
            if away:
                with relay.closed():
                    floor.start()
                    # More events than were published before, under the same numbers.
                    for _ in range(4):
                        floor.play("P1:8S", "B1:2D", "P2:KS", "B2:4H")
                    shoe.drain()
                    wait_for(lambda: _last_event(floor.journal) > last, "events on disk")
            else:
                floor.start()
                floor.play("P1:8S", "B1:2D", "P2:KS", "B2:4H")
            wait_for(lambda: floor.alarm == "journal_went_back", "the alarm")
            rounds = len(floor.listener.of("event/round_finished"))
            floor.play("P1:9C", "B1:2C", "P2:KC", "B2:5H")
            floor.listener.wait("event/round_finished", rounds + 1)
            assert max(floor.bodies) > last + UNSIGNED
            assert all(len(each) == 1 for each in floor.bodies.values())
            (gap,) = floor.gaps()
            assert gap.next_seq is not None
            assert gap.next_seq > last + UNSIGNED
            assert floor.replay(1) > 0
            assert all(len(each) == 1 for each in floor.bodies.values())
            floor.stop()
            # The next start knows that the numbers were skipped.
            floor.start()
            session = floor.listener.of("/status")[-1].json["session"]
            wait_for(
                lambda: floor.listener.of("/status")[-1].json["session"] != session, "a session"
            )
            assert floor.alarm is None
            floor.stop()
            assert len(floor.gaps()) == 1
            assert all(len(each) == 1 for each in floor.bodies.values())
    journal_checks.check_chain(floor.journal)
    journal_checks.check_replay(floor.journal, tmp_path)


def _last_event(journal: Path) -> int:
    with JournalReader(journal) as reader:
        return reader.head().seq


class Bench:
    """A core with a key and some events, and the comparison with what a broker has."""

    def __init__(self, folder: Path, *, keyed: bool = True) -> None:
        config = configure(folder / "table", KEY if keyed else "")
        write_key(config.with_name("journal.key"))
        setup = load_config(config)
        self.core = Core(setup)
        self.core.record_start()
        for number in range(2, 8):
            self.core.observe(CardDrawn(card=Card(f"{number}S")))
        self.seq = self.core.journal.head.seq
        self.rollback = Rollback(self.core, setup.signer, cursor=3)

    def compare(self, signed: SignatureLast | None, status_seq: int = 0) -> bool:
        copies = {"status": status(status_seq)}
        if signed is not None:
            copies["signature"] = encode_message(signed)
        return self.rollback.compare(copies)

    @property
    def notice(self) -> str | None:
        return None if self.core.notice is None else self.core.notice.code


def status(seq: int) -> bytes:
    return encode_message(Status(seq=seq, session="before", state="offline"))


def signature(
    seq: int, signer: Signer | None = None, *, table: str = "table-7", site: str = "hall"
) -> SignatureLast:
    """Return a signature of the head of another journal."""
    identity = Identity(site, table, "2026-01-01T00:00:00.000Z")
    head = Head(seq, 2 * seq, 0, bytes(32))
    made = make_signature(
        signer or signing_key(), identity, head, at=identity.created, shoe=1, number=1
    )
    return SignatureLast(
        key=made.key.hex(),
        seq=seq,
        session="before",
        signature=made.signature.hex(),
        signed=made.body.decode(),
    )


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.core.close()


@pytest.mark.parametrize("ahead", [-2, 0, 1, 500, MAX_JUMP])
def test_a_head_that_the_key_signed_and_the_journal_lacks_is_a_proof(
    bench: Bench, ahead: int
) -> None:
    published = bench.seq + ahead
    assert not bench.compare(signature(published))
    assert bench.core.written.events(3, 100)
    assert bench.rollback.check() == []
    assert bench.notice == "journal_went_back"
    assert bench.core.table.state.seq == max(published + UNSIGNED, bench.seq)
    assert bench.core.written.events(3, 100) == []
    assert len(bench.core.written.events(0, 100)) == 3
    bench.core.observe(CardDrawn(card=Card("KS")))
    (first, *_) = bench.core.written.events(3, 100)
    assert first.seq == max(published + UNSIGNED, bench.seq) + 1
    with bench.core.journal.reader() as reader:
        assert reader.cursor(CURSOR) == first.seq - 1
    # Neither the same proof, nor the next start, skips numbers again.
    assert bench.compare(signature(published))


@pytest.mark.parametrize(
    "document",
    [
        signature(500, signing_key(8)),
        signature(500, table="table-8"),
        signature(500, site="other"),
        msgspec.structs.replace(signature(500), signed=signature(400).signed),
        msgspec.structs.replace(signature(500), signature="00" * 64),
        msgspec.structs.replace(signature(500), signature="no hex"),
        msgspec.structs.replace(signature(500), signed="{}"),
    ],
)
def test_what_the_own_key_has_not_signed_for_this_table_proves_nothing(
    bench: Bench, document: SignatureLast
) -> None:
    assert bench.compare(document)
    assert bench.notice is None
    assert bench.rollback.check() == []
    assert bench.core.table.state.seq == bench.seq


def test_without_a_proof_a_later_status_is_an_alarm_only(bench: Bench) -> None:
    assert bench.compare(None, bench.seq)
    assert bench.core.notice is None
    assert bench.compare(None, bench.seq + 1)
    assert bench.notice == "journal_went_back"
    assert bench.rollback.check() == []


def test_a_jump_above_a_million_is_an_alarm_only(bench: Bench) -> None:
    assert bench.compare(signature(bench.seq + MAX_JUMP + 1))
    assert bench.notice == "journal_went_back"
    assert bench.rollback.check() == []
    assert bench.core.table.state.seq == bench.seq


def test_without_a_key_a_signature_is_an_alarm_only(tmp_path: Path) -> None:
    bench = Bench(tmp_path, keyed=False)
    assert bench.compare(signature(500), 500)
    assert bench.notice == "journal_went_back"
    assert bench.rollback.check() == []
    bench.core.close()


@pytest.mark.parametrize("copies", [{}, {"status": b"", "signature": b"\xff"}, {"status": b"{}"}])
def test_an_empty_broker_changes_nothing(bench: Bench, copies: dict[str, bytes]) -> None:
    assert bench.rollback.compare(copies)
    assert bench.notice is None
