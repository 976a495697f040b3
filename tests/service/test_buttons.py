"""A table whose cards come from a scanner, and whose rounds end by the dealer's buttons."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.journal import JournalReader
from shoe_daemon.table.observations import Command
from tests.brokers import Listener, Mosquitto
from tests.service.conftest import Run
from tests.service.daemon_process import Shoe, cli, configure
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

READERS = """
[[reader]]
id = "cards"
driver = "line-scanner"
port = "{cards}"
[[reader]]
id = "box"
driver = "buttons"
port = "{box}"
"""


@pytest.fixture
def box(tmp_path: Path) -> Iterator[Shoe]:
    with Shoe(tmp_path / "box") as box:
        yield box


def deal(shoe: Shoe, listener: Listener, number: int, *cards: str) -> None:
    """Scan cards, and wait until so many are dealt."""
    for card in cards:
        shoe.send(f"{card}\r".encode())
    listener.wait("event/card_dealt", number)


def test_a_round_of_buttons(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe, box: Shoe
) -> None:
    readers = READERS.format(cards=shoe.link, box=box.link)
    table = run(configure(tmp_path / "t", readers, port=mosquitto.port)).wait_ready()
    shoe.wait_heard()
    box.wait_heard().send(b"O\r\nN\r\n")
    listener.wait("event/betting_closed")
    deal(shoe, listener, 4, "9S", "2H", "KD", "10C")
    box.send(b"P\r\n")
    (finished,) = listener.wait("event/round_finished")
    assert finished.json["data"]["outcome"] == "player"
    box.send(b"O\r\nN\r\n")
    listener.wait("event/betting_closed", 2)
    deal(shoe, listener, 8, "2S", "5H", "4D", "4C")
    # A wrong winner.
    box.send(b"P\r\n")
    (raised,) = listener.wait("event/irregularity")
    assert raised.json["data"]["kind"] == "result_mismatch"
    assert table.stop() == 0


TUCKED = 'house = "chickasaw"\nreveal_on = "signal"\n'


def test_the_dealer_turns_cards_over_and_calls_the_supervisor(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe, box: Shoe
) -> None:
    text = TUCKED + READERS.format(cards=shoe.link, box=box.link)
    table = run(configure(tmp_path / "t", text, port=mosquitto.port)).wait_ready()
    shoe.wait_heard()
    box.wait_heard().send(b"O\r\nN\r\n")
    listener.wait("event/betting_closed")
    deal(shoe, listener, 4, "9S", "2H", "KD", "5C")
    assert not listener.of("event/card_disclosed")
    box.send(b"R\r\n")
    listener.wait("event/card_disclosed", 2)
    box.send(b"P\r\n")
    listener.wait("event/round_finished")
    box.send(b"O\r\nN\r\nR\r\nS\r\n")  # nothing to turn over
    wait_for(lambda: listener.of("/state")[-1].json["on_hold"], "the hold")
    deal(shoe, listener, 8, "2S", "5H", "6D", "4C")
    box.send(b"R\r\nB\r\n")
    listener.wait("event/round_held")
    answer = cli("cmd", "resume", "--config", table.config, "--operator", "Kim")
    assert answer.exit_code == 0, answer.output
    listener.wait("event/round_finished", 2)
    assert table.stop() == 0
    with JournalReader(table.journal) as reader:
        commands = [each for each in reader.observations() if isinstance(each, Command)]
    assert [(each.name, each.operator, each.source) for each in commands] == [
        ("reveal", None, "box"),
        ("reveal", None, "box"),
        ("hold", None, "box"),
        ("reveal", None, "box"),
        ("resume", "Kim", None),
    ]
    assert [each.refused for each in commands] == [
        None,
        "no card lies face down whose face is known",
        *[None] * 3,
    ]
    assert cli("journal", "verify", "--refold", table.journal).exit_code == 0
