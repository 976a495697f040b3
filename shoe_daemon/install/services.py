"""Starts the services of an installation, and waits for a test round."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from shoe_daemon.config.table import load_config
from shoe_daemon.errors import UserError
from shoe_daemon.event_text import event_line
from shoe_daemon.install.answers import SIMULATED, Answers
from shoe_daemon.install.plan import CONFIGS, simulator_port
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.table import decode_event

_POLL_S: Final = 0.5
_PORT_WAIT_S: Final = 30.0


def servers_of(answers: Answers) -> list[str]:
    """Return the units on which the table depends, in the order in which they start."""
    units = ["mosquitto.service"] if answers.has_broker else []
    if answers.reader == SIMULATED:
        units.append(f"shoe-simulator@{answers.table}.service")
    return units


def units_of(answers: Answers) -> list[str]:
    """Return the units of the table and its boards, in the order in which they start."""
    units = [f"shoe-daemon@{answers.table}.service"]
    if answers.has_display:
        units.append("shoe-display.service")
    if answers.display == "kiosk":
        units.append("shoe-kiosk.service")
    return units


def stop_service(unit: str) -> None:
    """Stop a unit if it is running."""
    _systemctl("daemon-reload")
    _systemctl("stop", unit)


def start_services(units: Iterable[str], echo: Callable[[str], None]) -> None:
    """
    Start or restart units, also at every boot.

    Raises:
        UserError: A unit does not start; with the last lines of its log.
    """
    for unit in units:
        echo(f"start     {unit}")
        _systemctl("enable", "--quiet", unit)
        try:
            _systemctl("restart", unit)
        except UserError as error:
            raise UserError(f"{error}: {_last_log_line(unit)}") from error


def wait_for_simulator(table: str, stopping: Event) -> None:
    """Wait until the simulated shoe of a table accepts connections, at most `_PORT_WAIT_S`."""
    end = time.monotonic() + _PORT_WAIT_S
    while time.monotonic() < end and not stopping.wait(_POLL_S):
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", simulator_port(table)), _POLL_S).close()
            return


def _systemctl(*arguments: str) -> None:
    command = ["systemctl", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        reason = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        raise UserError(f"{' '.join(command)}: {reason[0]}")


def _last_log_line(unit: str) -> str:
    command = ["journalctl", "--unit", unit, "--lines=3", "--output=cat", "--no-pager"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return " / ".join(done.stdout.strip().splitlines()) or "nothing in its log"


def test_round(answers: Answers, seconds: float, stopping: Event) -> str | None:
    """
    Wait for the result of a round at the broker, as boards receive it; return it in words, or None
    if there was none in time.

    Raises:
        UserError: The configuration is invalid, or the broker cannot be reached.
    """
    setup = load_config(Path(CONFIGS, f"{answers.table}.toml"), inspecting=True)
    mqtt = setup.config.mqtt
    assert mqtt is not None  # noqa: S101 - init writes the section
    topic = Topics(answers.site, answers.table, mqtt.prefix).event("round_finished")
    end = time.monotonic() + seconds
    try:
        with BrokerProbe(mqtt, f"shoe-init-{answers.table}") as probe:
            probe.subscribe(topic)
            while time.monotonic() < end and not stopping.is_set():
                probe.receive(_POLL_S)
                results = [each.payload for each in probe.received if each.topic == topic]
                if results:
                    return event_line(decode_event(results[0]))
    except BrokerProbeError as error:
        raise UserError(f"test round: the broker {error}") from error
    return None
