"""Fixtures of the service tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.brokers import Listener, Mosquitto
from tests.service.daemon_process import PATIENT_BROKER, DaemonProcess, Shoe


class Run(Protocol):
    """Starts a daemon as a process."""

    def __call__(
        self, config: Path, *, patch: str = "", address: str = "", **environment: str
    ) -> DaemonProcess:
        """Start it, and do not wait for anything."""


@pytest.fixture
def run() -> Iterator[Run]:
    """Start daemons that are ended whatever happens."""
    with ExitStack() as daemons:

        def start(
            config: Path, *, patch: str = "", address: str = "", **environment: str
        ) -> DaemonProcess:
            daemon = DaemonProcess(config, patch=patch, address=address, forked=True)
            return daemons.enter_context(daemon).start(**environment)

        yield start


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[Shoe]:
    """A pty that says what the test says."""
    with Shoe(tmp_path / "shoe") as shoe:
        yield shoe


@pytest.fixture
def mosquitto(tmp_path: Path) -> Iterator[Mosquitto]:
    """A running broker."""
    folder = tmp_path / "mosquitto"
    folder.mkdir()
    with Mosquitto(folder, PATIENT_BROKER) as broker:
        yield broker


@pytest.fixture
def listener(mosquitto: Mosquitto) -> Iterator[Listener]:
    """One that has subscribed to everything before anything is said."""
    with Listener(mosquitto.port) as listener:
        yield listener
