"""Debian 12's own dpkg installs, upgrades, removes and purges the packages; records stay."""

from __future__ import annotations

import sqlite3

import pytest

from shoe_daemon import __version__
from tests.packaging.conftest import ROOT
from tests.packaging.debian_tree import DebianTree, relabelled

pytestmark = pytest.mark.timeout(900)
"""The first test builds the packages and the tree."""

INSTALL = "dpkg --install shoe-daemon_*.deb"
JOURNALS = "/var/lib/private/shoe-daemon"
JOURNAL = f"{JOURNALS}/table-7/journal.db"
PUBLIC_KEY = f"{JOURNALS}/journal-public.pem"
PICTURE = "/var/lib/shoe-evidence/picture.jpg"
PROFILE = "/etc/shoe-daemon/table-7-camera.toml"
CONFIG = "/etc/shoe-daemon/table-7.toml"
ACCOUNT = "/etc/shoe-daemon/table-7.password"
BROKER = "/etc/mosquitto/conf.d/shoe.conf"
AGREES = "echo shoe-daemon shoe-daemon/purge-records boolean true | debconf-set-selections"


@pytest.fixture
def table(debian: DebianTree) -> DebianTree:
    """A table that was played at: configuration, password, journal, profile, enabled unit."""
    debian.path(JOURNAL).parent.mkdir(parents=True)
    journal = sqlite3.connect(debian.path(JOURNAL))
    journal.executescript((ROOT / "tests/golden/journals/0.1.0.sql").read_text())
    journal.close()
    debian.path(CONFIG).parent.mkdir(exist_ok=True)
    debian.path(CONFIG).write_text((ROOT / "systemd/example.toml").read_text())
    debian.path(ACCOUNT).write_text("secret\n")
    debian.path(PROFILE).write_text("[camera]\nwidth = 1280\nheight = 720\n")
    return debian


def test_both_packages_install_without_a_network(debian: DebianTree) -> None:
    debian.run(f"{INSTALL} shoe-daemon-camera_*.deb")
    assert debian.run("shoe-daemon --version") == f"shoe-daemon {__version__}\n"
    assert debian.run("dpkg --verify shoe-daemon shoe-daemon-camera") == ""
    modules = "cv2, numpy, argon2, cryptography.x509, uvicorn, starlette, rich"
    debian.run(f"/opt/shoe-daemon/bin/python -c 'import {modules}'")
    assert "written" in debian.run("shoe-daemon samples /root/samples")
    assert "replay" in debian.run("MANPAGER=cat man shoe-daemon-replay")
    assert "kiosk" in debian.run("id kiosk; stat --format=%U /var/lib/kiosk")
    debian.run("systemd-analyze verify --man=no shoe-daemon@table-7.service shoe-display.service")
    # Only their group reaches the pictures.
    mode = debian.run("stat --format='%A %U %G' /var/lib/shoe-evidence")
    assert mode == "drwxrws--- root shoe-evidence\n"
    complete = """bash -c '. /usr/share/bash-completion/completions/shoe-daemon
COMP_WORDS=(shoe-daemon jour); COMP_CWORD=1
_shoe_daemon_completion shoe-daemon; echo "${COMPREPLY[@]}"'"""
    assert debian.run(complete) == "journal\n"
    debian.run("dpkg --remove shoe-daemon-camera shoe-daemon")
    assert not debian.path("/opt/shoe-daemon").exists()


def test_an_upgrade_and_a_removal_keep_all_that_tables_wrote(table: DebianTree) -> None:
    # The older version is without the program, which its scripts do not need.
    (package,) = table.path("/root").glob("shoe-daemon_*.deb")
    relabelled(package, table.path("/root/older.deb"), without="opt", Version="0.0.9")
    table.run("dpkg --install older.deb; systemctl enable shoe-daemon@table-7")
    before = {name: table.path(name).read_bytes() for name in (JOURNAL, PROFILE, CONFIG, ACCOUNT)}
    assert "over (0.0.9)" in table.run(INSTALL)
    assert {name: table.path(name).read_bytes() for name in before} == before
    assert "unchanged up to event" in table.run(f"shoe-daemon journal verify {JOURNAL}")
    assert "enabled" in table.run("systemctl is-enabled shoe-daemon@table-7")

    table.run("systemctl enable shoe-display; dpkg --remove shoe-daemon")
    links = table.path("/etc/systemd/system/multi-user.target.wants")
    assert [link.name for link in links.iterdir() if "shoe" in link.name] == []
    assert not table.path("/opt/shoe-daemon").exists()
    assert {name: table.path(name).read_bytes() for name in before} == before

    # A purge after a removal asks too.
    table.run("dpkg --purge shoe-daemon")
    assert table.path(JOURNAL).exists()
    assert not table.path(CONFIG).exists()


def test_a_purge_deletes_journal_and_profile_only_once_a_person_agreed(table: DebianTree) -> None:
    table.run(INSTALL)
    table.path("/etc/shoe-daemon/init.json").write_text(
        '{\n  "answers": {},\n  "hashes": {\n    "' + BROKER + '": "' + "0" * 64 + '"\n  }\n}\n'
    )
    table.path(BROKER).write_text("listener 1883\n")
    table.path("/etc/shoe-daemon/journal-public.pem").write_text("verifies the journals")
    table.run(f"echo a picture > {PICTURE}")
    told = table.run("dpkg --purge shoe-daemon")
    assert table.path(JOURNAL).exists()
    assert table.path(PUBLIC_KEY).read_text() == "verifies the journals"
    assert table.path(PROFILE).exists()
    assert JOURNAL in told
    assert PROFILE in told
    assert PICTURE in told
    for gone in (CONFIG, ACCOUNT, BROKER, "/etc/shoe-daemon/init.json", "/var/lib/kiosk"):
        assert not table.path(gone).exists(), gone
    assert "shoe-daemon" not in table.run("debconf-show shoe-daemon; dpkg --list").split()
    assert "unchanged up to event" in table.run(
        f"{INSTALL} >/dev/null; shoe-daemon journal verify {JOURNAL}"
    )
    table.run(f"{AGREES}; dpkg --purge shoe-daemon")
    for gone in (JOURNALS, "/var/lib/shoe-evidence", "/etc/shoe-daemon", "/opt/shoe-daemon"):
        assert not table.path(gone).exists(), gone


def test_a_package_for_another_computer_is_refused_in_one_line(debian: DebianTree) -> None:
    (package,) = debian.path("/root").glob("shoe-daemon_*.deb")
    for field, value, line in (
        ("Architecture", "arm64", "package architecture (arm64) does not match system (amd64)"),
        ("Depends", "python3 (>= 3.13)", "depends on python3 (>= 3.13)"),
    ):
        relabelled(package, debian.path("/root/other.deb"), without="opt", **{field: value})
        told = debian.run("dpkg --install other.deb", fails=True)
        assert told.count(line) == 1


def test_a_driver_of_your_own_needs_nothing_but_the_package(debian: DebianTree) -> None:
    debian.run(f"{INSTALL}; ! /opt/shoe-daemon/bin/python -c 'import pip'")
    told = debian.run("shoe-daemon new-driver my-reader")
    assert "0 broken" in debian.run(told.partition("\n\n")[2])
    readme = debian.path("/root/my-reader/README.md").read_text()
    told = debian.run(f"cd my-reader\n{readme.partition('```sh')[2].partition('```')[0]}")
    assert " wins" in told
    assert "second.observations.jsonl: written" in told
    # An upgrade keeps it.
    debian.run(f"{INSTALL}; cd my-reader; shoe-daemon replay captures/second.cap")
    # It stays where the package is removed, and goes with a purge.
    debian.run("dpkg --remove shoe-daemon")
    assert list(debian.path("/opt/shoe-daemon").rglob("my_reader*"))
    debian.run("dpkg --purge shoe-daemon")
    assert not debian.path("/opt/shoe-daemon").exists()
