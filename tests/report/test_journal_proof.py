"""Printed reports contain hashes, versions, the verified chain and room for signatures."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from drivers.simulators.angel_eye import Settings
from shoe_daemon import __version__
from shoe_daemon.cli import main
from shoe_daemon.journal import JournalReader
from shoe_daemon.report.journal import read_shoe, shoe_spans
from shoe_daemon.report.page import shoe_page
from shoe_daemon.table import events
from shoe_daemon.table.observations import Session
from tests.journal.signing_keys import signing_key
from tests.report.report_shoes import SITE, TABLE, Writer, shoe

SHOES = 4


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The journal of two shoes."""
    return shoe(tmp_path / "journal", shoes=2, seed=3)


@pytest.fixture(params=[True, False], ids=["signed", "unsigned"])
def long(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """The journal of some short shoes, with a key or without one."""
    with Writer(tmp_path / "journal", signer=signing_key() if request.param else None) as writer:
        writer.session()
        for seed in range(SHOES):
            writer.deal(Settings(shoes=1, rounds=3, seed=seed))
        writer.order("new_shoe", after=1)
    return tmp_path / "journal"


def starts(path: Path) -> list[int]:
    with JournalReader(path) as reader:
        return [span.first for span in shoe_spans(reader)]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, ["journal", *map(str, arguments)])


def proof(path: Path, *arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("shoe", path, *arguments, "--json").stdout)["proof"]
    return found


def found_at(path: Path, head: str) -> str | None:
    answer = json.loads(run("verify", path, "--head", head, "--json").stdout)
    return answer["found_at"]  # type: ignore[no-any-return]  # a row, or nothing


def test_the_hashes_stand_in_the_journal(path: Path) -> None:
    for number in ("1", "2"):
        found = proof(path, number)
        assert found_at(path, found["head"]) == f"event {found['last_event']}"
        assert found["published_at"] == found_at(path, found["published"]) is not None
        assert (found["chain"], found["broken"]) == ("good", None)
        assert (found["written_by"], found["reported_by"]) == ([__version__], __version__)
    assert proof(path, "1")["last_event"] + 1 == proof(path, "2")["first_event"]


def test_the_text_and_the_page_print_them(path: Path, tmp_path: Path) -> None:
    run("shoe", path, "1", "--html", tmp_path / "shoe.html")
    page = (tmp_path / "shoe.html").read_text("utf-8")
    text = " ".join(run("shoe", path, "1").stdout.split())
    found = proof(path, "1")
    for each in (page, text):
        assert found["head"] in each
        assert found["published"] in each
        assert f"good: events 1 to {found['last_event']:,} of " in each
        assert "were verified for this report, from the start of the journal" in each
        assert f"written by version {__version__}; report by {__version__}" in each
        assert all(signer in each for signer in ("Dealer", "Supervisor", "Auditor"))
    assert '"Page " counter(page) " of " counter(pages)' in page
    assert f'"Shoe 1, {SITE} / {TABLE}"' in page


def test_a_broken_chain_is_printed_and_ends_with_1(path: Path) -> None:
    last = proof(path, "1")["last_event"]
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE event SET body = replace(body, 'fr_2007', 'mo_2004')")
    result = run("shoe", path, "1", "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)["proof"]
    assert found["chain"] == "broken"
    assert "its hash is " in found["broken"]
    assert found["last_event"] == last
    assert "BROKEN at event " in " ".join(run("shoe", path, "1").stdout.split())


def test_a_published_head_that_the_journal_lacks_ends_with_1(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a journal that was written anew with other moments, and the old end of the shoe."""
    finished = events.ShoeFinished

    def elsewhere(*, head: str | None, **counts: int) -> events.ShoeFinished:
        return finished(head="07" * 32 if head else None, **counts)

    monkeypatch.setattr(events, "ShoeFinished", elsewhere)
    with Writer(tmp_path / "journal") as writer:
        writer.session()
        writer.deal(Settings(shoes=1, seed=3))
    monkeypatch.undo()
    result = run("shoe", tmp_path / "journal")
    assert result.exit_code == 1
    assert "in shoe_finished, NOT FOUND in the journal" in " ".join(result.stdout.split())


def changed(path: Path, event: int) -> Path:
    """Copy a journal with one changed event."""
    copy = path.with_name("changed")
    shutil.copy(path, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE event SET body = body || ' ' WHERE seq = ?", (event,))
    return copy


def test_a_shoe_is_verified_from_the_last_proof_before_it(long: Path) -> None:
    firsts = starts(long)
    is_signed = proof(long, "2")["signature"] is not None
    for number in range(3, SHOES + 1):
        found = proof(long, str(number))
        done = found["verified"]
        assert firsts[number - 2] < done["first"] <= found["first_event"] == firsts[number - 1]
        # A shoe that was replaced is signed with the start of the next one.
        assert 0 <= done["last"] - found["last_event"] < 5
        assert done["after"] == ("signature" if is_signed else "shoe")
        for event in (1, done["first"] - 1, done["first"], done["last"], done["last"] + 1):
            broken = proof(changed(long, event), str(number))["chain"] == "broken"
            assert broken is (done["first"] <= event <= done["last"])
    text = " ".join(run("shoe", long, str(SHOES)).stdout.split())
    done = proof(long, str(SHOES))["verified"]
    assert f"good: events {done['first']:,} to {done['last']:,} of {done['of']:,} were" in text
    said = "from a signed head" if is_signed else "their beginning is not proved"
    assert said in text


def test_a_shift_is_verified_from_the_last_proof_before_it(long: Path) -> None:
    firsts = starts(long)
    with JournalReader(long) as reader:
        at = json.loads(next(reader.event_lines(SHOES - 1)))["at"]

    def shift(path: Path) -> dict[str, Any]:
        done = CliRunner().invoke(main, ["report", "shift", str(path), "--from", at, "--json"])
        found: dict[str, Any] = json.loads(done.stdout)["tables"][0]["proof"]
        assert (done.exit_code == 1) is (found["chain"] == "broken")
        return found

    found = shift(long)
    done = found["verified"]
    # The shoe that was under way is read from its start.
    assert firsts[0] < done["first"] <= firsts[SHOES - 3]
    assert found["first_event"] == firsts[SHOES - 2]
    assert done["last"] == done["of"] == found["last_event"]
    for event in (1, done["first"] - 1):
        assert shift(changed(long, event))["verified"] == done
    for event in (done["first"], found["last_event"]):
        assert shift(changed(long, event))["chain"] == "broken"


def test_without_verifying_it_says_so(path: Path) -> None:
    result = run("shoe", path, "1", "--no-verify")
    assert result.exit_code == 0
    assert "not verified for this report" in result.stdout
    assert proof(path, "1", "--no-verify")["chain"] == "not verified"


def test_a_shoe_of_two_versions_names_both(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal") as writer:
        writer.say(Session(site=SITE, table=TABLE))
        writer.order("new_shoe")
        writer.session()
        writer.deal(Settings(shoes=1, rounds=2))
    assert proof(tmp_path / "journal", "1")["written_by"] == [None, __version__]
    text = " ".join(run("shoe", tmp_path / "journal", "1").stdout.split())
    assert f"written by version not recorded, {__version__}; report by " in text


def test_a_name_cannot_end_the_string_of_the_style_sheet(tmp_path: Path) -> None:
    with Writer(tmp_path / "journal", site='x"; } body { display: none } \\') as writer:
        writer.session()
        writer.order("new_shoe")
    page = shoe_page(read_shoe(tmp_path / "journal", None))
    footer = re.search(r'@bottom-left \{ content: "([^"]*)";', page)
    assert footer is not None
    assert footer[1].startswith("Shoe 1, x·· · body · display· none · · / ")
