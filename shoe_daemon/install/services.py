"""Starts and ends the services of a table, waits for a test round, and clears its topics."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final

from shoe_daemon.config.table import Setup, load_config
from shoe_daemon.errors import UserError
from shoe_daemon.event_text import event_line
from shoe_daemon.install.answers import SIMULATED, Answers
from shoe_daemon.install.plan import CONFIGS, simulator_port
from shoe_daemon.mqtt.client import BrokerProbe, BrokerProbeError
from shoe_daemon.mqtt.topics import HOME_ASSISTANT, RETAINED, Topics, device
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


def end_services(units: Iterable[str], echo: Callable[[str], None]) -> None:
    """
    Stop those of these units that run or would at the next boot.

    Raises:
        UserError: A unit does not stop.
    """
    for unit in units:
        if not (_answers_yes("is-enabled", unit) or _answers_yes("is-active", unit)):
            continue
        echo(f"stop      {unit}")
        _systemctl("disable", "--quiet", "--now", unit)


def restart_services(units: Iterable[str], echo: Callable[[str], None]) -> None:
    """
    Make systemd read all units again, and restart those that run.

    Raises:
        UserError: A unit does not start.
    """
    _systemctl("daemon-reload")
    for unit in units:
        echo(f"restart   {unit}")
        _systemctl("try-restart", unit)


def clear_topics(setup: Setup) -> int:
    """
    Clear the retained messages of a table that has ended; return the number of topics.

    Raises:
        UserError: The broker cannot be reached, or refuses it.
    """
    mqtt, config = setup.config.mqtt, setup.config
    if mqtt is None:
        return 0
    topics = Topics(config.site, config.table.id, mqtt.prefix)
    names = {topics.retained(each) for each in RETAINED}
    names |= {topics.retained(device(each.id)) for each in config.reader}
    names |= {each.topic for each in config.lamp if each.topic is not None}
    if mqtt.home_assistant:
        names.add(topics.retained(HOME_ASSISTANT))
    try:
        with BrokerProbe(mqtt, f"shoe-init-{config.table.id}") as probe:
            # Readers of earlier configurations too.
            probe.subscribe(topics.retained("device/+"))
            probe.receive(_POLL_S)
            names |= {each.topic for each in probe.received}
            refused = [each for each in sorted(names) if probe.publish(each, b"", retain=True)]
    except BrokerProbeError as error:
        raise UserError(f"the broker {error}") from error
    if refused:
        raise UserError(f"the broker refuses {', '.join(refused)}")
    return len(names)


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


def _answers_yes(question: str, unit: str) -> bool:
    command = ["systemctl", question, "--quiet", unit]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603
    return done.returncode == 0


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
