"""The installed package under systemd, in a container; `make test-machine` tests far more."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.debian_tree import BootedDebian

pytestmark = pytest.mark.timeout(900)

DAEMON = "shoe-daemon@table-1.service"
SIMULATOR = "shoe-simulator@table-1.service"
DISPLAY = "shoe-display.service"
UNITS = ("mosquitto.service", SIMULATOR, DAEMON, DISPLAY)
INIT = (
    "shoe-daemon init --yes --site casino --table table-1 --reader simulated --display local "
    "--round-wait 60"
)

FAST_SHOE = """[Service]
ExecStart=
ExecStart=/opt/shoe-daemon/bin/shoe-daemon simulate angel-eye-ii --listen ${LISTEN} --speed 10
"""

NEXT_ROUND = """mosquitto_sub -V 5 -h 127.0.0.1 -C 1 -W 120 \\
  -t shoe/v1/casino/table-1/event/round_finished \\
  -u board -P "$(systemd-creds decrypt --name=board.password /etc/shoe-daemon/board.password.cred)"
"""


@pytest.fixture
def booted(packages: list[Path], tmp_path: Path) -> Iterator[BootedDebian]:
    """Debian 12 in operation, with the packages in /mnt, and simulated shoes that are fast."""
    with BootedDebian(packages[0].parent, tmp_path / "console") as system:
        folder = "/etc/systemd/system/shoe-simulator@.service.d"
        system.run(f"mkdir {folder}; echo '{FAST_SHOE}' > {folder}/fast.conf")
        yield system


def show(system: BootedDebian, field: str, unit: str = DAEMON) -> str:
    """Return a property of a unit."""
    return system.run(f"systemctl show --value --property {field} {unit}").strip()


def check_it_plays(system: BootedDebian) -> None:
    """All units are active, a result reaches the broker, and the journal is good."""
    for unit in UNITS:
        assert system.run(f"systemctl is-active {unit}; true") == "active\n", unit
    assert json.loads(system.run(NEXT_ROUND))["table"] == "table-1"
    journal = "/var/lib/shoe-daemon/table-1/journal.db"
    assert "good" in system.run(f"shoe-daemon journal verify --refold {journal}")


def test_a_table_plays_and_is_watched_and_says_what_it_lacks(booted: BootedDebian) -> None:
    booted.run("dpkg --install /mnt/shoe-daemon_*.deb")
    assert "result    1 " in booted.run(INIT)
    check_it_plays(booted)
    # The key that signs the journal arrives too, with everything that confines the service.
    assert "journal.key" in booted.run(f"ls /run/credentials/{DAEMON}")
    assert "file_unusable" not in booted.run(f"journalctl --output=cat --unit={DAEMON}")

    # The watchdog replaces processes that stand still.
    stopped = {unit: show(booted, "MainPID", unit) for unit in (DAEMON, DISPLAY)}
    booted.run(f"kill -STOP {' '.join(stopped.values())}")
    for unit, process in stopped.items():
        booted.wait(f"test $(systemctl show --value --property NRestarts {unit}) -ge 1")
        booted.wait(f"systemctl --quiet is-active {unit}")
        assert show(booted, "MainPID", unit) != process
        assert "result 'watchdog'" in booted.run(f"journalctl --output=cat --unit={unit}")
    check_it_plays(booted)

    # Without its credentials a unit runs all the same, and one line says what is missing.
    booted.run(f"rm /etc/shoe-daemon/*.cred; systemctl restart {DAEMON} {DISPLAY}")
    lacks = "the file of LoadCredential= in the unit is empty, or it is missing"
    for unit, event, keys in (
        (DAEMON, "file_unusable", ["mqtt.password_file", "journal.key_file"]),
        (DISPLAY, "broker_lost", ["mqtt.password_file"]),
    ):
        booted.wait(f'systemctl show --property StatusText {unit} | grep -q "{lacks}"')
        assert show(booted, "ActiveState", unit) == "active"
        run = f"_SYSTEMD_INVOCATION_ID={show(booted, 'InvocationID', unit)}"
        log = booted.run(f"journalctl --output=cat {run}").splitlines()
        lines = [each for each in log if f'"event": "{event}"' in each]
        for key, line in zip(keys, lines, strict=True):
            assert f"{key}: " in line
            assert lacks in line
    assert "shoe: ok" in show(booted, "StatusText")
