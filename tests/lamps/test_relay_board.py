"""A relay board on a serial line: its commands, and a lost board."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.lamps.config import LampRuleSettings, LampSettings
from shoe_daemon.lamps.outputs import open_output, relay_command
from shoe_daemon.lamps.pattern import LampAlert, TableView
from shoe_daemon.lamps.thread import Lamp
from tests.fakes.relay_board import RelayBoard
from tests.waiting import wait_for


@pytest.fixture
def board(tmp_path: Path) -> Iterator[RelayBoard]:
    with RelayBoard(tmp_path / "lamp") as board:
        yield board


def settings(board: RelayBoard, *rules: LampRuleSettings) -> LampSettings:
    return LampSettings(relay=str(board.link), rule=rules, at_stop="off")


def test_the_commands_of_the_maker() -> None:
    assert relay_command(1, on=True).hex() == "a00101a2"
    assert relay_command(1, on=False).hex() == "a00100a1"
    assert relay_command(2, on=True).hex() == "a00201a3"
    assert all(
        sum(relay_command(channel, on=on)[:3]) % 256 == relay_command(channel, on=on)[3]
        for channel in range(1, 17)
        for on in (False, True)
    )


def test_the_board_takes_every_command(board: RelayBoard) -> None:
    output = open_output(settings(board), None)
    for on in (True, False, True):
        output.write(dict.fromkeys(range(1, 17), on))
    wait_for(lambda: board.commands == 48, "all commands")
    assert board.states == dict.fromkeys(range(1, 17), True)
    assert not board.wrong
    output.close(stopped=True)


def test_a_board_comes_back_after_it_was_unplugged(board: RelayBoard) -> None:
    rule = LampRuleSettings(severity=2, channel=3)
    lamp = Lamp(settings(board, rule), None)
    lamp.show(TableView((LampAlert(1, 2),)))
    lamp.start()
    try:
        wait_for(lambda: board.states == {3: True}, "the lamp")
        board.unplug()
        wait_for(lambda: lamp.alert is not None, "that it is missing")
        assert str(board.link) in str(lamp.alert)
        board.plug()
        wait_for(lambda: board.states == {3: True}, "the lamp again")
        wait_for(lambda: lamp.alert is None, "that it is back")
    finally:
        lamp.stop()
        lamp.join(10)
    wait_for(lambda: board.states == {3: False}, "that it is left as configured")
    assert not board.wrong
