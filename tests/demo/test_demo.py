"""
The demo as a whole, as a person starts it: what is published is what was dealt, every link
works, and nothing stays behind.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from drivers.simulators.shoe import Fault
from shoe_daemon.cli import main
from shoe_daemon.demo.parts import PERSON, PIN
from shoe_daemon.demo.supervisor import OPERATOR
from shoe_daemon.journal import Journal
from shoe_daemon.table.observations import Command
from tests.brokers import Listener, free_port
from tests.demo.demo_process import (
    LONGEST,
    Terminal,
    children_of,
    demo,
    environment,
    listens,
    own_ports,
    run,
)
from tests.demo.result_check import check_folder
from tests.display.display_process import facts_of, first_of
from tests.volume import sample
from tests.waiting import PATIENCE, wait_for

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
OTHER_SCREEN, OWN_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
QUICK = ("--speed", "0", "--warm-up", "2", "--decide-after", "0", "--seed", "5")
CLEAN = ("--fault-rate", "0")
ENDLESS = ("--speed", "60", "--warm-up", "2", *CLEAN)
EVERY_FAULT = [word for fault in Fault for word in ("--fault", fault.value)]


def orders(folder: Path) -> list[Command]:
    with Journal.open(folder / "journal.db", "demo", "table-1") as journal:
        given = [each for each in journal.reader().observations() if isinstance(each, Command)]
        return [each for each in given if each.name != "replay"]  # of the display, for its log


def is_running(process: int) -> bool:
    try:
        stat = Path(f"/proc/{process}/stat").read_text("ascii")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_ended(processes: list[int]) -> None:
    assert len(processes) == 3
    wait_for(lambda: not any(map(is_running, processes)), "the end of all processes")


def test_it_ends_by_itself_in_one_line(tmp_path: Path) -> None:
    done = run(tmp_path, *QUICK, *CLEAN, "--rounds", "3")
    assert (done.status, done.err) == (0, "")
    assert re.search(r"^   5  Player .* Banker .*wins", done.out, re.MULTILINE)
    assert done.out.endswith("\n5 rounds dealt, 2 of them at once; 0 irregularities caught\n")
    assert list(tmp_path.iterdir()) == [], "the temporary folder is gone"


def test_whatever_goes_wrong_is_decided_and_published_as_it_was_dealt(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    options = (*EVERY_FAULT, "--fault-rate", "0.7", "--rounds", "20")
    done = run(tmp_path, *QUICK, *options, "--keep", str(kept))
    assert (done.status, done.err) == (0, "")
    assert check_folder(kept).passed
    end = done.out.splitlines()[-1]
    found = re.fullmatch(
        r"22 rounds dealt, 2 of them at once; (\d+) irregularities caught; "
        r"decided: (?:\d+ by the equipment, )?(\d+) by the script",
        end,
    )
    assert found, end
    assert int(found[1]) > 5
    given = orders(kept)
    assert {(each.operator, each.claimed, each.refused) for each in given} == {
        (OPERATOR, False, None)
    }
    assert all(each.id and each.reason for each in given)


@pytest.mark.parametrize(
    "driver", sample(["mqtt-camera", "line-scanner", "bee-tek", "json-lines"], 4)
)
def test_each_reader_that_has_a_simulator_can_be_shown(tmp_path: Path, driver: str) -> None:
    faults = ("--fault", "overdraw", "--fault-rate", "0.4", "--seed", "3")
    # Not faster: on a busy computer a card that comes a second late would be a missing one.
    options = ("--driver", driver, "--rounds", "2", "--speed", "3", "--warm-up", "0", *faults)
    kept = tmp_path / "kept"
    done = run(tmp_path, *options, "--decide-after", "0", "--keep", str(kept))
    assert (done.status, done.err) == (0, "")
    # A scanner reports no start of a shoe: the first round is partial, unless a silence before
    # it was long enough.
    check = check_folder(kept, joins_late=driver == "line-scanner")
    assert check.passed
    assert check.same in ({1, 2} if driver == "line-scanner" else {2})
    assert "decided: 1 by the script" in done.out


@pytest.mark.parametrize("number", sample([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], 3))
def test_anybody_may_subscribe_and_a_signal_ends_all_of_it(
    tmp_path: Path, number: signal.Signals
) -> None:
    port = free_port()
    with demo(tmp_path, *ENDLESS, "--port", str(port)) as (process, rows):
        assert f"-p {port} -v -t 'shoe/v1/demo/table-1/#'" in rows["Watch"]
        with Listener(port) as listener:
            assert listener.wait("/table-1/state")[0].json["name"] == "Demo table"
            listener.wait("/event/round_finished")
            children = children_of(process.pid)
            process.send_signal(number)
            wait_for(lambda: listener.of("/status")[-1].json["state"] == "offline")
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, "")
    assert "0 irregularities caught" in out
    wait_ended(children)
    assert list(tmp_path.iterdir()) == []


def test_a_demo_that_is_killed_leaves_no_process_behind(tmp_path: Path) -> None:
    with demo(tmp_path, *ENDLESS) as (process, _):
        children = children_of(process.pid)
        process.kill()
        process.communicate(timeout=PATIENCE)
        wait_ended(children)


def test_a_process_that_ends_takes_the_demo_with_it(tmp_path: Path) -> None:
    with demo(tmp_path, *ENDLESS) as (process, _):
        display = next(
            each
            for each in children_of(process.pid)
            if b"display.toml" in Path(f"/proc/{each}/cmdline").read_bytes()
        )
        os.kill(display, signal.SIGKILL)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 2
        assert err.startswith("shoe-daemon: the display of the demo has ended: ")
        assert err.count("\n") == 1


def test_a_reader_of_its_lines_may_leave(tmp_path: Path) -> None:
    with demo(tmp_path, *ENDLESS) as (process, _):
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.wait(PATIENCE)
        assert process.stderr.read() == ""
        process.stderr.close()
    assert list(tmp_path.iterdir()) == []


def test_busy_ports_and_an_old_journal_are_left_alone(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    with (
        socket.create_server(("127.0.0.1", 0)) as other,
        socket.create_server(("127.0.0.1", 0)) as another,
    ):
        ports = [each.getsockname()[1] for each in (other, another)]
        chosen = ("--port", str(ports[0]), "--board-port", str(ports[1]))
        done = run(tmp_path, *QUICK, *CLEAN, "--rounds", "1", "--keep", str(kept), *chosen)
    assert (done.status, done.err) == (0, "")
    assert not [port for port in ports if f":{port}" in done.out]
    again = run(tmp_path, *QUICK, "--keep", str(kept))
    assert again.status == 2
    assert again.err.count("\n") == 1
    assert "it has a journal already" in again.err


def test_without_mosquitto_a_broker_runs_inside(tmp_path: Path) -> None:
    script = (
        "import shutil, sys\n"
        "shutil.which = lambda *_, **__: None\n"
        "from shoe_daemon.cli import main\n"
        "main()\n"
    )
    words = ("demo", *QUICK, *CLEAN, "--rounds", "2", *own_ports())
    done = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
        timeout=LONGEST,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "inside this process, MQTT 3.1.1, no wills, no access control" in done.stdout
    assert "4 rounds dealt" in done.stdout


class Hand:
    """A browser that is logged in."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._headers = {"Origin": url, "Content-Type": "application/json"}
        answer, headers = self._post("/orders/session", {"operator": PERSON, "pin": PIN})
        cookie = headers["set-cookie"].partition(";")[0]
        self._headers |= {"Cookie": cookie, "X-CSRF-Token": answer["csrf"]}

    def _post(self, path: str, body: dict[str, Any]) -> tuple[Any, Any]:
        request = urllib.request.Request(  # noqa: S310 - loopback
            self._url + path, json.dumps(body).encode(), self._headers
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return json.loads(answer.read()), answer.headers

    def order(self, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Give an order; return the table's reply."""
        path = f"/orders/demo.table-1/{verb}"
        return self._post(path, {"id": f"hand-{verb}", "pin": PIN, **fields})[0]


def test_every_link_works_and_a_person_decides_while_the_dealer_waits(tmp_path: Path) -> None:
    faults = ("--fault", "overdraw", "--fault-rate", "1", "--seed", "3")
    with demo(tmp_path, *faults, "--speed", "0", "--warm-up", "6") as (process, rows):
        links = [rows[name] for name in ("Board", "Dealer", "Pit", "Log", "Report")]
        decide, _, who = rows["Decide"].partition(" as ")
        assert who == f"{PERSON}, PIN {PIN}; after 30 s a script decides"
        url = rows["Pit"].removesuffix("/pit")
        wait_for(lambda: listens(url), "the display")
        for link in (*links, decide):
            with urllib.request.urlopen(link, timeout=PATIENCE) as page:  # noqa: S310 - loopback
                assert page.status == 200
        assert PERSON in facts_of(decide)["operators"]

        def alerts() -> list[Any]:
            found = first_of(rows["Pit"])["rows"]
            return [alert["data"] for row in found for alert in row["alerts"]]

        wait_for(alerts, "a misdeal in the pit")
        assert len(first_of(rows["Board"])["roads"]["bead"]) >= 6, "the roads are full at once"
        (alert,) = alerts()
        chosen = alert["proposals"][0]
        fields = {"irregularity": alert["id"], "action": chosen["action"], "reason": "seen"}
        answer = Hand(url).order("rule", **fields)
        assert answer["ok"], answer
        assert process.stdout is not None
        while PERSON not in (line := process.stdout.readline()):
            assert line
            assert OPERATOR not in line
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
        assert "1 by you" in out.splitlines()[-1]


def test_ctrl_c_gives_the_terminal_back_and_other_keys_do_nothing(tmp_path: Path) -> None:
    with Terminal(tmp_path, *ENDLESS) as terminal:
        terminal.wait_for("Ctrl-C ends it")
        terminal.wait_for("Really on the table: ")
        terminal.wait_for("/pit/report")
        terminal.type("zzzz\x1a")  # and Ctrl-Z leaves it running
        terminal.wait_for("W I N S")
        assert OTHER_SCREEN in terminal.written
        assert HIDE_CURSOR in terminal.written
        assert terminal.manners != terminal.before
        terminal.type("\x03")
        assert terminal.end() == 0
        assert terminal.manners == terminal.before
        terminal.wait_for("irregularities caught")
        written = terminal.written
    assert written.rindex(SHOW_CURSOR) > written.rindex(HIDE_CURSOR)
    assert written.rindex(OWN_SCREEN) > written.rindex(OTHER_SCREEN)
    assert "Traceback" not in written
    assert "zzzz" not in written
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--house", "single-deck"), "--house single-deck: its cards are shuffled per hand"),
        (("--house", "nowhere"), "nowhere: no such house"),
        (("--house", "nowhere.toml"), "nowhere.toml: cannot be read"),
        (("--policy", "nobody"), "nobody: no such policy"),
        (("--driver", "camera"), "driver 'camera' has no simulator; expected one of angel"),
        (("--driver", "bee-tek", "--speed", "0"), "--speed 0: expected more: with a Bee-Tek"),
        (("--keep", "/dev/null/here"), "--keep /dev/null/here: Not a directory"),
    ],
)
def test_a_wish_that_cannot_be_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], said: str
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    done = CliRunner().invoke(main, ["demo", *options], catch_exceptions=False)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("extra", ["rich", "argon2"])
def test_a_missing_extra_is_one_line(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, extra, None)
    done = CliRunner().invoke(main, ["demo"])
    assert (done.exit_code, done.stderr) == (
        2,
        f"shoe-daemon: the demo needs {extra}, an extra: pip install 'shoe-daemon[demo]'\n",
    )


def test_help_needs_no_extra(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from shoe_daemon.cli import main\n"
        "main(['demo', '--help'], standalone_mode=False)\n"
        "assert not {'rich', 'amqtt'} & sys.modules.keys()\n"
    )
    command = [sys.executable, "-c", script]
    subprocess.run(command, check=True, env=environment(tmp_path), stdout=subprocess.DEVNULL)
