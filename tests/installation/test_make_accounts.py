"""`make-accounts.sh` of the samples: passwords, and the rights of tables."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from shoe_daemon.install.mosquitto import add_tables

SYSTEMD = Path(__file__).parents[2] / "systemd"
SAMPLE = (SYSTEMD / "mosquitto-shoe.acl").read_text(encoding="utf-8")


class Computer:
    """A folder in place of /etc, with the sample's rights; its mosquitto_passwd hashes nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.passwords, mosquitto = folder / "shoe-daemon", folder / "mosquitto"
        self.accounts, self.rights = mosquitto / "shoe.passwd", mosquitto / "shoe.acl"
        self.arguments = folder / "arguments"
        self._programs = folder / "programs"
        for each in (self.passwords, mosquitto, self._programs):
            each.mkdir()
        self.rights.write_text(SAMPLE, encoding="utf-8")
        self.accounts.touch()
        program = self._programs / "mosquitto_passwd"
        program.write_text(
            f'#!/bin/sh\necho "$@" >> {self.arguments}\nsed -i "s/:.*/:new/" "$2"\n'
        )
        program.chmod(0o755)

    def make_accounts(self, *names: str) -> list[str]:
        """Run the script; return the lines that it printed."""
        script = (SYSTEMD / "make-accounts.sh").read_text(encoding="utf-8")
        done = subprocess.run(
            ["sh", "-c", script.replace("/etc/", f"{self._folder}/"), "make-accounts.sh", *names],
            env={"PATH": f"{self._programs}:/usr/bin:/bin"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()


@pytest.fixture
def computer(tmp_path: Path) -> Computer:
    return Computer(tmp_path)


def test_an_account_with_an_encrypted_password_is_kept(computer: Computer) -> None:
    """A new password at the broker would lock out the service, which has the encrypted one."""
    passwords = computer.passwords
    computer.accounts.write_text("notify:old\nboard:hash\n")
    (passwords / "board.password.cred").write_text("sealed")
    printed = computer.make_accounts("board", "notify")
    assert computer.accounts.read_text() == "board:hash\nnotify:new\n"
    assert not (passwords / "board.password").exists()
    password = (passwords / "notify.password").read_text().strip()
    assert password
    # Every user can read the arguments of a program.
    assert password not in computer.arguments.read_text()
    assert printed == [
        f"board: {passwords}/board.password.cred, kept as it is",
        f"notify: {passwords}/notify.password",
        "next: systemctl reload mosquitto",
    ]
    assert computer.rights.read_text() == SAMPLE


def test_a_table_gets_its_block_once_as_init_writes_it(computer: Computer) -> None:
    computer.make_accounts("table-7", "board")
    printed = computer.make_accounts("table-8", "table-7", "pit")
    assert f"table-8: rights of a table, in {computer.rights}" in printed
    rights = computer.rights.read_text()
    assert rights == add_tables(SAMPLE, ["table-7", "board", "table-8", "pit"])
    assert rights.count("\nuser table-7\n") == rights.count("\nuser table-8\n") == 1


def test_without_a_name_the_tables_of_an_older_installation_get_their_blocks(
    computer: Computer,
) -> None:
    """Its passwords stay: they may be on other computers only."""
    entries = "table-1:a\nboard:b\nmaria:c\ntable-2:d\nMaria K:e\n"
    computer.accounts.write_text(entries)
    rights = f"{SAMPLE}\nuser maria\ntopic write shoe/v1/casino/+/cmd/+/maria\n"
    computer.rights.write_text(rights)
    computer.make_accounts()
    assert computer.accounts.read_text() == entries
    assert computer.rights.read_text() == add_tables(rights, ["table-1", "table-2"])
    assert not list(computer.passwords.iterdir())


def test_an_older_file_of_rights_stays_as_it_is(computer: Computer) -> None:
    older = "pattern write shoe/v1/casino/%u/#\n"
    computer.rights.write_text(older)
    printed = computer.make_accounts("table-7")
    assert f"{computer.rights}: has no line #table" in printed[-1]
    assert computer.rights.read_text() == older
    assert computer.accounts.read_text() == "table-7:new\n"
