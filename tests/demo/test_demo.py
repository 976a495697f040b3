"""
The demo as a whole: a real line, the real daemon, a real broker; it ends
cleanly, leaves nothing behind, and says what it came to.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.demo.run import run_demo
from shoe_daemon.demo.shoe import DemoSettings
from shoe_daemon.journal import Journal
from shoe_daemon.table.observations import Command
from tests.brokers import PATIENCE, Listener, free_port, wait_for
from tests.demo.demo_process import LONGEST, Terminal, environment, run, start
from tests.volume import sample

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
OTHER_SCREEN, OWN_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
FAST = ("--speed", "0")
CLEAN = ("--fault-rate", "0")
SOON = 15.0
"""Seconds: at once on a busy machine; what waits for something that never comes takes longer."""


def summed_up(text: str) -> bool:
    return "shown as really dealt: yes" in text


def seen_of(text: str) -> tuple[int, int, int]:
    match = re.search(r"(\d+) published, (\d+) acknowledged .*? saw (\d+)", text)
    assert match, text
    published, acknowledged, seen = map(int, match.groups())
    return published, acknowledged, seen


class TestWithoutATerminal:
    def test_five_rounds_end_by_themselves_with_a_summary(self, tmp_path: Path) -> None:
        port = str(free_port())
        options = (*FAST, *CLEAN, "--rounds", "5", "--seed", "3", "--port", port)
        process = start(tmp_path, *options, start_new_session=True)
        out, err = process.communicate(timeout=LONGEST)
        assert (process.returncode, err) == (0, "")
        assert f"broker:   127.0.0.1:{port}; demo broker: no keepalive wills" in out
        assert f"mosquitto_sub -h 127.0.0.1 -p {port} -v -t 'shoe/v1/demo/table-1/#'" in out
        assert f"journal:  {tmp_path}/shoe-demo-" in out
        assert "shoe:     /dev/pts/" in out
        assert re.search(r"^   5  Player .* Banker .*wins", out, re.MULTILINE)
        assert "5 rounds dealt from 1 shoe, 5 of them shown with a result" in out
        assert re.search(r"shown +3 +1 +1\n +expected +2.2 +2.3 +0.5\n", out)
        assert "shown as really dealt: yes, 5 rounds card by card" in out
        assert len(set(seen_of(out))) == 1
        assert list(tmp_path.iterdir()) == [], "the temporary folder is gone"
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)

    @pytest.mark.parametrize(
        "driver", sample(["mqtt-camera", "line-scanner", "bee-tek", "json-lines"], 4)
    )
    def test_each_reader_that_has_a_simulator_can_be_shown(
        self, tmp_path: Path, driver: str
    ) -> None:
        faults = ("--fault", "overdraw", "--fault-rate", "0.4", "--seed", "3", "--no-board")
        # Not faster: on a busy computer a card that comes a second late would be a missing one.
        options = ("--driver", driver, "--rounds", "2", "--speed", "3", *faults)
        process = start(tmp_path, *options, "--port", str(free_port()))
        out, err = process.communicate(timeout=LONGEST)
        assert (process.returncode, err) == (0, "")
        found = re.search(r"2 rounds dealt from 1 shoe, (\d) of them shown with a result", out)
        assert found, out
        # A scanner reports no start of a shoe: the first round is partial, unless a silence before
        # it was long enough.
        assert int(found[1]) in ({1, 2} if driver == "line-scanner" else {2}), out
        assert f"shown as really dealt: yes, {found[1]} round" in out
        assert "1 excess card: burn the card, Supervisor" in out

    @pytest.mark.parametrize("mode", sample(["hidden", "open"], 2))
    def test_faults_are_caught_and_a_kept_journal_says_who_decided(
        self, tmp_path: Path, mode: str
    ) -> None:
        """All that can go wrong goes wrong, and nothing wrong is shown."""
        kept = tmp_path / "kept"
        options = ("--faults", "--fault-rate", "0.7", "--rounds", "24", "--seed", "5")
        done = run(tmp_path, *FAST, *options, "--mode", mode, "--keep", str(kept))
        assert (done.status, done.err) == (0, "")
        assert summed_up(done.out)
        assert "link down" in done.out
        assert re.search(r"irregularities caught: \d\d, all dealt with", done.out)
        for how in (
            "excess card: keep it for the next hand, Supervisor, after",
            "missing draw: draw the card now, Supervisor, after",
            "unreadable card: enter the card by hand, Supervisor, after",
        ):
            assert re.search(rf"^  \d+ {how} \d\.\d s", done.out, re.MULTILINE), how
        assert re.search(r"Supervisor: [PB]\d is \w+[♠♥♦♣], not \w+[♠♥♦♣]", done.out)
        assert "refused" not in done.out
        assert len(set(seen_of(done.out))) == 1
        with Journal.open(kept / "journal.db", "demo", "table-1") as journal:
            orders = [
                each
                for each in journal.reader().observations()
                if isinstance(each, Command) and each.refused is None
            ]
        assert len(orders) > 2
        assert {order.operator for order in orders} == {"Supervisor"}
        assert all(order.id and order.reason for order in orders)

    @pytest.mark.parametrize("number", sample([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], 3))
    def test_anybody_may_subscribe_and_it_ends_cleanly_when_told(
        self, tmp_path: Path, number: signal.Signals
    ) -> None:
        port = free_port()
        process = start(tmp_path, "--speed", "60", *CLEAN, "--port", str(port))
        assert process.stdout is not None
        while not process.stdout.readline().startswith("   2  Player"):
            assert process.poll() is None
        with Listener(port, protocol="3.1.1") as listener:
            assert listener.wait("/table-1/state")[0].json["name"] == "Demo table"
            listener.wait("/event/round_finished")
            began = time.monotonic()
            process.send_signal(number)
            wait_for(lambda: listener.of("/status")[-1].json["state"] == "offline")
        out, err = process.communicate(timeout=PATIENCE)
        assert time.monotonic() - began < SOON
        assert (process.returncode, err) == (0, "")
        assert summed_up(out)
        assert list(tmp_path.iterdir()) == []

    def test_a_reader_of_its_lines_may_leave(self, tmp_path: Path) -> None:
        process = start(tmp_path, *FAST)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        process.wait(PATIENCE)
        assert process.stderr.read() == ""
        process.stderr.close()
        assert list(tmp_path.iterdir()) == []

    def test_a_busy_port_is_left_alone_and_a_kept_journal_is_whole(self, tmp_path: Path) -> None:
        kept, temporary = tmp_path / "kept", tmp_path / "temporary"
        temporary.mkdir()
        options = (*FAST, "--rounds", "3", "--keep", str(kept))
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            done = run(temporary, *options, "--port", str(port))
        assert (done.status, done.err) == (0, "")
        match = re.search(r"broker: +127\.0\.0\.1:(\d+);", done.out)
        assert match
        assert int(match[1]) != port
        assert f"journal kept: {kept}/journal.db" in done.out
        with Journal.open(kept / "journal.db", "demo", "table-1") as journal:
            assert journal.head.seq == seen_of(done.out)[0]
        assert list(temporary.iterdir()) == []
        again = run(temporary, *options)
        assert (again.status, again.out) == (2, "")
        assert again.err.count("\n") == 1
        assert "holds a journal already" in again.err

    @pytest.mark.parametrize(
        ("options", "told"),
        [
            (("--house", "single-deck"), "--house single-deck: its cards are shuffled per hand"),
            (("--house", "nowhere"), "nowhere: no such house"),
            (("--house", "nowhere.toml"), "nowhere.toml: cannot be read"),
            (("--policy", "nobody"), "nobody: no such policy"),
            (("--driver", "camera"), "driver 'camera' has no simulator; expected one of angel"),
            (("--driver", "bee-tek", "--speed", "0"), "--speed 0: expected more: with a Bee-Tek"),
            (("--driver", "bee-tek", "--mode", "hidden"), "--mode hidden: a Bee-Tek shoe has no"),
            (("--keep", "/dev/null/here"), "--keep /dev/null/here: Not a directory"),
        ],
    )
    def test_a_wish_that_cannot_be_is_one_line(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        options: tuple[str, ...],
        told: str,
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        done = CliRunner().invoke(main, ["demo", "--no-board", *options], catch_exceptions=False)
        assert (done.exit_code, done.stdout) == (2, "")
        assert told in done.stderr
        assert done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []


class TestOnATerminal:
    def test_ctrl_c_gives_the_terminal_back_and_other_keys_do_nothing(
        self, tmp_path: Path
    ) -> None:
        with Terminal(tmp_path, "--speed", "60") as terminal:
            terminal.wait_for("Ctrl-C ends")
            terminal.wait_for("Rounds")
            terminal.type("zzzz\x1a")  # and Ctrl-Z leaves it running
            terminal.wait_for("W I N S")
            assert OTHER_SCREEN in terminal.written
            assert HIDE_CURSOR in terminal.written
            assert terminal.manners != terminal.before
            began = time.monotonic()
            terminal.type("\x03")
            assert terminal.end() == 0
            assert time.monotonic() - began < SOON
            assert terminal.manners == terminal.before
            terminal.wait_for("shown as really dealt: yes")
            written = terminal.written
        assert written.rindex(SHOW_CURSOR) > written.rindex(HIDE_CURSOR)
        assert written.rindex(OWN_SCREEN) > written.rindex(OTHER_SCREEN)
        assert "Traceback" not in written
        assert "zzzz" not in written
        assert list(tmp_path.iterdir()) == []

    def test_lines_may_be_wished_for(self, tmp_path: Path) -> None:
        with Terminal(tmp_path, *FAST, *CLEAN, "--rounds", "2", "--plain") as terminal:
            assert terminal.end() == 0
            terminal.wait_for("2 rounds dealt")
            assert "\x1b" not in terminal.written


@pytest.mark.parametrize("extra", ["rich", "amqtt"])
def test_a_missing_extra_is_one_line(tmp_path: Path, extra: str) -> None:
    script = f"import sys; sys.modules[{extra!r}] = None; from shoe_daemon.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "demo"],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"shoe-daemon: the demo needs {extra}, an extra: pip install 'shoe-daemon[demo]'\n"
    )


def test_help_needs_no_extra(tmp_path: Path) -> None:
    script = (
        "import sys\n"
        "from shoe_daemon.cli import main\n"
        "main(['demo', '--help'], standalone_mode=False)\n"
        "assert not {'rich', 'amqtt'} & sys.modules.keys()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env=environment(tmp_path),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "--rounds" in done.stdout


def test_a_daemon_that_dies_takes_the_demo_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(_daemon: object) -> None:
        raise RuntimeError("the daemon died")

    monkeypatch.setattr("shoe_daemon.service.Daemon.run", die)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(RuntimeError, match="the daemon died"):
        run_demo(DemoSettings(port=free_port(), speed=0, rounds=1, plain=True, board=False))
    assert list(tmp_path.iterdir()) == []
    assert handlers == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
