"""`roads` and `history` are published when they change, by the configured conventions."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from drivers import Counts, Reader
from shoe_daemon.game import Card
from shoe_daemon.journal.signatures import read_signatures
from shoe_daemon.mqtt.publisher import Health, Publisher
from shoe_daemon.mqtt.queues import Document
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table import Detail
from shoe_daemon.table.observations import CardDrawn, Command, CutCardSeen, Observation, Result
from tests.each_case import each_case
from tests.game.reference_roads import reference_roads
from tests.journal.signing_keys import write_key
from tests.service.daemon_process import configure
from tests.service.test_processing_core import Bench

PAST = ("roads", "history")


class RecordingPublisher:
    """Records retained documents in place of a publisher."""

    def __init__(self) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.health: Health | None = None
        self.alarm: Detail | None = None

    def retain(self, suffix: str, document: Document, _seq: int) -> None:
        """Record a document as it would be sent."""
        body = document if isinstance(document, bytes) else document("now")
        self.told.append((suffix, json.loads(body)))

    def notify(self, _seq: int) -> None:
        """Ignore new events."""

    def last(self, suffix: str) -> dict[str, Any]:
        """Return the retained document."""
        return next(body for name, body in reversed(self.told) if name == suffix)


class Hall(Bench):
    """A core with a state publisher."""

    def start(self) -> None:
        """Start it, as after a kill."""
        super().start()
        self.publisher = RecordingPublisher()
        publisher = cast("Publisher", self.publisher)
        self.bulletin = StatePublisher(self.core, publisher, (), "start-1", heartbeat=10)
        self.bulletin.publish()

    def see(self, *observations: Observation) -> list[str]:
        """Process a frame, and publish the state after it."""
        said = super().see(*observations)
        self.bulletin.publish()
        return said

    def order(self, command: Command) -> None:
        """Give an operator's order, and publish the state after it."""
        self.core.judge(command)
        self.bulletin.publish()

    def play(self, *cards: str) -> None:
        """Deal a round to its end."""
        self.deal(*cards)
        self.see(Result())

    def told(self) -> list[str]:
        """Return the topics of the past that were published since the last call."""
        told = [suffix for suffix, _ in self.publisher.told if suffix in PAST]
        self.publisher.told = [each for each in self.publisher.told if each[0] not in PAST]
        return told


NATURAL = ("P1:9S", "B1:2H", "P2:KD", "B2:3C")
TIE = ("P1:7S", "B1:7H", "P2:KD", "B2:QC")


def test_the_past_is_told_when_it_changes_and_only_then(tmp_path: Path) -> None:
    hall = Hall(configure(tmp_path / "table"))
    assert hall.told() == [*PAST]
    hall.deal(*NATURAL[:1])
    assert hall.told() == [*PAST]  # a shoe has begun
    hall.deal(*NATURAL[1:3])
    assert hall.told() == []
    hall.deal(*NATURAL[3:])
    assert hall.publisher.last("roads")["bead"] == reference_roads("Pn")["bead"]
    assert hall.told() == [*PAST]
    hall.see(Result())
    hall.see(CutCardSeen())
    assert hall.told() == []
    hall.order(Command(name="void_round", operator="ann", reason="a test"))
    assert hall.publisher.last("history")["rounds"][0]["voided"]
    assert hall.publisher.last("roads")["bead"] == []
    assert hall.told() == [*PAST]
    hall.order(Command(name="undo", operator="ann", reason="a test"))
    assert hall.publisher.last("roads")["counts"] == reference_roads("Pn")["counts"]
    assert hall.told() == [*PAST]
    hall.close()


def test_a_card_that_its_tag_shows_again_is_a_repeat_of_its_reader(tmp_path: Path) -> None:
    hall = Hall(configure(tmp_path / "table"))
    reader = cast("Reader", SimpleNamespace(name="shoe", counts=Counts(frames=3, repeats=4)))
    for _ in range(3):
        hall.see(CardDrawn(card=Card("AS"), tag="04A2B3C4"))
    assert hall.bulletin.reader_counts(reader) == Counts(frames=3, repeats=6)
    hall.close()


@each_case("options, code", [("", "keyboard_layout"), ('layout = "us"', None)])
def test_a_scanner_whose_layout_was_not_checked_is_an_alarm_of_the_table(
    options: str, code: str | None, tmp_path: Path
) -> None:
    reader = (
        f'[[reader]]\ndriver = "keyboard"\nport = "/dev/input/event0"\noptions = {{{options}}}'
    )
    config = configure(tmp_path / f"table-{code}", reader)
    hall = Hall(config)
    assert hall.publisher.last("state")["detail_code"] == code
    hall.close()


def test_each_signature_is_published(tmp_path: Path) -> None:
    config = configure(tmp_path / "table", '[journal]\nkey_file = "journal.key"')
    write_key(config.with_name("journal.key"))
    hall = Hall(config)
    for _ in range(3):
        hall.play(*NATURAL)
        hall.pass_by(601)
        hall.deal("P1:9S")
        assert hall.core.journal.signature is not None
        assert hall.publisher.last("signature")["seq"] == hall.core.journal.signature.seq
        hall.deal(*NATURAL[1:])
        hall.see(Result())
    published = [body for name, body in hall.publisher.told if name == "signature"]
    with hall.core.journal.reader() as reader:
        stored = [each.body.decode() for each in read_signatures(reader.connection)]
    assert [each["signed"] for each in published] == stored
    assert len(stored) == 3
    hall.close()


def test_after_a_restart_the_past_is_told_again(tmp_path: Path) -> None:
    hall = Hall(configure(tmp_path / "table"))
    hall.play(*NATURAL)
    hall.order(Command(name="new_shoe", operator="ann", reason="a test"))
    hall.play(*TIE)
    before = {name: hall.publisher.last(name) for name in PAST}
    hall.core.close()
    hall.start()
    after = {name: hall.publisher.last(name) for name in PAST}
    hall.close()
    assert hall.told() == [*PAST]
    assert [each["sequence"] for each in after["history"]["shoes"]] == ["Pn"]
    for name in PAST:
        assert after[name] == before[name] | {"seq": after[name]["seq"]}


@pytest.mark.parametrize("leading_ties", ["merge", "own_column"])
@pytest.mark.parametrize("tail", ["flat", "drop"])
def test_the_configuration_says_by_which_conventions(
    tmp_path: Path, leading_ties: str, tail: str
) -> None:
    text = f'leading_ties = "{leading_ties}"\ntail = "{tail}"'
    hall = Hall(configure(tmp_path / "table", text))
    for cards in (TIE, NATURAL, TIE):
        hall.play(*cards)
    told = hall.publisher.last("roads")
    assert told["options"] == {"leading_ties": leading_ties, "tail": tail}
    expected = reference_roads("TPnT", leading_ties=leading_ties, tail=tail)
    assert {name: told[name] for name in expected} == expected
    hall.close()


@pytest.mark.parametrize(
    ("refusal", "summary"),
    [
        (None, "no reader"),
        ("event/card_dealt: Not authorized", "broker refuses event/card_dealt: Not authorized"),
    ],
)
def test_a_refusal_of_the_broker_is_in_the_status(
    tmp_path: Path, refusal: str | None, summary: str
) -> None:
    hall = Hall(configure(tmp_path / "table"))
    hall.publisher.health = Health(
        alive=True,
        connected=True,
        cursor=0,
        last_loop=0.0,
        in_flight=0,
        last_error="an error of before",
        has_subscribers=True,
        queued=30,
        since=0.0,
        refusal=refusal,
    )
    said = hall.bulletin.summary
    hall.close()
    assert said == (summary if refusal is None else f"{summary}, 30 waiting")
