"""
Latency of a lamp, compared with the event of its irregularity: `python -m bench.lamp_latency`.

Rounds with a natural and an excess card are dealt over a pty; each irregularity is acknowledged.
Measured is the time from the last byte of the excess card's frame to `event/irregularity` at a
subscriber, and to the command that switches a relay on another pty on; and from the order to the
command that switches it off. Without a lamp, with one, and with one whose line takes no byte, the
time from a lawful card to `event/card_dealt` is the same.

Aims: on within 100 ms of the journal, so within 100 ms of the card; a dead lamp delays nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from paho.mqtt import client as paho
from paho.mqtt.enums import CallbackAPIVersion

from bench.harness import (
    MqttProbe,
    SerialPty,
    child_processes,
    configuration,
    median_and_range,
    mosquitto,
    percentile,
    wait_for,
)
from drivers.angel_eye_ii.codec import Report
from tests.fakes.relay_board import RelayBoard

_DEALT: Final = "shoe/v1/bench/table/event/card_dealt"
_TOLD: Final = "shoe/v1/bench/table/event/irregularity"
_ORDER: Final = "shoe/v1/bench/table/cmd/acknowledge"
_REST: Final = 0.010
_WARM_UP: Final = 8
_ROUNDS_A_SHOE: Final = 8
# Player 9 and king, Banker 2 and ten: a natural, so no third card is due.
_CARDS: Final = ((0x81, 0x39), (0x91, 0x32), (0x82, 0x3D), (0x92, 0x3A), (0x83, 0x35))
_PLAYER_WINS: Final = b"\x90"
_LAMPS: Final = ("none", "working", "dead")


class Times(NamedTuple):
    """Seconds of each round; no times of the lamp where it is none or dead."""

    dealt: list[float]
    told: list[float]
    lit: list[float]
    dark: list[float]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--rounds", type=int, default=60, help="rounds in a repeat")
    parser.add_argument("--repeats", type=int, default=5)
    chosen = parser.parse_args()
    runs: dict[str, list[Times]] = {lamp: [] for lamp in _LAMPS}
    for _ in range(chosen.repeats):
        for lamp in _LAMPS:
            with tempfile.TemporaryDirectory() as folder:
                runs[lamp].append(measure(Path(folder), lamp, chosen.rounds))
    print(f"{chosen.repeats} repeats of {chosen.rounds} rounds; ms, median [least to most]")
    for share in (0.5, 0.99, 1.0):
        working = runs["working"]
        columns = [
            f"{name} {_ms([getattr(run, name) for run in working], share)}"
            for name in Times._fields
        ]
        ratio = [percentile(run.lit, share) / percentile(run.told, share) for run in working]
        after = [
            [lit - told for told, lit in zip(run.told, run.lit, strict=True)] for run in working
        ]
        columns += [f"lit - told {_ms(after, share)}", f"lit/told {median_and_range(ratio)}"]
        print(f"  p{share * 100:<4.0f} {'   '.join(columns)}")
    for lamp in ("working", "dead"):
        pairs = zip(runs[lamp], runs["none"], strict=True)
        ratio = [percentile(mine.dealt, 0.5) / percentile(bare.dealt, 0.5) for mine, bare in pairs]
        print(f"  dealt, {lamp} lamp / no lamp, p50: {median_and_range(ratio)}")


def _ms(runs: Sequence[Sequence[float]], share: float) -> str:
    return median_and_range([1000 * percentile(times, share) for times in runs])


def measure(folder: Path, lamp: str, rounds: int) -> Times:
    """Deal rounds, each with an excess card that is acknowledged."""
    times = Times([], [], [], [])
    with ExitStack() as stack:
        port = stack.enter_context(mosquitto(folder))
        line = SerialPty()
        stack.callback(line.close)
        board = stack.enter_context(RelayBoard(folder / "lamp"))
        file = configuration(folder / "bench", port, line.path)
        if lamp != "none":
            text = f'[[lamp]]\nrelay = "{board.link}"\nrule = [{{ severity = 1, channel = 1 }}]\n'
            file.write_text(file.read_text(encoding="utf-8") + text, encoding="utf-8")
        if lamp == "dead":
            board.stall()
        start = stack.enter_context(child_processes())
        run = ("-m", "shoe_daemon", "run", "--config", str(file))
        start(sys.executable, *run, stderr=subprocess.DEVNULL)
        wait_for(line.is_open, "the daemon to open its line")
        probe = MqttProbe(port, _DEALT, _TOLD)
        orders = _client(port)
        stack.callback(orders.disconnect)
        probe.discard(0.5)  # opening a line flushes its input
        number = 0
        for each in range(rounds + _WARM_UP):
            if each % _ROUNDS_A_SHOE == 0:
                line.write(Report(number % 9 + 1, "C").to_bytes())
                line.write(Report(0, "S").to_bytes())
                number = 0
            began = time.perf_counter()
            for card in _CARDS:
                number = number % 9 + 1
                data = bytes((card[0], 0x80 | card[1]))
                began = line.write(Report(number, "D", data).to_bytes())
                if card == _CARDS[-1]:
                    times.told.append(probe.wait(_TOLD) - began)
                elif card == _CARDS[-2]:
                    times.dealt.append(probe.wait(_DEALT) - began)
                probe.discard(_REST)
            if lamp == "working":
                times.lit.append(_switched(board, on=True) - began)
            began = time.perf_counter()
            orders.publish(_ORDER, json.dumps({"id": f"{each}", "operator": "bench"}), 1)
            if lamp == "working":
                times.dark.append(_switched(board, on=False) - began)
            probe.discard(_REST)
            number = number % 9 + 1
            line.write(Report(number, "G", _PLAYER_WINS).to_bytes())
            probe.discard(_REST)
    return Times(*(each[_WARM_UP:] for each in times))


def _client(port: int) -> paho.Client:
    client = paho.Client(CallbackAPIVersion.VERSION2, "orders")
    client.connect("127.0.0.1", port)
    client.loop_start()
    return client


def _switched(board: RelayBoard, *, on: bool) -> float:
    """Return the time of the last switch, once it is this one."""
    wait_for(lambda: board.switched and board.switched[-1].on is on, "the relay")
    return board.switched[-1].at


if __name__ == "__main__":
    main()
