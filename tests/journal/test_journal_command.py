"""`shoe-daemon journal` never writes the journal, and reports its findings by exit status."""

from __future__ import annotations

import json
import os
from pathlib import Path
from threading import Thread

import pytest

from shoe_daemon.journal import JournalReader
from tests.journal.journal_entries import execute, fill, made, moment, open_journal
from tests.journal.journal_entries import run_journal as run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made(tmp_path / "table-7.journal")


def test_an_unchanged_journal_does_not_prove_its_end(path: Path) -> None:
    with JournalReader(path) as reader:
        head = reader.head()
    result = run("verify", path)
    assert result.exit_code == 0
    unchanged = f"{path}: unchanged up to event {head.seq}"
    assert result.stdout.startswith(f"{unchanged}; its end is not proved\n")
    assert f"  head   {head.hash.hex()}\n" in result.stdout
    answer = json.loads(run("verify", path, "--json").stdout)
    assert (answer["good"], answer["end_proved_by"]) == (True, None)
    assert answer["seq"] == head.seq


def test_the_head_of_the_last_row_proves_the_end(path: Path) -> None:
    with JournalReader(path) as reader:
        head = reader.head()
    noted = ("--head", head.hash.hex())
    result = run("verify", path, *noted)
    assert result.exit_code == 0
    assert f"up to event {head.seq}; its last row has the given head\n" in result.stdout
    assert json.loads(run("verify", path, *noted, "--json").stdout)["end_proved_by"] == "head"
    with open_journal(path) as journal:
        fill(journal, 3)
    later = run("verify", path, *noted)
    assert later.exit_code == 0
    assert "at event " in later.stdout
    assert "; its end is not proved\n" in later.stdout
    assert json.loads(run("verify", path, *noted, "--json").stdout)["end_proved_by"] is None


def test_a_broken_chain_ends_with_one_and_the_place(path: Path) -> None:
    execute(path, "UPDATE event SET shoe = 7 WHERE seq = 5")
    result = run("verify", path)
    assert result.exit_code == 1
    place = "event 5, shoe 1, round 3, 2027-01-15T08:00:00.750Z"
    assert result.stdout.startswith(f"{path}: BROKEN at {place}: its `shoe` is 7, expected 1\n")
    assert "before the first break" in result.stdout
    assert "  break " not in result.stdout  # only one
    answer = json.loads(run("verify", path, "--json").stdout)
    assert answer["good"] is False
    assert answer["broken"] == {
        "at": "2027-01-15T08:00:00.750Z",
        "round": 3,
        "row": "event 5",
        "shoe": 1,
        "what": "its `shoe` is 7, expected 1",
    }
    assert (answer["breaks"], answer["break_count"]) == ([answer["broken"]], 1)
    assert (answer["events"], answer["seq"], answer["end_proved_by"]) == (4, 4, None)


def test_breaks_are_listed_and_the_others_counted(path: Path) -> None:
    execute(path, "UPDATE event SET type = 'other'")
    result = run("verify", path)
    with JournalReader(path) as reader:
        events = reader.head().seq
    assert f"breaks  {events}; the rows between two of them are unchanged" in result.stdout
    assert f"break   event {events // 2}, shoe " in result.stdout
    assert f"break   and {events - 50} more" in result.stdout
    answer = json.loads(run("verify", path, "--json").stdout)
    assert (len(answer["breaks"]), answer["break_count"]) == (50, events)


def test_a_head_that_stands_nowhere_is_told(path: Path) -> None:
    missed = run("verify", path, "--head", "00" * 32)
    assert missed.exit_code == 1
    assert "is nowhere in it" in missed.stdout
    wrong = run("verify", path, "--head", "abc")
    assert wrong.exit_code == 2
    assert "--head abc: expected the 64 hex digits" in wrong.stderr


@pytest.mark.parametrize("command", ["verify", "export", "stats"])
def test_what_is_no_journal_ends_with_two_and_one_line(tmp_path: Path, command: str) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a journal")
    result = run(command, path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"shoe-daemon: {path}: cannot be read: it is no SQLite file")
    assert result.stderr.count("\n") == 1
    assert run(command, tmp_path / "missing").exit_code == 2


def test_export_prints_the_stored_bytes(path: Path, tmp_path: Path) -> None:
    with JournalReader(path) as reader:
        events = b"".join(event.body + b"\n" for event in reader.events(0))
        observations = b"".join(line + b"\n" for line in reader.observation_lines())
    assert run("export", path).stdout_bytes == events
    assert run("export", path, "--events").stdout_bytes == events
    assert run("export", path, "--observations").stdout_bytes == observations
    out = tmp_path / "out.jsonl"
    assert run("export", path, "--observations", "--out", out).stdout == ""
    assert out.read_bytes() == observations
    assert out.stat().st_mode & 0o7 == 0


def test_a_failed_export_keeps_the_old_file(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    out.write_text("an earlier export")
    before = set(tmp_path.iterdir())
    assert run("export", path, "--shoe", "99", "--out", out).exit_code == 2
    assert out.read_text() == "an earlier export"
    folder = run("export", path, "--out", tmp_path)
    assert (folder.exit_code, isinstance(folder.exception, SystemExit)) == (2, True)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("command", [("export", "--out"), ("shoe", "--html")])
def test_a_link_or_a_pipe_is_never_replaced(
    path: Path, tmp_path: Path, command: tuple[str, str]
) -> None:
    name, option = command
    target, link = tmp_path / "target", tmp_path / "link"
    target.touch()
    link.symlink_to(target)
    assert run(name, path, option, link).exit_code == 0
    assert link.is_symlink()
    assert (size := target.stat().st_size) > 0
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True).start()
    assert run(name, path, option, pipe).exit_code == 0
    assert pipe.is_fifo()
    assert size > 0


def test_export_gives_one_shoe(path: Path) -> None:
    events = run("export", path, "--shoe", "2").stdout.splitlines()
    assert {json.loads(line)["shoe"] for line in events} == {2}
    lines = run("export", path, "--shoe", "2", "--observations").stdout.splitlines()
    # The session before the shoe, then its own twenty observations.
    assert [json.loads(line)["at"] for line in lines] == [
        moment(number) for number in (1, *range(21, 41))
    ]
    last = run("export", path, "--shoe", "3", "--observations").stdout.splitlines()
    assert len(last) == 1 + 5
    none = run("export", path, "--shoe", "4")
    assert none.exit_code == 2
    assert "has no shoe 4; its shoes are 1 to 3" in none.stderr


def test_stats_counts(path: Path) -> None:
    with open_journal(path) as journal:
        journal.count("angel", repeats=1200, noise=3, bytes=4567)
        journal.set_cursor("mqtt", journal.head.seq - 2)
        journal.flush()
        head = journal.head
        alive = run("stats", path, "--json").stdout
    answer = json.loads(alive)
    assert answer["seq"] == sum(answer["events"].values()) == head.seq
    assert answer["hash"] == head.hash.hex()
    assert (answer["shoes"], answer["observations"]) == (3, 45)
    assert answer["counters"] == {"angel": {"repeats": 1200, "noise": 3, "bytes": 4567}}
    assert answer["cursors"] == {"mqtt": head.seq - 2}
    assert "nothing yet" in run("stats", made(path.with_name("new"), 0)).stdout
    said = run("stats", path).stdout
    assert "1,200 repeats, 3 of noise, 4,567 bytes" in said
    assert f"event {head.seq - 2:,}, 2 to come" in said


def test_refold_says_which_event_differs(path: Path) -> None:
    result = run("verify", path, "--refold")
    assert result.exit_code == 1
    assert (
        "BROKEN at observation 1, shoe 1, 2027-01-15T08:00:00.250Z: event 1 is {" in result.stdout
    )
    assert ", but folding gives missing" in result.stdout
