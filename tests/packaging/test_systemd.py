"""The installed package under systemd, in a container; `make test-machine` tests far more."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.forward.database import schema
from tests.fakes.postgres import PASSWORD, Server, find_programs, temporary_server
from tests.packaging.conftest import ROOT
from tests.packaging.debian_tree import BootedDebian
from tests.waiting import wait_for

pytestmark = pytest.mark.timeout(900)

DAEMON = "shoe-daemon@table-1.service"
SIMULATOR = "shoe-simulator@table-1.service"
DISPLAY = "shoe-display.service"
NOTIFY = "shoe-notify.service"
UNITS = ("mosquitto.service", SIMULATOR, DAEMON, DISPLAY)
INIT = (
    "shoe-daemon init --yes --site casino --table table-1 --reader simulated --display local "
    "--round-wait 60"
)

ORDER = """python3 - <<'END'
import json, urllib.request
here, headers = "http://127.0.0.1:8080", {"Content-Type": "application/json"}
headers["Origin"] = here
def post(path, **body):
    request = urllib.request.Request(here + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read()), answer.headers
session, given = post("/orders/session", operator="Maria", pin="471100")
headers["Cookie"] = given["set-cookie"].partition(";")[0]
headers["X-CSRF-Token"] = session["csrf"]
for verb in ("hold", "resume"):
    reply, _ = post("/orders/casino.table-1/" + verb, id="page-" + verb, pin="471100")
    print(verb, reply["ok"], reply["refused"])
END
"""
"""Logs in on the display's page, and gives two orders with the PIN."""

METRICS = """
[metrics]
textfile = "/run/shoe-daemon/table-1/table-1.prom"
health_file = "/run/shoe-daemon/table-1/health.json"
"""
READERS = """[Service]
ExecStartPost=+/bin/sh -c "chgrp nogroup FOLDER && chmod g+s FOLDER"
"""
"""
The drop-in of docs/metrics.md, with the group of nobody in place of node_exporter's. One command:
systemd gives the folder back to its user before each.
"""

WEBHOOK = """
[mqtt]
username = "notify"
password_file = "notify.password"
[[notify.to]]
id = "floor"
webhook = "http://127.0.0.1:9/"
secret_file = "floor.secret"
severity = 1
[metrics]
textfile = "/run/shoe-daemon/notify/notify.prom"
"""
ALERT = """{"schema":"1.0","seq":1,"session":"s","alerts":[{"at":"2026-11-23T11:00:01.000Z",
"data":{"card":null,"detail":"A test.","id":1,"kind":"wrong_hand","proposals":[],"severity":3,
"slot":null},"round":1,"shoe":1}]}"""

PICTURES = "/var/lib/shoe-evidence"
SERVICE = "systemd-run --quiet --wait --pipe -p DynamicUser=yes -p PrivateUsers=yes"
"""A service with a user of its own, as the tables and the display are."""

FAST_SHOE = """[Service]
ExecStart=
ExecStart=/opt/shoe-daemon/bin/shoe-daemon simulate angel-eye-ii --listen ${LISTEN} --speed 10
"""

NEXT_ROUND = """mosquitto_sub -V 5 -h 127.0.0.1 -C 1 -W 120 \\
  -t shoe/v1/casino/table-1/event/round_finished \\
  -u board -P "$(systemd-creds decrypt --name=board.password /etc/shoe-daemon/board.password.cred)"
"""


@pytest.fixture(scope="module")
def booted(
    packages: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BootedDebian]:
    """
    Debian 12 in operation, with the packages in /mnt and a table with a simulated shoe that is
    fast. All tests share it.
    """
    console = tmp_path_factory.mktemp("booted") / "console"
    with BootedDebian(packages[0].parent, console) as system:
        assert "orders    http://127.0.0.1:8080/pit" in install(system)
        yield system


def install(system: BootedDebian) -> str:
    """Install the package, and a table with a fast shoe; return what `init` printed."""
    folder = "/etc/systemd/system/shoe-simulator@.service.d"
    system.run(f"mkdir {folder}; echo '{FAST_SHOE}' > {folder}/fast.conf")
    system.run("dpkg --force-unsafe-io --install /mnt/shoe-daemon_*.deb")
    said = system.run(f"printf '471100\\n' | {INIT} --operator Maria")
    assert "result    1 " in said
    return said


def show(system: BootedDebian, field: str, unit: str = DAEMON) -> str:
    """Return a property of a unit."""
    return system.run(f"systemctl show --value --property {field} {unit}").strip()


def log(system: BootedDebian, unit: str = DAEMON) -> str:
    """Return what the present process of a unit has logged."""
    run = f"_SYSTEMD_INVOCATION_ID={show(system, 'InvocationID', unit)}"
    return system.run(f"journalctl --output=cat {run}")


def check_it_plays(system: BootedDebian) -> None:
    """All units are active, a result reaches the broker, and the journal is good."""
    for unit in UNITS:
        assert system.run(f"systemctl is-active {unit}; true") == "active\n", unit
    assert json.loads(system.run(NEXT_ROUND))["table"] == "table-1"
    journal = "/var/lib/shoe-daemon/table-1/journal.db"
    assert "unchanged up to event" in system.run(f"shoe-daemon journal verify --refold {journal}")


def test_a_table_plays_and_is_watched(booted: BootedDebian) -> None:
    check_it_plays(booted)
    assert booted.run(ORDER) == "hold True None\nresume True None\n"
    # The key that signs the journal arrives too, with everything that confines the service.
    assert "journal.key" in booted.run(f"ls /run/credentials/{DAEMON}")
    assert "file_unusable" not in log(booted)
    # `doctor` knows the identity of the running unit.
    told = booted.run("shoe-daemon doctor --config /etc/shoe-daemon/table-1.toml")
    own = "with a user of its own and the groups dialout: its devices are tried so"
    assert f"{DAEMON} {own}" in " ".join(told.split())

    # The watchdog replaces processes that stand still.
    stopped = {unit: show(booted, "MainPID", unit) for unit in (DAEMON, DISPLAY)}
    restarts = {unit: int(show(booted, "NRestarts", unit)) for unit in stopped}
    booted.run(f"kill -STOP {' '.join(stopped.values())}")
    for unit, process in stopped.items():
        booted.wait(
            f"test $(systemctl show --value --property NRestarts {unit}) -gt {restarts[unit]}"
        )
        booted.wait(f"systemctl --quiet is-active {unit}")
        assert show(booted, "MainPID", unit) != process
        assert "result 'watchdog'" in booted.run(f"journalctl --output=cat --unit={unit}")
    check_it_plays(booted)


def test_others_read_the_figures_and_notifications_remember(booted: BootedDebian) -> None:
    for unit, name in (("shoe-daemon@", "%i"), ("shoe-notify", "notify")):
        drop_in = f"/etc/systemd/system/{unit}.service.d"
        text = READERS.replace("FOLDER", f"/run/shoe-daemon/{name}")
        booted.run(f"mkdir -p {drop_in}; echo '{text}' > {drop_in}/60-readers.conf")
    booted.run(
        f"echo '{METRICS}' >> /etc/shoe-daemon/table-1.toml; systemctl daemon-reload; "
        f"systemctl restart {DAEMON}"
    )
    folder = "/run/shoe-daemon/table-1"
    as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups"
    for file in ("table-1.prom", "health.json"):
        # The first file may be older than its folder's group; ten seconds later it is replaced.
        booted.wait(f"{as_nobody} test -r {folder}/{file}")
    as_others = "setpriv --reuid=65533 --regid=65533 --clear-groups"
    booted.run(f"! {as_others} cat {folder}/health.json")
    assert "shoe_cards_total" in booted.run(f"{as_nobody} cat {folder}/*.prom")
    assert json.loads(booted.run(f"{as_nobody} cat {folder}/health.json"))["table"] == "table-1"
    booted.run(f"systemctl stop {DAEMON}; test ! -e {folder}; systemctl start {DAEMON}")

    # A reload needs /bin/kill, which this tree lacks.
    booted.run(
        "sh /usr/share/shoe-daemon/samples/make-accounts.sh notify; systemctl restart mosquitto; "
        "echo secret > /etc/shoe-daemon/floor.secret; "
        f"echo '{WEBHOOK}' > /etc/shoe-daemon/notify.toml; systemctl start {NOTIFY}"
    )
    publish = (
        "mosquitto_pub -V 5 -h 127.0.0.1 -r -t shoe/v1/casino/table-1/alert/active -u table-1"
    )
    decrypt = "systemd-creds decrypt --name=table-1.password"
    booted.run(
        f"{publish} -P \"$({decrypt} /etc/shoe-daemon/table-1.password.cred)\" -m '{ALERT}'"
    )
    booted.wait(f'systemctl show --property StatusText {NOTIFY} | grep -q "floor FAILS"')
    assert "connection refused" in show(booted, "StatusText", NOTIFY)
    assert "refused" in booted.run("cat /var/lib/private/shoe-notify/notify-state.json")
    booted.wait("grep -q ^shoe_notify_failures /run/shoe-daemon/notify/notify.prom")
    booted.wait(f"{as_nobody} grep -q shoe_notify_waiting /run/shoe-daemon/notify/notify.prom")
    # A person learns it from `doctor` too, without the environment of the service.
    told = booted.run("shoe-daemon doctor --config /etc/shoe-daemon/notify.toml || true")
    assert "fails since" in told
    assert "file_unusable" not in booted.run(f"journalctl --output=cat --unit={NOTIFY}")


LAST_BEFORE_RESTART = """python3 - <<'END'
import sqlite3
db = sqlite3.connect("file:/var/lib/shoe-daemon/table-1/journal.db?mode=ro", uri=True)
((gap,),) = db.execute(
    "SELECT max(id) FROM observation WHERE type = 'gap' AND body LIKE '%restart%'")
((last,),) = db.execute(
    "SELECT type FROM event WHERE observation < ?"
    " AND body ->> '$.type' IN ('round_started', 'round_finished') ORDER BY seq DESC LIMIT 1",
    (gap,))
print(last)
END
"""
"""The last start or end of a round before the last start of the daemon."""


def test_an_upgrade_restarts_a_table_between_two_rounds(booted: BootedDebian) -> None:
    before = {unit: show(booted, "MainPID", unit) for unit in (DAEMON, DISPLAY)}
    booted.run("dpkg --force-unsafe-io --install /mnt/shoe-daemon_*.deb")
    assert show(booted, "MainPID", DISPLAY) not in {before[DISPLAY], "0"}
    booted.wait(f"test $(systemctl show --value --property MainPID {DAEMON}) != {before[DAEMON]}")
    booted.wait(f"systemctl --quiet is-active {DAEMON}")
    check_it_plays(booted)
    assert booted.run(LAST_BEFORE_RESTART) == "round_finished\n"


def test_a_removed_table_leaves_its_journal_only(booted: BootedDebian) -> None:
    # Another test's account; `init` writes the file anew below.
    booted.run("mosquitto_passwd -D /etc/mosquitto/shoe.passwd notify || true")
    booted.run(INIT.replace("table-1", "table-2"))
    retained = (
        "mosquitto_sub -V 5 -h 127.0.0.1 --retained-only -W 3 -v -t 'shoe/v1/casino/+/status' "
        '-u board -P "$(systemd-creds decrypt --name=board.password '
        '/etc/shoe-daemon/board.password.cred)" || true'
    )
    assert "table-2/status" in booted.run(retained)
    files = "find /etc/shoe-daemon /etc/mosquitto /etc/systemd/system"
    said = booted.run("shoe-daemon init --yes --remove --table table-2")
    assert "stop      shoe-daemon@table-2.service" in said
    assert "stays     /var/lib/shoe-daemon/table-2/journal.db" in said
    assert "retained topics of the table" in said
    told = booted.run(retained)
    assert "table-1/status" in told
    assert "table-2/status" not in told
    assert "table-2" not in booted.run(files)
    assert "table-2" not in booted.run("cat /etc/mosquitto/shoe.passwd /etc/mosquitto/shoe.acl")
    assert booted.run("systemctl --quiet is-active 'shoe-*@table-2' || echo no") == "no\n"
    journal = "/var/lib/shoe-daemon/table-2/journal.db"
    assert "unchanged up to event" in booted.run(f"shoe-daemon journal verify {journal}")
    check_it_plays(booted)

    # With the last table the display and the broker's accounts go too, where no other account
    # reads by them; then all is new again.
    said = booted.run("shoe-daemon init --yes --remove --table table-1")
    assert f"stop      {DISPLAY}" in said
    assert "shoe" not in booted.run("ls /etc/mosquitto /etc/mosquitto/conf.d")
    assert booted.run(f"systemctl --quiet is-active {DISPLAY} || echo no") == "no\n"
    booted.run(f"printf '471100\n' | {INIT} --operator Maria")
    check_it_plays(booted)


def test_the_display_reads_the_pictures_of_a_table_with_a_camera(booted: BootedDebian) -> None:
    camera = "--display network --reader camera:/dev/video0 --root /root/camera"
    booted.run(f"mkdir /root/camera; echo a long password | {INIT} {camera}")
    etc = "/root/camera/etc"
    assert f'evidence = "{PICTURES}"' in booted.run(f"cat {etc}/shoe-daemon/display.toml")
    folder = f"{PICTURES}/casino.table-1"
    assert f'evidence = "{folder}"' in booted.run(f"cat {etc}/shoe-daemon/table-1.toml")
    group = "SupplementaryGroups=shoe-evidence"
    paths = f"ReadWritePaths={PICTURES}"
    drop_in = booted.run(f"cat {etc}/systemd/system/{DAEMON}.d/50-init.conf")
    assert group in drop_in
    assert paths in drop_in
    assert group in booted.run(f"cat {etc}/systemd/system/{DISPLAY}.d/50-init.conf")

    write = f"mkdir -m 750 {folder} && umask 027 && echo a picture > {folder}/1.jpg"
    booted.run(f"{SERVICE} -p {group} -p {paths} sh -c '{write}'")
    assert booted.run(f"{SERVICE} -p {group} cat {folder}/1.jpg") == "a picture\n"
    for forbidden in (f"-p {group} touch {folder}/2.jpg", f"cat {folder}/1.jpg"):
        assert booted.run(f"{SERVICE} {forbidden} 2>&1 || echo no").endswith("no\n")


def test_without_its_credentials_a_unit_runs_and_says_what_is_missing(
    booted: BootedDebian,
) -> None:
    restart = f"systemctl restart {DAEMON} {DISPLAY}"
    booted.run(f"mkdir /root/kept; mv /etc/shoe-daemon/*.cred /root/kept; {restart}")
    lacks = "the file of LoadCredential= in the unit is empty, or it is missing"
    for unit, event, keys in (
        (DAEMON, "file_unusable", ["mqtt.password_file", "journal.key_file"]),
        (DISPLAY, "broker_lost", ["mqtt.password_file"]),
    ):
        booted.wait(f'systemctl show --property StatusText {unit} | grep -q "{lacks}"')
        assert show(booted, "ActiveState", unit) == "active"
        logged = log(booted, unit).splitlines()
        lines = [each for each in logged if event in each]
        for key, line in zip(keys, lines, strict=True):
            assert f"{key}: " in line
            assert lacks in line
    assert "shoe: ok" in show(booted, "StatusText")
    booted.run(f"mv /root/kept/*.cred /etc/shoe-daemon; {restart}")


FORWARD = """
[forward]
database = "host=/srv dbname=shoe user=floor"
password_file = "forward.password"
every = 1
"""


@pytest.fixture
def server() -> Iterator[Server]:
    """A PostgreSQL of this machine, whose socket the unit's user may use."""
    if find_programs() is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql-15")
    with temporary_server() as running:
        running.folder.chmod(0o755)
        running.make_database(schema())
        yield running


def copied(server: Server) -> int:
    """Return how many events are in the database."""
    with server.connect(database="shoe") as connection:
        rows = connection.execute("SELECT count(*) FROM (TABLE shoe.event UNION ALL"
                                  " TABLE shoe.staff_event) AS e").fetchall()  # fmt: skip
    return int(rows[0][0])


def test_the_copy_in_a_database_survives_its_server_and_ends_with_the_table(
    packages: list[Path], tmp_path: Path, server: Server
) -> None:
    unit = "shoe-forward@table-1.service"
    bind = f"--bind={server.folder}:/srv"
    with BootedDebian(packages[0].parent, tmp_path / "console", bind) as system:
        install(system)
        etc = "/etc/shoe-daemon"
        system.run(
            f"install -m 600 /dev/null {etc}/forward.password; "
            f"echo {PASSWORD} > {etc}/forward.password; echo '{FORWARD}' >> {etc}/table-1.toml; "
            f"systemctl start {unit}"
        )
        wait_for(lambda: copied(server) > 0, "the first rows")
        system.wait(f'systemctl status {unit} | grep -q "[0-9] events to copy, oldest [0-9]* s"')

        server.kill()
        system.wait(f'systemctl status {unit} | grep -q "no database"')
        server.start()
        before = copied(server)
        wait_for(lambda: copied(server) > before, "rows after the server's return")
        system.wait(f'systemctl status {unit} | grep -q "events to copy"')
        assert show(system, "ActiveState", unit) == "active"
        assert show(system, "NRestarts", unit) == "0"

        said = system.run("shoe-daemon init --yes --remove --table table-1")
        assert f"stop      {unit}" in said
        assert system.run(f"systemctl --quiet is-active {unit} || echo no") == "no\n"
        journal = "/var/lib/shoe-daemon/table-1/journal.db"
        told = system.run(f"shoe-daemon journal verify {journal}")
        assert f"unchanged up to event {copied(server)};" in told


def test_another_computer_goes_on_from_a_backup(
    packages: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The passwords are encrypted for the first computer only, and the PIN is still right."""
    folder, mnt = tmp_path_factory.mktemp("backup"), packages[0].parent
    with BootedDebian(mnt, folder / "first") as first:
        first.run("dpkg --force-unsafe-io --install /mnt/shoe-daemon_*.deb")
        assert "result    1 " in first.run(f"printf '471100\\n' | {INIT} --operator Maria")
        page = (ROOT / "docs/install.md").read_text().partition("## Backup")[2]
        nightly = page.split("```sh\n")[2].partition("```")[0]
        first.run(f"mkdir /srv/backup\n{nightly.replace('/mnt/', '/srv/')}")
        assert "shoe-backup.timer" in first.run("systemctl list-timers")
        told = first.run("journalctl --output=cat --unit=shoe-backup.service")
        assert "journal.db: up to event " in told
        files = first.run("ls /srv/backup/*").split()
        assert first.run(f"stat --format='%A %U' {files[0]}") == "-rw------- root\n"
        saved = base64.b64decode(first.run(f"base64 {files[0]}"))
        # A failure is reported like that of other units.
        first.run("echo damaged > /var/lib/shoe-daemon/table-1/journal.db")
        first.run("systemctl start shoe-backup.service", fails=True)
        first.wait('journalctl --identifier=shoe-daemon | grep -q "shoe-backup.service stays off"')
        assert first.run("ls /srv/backup/*").split() == files
    # The folder of the packages is also that of a memory stick.
    stick = mnt / f"{folder.name}.tar.gz"
    stick.write_bytes(saved)
    with BootedDebian(mnt, folder / "second") as second:
        second.run("dpkg --force-unsafe-io --install /mnt/shoe-daemon_*.deb")
        told = second.run(f"shoe-daemon restore /mnt/{stick.name}")
        second.run(told.partition("is off:\n")[2])
        next_seq = int(re.findall(r"the next event is ([\d,]+)", told)[0].replace(",", ""))
        listen = NEXT_ROUND.partition("-P")[0] + '-P "$(cat /etc/shoe-daemon/board.password)"'
        assert json.loads(second.run(listen))["seq"] >= next_seq
        assert second.run(ORDER) == "hold True None\nresume True None\n"
        journal = "/var/lib/shoe-daemon/table-1/journal.db"
        verify = f"shoe-daemon journal verify --key /etc/shoe-daemon/journal-public.pem {journal}"
        assert "unchanged up to event" in second.run(verify)
        assert "file_unusable" not in log(second)
        refused = second.run(f"shoe-daemon restore /mnt/{stick.name}", fails=True)
        assert "exists; nothing was changed" in refused
    stick.unlink()
