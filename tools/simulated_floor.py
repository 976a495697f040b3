"""
Simulated tables at a broker, for looking at boards and the pit view.

`python -m tools.simulated_floor --broker 127.0.0.1:1883 --tables 6 --speed 4` deals until Ctrl-C:
real daemons read simulated shoes over serial lines, with faults, and a scripted supervisor rules
at each table. `--display 127.0.0.1:8080` serves a display too.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final, NamedTuple

from drivers.simulators.angel_eye import Mode
from drivers.simulators.lines import PtyLine
from drivers.simulators.shoe import Fault
from shoe_daemon.config.sections import Config, JournalSettings, ReaderSettings, TableSettings
from shoe_daemon.config.table import set_up
from shoe_daemon.demo.client import SupervisorClient
from shoe_daemon.demo.dealer import Dealer
from shoe_daemon.demo.parts import start_command
from shoe_daemon.demo.shoe import DemoSettings, house_of, shoe_of
from shoe_daemon.demo.supervisor import AutoSupervisor
from shoe_daemon.logs import configure_logging
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.process import stop_on_signals
from shoe_daemon.service import Daemon

SITE: Final = "house"

_LIMITS: Final = {"player": "100-50,000", "banker": "100-50,000", "tie": "25-5,000"}
_LOOK_EVERY: Final = 1.0

_THINKS: Final = 12.0
"""Seconds of table time until a supervisor decides, so that alerts can be seen."""

_STYLES: Final = (
    ("seven-feathers", "us_nj_pa", Mode.OPEN),
    ("chickasaw", "management", Mode.OPEN),
    ("curator", "management", Mode.OPEN),
    ("seven-feathers", "us_nj_pa", Mode.HIDDEN),
)


class Wish(NamedTuple):
    """The settings of a table."""

    number: int
    mqtt: MqttSettings
    speed: float
    fault_rate: float
    folder: Path


@contextlib.contextmanager
def dealt(wish: Wish) -> Iterator[Daemon]:
    """Deal at one table within the block."""
    house, policy, mode = _STYLES[(wish.number - 1) % len(_STYLES)]
    settings = DemoSettings(
        house=house,
        policy=policy,
        mode=mode,
        seed=wish.number,
        speed=wish.speed,
        faults=tuple(fault for fault in Fault if fault is not Fault.UNPLUG),
        fault_rate=wish.fault_rate,
    )
    with ExitStack() as parts:
        line = PtyLine()
        parts.callback(line.close)
        setup = set_up(_configuration(wish, settings, line.address), wish.folder)
        daemon = Daemon(setup)
        supervisor = SupervisorClient(
            wish.mqtt.each[0],
            Topics(SITE, setup.config.table.id),
            AutoSupervisor(lambda: dealer.on_table),
            decide_after=_THINKS / wish.speed,
        )
        dealer = Dealer(shoe_of(settings, house_of(settings)), line, wish.speed, supervisor)
        parts.enter_context(supervisor)
        parts.enter_context(_running(daemon))
        parts.enter_context(dealer)
        yield daemon


def _configuration(wish: Wish, settings: DemoSettings, port: str) -> Config:
    folder = wish.folder / f"table-{wish.number}"
    folder.mkdir(exist_ok=True)
    return Config(
        site=SITE,
        table=TableSettings(
            id=f"table-{wish.number}",
            name=f"Baccarat {wish.number}",
            house=settings.house,
            policy=settings.policy,
            limits=_LIMITS,
            reveal_after=3 / wish.speed,
        ),
        journal=JournalSettings(path=str(folder / "journal.db")),
        mqtt=wish.mqtt,
        reader=(ReaderSettings(driver="angel-eye-ii", port=port),),
    )


@contextlib.contextmanager
def _running(daemon: Daemon) -> Iterator[None]:
    thread = threading.Thread(target=daemon.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        daemon.stop()
        thread.join()


def _wishes(arguments: argparse.Namespace, folder: Path) -> Iterator[Wish]:
    brokers = tuple(arguments.broker.split(","))
    mqtt = MqttSettings(
        brokers=brokers,
        protocol=arguments.protocol,
        username=arguments.username,
        password_file=arguments.password_file,
    )
    for number in range(1, arguments.tables + 1):
        yield Wish(number, mqtt, arguments.speed, arguments.fault_rate, folder)


def main(arguments: list[str]) -> int:
    """Deal until Ctrl-C or SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m tools.simulated_floor", description=__doc__)
    parser.add_argument("--broker", default="127.0.0.1:1883", help="several with commas")
    parser.add_argument("--protocol", default="5")
    parser.add_argument("--username")
    parser.add_argument("--password-file")
    parser.add_argument("--folder", help="keeps the journals there")
    parser.add_argument("--tables", type=int, default=6)
    parser.add_argument("--speed", type=float, default=4.0)
    parser.add_argument("--fault-rate", type=float, default=0.25)
    parser.add_argument("--display", metavar="ADDRESS:PORT", help="starts a display there too")
    wanted = parser.parse_args(arguments)
    configure_logging(quiet=True)
    with stop_on_signals() as stopping, ExitStack() as parts:
        folder = wanted.folder or parts.enter_context(
            tempfile.TemporaryDirectory(prefix="shoe-floor-")
        )
        for wish in _wishes(wanted, Path(folder)):
            parts.enter_context(dealt(wish))
        if wanted.display is not None:
            show = ("display", "--broker", wanted.broker, "--listen", wanted.display)
            parts.callback(start_command("the display", None, *show).end)
        print(f"{wanted.tables} tables at {wanted.broker}, site {SITE}; Ctrl-C ends it")
        while not stopping.wait(_LOOK_EVERY):
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
