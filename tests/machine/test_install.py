"""Package, `init` and units on a bare Debian 12, with simulated shoes."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.machine import image
from tests.machine.conftest import APT, TABLES, Packages
from tests.machine.virtual_machine import VirtualMachine
from tests.packaging.debian_tree import relabelled
from tests.waiting import wait_for

UNITS = tuple(f"shoe-daemon@{table}.service" for table in TABLES)
UNIT = UNITS[0]
OTHERS = (*(f"shoe-simulator@{table}.service" for table in TABLES), "shoe-display.service")
JOURNAL = "/var/lib/shoe-daemon/table-1/journal.db"
CONFIG = "/etc/shoe-daemon/table-1.toml"

EXPOSURE = {UNIT: 1.5, "shoe-display.service": 1.5}

HANG_THE_CORE = """
import ctypes, sys, time
ptrace, thread = ctypes.CDLL(None).ptrace, int(sys.argv[1])
SEIZE, INTERRUPT = 0x4206, 0x4207
assert ptrace(SEIZE, thread, None, None) == 0
assert ptrace(INTERRUPT, thread, None, None) == 0
time.sleep(600)
"""
"""Stops one thread of a process: the others go on."""


LAST_EVENT = """
import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute("SELECT max(seq) FROM event").fetchone())
"""
"""Prints the number of a journal's last event, without the program."""


def subscribe(table: str, topic: str, seconds: int) -> str:
    """Return a command that prints the next message of a topic as a board receives it."""
    file = "/etc/shoe-daemon/board.password.cred"
    return (
        f'mosquitto_sub -V 5 -u board -P "$(systemd-creds decrypt --name=board.password {file})" '
        f"-t shoe/v1/casino/{table}/{topic} -C 1 -W {seconds}"
    )


def next_round(machine: VirtualMachine, table: str = "table-1") -> dict[str, Any]:
    """Wait for the next result at the broker."""
    message = machine.check(subscribe(table, "event/round_finished", 240), timeout_s=300)
    event: dict[str, Any] = json.loads(message)
    return event


def show(machine: VirtualMachine, field: str, unit: str = UNIT) -> str:
    """Return a property of a unit."""
    return machine.check(f"systemctl show --value --property {field} {unit}").strip()


def check_journal(machine: VirtualMachine, journal: str = JOURNAL) -> None:
    """The chain is valid, and the observations fold to the events."""
    assert "unchanged up to event" in machine.check(
        f"shoe-daemon journal verify --refold {journal}"
    )


def wait_restarted(machine: VirtualMachine, process: str) -> None:
    """Wait until systemd has started the daemon anew, and it plays on."""
    machine.wait(f"test $(systemctl show --value --property MainPID {UNIT}) != {process}")
    machine.wait(f"systemctl is-active {UNIT}")
    assert next_round(machine)["type"] == "round_finished"
    check_journal(machine)


def test_two_tables_and_a_display_work(machine: VirtualMachine) -> None:
    for unit in (*UNITS, *OTHERS, "mosquitto.service"):
        assert machine.check(f"systemctl is-active {unit}; true") == "active\n", unit
    for table in TABLES:
        assert next_round(machine, table)["table"] == table
    findings = machine.check(f"shoe-daemon doctor --config {CONFIG}")
    assert "bad" not in findings, findings
    check_journal(machine)


def test_a_board_reaches_a_browser_outside(machine: VirtualMachine) -> None:
    machine.check("ip address add 10.0.2.15/24 dev eth0; ip link set eth0 up")
    address = f"http://127.0.0.1:{machine.forward(8080)}"

    def page(path: str) -> str:
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:  # noqa: S310
            text: str = answer.read().decode()
            return text

    result = next_round(machine)
    assert json.loads(page("/health"))["tables"]
    wait_for(lambda: "Table 1" in page("/table/casino.table-1"), "the board")
    history = page("/table/casino.table-1/history")
    assert str(result["round"]) in history


def test_the_running_units_are_hardened(machine: VirtualMachine) -> None:
    for unit, most in EXPOSURE.items():
        text = machine.check(f"systemd-analyze security --no-pager {unit} | tail -1")
        exposure = float(text.split(": ")[1].split()[0])
        assert exposure <= most, text


def test_the_systems_journal_has_fields(machine: VirtualMachine) -> None:
    machine.check(f"systemctl restart {UNIT}")  # its last line has the number of the round
    lines = machine.check("journalctl --output=json --lines=5 SHOE_TABLE=table-1").splitlines()
    for line in lines:
        entry = json.loads(line)
        assert (entry["SHOE_SITE"], entry["_SYSTEMD_UNIT"]) == ("casino", UNIT)
    assert lines
    assert machine.check("journalctl --field=SHOE_ROUND").strip()


def test_a_killed_process_is_replaced(machine: VirtualMachine) -> None:
    process = show(machine, "MainPID")
    machine.check(f"kill -KILL {process}")
    wait_restarted(machine, process)
    assert "killed, status=9" in machine.check(f"journalctl --unit={UNIT} --lines=300").lower()


def test_a_hung_core_is_replaced(machine: VirtualMachine) -> None:
    process = show(machine, "MainPID")
    machine.check(
        f"cat > /root/hang.py; setsid python3 /root/hang.py {process} >/dev/null 2>&1 &",
        typed=HANG_THE_CORE,
    )
    wait_restarted(machine, process)
    assert "watchdog timeout" in machine.check(f"journalctl --unit={UNIT} --lines=300").lower()


def test_all_is_back_after_a_boot(
    configured: Path, machine_from: Callable[[Path], VirtualMachine], tmp_path: Path
) -> None:
    first = machine_from(configured)
    before = next_round(first)
    first.run("sync")
    first.cut_power()
    disk = first.folder / "root.qcow2"
    with VirtualMachine(disk, tmp_path / "second") as second:
        for unit in (*UNITS, *OTHERS, "mosquitto.service"):
            second.wait(f"systemctl is-active {unit}")
        after = next_round(second)
        if after["seq"] == before["seq"]:
            # The cut came before it was noted as acknowledged: it is sent again.
            assert after == before
            after = next_round(second)
        assert after["seq"] > before["seq"]
        check_journal(second)


def test_a_full_disk_is_reported_and_survived(machine: VirtualMachine) -> None:
    machine.check(
        "fallocate --length $(df --output=avail --block-size=1 / | tail -1) /root/big;"
        "cat /dev/zero > /root/more 2>/dev/null; sync; df /"
    )
    state = subscribe("table-1", "state", 240)
    wait_for(lambda: json.loads(machine.check(state))["alarm"], "the alarm", timeout=240)
    process = show(machine, "MainPID")
    machine.check("rm /root/big /root/more")
    wait_for(lambda: not json.loads(machine.check(state))["alarm"], "no alarm", timeout=240)
    assert next_round(machine)["type"] == "round_finished"
    assert show(machine, "MainPID") == process
    check_journal(machine)


def test_a_jump_of_the_clock_restarts_nothing(machine: VirtualMachine) -> None:
    process = show(machine, "MainPID")
    at = [next_round(machine)["at"]]
    for jump in ("+1 day", "-2 days"):
        machine.check(f"date --set='{jump}'")
        at.append(next_round(machine)["at"])
    assert at == sorted(at), "a time stamp went back"
    assert show(machine, "MainPID") == process
    check_journal(machine)


def test_an_upgrade_keeps_the_journal_and_a_purge_too(
    machine: VirtualMachine, packages: Packages, tmp_path: Path
) -> None:
    before = next_round(machine)
    process = show(machine, "MainPID")
    newer = relabelled(packages.daemon, tmp_path / "newer.deb", Version="99.0")
    machine.copy_in(newer, "/root/newer.deb")
    machine.check(f"{APT} /root/newer.deb", timeout_s=1800)
    wait_restarted(machine, process)
    assert next_round(machine)["seq"] > before["seq"]
    # As a display that did not end in time, on a slow computer.
    assert machine.run("systemd-run --wait --unit=shoe-killed false").status
    machine.check("DEBIAN_FRONTEND=noninteractive apt-get purge -y shoe-daemon", timeout_s=900)
    assert machine.run("systemctl list-units --plain --no-legend 'shoe-*'").output == ""
    left = machine.check(
        "find /etc/shoe-daemon /etc/systemd -name '*shoe*' -o -name '*.cred'; true"
    )
    assert left == ""
    kept = JOURNAL.replace("/var/lib/", "/var/lib/private/")
    assert int(machine.check(f"python3 - {kept}", typed=LAST_EVENT)) > before["seq"]


PERSON = (
    ("Table id", ""),
    ("Site (in all topics)", ""),
    ("House (its rules):", ""),
    ("Policy (whose rulings are proposed):", ""),
    ("Reader, or its address", "simulated"),
    ("Boards:", ""),
    ("Supervisor", ""),
    ("Write these files and start?", ""),
)
"""The questions of `init`, and the answers of a person who takes the defaults for a trial."""


def test_a_person_installs_a_table(
    installed: Path, machine_from: Callable[[Path], VirtualMachine]
) -> None:
    machine = machine_from(installed)
    typist = Path(__file__).with_name("guest_typist.py").read_text()
    machine.check("cat > /root/typist.py", typed=typist)
    request = {"program": ["shoe-daemon", "init"], "answers": PERSON, "timeout_s": 600}
    command = "python3 /root/typist.py"
    answer = json.loads(machine.check(command, typed=json.dumps(request), timeout_s=900))
    (image.FOLDER / "init-by-a-person.log").write_text(answer["shown"])
    assert answer["status"] == 0, answer["shown"]
    assert "result" in answer["shown"]
    assert len(PERSON) <= 10
    board = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:8080/table/casino.table-1').status)"
    assert machine.check(f'python3 -c "{board}"') == "200\n"
