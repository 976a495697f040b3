"""`doctor` finds faults, only reads, and lists what a table cannot detect."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from drivers import LineError, LineSettings, open_transport
from shoe_daemon import __version__
from shoe_daemon.cli import main
from shoe_daemon.config import table as config
from shoe_daemon.doctor import devices
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.journal.lock import WriterLock
from tests.brokers import Listener, Mosquitto, free_port, mosquitto
from tests.fakes.relay_board import RelayBoard
from tests.service import example_drivers
from tests.service.daemon_process import DaemonProcess, configure
from tests.waiting import wait_for

__all__ = ["mosquitto"]

TABLE = """
site = "here"
[table]
id = "seven"
house = "seven-feathers"
{table}
[mqtt]
port = {port}
[[reader]]
driver = "angel-eye-ii"
port = "{line}"
"""


def doctor(file: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["doctor", "--config", str(file), *more])


def configured(folder: Path, line: str, port: int, table: str = "") -> Path:
    file = folder / "table.toml"
    file.write_text(TABLE.format(line=line, port=port, table=table), encoding="utf-8")
    return file


def findings(result: Result) -> dict[str, list[tuple[str, str]]]:
    told: dict[str, list[tuple[str, str]]] = {}
    for finding in json.loads(result.stdout):
        told.setdefault(finding["about"], []).append((finding["verdict"], finding["text"]))
    return told


@pytest.mark.mosquitto
def test_a_healthy_table_has_nothing_bad(tmp_path: Path) -> None:
    folder = tmp_path / "broker"
    folder.mkdir()
    master, slave = os.openpty()
    try:
        with Mosquitto(folder) as broker:
            file = configured(tmp_path, os.ttyname(slave), broker.port)
            before = set(tmp_path.iterdir())
            result = doctor(file, "--json")
            assert set(tmp_path.iterdir()) == before
    finally:
        os.close(master)
        os.close(slave)
    told = findings(result)
    assert result.exit_code == 0, result.output
    for about in ("journal", "disk", "reader shoe", "broker", "subscribe", "publish"):
        assert [verdict for verdict, _ in told[about]] == ["good"]


def test_lines_that_the_running_daemon_has_open_are_not_bad(tmp_path: Path) -> None:
    """A technician examines the table that was just installed: its daemon runs."""
    ends = [os.openpty() for _ in range(3)]
    reader, copy, lamp = lines = [os.ttyname(slave) for _, slave in ends]
    file = configured(tmp_path, reader, free_port())
    with file.open("a", encoding="utf-8") as text:
        text.write(f'[reader.forward]\nto = "{copy}"\n')
        text.write(f'[[lamp]]\nid = "tower"\nrelay = "{lamp}"\n')
        text.write("[[lamp.rule]]\nseverity = 3\nchannel = 1\n")
    held = [open_transport(line, LineSettings()) for line in lines]
    lock = WriterLock.take(config.load_config(file).journal)
    try:
        running = findings(doctor(file, "--json"))
    finally:
        lock.close()
    stopped = findings(doctor(file, "--json"))
    for transport in held:
        transport.close()
    for end in ends:
        os.close(end[0])
        os.close(end[1])
    for about in ("reader shoe", "copy shoe", "lamp tower"):
        [(verdict, told), *_] = running[about]
        assert verdict == "note", told
        assert told.endswith(": another program has it open: the running daemon")
        assert stopped[about][0][0] == "bad"
        assert stopped[about][0][1].endswith("another program has it open")


def test_a_gpio_line_of_the_running_daemon_is_not_bad(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check_gpio(chip: str, _: object) -> None:
        raise LineError(f"{chip}: line '4' is in use by 'shoe-daemon'")

    monkeypatch.setattr(devices, "check_gpio", check_gpio)
    file = configured(tmp_path, "/dev/null", free_port())
    with file.open("a", encoding="utf-8") as text:
        text.write('[[lamp]]\nid = "board"\ngpio = "/dev/gpiochip0"\n')
        text.write("[[lamp.rule]]\nseverity = 3\nchannel = 4\n")
    lock = WriterLock.take(config.load_config(file).journal)
    try:
        assert findings(doctor(file, "--json"))["lamp board"][0][0] == "note"
    finally:
        lock.close()
    assert findings(doctor(file, "--json"))["lamp board"][0][0] == "bad"


def test_a_missing_line_of_a_running_daemon_is_bad(tmp_path: Path) -> None:
    file = configured(tmp_path, f"{tmp_path}/none", free_port())
    lock = WriterLock.take(config.load_config(file).journal)
    try:
        told = findings(doctor(file, "--json"))
    finally:
        lock.close()
    assert told["reader shoe"] == [("bad", f"{tmp_path}/none: No such file or directory")]


def test_lamps_are_opened_and_left_as_they_are(tmp_path: Path) -> None:
    with RelayBoard(tmp_path / "lamp") as board:
        file = configured(tmp_path, "/dev/null", free_port())
        with file.open("a", encoding="utf-8") as text:
            for name, output, channel in (
                ("tower", f'relay = "{board.link}"', "channel = 1"),
                ("gone", f'relay = "{tmp_path}/none"', "channel = 1"),
                ("board", 'gpio = "/dev/gpiochip99"', "channel = 4"),
                ("desk", 'topic = "lamps/7"', ""),
            ):
                rule = f"[[lamp.rule]]\nseverity = 3\n{channel}\n"
                text.write(f'[[lamp]]\nid = "{name}"\n{output}\n{rule}')
        told = findings(doctor(file, "--json"))
        assert board.commands == 0
        assert not board.wrong
    assert told["lamp tower"][0][0] == "good"
    assert told["lamp gone"] == [
        ("bad", f"stays dark: {tmp_path}/none: No such file or directory")
    ]
    assert told["lamp board"] == [
        ("bad", "stays dark: /dev/gpiochip99: No such file or directory")
    ]
    assert told["lamp desk"][0][0] == "note"


SEES = "sees each card before the players do: let a firewall admit the display alone"


def test_the_copy_of_a_reader_is_opened(tmp_path: Path) -> None:
    master, slave = os.openpty()
    port = free_port()
    try:
        told = []
        for to in (
            os.ttyname(slave),
            f"{tmp_path}/none",
            f"tcp://127.0.0.1:{port}",
            f"tcp://0.0.0.0:{port}",
        ):
            file = configured(tmp_path, "/dev/null", free_port())
            with file.open("a", encoding="utf-8") as text:
                text.write(f'[reader.forward]\nto = "{to}"\nopen_to_network = true\n')
            told += findings(doctor(file, "--json"))["copy shoe"]
        assert told == [
            ("good", f"{os.ttyname(slave)} opens"),
            ("bad", f"goes nowhere: {tmp_path}/none: No such file or directory"),
            ("good", f"127.0.0.1:{port} is free"),
            ("good", f"0.0.0.0:{port} is free"),
            ("note", f"whoever reaches tcp://0.0.0.0:{port} {SEES}"),
        ]
        with socket.create_server(("127.0.0.1", port)):
            file = configured(tmp_path, "/dev/null", free_port())
            with file.open("a", encoding="utf-8") as text:
                text.write(f'[reader.forward]\nto = "tcp://127.0.0.1:{port}"\n')
            in_use = f"127.0.0.1:{port} is in use: by the running daemon, or another program"
            assert findings(doctor(file, "--json"))["copy shoe"] == [("note", in_use)]
    finally:
        os.close(master)
        os.close(slave)


@pytest.mark.mosquitto
def test_lamps_are_lit_one_after_another_on_demand(
    tmp_path: Path, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "_LIGHT_S", 0.05)
    with RelayBoard(tmp_path / "lamp") as board, Listener(mosquitto.port, "lamps/7") as lamp:
        file = configured(tmp_path, "/dev/null", mosquitto.port)
        with file.open("a", encoding="utf-8") as text:
            text.write(
                f'[[lamp]]\nid = "tower"\nrelay = "{board.link}"\n'
                "rule = [{severity = 3, channel = 2}, {severity = 1, channel = 5}]\n"
                '[[lamp]]\ntopic = "lamps/7"\nrule = [{severity = 3}]\n'
            )
        told = findings(doctor(file, "--json", "--light-lamps"))
        wait_for(lambda: board.states == {2: False, 5: False}, "all off")
        wait_for(lambda: len(lamp.messages) == 2, "the messages")
    assert [(each.channel, each.on) for each in board.switched] == [
        (2, True),
        (2, False),
        (5, True),
        (5, False),
    ]
    assert [each.payload for each in lamp.messages] == [b'{"state":"ON"}', b'{"state":"OFF"}']
    assert {told["lamp tower"][0][0], told["lamp lamp"][0][0]} == {"note"}


def test_a_table_that_still_runs_an_older_version_is_named(tmp_path: Path) -> None:
    file = configure(tmp_path / "table")
    for older, program in (("", __version__), ("0.0.9", "0.0.9")):
        patch = f"import shoe_daemon\nshoe_daemon.__version__ = '{older}'\n" if older else ""
        address = str(tmp_path / f"{program}.sock")
        with DaemonProcess(file, patch=patch, address=address) as daemon:
            daemon.start().wait_ready()
            ((verdict, text),) = findings(doctor(file, "--json"))["program"]
        assert verdict == ("note" if older else "good")
        assert text.startswith(f"table-7 runs {program}, ")
        assert (f"installed is {__version__}: it restarts between two rounds" in text) is bool(
            older
        )
    # A table that is off starts with the installed version.
    assert "program" not in findings(doctor(file, "--json"))


def test_a_missing_reader_and_a_missing_broker_are_bad(tmp_path: Path) -> None:
    result = doctor(configured(tmp_path, str(tmp_path / "no-port"), free_port()))
    assert result.exit_code == 1
    lines = [line for line in result.output.splitlines() if line.startswith("!!")]
    assert [line.split()[1] for line in lines] == ["reader", "broker"]
    *found, summary = result.output.splitlines()
    assert all(len(line) <= 80 for line in found)
    assert str(result.exception) == "1"
    assert "checks, bad: reader shoe, broker; mend what is marked !! and run doctor" in summary
    assert "; what is blind, staff report on the pit's page" in summary
    assert sum(line.startswith("--  blind ") for line in found) == 1


@pytest.mark.parametrize(
    ("table", "seen", "unseen"),
    [
        ("", "wrong_hand", "premature_draw"),
        ('signals = ["betting"]', "premature_draw", "double_feed"),
        ("least_gap = 0.2", "double_feed", "suspect_sequence"),
        ("suspect_run = 9", "suspect_sequence", "face_up_in_shoe"),
        ('checkers = ["second"]', "source_conflict", "card_off_table"),
        ('round_end = "rules"', "duplicate_card", "excess_card"),
    ],
)
def test_it_says_what_this_table_cannot_see(
    tmp_path: Path, table: str, seen: str, unseen: str
) -> None:
    file = configured(tmp_path, "/dev/null", 1, table)
    with file.open("a", encoding="utf-8") as text:
        text.write('[[reader]]\nid = "second"\ndriver = "angel-eye-ii"\nport = "/dev/zero"\n')
    told = findings(doctor(file, "--json"))
    ((_, listed),) = told["blind"]
    blind = set(listed.partition(":")[0].split(", "))
    assert unseen in blind
    assert seen not in blind
    assert blind <= set(IrregularityKind)


def test_silence_chosen_by_auto_has_that_blind_spot_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(example_drivers.installed(tmp_path / "site").partition(":")[0])
    file = tmp_path / "table.toml"
    reader = '[[reader]]\ndriver = "cards-only"\nport = "/dev/null"\n'
    file.write_text(f'site = "here"\n[table]\nquiet_gap = 8\n{reader}', encoding="utf-8")
    told = findings(doctor(file, "--json"))
    assert any("8 s or more" in text for _, text in told["blind"])


@pytest.fixture
def of_unit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a configuration where the unit `shoe-daemon@table` looks for it."""
    monkeypatch.setattr(config, "SERVICE_CONFIGS", tmp_path)
    monkeypatch.setattr(config, "SERVICE_STATE", tmp_path / "state")
    file = tmp_path / "table.toml"
    file.write_text('site = "here"\n', encoding="utf-8")
    return file


def test_the_journal_is_the_services_before_it_has_run(of_unit: Path) -> None:
    ((verdict, text),) = findings(doctor(of_unit, "--json"))["journal"]
    assert verdict == "good"
    assert text.startswith(f"{of_unit.parent}/state/table/journal.db of shoe-daemon@table, ")
    assert list(of_unit.parent.iterdir()) == [of_unit]


def test_a_person_who_may_not_write_there_is_told_so(
    of_unit: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    access = os.access
    closed = of_unit.parent
    monkeypatch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))
    ((verdict, text),) = findings(doctor(of_unit, "--json"))["journal"]
    assert (verdict, text.partition(": ")[2]) == ("note", "not tested; only root can write there")


@pytest.mark.mosquitto
def test_a_credential_of_the_service_is_a_note_and_no_failure(
    tmp_path: Path, mosquitto: Mosquitto
) -> None:
    file = configured(tmp_path, "/dev/null", mosquitto.port)
    text = file.read_text(encoding="utf-8")
    named = '[mqtt]\nusername = "u"\npassword_file = "mqtt-password"'
    file.write_text(text.replace("[mqtt]", named), encoding="utf-8")
    told = findings(doctor(file, "--json"))
    ((verdict, text),) = told["file"]
    assert verdict == "note"
    assert "LoadCredential=mqtt-password:PATH" in text
    ((verdict, text),) = told["broker"]
    assert verdict == "note"
    assert "is not tested" in text


def test_a_package_that_takes_the_name_of_a_driver_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "replacement_of", lambda _: "other:Driver")
    told = findings(doctor(configured(tmp_path, "/dev/null", free_port()), "--json"))
    assert any(
        verdict == "bad" and "other:Driver is not used" in text
        for verdict, text in told["reader shoe"]
    )


def test_it_says_which_driver_was_never_tried_on_a_real_reader(tmp_path: Path) -> None:
    file = configured(tmp_path, "/dev/null", 1)
    with file.open("a", encoding="utf-8") as text:
        text.write('[[reader]]\nid = "scanner"\ndriver = "line-scanner"\nport = "/dev/zero"\n')
    told = findings(doctor(file, "--json"))
    notes = [text for verdict, text in told["reader scanner"] if verdict == "note"]
    assert any("line-scanner: written from documents, never tried" in note for note in notes)
    assert not any("tried" in text for _, text in told["reader shoe"])
