"""`shoe-daemon init --remove` leaves what was there before the table, and the journal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installation.test_init import BARE, contents, init, written

RECORD = "etc/shoe-daemon/init.json"


def removed(root: Path, table: str, *options: str) -> str:
    return written(root, "--yes", "--remove", "--table", table, *options)


def test_a_table_leaves_what_was_there_before_it(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    before = contents(tmp_path)
    written(tmp_path, *BARE, "--table", "table-2")
    with_both = contents(tmp_path)
    output = removed(tmp_path, "table-2", "--dry-run")
    assert contents(tmp_path) == with_both
    assert removed(tmp_path, "table-2") == output
    assert "removed   /etc/shoe-daemon/table-2.toml\n" in output
    assert "stays     /var/lib/shoe-daemon/table-2/journal.db\n" in output
    after = contents(tmp_path)
    records = [json.loads(each.pop(RECORD)) for each in (before, after)]
    assert after == before
    assert records[0] == records[1]
    # No folder of a unit is left either.
    assert not list((tmp_path / "etc/systemd/system").glob("*table-2*"))


def test_the_last_table_takes_display_and_broker_away(tmp_path: Path) -> None:
    options = ("--display", "network", "--tls", "board.example", "--operator", "Maria")
    written(tmp_path, *BARE, *options, typed="a long password\n471100\n")
    output = removed(tmp_path, "table-1")
    assert "removed   /etc/mosquitto/shoe.passwd\n" in output
    # The journal's key and what verifies it stay with the journal.
    kept = {f"etc/shoe-daemon/{name}" for name in ("init.json", "journal.key")}
    assert contents(tmp_path).keys() == {*kept, "etc/shoe-daemon/journal-public.pem"}
    # It can be installed again.
    written(tmp_path, *BARE)


def test_a_broker_with_accounts_of_others_stays(tmp_path: Path) -> None:
    written(tmp_path, *BARE)
    etc = tmp_path / "etc/mosquitto"
    with (etc / "shoe.passwd").open("a") as accounts:
        accounts.write("table-8:\n")
    output = removed(tmp_path, "table-1")
    names = [line.partition(":")[0] for line in (etc / "shoe.passwd").read_text().splitlines()]
    assert names == ["board", "pit", "pit-display", "pit-log", "table-8"]
    assert "user table-1" not in (etc / "shoe.acl").read_text()
    assert (etc / "conf.d/shoe.conf").exists()
    assert "changed   /etc/mosquitto/shoe.passwd" in output
    assert not (tmp_path / "etc/shoe-daemon/display.toml").exists()
    assert (tmp_path / "etc/shoe-daemon/board.password").exists()


def test_what_a_person_edited_stays_and_is_named(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    written(tmp_path, *BARE, "--table", "table-2")
    etc = tmp_path / "etc"
    config, rights = etc / "shoe-daemon/table-2.toml", etc / "mosquitto/shoe.acl"
    for file in (config, rights):
        file.write_text(file.read_text() + "# ours\n")
    written(tmp_path, *BARE, "--table", "table-2", "--name", "Salon")
    notify = etc / "shoe-daemon/notify.toml"
    notify.write_text('[[notify.to]]\nid = "duty"\ntables = ["table-1", "casino.table-2"]\n')
    output = removed(tmp_path, "table-2")
    assert "kept      /etc/shoe-daemon/table-2.toml: it was edited; remove it by hand" in output
    assert config.read_text().endswith("# ours\n")
    assert not Path(f"{config}.init-new").exists()
    # Of the edited rights only the table's block goes.
    assert "amended   /etc/mosquitto/shoe.acl" in output
    assert "user table-2" not in rights.read_text()
    assert "\nuser table-1\n" in rights.read_text()
    line = "stays     /etc/shoe-daemon/notify.toml: it names table-2; remove that by hand"
    assert line in output


def test_the_screen_of_this_computer_shows_a_table_that_is_left(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    written(tmp_path, *BARE, "--table", "table-2", "--display", "kiosk", "--language", "zh-hant")
    removed(tmp_path, "table-2")
    unit = tmp_path / "etc/systemd/system/shoe-kiosk.service.d/50-init.conf"
    assert "/table/casino.table-1?lang=zh-hant\n" in unit.read_text()


@pytest.mark.parametrize("table", [(), ("--table", "table-9")])
def test_an_unknown_table_is_refused(tmp_path: Path, table: tuple[str, ...]) -> None:
    written(tmp_path, *BARE)
    before = contents(tmp_path)
    result = init(tmp_path, "--yes", "--remove", *table)
    assert "expected --table with one that init installed: table-1" in str(result.exception)
    assert contents(tmp_path) == before


def test_a_person_is_asked_first(tmp_path: Path) -> None:
    written(tmp_path, *BARE)
    before = contents(tmp_path)
    result = init(tmp_path, "--remove", "--table", "table-1", typed="\n")
    assert "Remove Table 1?" in result.output
    assert str(result.exception) == "init: nothing was removed"
    assert contents(tmp_path) == before
