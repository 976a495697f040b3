"""No hidden face leaves the daemon outside ``staff/``."""

from __future__ import annotations

from pathlib import Path

import pytest

from shoe_daemon.game.coup import Outcome
from tests.brokers import Listener, Message, Mosquitto, wait_for
from tests.service.conftest import Run
from tests.service.daemon_process import ROOT, DaemonProcess, Shoe, configure

pytestmark = pytest.mark.mosquitto

BANKER = ("KH", "9C")
PLAYER = ("2S", "5D")
DEALT = ("P1:2S", "B1:KH", "P2:5D", "B2:9C")


def told(listener: Listener, face: str) -> list[Message]:
    """Return the messages that name a face, anywhere."""
    return [message for message in listener.messages if f'"{face}"'.encode() in message.payload]


def public(messages: list[Message]) -> list[str]:
    return [m.topic for m in messages if not m.topic.startswith(f"{ROOT}staff/")]


def at_the_table(listener: Listener, cards: int) -> None:
    """Wait until the public table shows so many cards, and the staff were told too."""
    wait_for(lambda: len(shown(listener)) == cards, f"{cards} cards in state")


def shown(listener: Listener) -> list[str | None]:
    states = listener.of("/state")
    return faces(states[-1]) if states else []


def faces(state: Message) -> list[str | None]:
    round_ = state.json["round"]
    return [card["card"] for card in round_["cards"]] if round_ else []


def daemon_of(run: Run, folder: Path, broker: Mosquitto, shoe: Shoe, text: str) -> DaemonProcess:
    daemon = run(configure(folder / "table", text, port=broker.port, line=shoe.link))
    shoe.wait_heard().say("S")
    return daemon.wait_ready()


def test_tucked_cards_are_for_staff_until_they_are_revealed(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    text = 'house = "chickasaw"\nreveal_after = 1.5'
    daemon = daemon_of(run, tmp_path, mosquitto, shoe, text)
    shoe.draw(*DEALT)
    # Turned over by the clock alone.
    disclosed = listener.wait("event/card_disclosed", 2)[0]
    listener.wait("event/round_finished")
    for face in BANKER:
        first = next(m for m in told(listener, face) if not m.topic.startswith(f"{ROOT}staff/"))
        assert first.topic == f"{ROOT}event/card_disclosed"
    before = listener.messages[: listener.messages.index(disclosed)]
    staff = [each for each in before if each.topic.endswith("/staff_card_dealt")]
    assert {each.json["data"]["card"] for each in staff} == {*BANKER}
    dealt = [tuple(faces(each)) for each in before if each.topic.endswith("/state")]
    assert {each for each in dealt if len(each) == 4} <= {("2S", None, "5D", None)}
    shoe.call(Outcome.BANKER)
    assert daemon.stop() == 0


def test_squeezed_cards_are_for_staff_until_the_result(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    daemon = daemon_of(run, tmp_path, mosquitto, shoe, 'house = "curator"')
    shoe.draw(*DEALT)
    at_the_table(listener, 4)
    assert shown(listener) == [None] * 4
    listener.wait("staff_card_dealt", 4)
    for face in (*BANKER, *PLAYER):
        assert public(told(listener, face)) == []
    shoe.call(Outcome.BANKER)
    listener.wait("event/card_disclosed", 4)
    assert daemon.stop() == 0


def test_a_carried_card_of_a_hidden_shoe_is_not_told(
    tmp_path: Path, run: Run, mosquitto: Mosquitto, listener: Listener, shoe: Shoe
) -> None:
    daemon = daemon_of(run, tmp_path, mosquitto, shoe, 'house = "seven-feathers"')
    shoe.draw("P1:", "B1:", "P2:", "B2:")
    at_the_table(listener, 4)
    assert shown(listener) == [None] * 4
    assert daemon.stop() == 0
    assert not listener.of("staff_card_dealt"), "nobody knows the faces"
