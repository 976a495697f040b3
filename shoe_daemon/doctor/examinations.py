"""Examinations of a table, a display, notifications and the kiosk."""

from __future__ import annotations

import datetime as dt
import os
import shutil
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

from shoe_daemon import __version__
from shoe_daemon.config.table import Setup
from shoe_daemon.display.config import DisplaySetup, parse_listen
from shoe_daemon.doctor.access import Service, check_access, load_service
from shoe_daemon.doctor.brokers import (
    check_display_broker,
    check_notify_broker,
    check_pins,
    check_table_broker,
)
from shoe_daemon.doctor.database import check_forward_database, check_log_database
from shoe_daemon.doctor.devices import (
    check_codes,
    check_driver,
    check_evidence,
    check_forward,
    check_lamp,
    check_reader,
    check_witness,
    light_lamp,
)
from shoe_daemon.doctor.finding import Finding, check_listen, check_reachable
from shoe_daemon.errors import UserError
from shoe_daemon.journal.lock import is_written
from shoe_daemon.journal.reader import open_read_only
from shoe_daemon.notify.config import NotifySetup, RecipientSettings
from shoe_daemon.notify.service import load_state
from shoe_daemon.table import RoundEnd, undetectable_kinds
from shoe_daemon.web import is_loopback

_SLOW_WRITE_S: Final = 0.05
"""A durable write that takes longer delays the table."""

_MIN_FREE_BYTES: Final = 500_000_000
_TEST_WRITES: Final = 15
_IN_USE: Final = ("another program has it", "is in use by 'shoe-daemon'")
"""In the errors of ports, keyboards, cameras and GPIO lines that are open already."""

_KIOSK_ENABLED: Final = Path("/etc/systemd/system/multi-user.target.wants/shoe-kiosk.service")
_KIOSK_PROGRAMS: Final = {
    "usr/bin/cage": "cage",
    "usr/bin/Xwayland": "xwayland",
    "usr/bin/chromium": "chromium",
}
"""The programs that the kiosk's unit needs, and their packages."""


def examine(setup: Setup, *, light_lamps: bool = False) -> Iterator[Finding]:
    """
    Check everything that a table depends on. Nothing is changed, except for a file
    beside the journal that is written to time the disk, and removed.

    `light_lamps` switches each channel of each lamp on for a second, and leaves it off.
    """
    for note in setup.notes:
        yield Finding("file", "note", note)
    yield from _check_journal(setup.journal, setup.service)
    yield from _check_program(setup)
    yield from _check_equipment(setup, light_lamps=light_lamps)
    yield from check_table_broker(setup)
    yield from check_forward_database(setup)
    if setup.operators is not None and setup.operators.is_open:
        yield Finding("orders", "bad", str(setup.operators.alert))
    if setup.operators is not None and setup.config.mqtt is not None:
        yield from check_pins(setup.config.mqtt, refused=setup.refuses_pins, section="orders")
    yield from _undetected(setup)


def _check_equipment(setup: Setup, *, light_lamps: bool) -> Iterator[Finding]:
    """Check readers, their copies, lamps and witnesses."""
    service = None
    if setup.service is not None:
        service, finding = _find_service(f"shoe-daemon@{setup.service}.service")
        yield finding
    line = partial(_line_finding, setup, service, is_running=is_written(setup.journal))
    for reader in setup.readers:
        yield line(reader.port, check_reader(reader))
        yield from check_driver(reader)
        if (copy := reader.forward) is not None:
            found = check_forward(f"copy {reader.id}", copy)
            yield from (line(copy.to, each) for each in found)
        yield from check_codes(reader, setup.config.table.decks or setup.house.decks)
        if reader.driver.stores_evidence:
            yield check_evidence(f"reader {reader.id}", reader.driver.evidence)
    if not setup.readers:
        yield Finding("reader", "bad", "none is configured: nothing will be seen")
    for lamp in setup.config.lamp:
        found_lamp = light_lamp(setup, lamp) if light_lamps else check_lamp(lamp)
        yield line(lamp.relay or lamp.gpio or "", found_lamp)
    for witness in setup.config.witness:
        yield line(witness.source or "", check_witness(witness, setup.beside))
        folder = witness.clip_folder(setup.beside, setup.journal)
        yield check_evidence(f"witness {witness.id}", folder)


def examine_display(setup: DisplaySetup) -> Iterator[Finding]:
    """Check everything that a display depends on. Nothing is changed."""
    for note in setup.notes:
        yield Finding("file", "note", note)
    display = setup.config.display
    yield check_listen("listen", display.listen)
    if setup.config.metrics.listen is not None:
        yield check_listen("metrics", setup.config.metrics.listen)
    if display.open_pit:
        text = f"open to everybody who reaches {display.listen}: set [display.pit]"
        yield Finding("pit", "bad", text)
    yield from check_display_broker(setup)
    yield from check_log_database(setup)
    if setup.operators is not None:
        yield from check_pins(
            setup.commanding, refused=setup.refuses_pins, section="display.orders"
        )
        yield from _check_pages(setup)
    if _KIOSK_ENABLED.is_symlink():
        yield examine_kiosk()


def _check_pages(setup: DisplaySetup) -> Iterator[Finding]:
    """Check that browsers on other computers can log in: only over TLS."""
    display = setup.config.display
    is_own = is_loopback(parse_listen(display.listen)[0])
    if setup.tls or display.pit.behind_proxy or is_own:
        return
    text = (
        "no page of another computer takes a PIN, because it is not encrypted: set up "
        "[display.tls], or a proxy with TLS"
    )
    if display.orders.allow_plain_pins:
        text = "others on the network can read the PINs: set up [display.tls] (allow_plain_pins)"
    yield Finding("orders", "bad", text)


def examine_notify(setup: NotifySetup) -> Iterator[Finding]:
    """Check everything that notifications depend on. Nothing is sent to a recipient."""
    for note in setup.notes:
        yield Finding("file", "note", note)
    yield from check_notify_broker(setup)
    states = load_state(setup.state_file) if os.access(setup.state_file, os.R_OK) else {}
    for recipient in setup.config.notify.to:
        yield _reachable(recipient)
        state = states.get(recipient.id)
        if state is not None and state.error is not None and state.failing_since is not None:
            since = dt.datetime.fromtimestamp(state.failing_since, dt.UTC)
            text = (
                f"fails since {since:%Y-%m-%d %H:%M} UTC, attempt {state.failures}: {state.error}"
            )
            yield Finding(f"to {recipient.id}", "bad", text)


def examine_kiosk(root: Path = Path("/")) -> Finding:
    """Check the programs of `shoe-kiosk.service`; `root` is the computer's root folder."""
    packages = [
        package for program, package in _KIOSK_PROGRAMS.items() if not (root / program).exists()
    ]
    if packages:
        text = f"the screen stays dark: apt install {' '.join(packages)}"
        return Finding("kiosk", "bad", text)
    return Finding("kiosk", "good", "the programs that show the board on this screen are there")


def _reachable(recipient: RecipientSettings) -> Finding:
    about = f"to {recipient.id}"
    if recipient.webhook is None:
        return Finding(about, "note", "only `notify --test` shows whether a message arrives")
    url = urlsplit(recipient.webhook)
    address = url.hostname or "", url.port or (443 if url.scheme == "https" else 80)
    if (unreachable := check_reachable(about, address)) is not None:
        return unreachable
    if recipient.is_plain:
        return Finding(about, "note", "the webhook answers; it is not encrypted: no https")
    text = f"{address[0]}:{address[1]} answers; `notify --test` sends a message"
    return Finding(about, "good", text)


def _check_journal(path: Path, service: str | None) -> Iterator[Finding]:
    # systemd creates the service's folder when it starts; until then the disk is the same.
    folder = next(each for each in path.parents if service is None or os.path.isdir(each))  # noqa: PTH112
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):  # noqa: PTH112
        if service is None:
            yield Finding("journal", "bad", f"{folder} is no folder that can be written")
        else:
            text = f"{path} of shoe-daemon@{service}: not tested; only root can write there"
            yield Finding("journal", "note", text)
        return
    room = shutil.disk_usage(folder).free
    verdict: Literal["good", "bad"] = "good" if room > _MIN_FREE_BYTES else "bad"
    owner = "" if service is None else f" of shoe-daemon@{service}"
    yield Finding("journal", verdict, f"{path}{owner}, {room // 1_000_000:,} MB free")
    median, slowest = _time_writes(folder)
    text = f"a durable write takes {median * 1000:.1f} ms, at most {slowest * 1000:.1f} ms"
    yield Finding("disk", "good" if median < _SLOW_WRITE_S else "bad", text)


def _check_program(setup: Setup) -> Iterator[Finding]:
    """Compare the version that runs, as it is in the journal, with the installed one."""
    if not is_written(setup.journal) or not os.access(setup.journal, os.R_OK):
        return
    try:
        with open_read_only(setup.journal) as reader:
            program = reader.last_program()
    except UserError as error:
        yield Finding("program", "note", f"whether an older one runs is not known: {error}")
        return
    table = setup.config.table.id
    if program == __version__:
        yield Finding("program", "good", f"{table} runs {program}, as installed")
        return
    text = (
        f"{table} runs {program or 'an older version'}, installed is {__version__}: it restarts "
    )
    text += "between two rounds, at most 10 minutes after an upgrade"
    if setup.service is not None:
        text += f"; `systemctl restart shoe-daemon@{setup.service}` does not wait"
    yield Finding("program", "note", text)


def _time_writes(folder: Path) -> tuple[float, float]:
    spans = []
    with tempfile.TemporaryDirectory(prefix="doctor-", dir=folder) as place:
        connection = sqlite3.connect(Path(place) / "trial.db", isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE trial (body BLOB)")
        for _ in range(_TEST_WRITES):
            start = time.perf_counter()
            connection.execute("INSERT INTO trial VALUES (?)", (b"x" * 500,))
            spans.append(time.perf_counter() - start)
        connection.close()
    return statistics.median(spans), max(spans)


def _find_service(unit: str) -> tuple[Service | None, Finding]:
    """Return the table's service, and how its devices are examined."""
    try:
        service = load_service(unit)
    except UserError as error:
        text = f"{error}: whether it may open its devices was not tried"
        return None, Finding("service", "bad" if "does not exist" in text else "note", text)
    how = "tried so" if os.geteuid() == 0 else "judged by their modes; only root can try it"
    return service, Finding("service", "good", f"{service}: its devices are {how}")


def _line_finding(
    setup: Setup, service: Service | None, port: str, finding: Finding, *, is_running: bool
) -> Finding:
    """
    Return the finding of a line: as it is, unless the service may not open it, or the running
    daemon has it open, or only this user may not open it.
    """
    if service is not None:
        if (refused := check_access(finding.about, port, service)) is not None:
            return refused
        is_mine = finding.verdict == "bad" and "Permission denied" in finding.text
        if is_mine and "://" not in port:
            return Finding(finding.about, "note", f"{port}: the service may open it, you may not")
    is_in_use = finding.verdict == "bad" and any(part in finding.text for part in _IN_USE)
    if not (is_running and is_in_use):
        return finding
    text = f"{finding.text}: the running daemon"
    if setup.service is not None:
        text += f"; see `systemctl status shoe-daemon@{setup.service}`"
    return Finding(finding.about, "note", text)


def _undetected(setup: Setup) -> Iterator[Finding]:
    kinds = ", ".join(undetectable_kinds(setup.house, setup.options))
    late = ""
    if setup.options.round_end is RoundEnd.QUIET:
        late = (
            f"; a card too many {setup.options.quiet_gap:g} s or more after the last begins the "
            "next round"
        )
    yield Finding("blind", "note", f"{kinds}{late}: docs/misdeals.md says what each kind needs")
