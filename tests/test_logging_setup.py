"""Log output, and a second configuration after the first."""

from __future__ import annotations

import fcntl
import json
import os
import select
import subprocess
import sys
from typing import TextIO

import pytest
import structlog
from structlog.testing import capture_logs

from shoe_daemon.logs import configure_logging, journal_entry, warnings_on_stderr
from tests.waiting import PATIENCE


def test_a_line_is_one_object_and_quiet_leaves_warnings(
    capsys: pytest.CaptureFixture[str],
) -> None:
    log = structlog.get_logger("early")
    configure_logging()
    log.info("told", card="AS")
    configure_logging(quiet=True)
    log.info("not_told")
    log.warning("told_too")
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["event"], line["level"]) for line in lines] == [
        ("told", "info"),
        ("told_too", "warning"),
    ]
    assert lines[0]["card"] == "AS"


def test_what_has_logged_already_can_still_be_listened_to() -> None:
    configure_logging()
    log = structlog.get_logger("early")
    log.info("before")
    structlog.reset_defaults()
    with capture_logs() as lines:
        log.info("after")
    assert [line["event"] for line in lines] == ["after"]


def test_what_is_said_aside_leaves_stdout_alone_and_no_trace(
    capsys: pytest.CaptureFixture[str],
) -> None:
    structlog.reset_defaults()
    before = structlog.get_config()
    with warnings_on_stderr():
        structlog.get_logger("early").warning("told")
    assert structlog.get_config() == before
    assert not structlog.is_configured()
    told = capsys.readouterr()
    assert told.out == ""
    assert json.loads(told.err)["event"] == "told"


TALKING = """
import structlog
from shoe_daemon.logs import configure_logging

configure_logging()
log = structlog.get_logger("talking")
for number in range(60):
    log.info("told", number=number)
input("all said")
log.info("last")
"""


def test_a_log_that_nobody_takes_holds_nobody_up_and_what_was_dropped_is_told() -> None:
    taken, said = os.pipe()
    fcntl.fcntl(said, fcntl.F_SETPIPE_SZ, 4096)
    command = [sys.executable, "-c", TALKING]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=said) as program:
        os.close(said)
        try:
            assert program.stdout is not None
            ready, _, _ = select.select([program.stdout], [], [], PATIENCE)
            assert ready
            lines = os.read(taken, 65536).splitlines()
            program.communicate(b"\n", timeout=PATIENCE)
            last = os.read(taken, 65536).splitlines()
        finally:
            program.kill()
            os.close(taken)
    assert [json.loads(line)["number"] for line in lines] == list(range(len(lines)))
    dropped, told = map(json.loads, last)
    assert (dropped["event"], dropped["count"]) == ("log_lines_dropped", 60 - len(lines))
    assert told["event"] == "last"


def test_a_full_disk_or_a_closed_pipe_under_the_log_ends_nothing() -> None:
    for output in (open("/dev/full", "w"), _closed_pipe()):  # noqa: SIM115, PTH123
        with output:
            program = subprocess.run(
                [sys.executable, "-c", TALKING], input=b"\n", stderr=output, check=False
            )
        assert program.returncode == 0


def _closed_pipe() -> TextIO:
    taken, said = os.pipe()
    os.close(taken)
    return open(said, "w")  # noqa: PTH123


def test_an_entry_of_the_journal_is_a_line_for_people_with_its_table_and_round(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    event = {"event": "draw_refused", "level": "error", "table": "table-7", "round": 54}
    event |= {"slot": "B3", "reason": "stands on 7"}
    lines = journal_entry(None, "error", event).splitlines()
    fields = dict(line.split("=", 1) for line in lines)
    assert fields.pop("MESSAGE") == 'draw_refused slot=B3 reason="stands on 7"'
    monkeypatch.setenv("SHOE_LOG", "json")
    lines = journal_entry(None, "error", event).splitlines()
    assert json.loads(dict(line.split("=", 1) for line in lines)["MESSAGE"]) == event
    assert fields == {
        "PRIORITY": "3",
        "SYSLOG_IDENTIFIER": "shoe-daemon",
        "SHOE_TABLE": "table-7",
        "SHOE_ROUND": "54",
    }


def test_a_line_break_cannot_add_a_field() -> None:
    event = {"event": "text", "level": "info", "table": "a\nPRIORITY=0", "detail": "b\nX=1"}
    keys = [line.partition("=")[0] for line in journal_entry(None, "", event).splitlines()]
    assert sorted(keys) == ["MESSAGE", "PRIORITY", "SHOE_TABLE", "SYSLOG_IDENTIFIER"]
