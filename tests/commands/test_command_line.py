"""`shoe-daemon cmd`: sends a command, prints the reply on one line, and sets the exit status."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.operators import Operators
from tests.brokers import Mosquitto, free_port
from tests.commands.command_table import SITE, Pit, write_config
from tests.commands.conftest import OpenPit

LOGGED = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[")


class Answer(NamedTuple):
    exit_code: int
    output: str


def cmd(*arguments: object, text: str = "") -> Answer:
    result = CliRunner().invoke(main, ["cmd", *map(str, arguments)], input=text)
    lines = result.output.splitlines(keepends=True)
    # The daemon in this process logs what it hears meanwhile.
    return Answer(result.exit_code, "".join(each for each in lines if not LOGGED.match(each)))


def config_of(pit: Pit) -> Path:
    return pit.journal.with_suffix(".toml")


@pytest.mark.mosquitto
def test_it_is_done(pit: Pit) -> None:
    config = config_of(pit)
    answer = cmd("hold", "--config", config, "--operator", "Kim Lee", "--reason", "a break")
    assert (answer.exit_code, answer.output) == (0, "done: hold: no event follows\n")
    (order,) = pit.journaled()
    assert (order.operator, order.claimed, order.reason) == ("Kim Lee", True, "a break")
    answer = cmd(
        *("enter-result", "--config", config, "--outcome", "tie", "--no-player-pair"),
        *("--banker-pair", "--json"),
    )
    assert answer.exit_code == 0
    assert json.loads(answer.output)["ok"]
    entered = pit.journaled()[1]
    assert (entered.outcome, entered.player_pair, entered.banker_pair) == ("tie", False, True)
    answer = cmd("resume", "--config", config)
    assert answer.output.startswith("done: resume: event ")
    answer = cmd("replay", "--config", config, "--from-seq", 1)
    assert answer.output == f"done: replay: {pit.seq} events are published again\n"


@pytest.mark.mosquitto
def test_it_is_refused(pit: Pit) -> None:
    answer = cmd("resume", "--config", config_of(pit))
    assert (answer.exit_code, answer.output) == (
        1,
        "refused: resume: the table is not on hold\n",
    )
    answer = cmd("enter-card", "--config", config_of(pit), "--card", "1z", "--slot", "b1")
    assert answer.exit_code == 1
    assert "a card that exists" in answer.output
    assert pit.journaled()[1].slot == "B1"


@pytest.mark.mosquitto
def test_it_shows_what_would_happen(pit: Pit) -> None:
    pit.draw("P1:9S", "B1:2H", "P2:KD", "B2:5C")
    pit.wait("event/round_finished")
    order = ("void-round", "--config", config_of(pit), "--operator", "Kim", "--reason", "no seal")
    answer = cmd(*order, "--dry-run")
    assert (answer.exit_code, answer.output.splitlines()) == (
        0,
        [
            "preview: void-round: 3 events would follow; nothing has changed",
            "   !  manual void: no seal",
            "   1  void by Kim: no seal",
            f"   ·  Kim: void the round (irregularity {pit.seq + 1})",
            "before: round 1: Player 9♠ K♦ = 9, Banker 2♥ 5♣ = 7, Player wins",
            "after: round 1: Player 9♠ K♦ = 9, Banker 2♥ 5♣ = 7, Player wins, void",
            f"to give it for this state only: --expects-seq {pit.seq}",
        ],
    )
    as_json = cmd(*order, "--dry-run", "--json")
    assert json.loads(as_json.output)["preview"]["seq"] == pit.seq
    answer = cmd(*order, "--expects-seq", pit.seq - 1)
    why = f"the table has moved on: it was at {pit.seq - 1}, and is at {pit.seq}"
    assert (answer.exit_code, answer.output) == (1, f"refused: void-round: {why}\n")
    answer = cmd(*order, "--dry-run", "--expects-seq", pit.seq - 1)
    assert (answer.exit_code, answer.output) == (1, f"refused: void-round: {why}\n")
    assert cmd(*order, "--expects-seq", pit.seq).exit_code == 0


@pytest.mark.mosquitto
def test_without_a_configuration(pit: Pit, broker: Mosquitto) -> None:
    where = ("--port", broker.port, "--site", SITE, "--table", pit.root.rpartition("/")[2])
    assert cmd("hold", *where).exit_code == 0
    assert cmd("resume", *where, "--protocol", "3.1.1").exit_code == 0


@pytest.mark.mosquitto
def test_it_gives_the_pin_that_it_asks_for(tables: OpenPit, tmp_path: Path) -> None:
    made = cmd("--hash-pin", text="471100\n")
    assert made.exit_code == 0
    hashed = made.output.strip()
    (tmp_path / "operators.toml").write_text(f'[[operator]]\nname = "Maria"\npin = "{hashed}"\n')
    operators = Operators("operators.toml", tmp_path)
    operators.load()
    assert operators.authenticate("Maria", "471100", privileged=True)
    pit = tables('[orders]\noperators_file = "operators.toml"')
    order = ("new-shoe", "--config", config_of(pit), "--operator", "Maria")
    assert cmd(*order).output == "refused: new-shoe: this order takes the operator's PIN\n"
    assert cmd(*order, "--ask-pin", text="471100\n").exit_code == 0
    assert not pit.journaled()[-1].claimed


@pytest.mark.mosquitto
def test_it_names_the_operator_in_the_topic(tables: OpenPit) -> None:
    pit = tables("[orders]\noperator_in_topic = true")
    assert cmd("hold", "--config", config_of(pit), "--operator", "maria").exit_code == 0
    assert not pit.journaled()[0].claimed
    answer = cmd("hold", "--config", config_of(pit), "--operator", "a/b")
    assert (answer.exit_code, answer.output.count("\n")) == (2, 1)


@pytest.mark.mosquitto
def test_nobody_listens_there(broker: Mosquitto) -> None:
    answer = cmd("hold", "--port", broker.port, "--site", SITE, "--table", "nowhere")
    assert (answer.exit_code, answer.output) == (
        2,
        "shoe-daemon: no daemon listens for orders there\n",
    )


@pytest.mark.mosquitto
def test_nobody_answers(tmp_path: Path, broker: Mosquitto) -> None:
    config = write_config(tmp_path, "mute", broker.port, protocol="3.1.1")

    def is_told(seconds: float) -> bool:
        answer = cmd("hold", "--config", config, "--timeout", seconds)
        assert answer.exit_code == 2
        return "whether it is carried out is not known" in answer.output

    # On a machine too slow to have asked within some seconds, more are given.
    assert any(map(is_told, (0.3, 5, 50)))


def test_the_broker_is_away(tmp_path: Path) -> None:
    port = free_port()
    answer = cmd("hold", "--config", write_config(tmp_path, "away", port))
    assert (answer.exit_code, answer.output) == (
        2,
        f"shoe-daemon: the broker at 127.0.0.1:{port}: connection refused\n",
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ((), "which order?"),
        (("nonsense",), "there is no order 'nonsense'"),
        (("hold",), "expected --config, or --site and --table"),
        (("hold", "--config", "/nowhere"), "/nowhere: cannot be read"),
        (("hold", "--site", "Hall", "--table", "t"), "site"),
        (("hold", "--round", "0"), "Invalid value for '--round'"),
        (("--hash-pin",), "a PIN has 6 to 64 characters"),
    ],
)
def test_wrong_usage(arguments: tuple[str, ...], why: str) -> None:
    answer = cmd(*arguments, text="1\n")
    assert answer.exit_code == 2
    assert why in answer.output
