"""`roads` draws the roads by the rules, without extras, and rejects invalid input in one line."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import termios
import time
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from shoe_daemon.cli import main
from shoe_daemon.display.terminal import screen
from shoe_daemon.game.result_notation import parse_sequence
from shoe_daemon.game.roads import LeadingTies, Tail, build_roads

COMMAND = [sys.executable, "-m", "shoe_daemon", "roads"]
SHOE = "TBnBpPPnPnTTBnBBbBpbBBnBbPBnPBTPnPBBpPnTBPPnPPPPnBBpBnPTBPBPnPBBBnPTPBPnBBPBPBnPPBPBTnBBPP"
DRAWN = """\
Bead plate
 B  P                                                 Rounds   8
 B▗ P▝                                                Banker   5 ▇▇▇▇▇▇     63 %
▘B                                                    Player   2 ▇▇         25 %
 T                                                    Tie      1 ▇          13 %
 B                                                    Naturals 1
 B                                                    Pairs: Banker 1, Player 1

Big road
 B  P
▗B  P
▘B/
 B
 B


Big eye boy                Small road                 Cockroach pig
○






Next round   B  ◦ · ·    P  ○ · ·

▘ Banker pair  ▗ Player pair  / tie  2 two ties  ▝ natural
○ ● /  red: as before  ◦ • \\  blue: not as before
"""


def run(*arguments: str, text: str | bytes | None = None, columns: int = 80) -> Result:
    """Run the command in this process, without a terminal."""
    environment = {"COLUMNS": str(columns)}
    return CliRunner().invoke(main, ["roads", *arguments], input=text, env=environment)


def run_process(
    *arguments: str, text: str | None = None, **environment: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *arguments],
        input=None if text is None else text.encode(),
        capture_output=True,
        check=False,
        env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **environment},
    )


def _read(terminal: int) -> bytes:
    """Return what comes within a moment; nothing also after the other end is closed."""
    if not select.select([terminal], [], [], 0.1)[0]:
        return b""
    try:
        return os.read(terminal, 65536)
    except OSError:
        return b""


def on_terminal(*arguments: str, columns: int = 80, **environment: str) -> str:
    """Return the output on a terminal of the given width."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, columns))
    environment = {"TERM": "xterm-256color", "LANG": "C.UTF-8", **environment}
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={"PATH": os.environ["PATH"], **environment},
    ) as child:
        os.close(slave)
        written = b""
        until = time.monotonic() + 60
        while (data := _read(master)) or child.poll() is None:
            written += data
            assert time.monotonic() < until, f"it did not end; it wrote {written!r}"
    os.close(master)
    return written.decode().replace("\r\n", "\n")


def test_a_picture_in_plain_text_where_there_is_no_terminal() -> None:
    done = run_process("BBpBbTBBPPn")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == DRAWN
    assert run_process("-", text="BBpBbT\nBB PPn\n").stdout == done.stdout


@pytest.mark.parametrize("ties", LeadingTies)
@pytest.mark.parametrize("tail", Tail)
def test_json_is_the_form_of_the_contract(ties: LeadingTies, tail: Tail) -> None:
    done = run("--json", "--leading-ties", ties.value, "--tail", tail.value, SHOE)
    made = build_roads(parse_sequence(SHOE), leading_ties=ties, tail=tail)
    assert done.stdout_bytes == msgspec.json.encode(made, order="sorted") + b"\n"
    told = json.loads(done.stdout)
    keys = ["ask", "bead", "big", "big_eye", "cockroach", "counts", "small"]
    assert list(told) == keys
    assert json.dumps(told, sort_keys=True) == json.dumps(told)


def test_no_shoe_is_a_shoe_without_rounds() -> None:
    assert json.loads(run("--json", "").stdout)["counts"]["rounds"] == 0
    assert "Rounds   0" in run("").stdout


@pytest.mark.parametrize(
    ("arguments", "text", "told"),
    [
        (["BXP"], None, "sequence, character 2 ('X'): expected P, B or T"),
        (["bB"], None, "sequence, character 1 ('b'): expected P, B or T"),
        (["BppP"], None, "sequence, character 1 ('Bpp'): the same flag is given twice"),
        (["B\x1b[2J"], None, "sequence, character 2 ('\\x1b'): expected"),
        (["--ascii", "--chinese", "B"], None, "--ascii and --chinese exclude one another"),
        (["-"], b"B\xff\xfe", "standard input is no text; expected a sequence"),
        (["B" * 5001], None, "roads: 5001 rounds; expected at most 5000"),
        (["-"], b"B " * 100_000, "standard input is longer than 100000 bytes"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(
    arguments: list[str], text: bytes | None, told: str
) -> None:
    done = run(*arguments, text=text)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("shoe-daemon: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["BBP"], 2, "roads needs rich, an extra: pip install 'shoe-daemon[display]'"),
        (["--json", "BBP"], 0, ""),
        (["--help"], 0, ""),
    ],
)
def test_only_the_picture_needs_an_extra(arguments: list[str], status: int, told: str) -> None:
    script = (
        "import sys\n"
        "for extra in ('rich', 'starlette', 'uvicorn', 'amqtt'): sys.modules[extra] = None\n"
        "from shoe_daemon.cli import main\n"
        f"main({['roads', *arguments]!r})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == status
    assert bool(done.stdout) == (status == 0)
    assert done.stderr.count(b"\n") == bool(told)
    assert told in done.stderr.decode()


def test_a_terminal_gets_colours_unless_none_are_wanted() -> None:
    assert "48;5;230m" in on_terminal(SHOE)
    assert on_terminal("BBpBbTBBPPn", NO_COLOR="1") == DRAWN


@pytest.fixture
def _colours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `run` have colours as if on a terminal."""

    def console() -> Console:
        return Console(
            file=sys.stdout, force_terminal=True, color_system="truecolor", highlight=False
        )

    monkeypatch.setattr(screen, "_console", console)


@pytest.mark.usefixtures("_colours")
def test_a_terminal_is_asked_for_its_width() -> None:
    written = on_terminal(SHOE * 2, columns=56, COLORTERM="truecolor")
    assert written == run(SHOE * 2, columns=56).stdout


@pytest.mark.usefixtures("_colours")
@pytest.mark.parametrize("columns", [30, 56, 80, 132])
@pytest.mark.parametrize("glyphs", ["--letters", "--chinese", "--ascii"])
def test_it_never_is_wider_than_the_terminal(columns: int, glyphs: str) -> None:
    written = run(glyphs, SHOE * 2, columns=columns).stdout
    assert "48;2;251;250;245m" in written
    rows = re.sub(r"\x1b\[[0-9;]*m", "", written).split("\n")
    widths = [len(row) + len(re.findall("[莊閒和]", row)) for row in rows]
    assert max(widths) <= columns
    assert ("earlier columns" in written) == (columns < 132 or glyphs == "--chinese")
    assert "←" not in written if glyphs == "--ascii" else "<" not in written


def test_a_terminal_without_signs_gets_ascii() -> None:
    done = run_process(SHOE, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"b Banker pair  p Player pair" in done.stdout


def test_the_documents_show_what_is_printed(tmp_path: Path) -> None:
    page = (Path(__file__).parents[2] / "docs/roads.md").read_text(encoding="utf-8")
    shown = re.findall(r"```console\n\$ (.*)\n([^`]*)```", page)
    assert len(shown) == 2
    for command, told in shown:
        done = subprocess.run(
            ["bash", "-c", command],
            capture_output=True,
            check=False,
            env={"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8"},
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr) == (0, b"")
        assert done.stdout.decode() == told
