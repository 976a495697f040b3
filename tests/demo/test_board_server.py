"""The demo opens the board and the pit for browsers, says where, and leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.brokers import PATIENCE, free_port, wait_for
from tests.demo.demo_process import COMMAND, Terminal, children_of, environment, start
from tests.volume import sample

SLOW = ("--board", "--speed", "30", "--fault", "overdraw", "--fault-rate", "1", "--seed", "3")
ADDRESSES = re.compile(r"Board: +(http://127\.0\.0\.1:\d+)/table/table-1   Pit: (\S+)/pit\s")


def ask(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:  # noqa: S310 - our own
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def first_of(url: str) -> Any:  # noqa: ANN401 - JSON
    """Return the documents that a page begins with."""
    return facts_of(url)["first"]


def facts_of(url: str) -> Any:  # noqa: ANN401 - JSON
    """Return what a page begins with."""
    status, text = ask(url)
    assert status == 200
    found = re.search(r'<script type="application/json" id="page">(.*?)</script>', text, re.DOTALL)
    assert found
    return json.loads(found[1])


def own_port() -> tuple[str, str]:
    """Two demos that start at once may both find the usual port free."""
    return "--board-port", str(free_port())


@contextmanager
def demo(folder: Path, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a demo; give it, and where its board is."""
    own = () if "--board-port" in arguments else own_port()
    process = start(folder, *SLOW, *own, *arguments)
    try:
        assert process.stdout is not None
        while not (found := ADDRESSES.search(line := process.stdout.readline())):
            assert line, process.communicate()
        assert found[1] == found[2]
        # The demo itself has less patience with its display than we have.
        wait_for(lambda: _listens(found[1]), "the display")
        yield process, found[1]
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE)


def test_the_board_shows_what_is_dealt_and_the_pit_its_misdeals(tmp_path: Path) -> None:
    with demo(tmp_path) as (process, url):
        wait_for(lambda: _board(url)["known"], timeout=PATIENCE)
        wait_for(lambda: _board(url)["fresh"]["is"] == "live", timeout=PATIENCE)
        assert _board(url)["state"]["name"] == "Demo table"
        misdeal = _misdeal(url)
        assert misdeal["kind"] == "excess_card"
        assert misdeal["proposals"]
        wait_for(lambda: first_of(f"{url}/table/table-1")["roads"]["bead"], timeout=PATIENCE)
        started = children_of(process.pid)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, err) == (0, "")
        assert "shown as really dealt: yes" in out
    assert_ended(started)
    assert list(tmp_path.iterdir()) == [], "the temporary folder is gone"


def _board(url: str) -> Any:  # noqa: ANN401 - JSON
    return first_of(f"{url}/table/table-1")["board"]


def _alerts(url: str) -> Any:  # noqa: ANN401 - JSON
    return [alert for row in first_of(f"{url}/pit")["rows"] for alert in row["alerts"]]


def _misdeal(url: str) -> Any:  # noqa: ANN401 - JSON
    """Wait for a misdeal in the pit; the supervisor deals with it, so it is asked for once."""
    seen: list[Any] = []

    def is_seen() -> bool:
        seen.extend(_alerts(url))
        return bool(seen)

    wait_for(is_seen, "a misdeal in the pit")
    return seen[0]["data"]


def assert_ended(processes: list[int]) -> None:
    """The display ended with the demo; its port may belong to another demo by now."""
    assert processes
    assert not [pid for pid in processes if Path(f"/proc/{pid}").exists()]


def _listens(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", int(url.rpartition(":")[2]))) == 0


def test_a_terminal_shows_it_from_the_first_moment_and_tells_when_it_dies(tmp_path: Path) -> None:
    command = (*COMMAND, "--port", str(free_port()), *own_port(), *SLOW)
    with Terminal(tmp_path, columns=120, rows=40, command=command) as terminal:
        terminal.wait_for("/pit")
        found = ADDRESSES.search(terminal.written)
        assert found
        terminal.wait_for(f"Board: {found[1]}/table/table-1   Pit: {found[1]}/pit")
        wait_for(lambda: _listens(found[1]), "the display")
        assert ask(f"{found[1]}/table/table-1")[0] == 200
        (demo_pid,) = children_of(terminal.process.pid)
        (display_pid,) = children_of(demo_pid)
        os.kill(display_pid, signal.SIGKILL)
        terminal.wait_for(" lost; display.log beside the journal says why")
        terminal.type("\x03")
        assert terminal.end() == 0
        terminal.wait_for("shown as really dealt: yes")
        assert "Traceback" not in terminal.written


@pytest.mark.parametrize("extra", sample(["uvicorn", "starlette"], 2))
def test_without_the_extra_one_line_says_how_to_get_it(tmp_path: Path, extra: str) -> None:
    script = f"import sys; sys.modules[{extra!r}] = None; from shoe_daemon.cli import main; main()"
    options = ("demo", "--speed", "0", "--rounds", "1", "--fault-rate", "0")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", script, *options, "--port", str(free_port())],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "no board for a browser: pip install 'shoe-daemon[display]' adds one\n" in done.stdout
    assert time.monotonic() - began < PATIENCE


class Hand:
    """A browser that is logged in."""

    def __init__(self, url: str, operator: str, pin: str) -> None:
        self._url = url
        self._headers = {"Origin": url, "Content-Type": "application/json"}
        answer, headers = self._post("/orders/session", {"operator": operator, "pin": pin})
        cookie = headers["set-cookie"].partition(";")[0]
        self._headers |= {"Cookie": cookie, "X-CSRF-Token": answer["csrf"]}

    def _post(self, path: str, body: dict[str, Any]) -> tuple[Any, Any]:
        request = urllib.request.Request(  # noqa: S310 - loopback
            self._url + path, json.dumps(body).encode(), self._headers
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:  # noqa: S310
            return json.loads(answer.read()), answer.headers

    def order(self, table: str, verb: str, **fields: object) -> Any:  # noqa: ANN401 - JSON
        """Give an order; return the table's reply."""
        return self._post(f"/orders/{table}/{verb}", {"id": f"hand-{verb}", **fields})[0]


def test_a_person_may_decide_on_the_page_and_a_used_port_is_left_alone(tmp_path: Path) -> None:
    port = free_port()
    with (
        socket.create_server(("127.0.0.1", port)),
        demo(tmp_path, "--decide", "--board-port", str(port)) as (process, url),
    ):
        assert not url.endswith(f":{port}")
        alert = _misdeal(url)
        assert facts_of(f"{url}/pit/table/table-1")["operators"] == ["You"]
        hand = Hand(url, "You", "123456")
        proposal = alert["proposals"][0]
        fields = {"irregularity": alert["id"], "action": proposal["action"], "reason": "seen"}
        fields |= dict.fromkeys(proposal.get("needs", ()), "KD")
        answer = hand.order("demo.table-1", "rule", **fields, pin="123456")
        assert answer["ok"], answer
        assert process.stdout is not None
        # The scripted supervisor keeps out, and the game goes on.
        while "You" not in (line := process.stdout.readline()):
            assert line
            assert "Supervisor" not in line
