"""
`shoe-daemon capture` records what a reader sent and when; `replay` gives the rounds of it.
"""

from __future__ import annotations

import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from drivers import Capture, Mark, create_driver, load_capture, observations_of
from drivers.angel_eye_ii import AngelEyeII
from drivers.angel_eye_ii.codec import Report
from drivers.angel_eye_ii.decoder import face_code
from shoe_daemon.cli import capture as capture_command
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import CardDrawn
from tests.volume import sample
from tests.waiting import PATIENCE, wait_for

PROGRAM = (sys.executable, "-m", "shoe_daemon")
BOOT = bytes.fromhex("05 30 53 03 36 30")
CARD = bytes.fromhex("05 31 44 91 9D 03 37 41")
DRIVER = ("--driver", "angel-eye-ii")


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [*map(str, arguments)])
    return result.exit_code, result.output


@contextmanager
def capturing(*arguments: object, **how: object) -> Iterator[subprocess.Popen[str]]:
    """Start a capture, and yield it once it records."""
    command = [*PROGRAM, "capture", *map(str, arguments)]
    settings: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | how
    with subprocess.Popen(command, text=True, **settings) as program:
        assert program.stdout
        try:
            assert "Ctrl-C ends it" in program.stdout.readline()
            yield program
        finally:
            program.kill()


def ended(program: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[str, str]:
    """Stop a capture; return what it printed at its end, and its messages."""
    program.send_signal(number)
    output, messages = program.communicate(timeout=PATIENCE)
    assert program.returncode == 0, messages
    return output, messages


@contextmanager
def listening() -> Iterator[tuple[socket.socket, str]]:
    """Yield a TCP server and its address."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(PATIENCE)
        yield server, f"socket://127.0.0.1:{server.getsockname()[1]}"


def client_of(server: socket.socket) -> socket.socket:
    return server.accept()[0]


def holds(path: Path, what: Callable[[Capture], bool]) -> Callable[[], bool]:
    def does() -> bool:
        try:
            return what(load_capture(path))
        except UserError:
            return False

    return does


def has_bytes(path: Path, count: int) -> Callable[[], bool]:
    return holds(path, lambda capture: len(capture.data) >= count)


def dealt(truth: Path) -> list[list[str]]:
    rounds = [msgspec.json.decode(line) for line in truth.read_bytes().splitlines()]
    return [[card for _, card in each["cards"]] for each in rounds]


def replayed(path: Path, *more: object) -> list[dict[str, Any]]:
    code, output = run("replay", path, "--json", *more)
    assert code == 0, output
    return [msgspec.json.decode(line) for line in output.splitlines() if line.startswith("{")]


def rounds_of(events: list[dict[str, Any]]) -> list[list[str]]:
    rounds: list[list[str]] = []
    for event in events:
        if event["type"] == "round_started":
            rounds.append([])
        if event["type"] in {"card_dealt", "card_disclosed"} and event["data"]["card"]:
            rounds[-1].append(event["data"]["card"])
    return rounds


@pytest.mark.parametrize("where", sample(["pty", "tcp"], 2))
def test_the_dealt_rounds_are_replayed(where: str, tmp_path: Path) -> None:
    truth, path = tmp_path / "truth", tmp_path / "shoe.cap"
    place = ["--link", f"{tmp_path}/shoe"] if where == "pty" else ["--listen", "127.0.0.1:0"]
    options = ["--rounds", "5", "--seed", "3", "--mode", "open", "--speed", "0"]
    simulator = [*PROGRAM, "simulate", "angel-eye-ii", *place, *options, "--truth", str(truth)]
    with subprocess.Popen(simulator, stdout=subprocess.PIPE, text=True) as shoe:
        assert shoe.stdout
        port = shoe.stdout.readline().removeprefix("port: ").strip()
        with capturing(path, "--port", port, *DRIVER, "--site", "casino") as program:
            shoe.communicate(timeout=PATIENCE)
            wait_for(holds(path, lambda capture: any(line.mark for line in capture.lines)))
            output, messages = ended(program)
    capture = load_capture(path)
    assert capture.header["port"] == port
    assert capture.header["site"] == "casino"
    assert capture.header["driver"] == "angel-eye-ii"
    assert capture.header.get("line") == ("4800 8N1" if where == "pty" else None)
    assert capture.header["origin"].startswith("recorded, by shoe-daemon ")
    assert capture.lines[-1].mark is Mark.END
    assert re.fullmatch(
        rf"{path}: 0:\d\d:\d\d, {len(capture.data):,} bytes in \d+ reads, "
        r"\d+ frames, \d+ repeats, 0 bytes of noise, line lost: 1\n",
        output,
    )
    assert re.fullmatch(r"line lost: .*; trying again\n", messages)
    assert len(dealt(truth)) == 5
    events = replayed(path)
    assert rounds_of(events) == dealt(truth)
    date = capture.header["date"][:16]
    assert all(event["at"].startswith(date[:13]) or date[14:] >= "59" for event in events)


TAG_CARDS = ("9S", "KH", "10D", "3C", "2S", "4S")
TAGS = {f"04A2B3C4D5E68{number}": card for number, card in enumerate(TAG_CARDS)}
ONE_ROUND = ["P1 9S", "B1 KH", "P2 10D", "B2 3C"]


def tagged(path: Path, driver: str, reports: list[tuple[float, str]]) -> Path:
    """Write a capture: seconds, and a card whose tag is reported, or removed where it has a -."""
    tags = {card: tag for tag, card in TAGS.items()}
    options = {"cards": TAGS} if driver == "json-lines" else {"cards": TAGS, "unique_codes": True}
    lines = [
        f"# driver: {driver}",
        "# date: 2026-11-21T20:00:00Z",
        f"# options: {json.dumps(options)}",
    ]
    for seconds, card in reports:
        kind, tag = "removed" if card[0] == "-" else "card", tags[card.lstrip("-")]
        told = json.dumps({"type": kind, "card_uid": tag}) + "\n"
        raw = f"{tag}\r" if driver == "line-scanner" else told
        lines.append(f"{seconds:.6f} {raw.encode().hex(' ')}")
    path.write_text("\n".join([*lines, f"{reports[-1][0] + 60:.6f} end", ""]))
    return path


@pytest.mark.parametrize(
    ("driver", "mode"),
    sample(
        product(["json-lines", "line-scanner"], ["auto", "quiet", "rules", "button", "device"]), 4
    ),
)
def test_a_tag_that_lies_at_the_antenna_is_one_card(
    driver: str, mode: str, tmp_path: Path
) -> None:
    """Readers report a lying tag every 2 seconds: adonno/tagreader#3."""
    reports = [
        (at + 2.0 * again, card)
        for at, card in [(1, "9S"), (10, "KH"), (20, "10D"), (30, "3C")]
        for again in range(4)
    ]
    path = tagged(tmp_path / "lying.cap", driver, reports)
    events = replayed(path, "--quiet-gap", "8", "--round-end", mode)
    dealt_cards = [each["data"] for each in events if each["type"] == "card_dealt"]
    assert [f"{each['slot']} {each['card']}" for each in dealt_cards] == ONE_ROUND
    assert not [each for each in events if each["type"] == "irregularity"]


NO_PLACE = 0xF0
"""The place of a card whose slot the reader does not name."""


@pytest.mark.parametrize(
    ("seconds", "rounds", "irregular"),
    [(3, 1, ["excess_card"]), (30, 2, [])],
    ids=["soon", "late"],
)
def test_silence_ends_a_round_where_the_capture_has_times(
    seconds: int, rounds: int, irregular: list[str], tmp_path: Path
) -> None:
    """Without times, `quiet` means `rules`."""
    texts = ["# driver: angel-eye-ii", "# date: 2026-11-23T13:45:00Z"]
    for number, card in enumerate(("9S", "8H", "KD", "KC", "2C"), 1):
        raw = Report(number, "D", bytes([NO_PLACE, face_code(Card(card))])).to_bytes()
        texts.append(f"{number + (seconds if number > 4 else 0)}.000000 {raw.hex(' ')}")
    path, bare = tmp_path / "a.cap", tmp_path / "a.hex"
    path.write_text("\n".join([*texts, "100.000000 end", ""]))
    events = replayed(path, "--round-end", "quiet")
    assert len(rounds_of(events)) == rounds
    assert [event["data"]["kind"] for event in events if event["type"] == "irregularity"] == (
        irregular
    )
    assert events[0]["at"] == "2026-11-23T13:45:01.000Z"
    note = "rounds end by the rules alone"
    assert note not in run("replay", path, "--round-end", "quiet")[1]
    bare.write_text("\n".join([texts[0], *(text.partition(" ")[2] for text in texts[2:])]))
    assert note in run("replay", bare, "--round-end", "quiet")[1]
    assert len(rounds_of(replayed(bare, "--round-end", "quiet"))) == 2


def test_a_lost_line_is_noted_and_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    with listening() as (server, port), capturing(path, "--port", port, *DRIVER) as program:
        with closing(client_of(server)) as client:
            client.sendall(BOOT + CARD[:3])
            wait_for(has_bytes(path, 9))
        with closing(client_of(server)) as client:
            client.sendall(CARD)
            wait_for(has_bytes(path, 17))
            output, messages = ended(program)
    assert [line.mark for line in load_capture(path).lines if line.mark] == list(Mark)
    assert "line lost: 1\n" in output
    lost, back = messages.splitlines()
    assert lost == f"line lost: {port}: closed by the other side; trying again"
    assert re.fullmatch(r"line back after \d+\.\d s", back)
    said = [type(each).__name__ for each in observations_of(AngelEyeII(), load_capture(path))]
    assert said == ["Booted", "Link", "Link", "Gap", "CardDrawn", "Tick"]


def test_what_a_killed_capture_wrote_is_there(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    with listening() as (server, port), capturing(path, "--port", port) as program:
        client = client_of(server)
        client.sendall(BOOT)
        wait_for(has_bytes(path, 6))
        program.kill()
        program.wait(PATIENCE)
        client.close()
    capture = load_capture(path)
    assert (capture.data, capture.note) == (BOOT, "")
    with path.open("a") as file:
        file.write("7.123456 05 3")
    code, output = run("replay", path, *("--protocol", "angel-eye-ii"))
    assert code == 0
    assert re.search(rf"note: {path}: line \d+ is torn: its 13 bytes were left out", output)


@pytest.mark.parametrize("number", sample([signal.SIGHUP, signal.SIGTERM], 2))
def test_other_signals_end_it_as_well(number: int, tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    with (
        listening() as (server, port),
        capturing(path, "--port", port) as program,
        closing(client_of(server)),
    ):
        output, _ = ended(program, number)
    assert re.fullmatch(rf"{path}: 0:\d\d:\d\d, 0 bytes in 0 reads\n", output)


def test_a_full_disk_ends_it_with_a_usable_file(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    full = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))}
    with (
        listening() as (server, port),
        capturing(path, "--port", port, **full) as program,
        closing(client_of(server)) as client,
    ):
        wait_for(lambda: _sent(client, b"noise" * 100) or program.poll() is not None)
        output, messages = program.communicate(timeout=PATIENCE)
    assert program.returncode == 1
    assert messages == f"shoe-daemon: {path}: File too large; the capture ended there\n"
    assert output.startswith(f"{path}: 0:")
    capture = load_capture(path)
    assert not capture.note
    assert set(capture.data) <= set(b"noise")


def _sent(client: socket.socket, data: bytes) -> bool:
    try:
        client.sendall(data)
    except OSError:
        return True
    return False


def test_it_ends_before_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.cap"
    monkeypatch.setattr(capture_command, "MIN_FREE_BYTES", 1 << 60)
    with listening() as (_, port):
        code, output = run("capture", path, "--port", port)
    assert code == 1
    assert f"{path}: less than 1099511627776 MiB are free on its disk; the capture" in output
    assert load_capture(path).header["name"] == "a"


def test_it_ends_by_itself_after_some_seconds(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    with listening() as (_, port):
        code, output = run("capture", path, "--port", port, "--seconds", "0.01")
    assert code == 0, output
    (end,) = load_capture(path).lines
    assert end.mark is Mark.END


def test_progress_is_one_line_on_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    master, slave = os.openpty()
    shown = b""
    with (
        listening() as (server, port),
        capturing(path, "--port", port, *DRIVER, stderr=slave) as program,
        closing(client_of(server)) as client,
    ):
        client.sendall(BOOT * 3)
        while b"18 bytes" not in shown:
            shown += os.read(master, 4096)
        ended(program)
    os.close(master)
    os.close(slave)
    assert b"\n" not in shown
    last = shown.decode().split("\r")[-1]
    assert re.match(
        r"0:00:\d\d, 18 bytes in \d reads, 1 frames, 2 repeats, 0 bytes of noise", last
    )


CONFIG = """
site = "casino"

[[reader]]
id = "{first}"
driver = "angel-eye-ii"
port = "{port}"

[reader.options]
repeat_interval = 2.5
"""


def test_a_configuration_names_the_line(tmp_path: Path) -> None:
    path, config = tmp_path / "a.cap", tmp_path / "table.toml"
    with listening() as (server, port):
        config.write_text(CONFIG.format(first="shoe", port=port))
        with (
            capturing(path, "--config", config) as program,
            closing(client_of(server)) as client,
        ):
            client.sendall(BOOT)
            wait_for(has_bytes(path, 6))
            ended(program)
    header = load_capture(path).header
    assert (header["site"], header["driver"], header["port"]) == ("casino", "angel-eye-ii", port)
    assert load_capture(path).options == {"repeat_interval": 2.5}


class TestAnonymise:
    def test_a_line_has_other_cards_and_no_place(self, tmp_path: Path) -> None:
        path = tmp_path / "a.cap"
        options = (*DRIVER, "--anonymise", "--site", "casino")
        with (
            listening() as (server, port),
            capturing(path, "--port", port, *options) as program,
        ):
            with closing(client_of(server)) as client:
                client.sendall(BOOT + CARD + CARD[:5])
            wait_for(has_bytes(path, 19))
            output, _ = ended(program)
        capture = load_capture(path)
        assert "casino" not in path.read_text()
        assert "127.0.0.1" not in path.read_text()
        assert len(capture.data) == 19
        assert capture.data.startswith(BOOT)
        assert capture.data.endswith(b"?????")
        assert CARD not in capture.data
        assert "19 bytes in" in output
        assert "2 frames" in output

    def test_a_copy_keeps_the_times_and_the_original(self, tmp_path: Path) -> None:
        original, copy = tmp_path / "a.cap", tmp_path / "b.cap"
        options = ("--rounds", 4, "--seed", 3, "--mode", "open")
        assert run("simulate", "angel-eye-ii", "--capture", original, *options)[0] == 0
        dated = original.read_text().replace(
            "# origin:", "# date: 2026-11-23T13:45:00Z\n# site: casino\n# origin:"
        )
        original.write_text(f"{dated}999.000000 lost  # 10.0.0.5\n1000.0 05 3")
        code, output = run("capture", copy, "--port", f"file:{original}", "--anonymise")
        assert code == 0, output
        assert re.search(rf"note: {original}: line \d+ is torn", output)
        assert not re.search(r"casino|10\.0\.0\.5", copy.read_text())
        before, after = load_capture(original), load_capture(copy)
        assert after.start == before.start
        assert after.header["driver"] == "angel-eye-ii"
        assert [(line.at_us, line.mark, len(line.data)) for line in after.lines] == [
            (line.at_us, line.mark, len(line.data)) for line in before.lines
        ]
        cards = [
            [said.card for said in observations_of(AngelEyeII(), each) if type(said) is CardDrawn]
            for each in (before, after)
        ]
        pairs = set(zip(*cards, strict=True))
        assert all(old is not new for old, new in pairs)
        assert len(pairs) == len({old for old, _ in pairs}) == len({new for _, new in pairs})

    def test_a_table_of_codes_is_not_given_away(self, tmp_path: Path) -> None:
        original, copy = tmp_path / "a.cap", tmp_path / "b.cap"
        cards = {f"0000{index:02}": str(card) for index, card in enumerate(Card)}
        options = msgspec.json.encode({"cards": cards, "preset": "handheld"}).decode()
        codes = ["000001", "000033", "000001", "000051"]
        lines = [
            f"{at}.0 {f'{chr(2)}{code}{chr(3)}{chr(13)}'.encode().hex()}"
            for at, code in enumerate(codes)
        ]
        head = ["# driver: line-scanner", f"# options: {options}"]
        original.write_text("\n".join([*head, *lines, ""]))
        code, output = run("capture", copy, "--port", f"file:{original}", "--anonymise")
        assert code == 0, output
        assert "4 reads, 4 frames, 0 repeats, 0 bytes of noise" in output
        assert "0000" not in load_capture(copy).data.decode()
        assert "0000" not in load_capture(copy).header["options"]
        shown = load_capture(copy)
        driver = create_driver("line-scanner", shown.options)
        seen = [said.card for said in observations_of(driver, shown) if type(said) is CardDrawn]
        assert len(seen) == 4
        assert seen[0] == seen[2]
        assert len(set(seen)) == 3


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["a.hex", "--port", "/dev/x"], "a.hex: expected a name that ends in .cap"),
        (["a.cap"], "expected --port PORT, or --config FILE of a table"),
        (["a.cap", "--port", "http://x"], "port 'http://x': expected a path, socket://"),
        (["a.cap", "--port", "/dev/none"], "/dev/none: No such file or directory"),
        (["a.cap", "--port", "/dev/x", "--driver", "none"], "no driver 'none'; there are: "),
        (
            ["a.cap", "--port", "/dev/x", "--reader", "shoe"],
            "--reader: expected only with --config",
        ),
        (["a.cap", "--port", "/dev/x", "--config", "x"], "--config: expected without --port, --"),
        (["a.cap", "--config", "none.toml"], "none.toml: "),
        (["a.cap", "--port", "/dev/x", "--options", "x = 1"], "--options: expected with --driver"),
        (
            ["a.cap", "--config", "table.toml", "--reader", "x"],
            "--reader x: expected one of: shoe",
        ),
        (["a.cap", "--port", "/dev/x", "--anonymise"], "--anonymise: expected --driver NAME or "),
        (
            ["a.cap", "--port", "file:b.cap", "--driver", "camera", "--anonymise"],
            "--anonymise: driver 'camera' cannot replace the cards in its bytes",
        ),
        (["a.cap", "--port", "file:none.cap"], "none.cap: No such file or directory"),
        (["none/a.cap", "--port", "file:b.cap"], "none/a.cap: No such file or directory"),
        (["b.cap", "--port", "file:b.cap"], "b.cap: the file exists; expected a new name"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_no_file(
    arguments: list[str], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("b.cap").write_text("# name: b\n0.0 05\n")
    Path("table.toml").write_text(CONFIG.format(first="shoe", port="/dev/x"))
    code, output = run("capture", *arguments)
    assert code == 2
    assert told in output
    assert output.count("\n") == 1
    assert not Path("a.cap").exists()
    assert Path("b.cap").read_text() == "# name: b\n0.0 05\n"


def test_a_frame_that_silence_ends_counts(tmp_path: Path) -> None:
    path, copy = tmp_path / "a.cap", tmp_path / "b.cap"
    path.write_text(
        '# driver: line-scanner\n# options: {"preset":"no-terminator"}\n0.0 34 53\n9.0 4B 44\n'
    )
    code, output = run("capture", copy, "--port", f"file:{path}", "--anonymise")
    assert code == 0
    assert "2 reads, 2 frames" in output
    seen = observations_of(
        create_driver("line-scanner", load_capture(copy).options), load_capture(copy)
    )
    assert [type(each) for each in seen] == [CardDrawn, CardDrawn]


def test_a_capture_without_a_driver_needs_the_protocol(tmp_path: Path) -> None:
    path = tmp_path / "a.cap"
    path.write_text(f"0.0 {CARD.hex()}\n")
    code, output = run("replay", path)
    assert (code, output) == (
        2,
        f"shoe-daemon: {path}: no line `# driver:`; expected --protocol NAME\n",
    )
    assert run("replay", path, "--protocol", "angel-eye-ii")[0] == 0


def test_bytes_without_a_valid_frame_are_noted(tmp_path: Path) -> None:
    noisy, copy = tmp_path / "noisy.bin", tmp_path / "copy.cap"
    noisy.write_bytes(CARD[1:] * 3)
    code, output = run("capture", copy, "--port", f"file:{noisy}", *DRIVER, "--anonymise")
    assert code == 0
    assert "note: no valid frame of angel-eye-ii: check the line settings" in output
    assert load_capture(copy).data == b"?" * 21


def test_bytes_of_another_tool_become_a_line_for_each_frame(tmp_path: Path) -> None:
    dump, copy = tmp_path / "dump.bin", tmp_path / "copy.cap"
    data = b"\xff\xff" + CARD * 2 + CARD[:3]
    dump.write_bytes(data)
    code, output = run("replay", dump)
    assert (code, output.count("expected --protocol NAME"), output.count("\n")) == (2, 1, 1)
    assert run("capture", copy, "--port", f"file:{dump}", *DRIVER)[0] == 0
    capture = load_capture(copy)
    assert capture.data == data
    assert CARD in [line.data for line in capture.lines]
    assert not capture.has_times
    replayed = [run("replay", "--protocol", "angel-eye-ii", each) for each in (dump, copy)]
    assert replayed[0] == replayed[1]
    assert replayed[0][0] == 0

    # Without a driver they are text all the same.
    assert run("capture", tmp_path / "any.cap", "--port", f"file:{dump}")[0] == 0
    assert load_capture(tmp_path / "any.cap").data == data
