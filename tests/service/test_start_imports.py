"""A start imports only the modules that the daemon needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.service.daemon_process import DaemonProcess, configure

TELL_MODULES = """
import atexit, sys
atexit.register(lambda: print("MODULES", *sys.modules, file=sys.stderr))
"""
NEEDLESS = {
    "amqtt",
    "argon2",
    "cv2",
    "jsonschema",
    "numpy",
    "prometheus_client",
    "pytest",
    "rich",
    "shoe_daemon.demo",
    "shoe_daemon.game.exact_odds",
    "shoe_daemon.report",
    "starlette",
    "unittest",
    "uvicorn",
}


@pytest.fixture
def modules(tmp_path: Path) -> set[str]:
    """The modules that a running daemon has loaded."""
    text = '[[reader]]\ndriver = "angel-eye-ii"\nport = "/dev/none"'
    config = configure(tmp_path / "table", f'house = "chickasaw"\n{text}', port=1)
    with DaemonProcess(config, patch=TELL_MODULES) as daemon:
        assert daemon.start().wait_ready().stop() == 0
    lines = daemon.log.read_text().splitlines()
    return set(next(line for line in lines if line.startswith("MODULES")).split()[1:])


def test_it_loads_nothing_that_it_does_not_need(modules: set[str]) -> None:
    assert {"serial", "paho.mqtt.client", "structlog", "msgspec"} <= modules
    assert modules & NEEDLESS == set()
