"""
Configurations: every fault is one line with file, key, value and what is expected; a
valid configuration is summarised.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis.strategies import characters, text

from drivers.angel_eye_ii import AngelOptions
from drivers.driver import LineSettings
from shoe_daemon.cli import main
from shoe_daemon.config.sections import (
    Config,
    TableSettings,
)
from shoe_daemon.config.table import load_config
from shoe_daemon.errors import UserError
from shoe_daemon.settings.toml import convert_toml, toml_value
from tests.each_case import each_case

EXAMPLE = Path(__file__).resolve().parents[1] / "systemd" / "example.toml"

READER = '[[reader]]\ndriver = "angel-eye-ii"\nport = "/dev/x"\n'
LONG = "x" * 101

# What stands in the file, and what is said of it after the file's name.
WRONG = {
    "": "site: missing; expected a text",
    "site = 7": "site: 7; expected a text, got a whole number",
    'site = "Hall 7"': "site: 'Hall 7'; expected small letters, digits and hyphens",
    r'site = "a\n"': r"site: 'a\n'; expected small letters, digits and hyphens",
    f'site = "{LONG}"': f"site: '{LONG}'; expected at most 40 characters",
    r'"de\n`ks" = 1': "de `ks: unknown key; expected one of site, table, journal, ",
    'site = "a"\ntable = [1]': "table: [1]; expected a table, got a list",
    "site = ": "Invalid value (at line 1, ",
    'site = "a"\nsite = "b"': "Cannot overwrite a value (at line 2, ",
}
WRONG_IN_TABLE = {
    "decks = 13": "table.decks: 13; expected a whole number of at most 12",
    'house = "curator"\nhouse_file = "x"': "table.house: given beside table.house_file; expected ",
    'house_file = "none.toml"': "table.house_file: {folder}/none.toml: cannot be read: No such ",
    "seats = [1, 2]": "table.seats: [1, 2]; expected none: in the house 'No house' ",
    'house = "chickasaw"\nseats = [1]': "table.seats: [1]; expected none: in the house ",
    'policy = "no.toml"': "table.policy: {folder}/no.toml: cannot be read: No such file ",
    "quiet_gap = -1": "table.quiet_gap: -1; expected a number of at least 0",
    "quiet_gap = nan": "table.quiet_gap: nan; expected a number of at least 0",
    f'limits = {{tie = "{LONG}"}}': "table.limits.tie: 104 characters; expected at most 100",
    "timeless = true": "table.timeless: true; expected nothing: it is for logs, not for tables",
}
WRONG_SECTIONS = {
    '[journal]\npath = ""': "journal.path: ''; expected a file's name",
    '[journal]\npath = "."': "journal.path: '.'; expected a file's name",
    "[mqtt]\nport = 0": "mqtt.port: 0; expected a whole number of at least 1",
    '[mqtt]\nhost = ""': "mqtt.host: ''; expected some text",
    '[mqtt]\nprefix = "a b"': "mqtt.prefix: 'a b': expected levels of letters, digits, - and _",
    '[mqtt]\nusername = "u"\npassword_file = "/no"': "mqtt.password_file: /no: no such file or ",
    '[mqtt.tls]\nca_file = "/no"': "mqtt.tls.ca_file: /no: no such file or directory",
    '[mqtt.tls]\nkey_file = "/no"': "mqtt.tls.key_file: a key needs mqtt.tls.cert_file beside it",
    '[orders]\noperators_file = "/no"': "orders.operators_file: /no: ",
    '[metrics]\ntextfile = "t.txt"': "metrics.textfile: 't.txt'; expected a name that ends",
    '[metrics]\nhealth_file = "."': "metrics.health_file: '.'; expected a file's name",
    "[reader]": "reader: {{}}; expected a list, got a table",
    f"{READER}[[reader]]": "reader 2: driver: missing; expected a text",
    READER + 'id = "A"': "reader 1: id: 'A'; expected small letters, digits and hyphens",
    READER + READER: "reader 2: id: 'shoe' is another reader's; expected each id once",
    f'[table]\ncheckers = ["camera"]\n{READER}': "table.checkers: 'camera'; expected ids of "
    "readers: shoe",
    f'[table]\ncheckers = ["shoe"]\n{READER}': "table.checkers: all readers; expected at ",
    f'{READER}{READER}id = "b"': "reader 2: port: '/dev/x' is the line of reader 'shoe' too; "
    "expected each line once",
    READER.replace("/dev/x", ""): "reader 'shoe': port '': expected a path, socket://HOST:PORT, ",
    READER.replace("/dev/x", "ftp://h:1"): "reader 'shoe': port 'ftp://h:1': expected a path, ",
    READER.replace("/dev/x", "socket://h"): "reader 'shoe': port 'socket://h': expected socket:",
    f"{READER}options = {{allow_commands = 1}}": "reader 'shoe': options: allow_commands: 1; "
    "expected true or false, got a whole number",
}
LAMP = '[[lamp]]\nrelay = "/dev/l"\n'
RULE = "rule = [{severity = 3, channel = 1}]\n"
FORWARD = f"{READER}[reader.forward]\n"
OTHER_READER = READER.replace("/x", "/z") + 'id = "b"\n'
WRONG_FORWARDS = {
    FORWARD: "reader 1: forward.to: missing; expected a text",
    f'{FORWARD}to = "ttyUSB1"': "reader 1: forward.to: 'ttyUSB1'; expected a serial port's path, ",
    f'{FORWARD}to = "tcp://127.0.0.1"': "reader 1: forward.to: 'tcp://127.0.0.1'; expected tcp://",
    f'{FORWARD}to = "/dev/x"': "reader 1: forward.to: '/dev/x' is the line of reader 'shoe' too; ",
    f'{FORWARD}to = "tcp://0.0.0.0:4002"': "reader 1: forward.to: 'tcp://0.0.0.0:4002': other "
    "computers would see cards before the players do; expected tcp://127.0.0.1:PORT, or "
    "open_to_network = true",
    f'{FORWARD}to = "tcp://127.0.0.1:1"\nline = {{baudrate = 1}}': "reader 1: forward.line: given "
    "with 'tcp://127.0.0.1:1'; expected it with a serial port only",
    f'{FORWARD}to = "/dev/y"\nline = {{speed = 1}}': "reader 'shoe': forward.line: speed: ",
    f'{FORWARD}to = "/dev/y"\n{OTHER_READER}forward = {{to = "/dev/y"}}': (
        "reader 2: forward.to: '/dev/y' is the line of the copy of reader 'shoe' too; expected "
    ),
    f'{FORWARD}to = "/dev/l"\n{LAMP}{RULE}': (
        "lamp 1: relay: '/dev/l' is the line of the copy of reader 'shoe' too; expected each line"
    ),
}
MQTT_LAMP = '[mqtt]\n[[lamp]]\ntopic = "lamps/7"\n'
WRONG_LAMPS = {
    "[[lamp]]": "lamp 1: none; expected exactly one of relay, gpio and topic",
    '[[lamp]]\nrelay = "x"\ngpio = "/y"': "lamp 1: relay and gpio; expected exactly one of ",
    f"{LAMP}": "lamp 1: rule: missing; expected at least one [[lamp.rule]]",
    f'{LAMP}id = "Red"': "lamp 1: id: 'Red'; expected small letters, digits and hyphens",
    f"{LAMP}{RULE}{LAMP}{RULE}": "lamp 2: id: 'lamp' is another lamp's; expected each id once",
    f'{LAMP}{RULE}{LAMP}id = "b"\n{RULE}': "lamp 2: '/dev/l' is the lamp 'lamp' too; expected",
    f"{LAMP.replace('/dev/l', 'ftp://h')}{RULE}": "lamp 1: relay: port 'ftp://h': expected a ",
    f"{LAMP.replace('/dev/l', 'file:x')}{RULE}": "lamp 1: relay: 'file:x'; expected a line, no ",
    f"{LAMP}rule = [{{channel = 1}}]": "lamp 1: rule 1: neither severity nor fault; expected ",
    f"{LAMP}rule = [{{severity = 1, fault = true}}]": "lamp 1: rule 1: severity and fault; ",
    f"{LAMP}rule = [{{severity = 3, up_to = 2}}]": "lamp 1: rule 1: up_to: 2; expected at least ",
    f"{LAMP}rule = [{{severity = 3, on = false}}]": "lamp 1: rule 1: on: false; expected on = ",
    f"{LAMP}rule = [{{severity = 3, on = true, blink = [1, 1]}}]": "lamp 1: rule 1: on: true; ",
    f"{LAMP}rule = [{{severity = 3, blink = [0.05, 1]}}]": "lamp 1: rule 1: blink: 0.05; ",
    f"{LAMP}rule = [{{severity = 3}}]": "lamp 1: rule 1: channel: missing; expected a relay from ",
    f'[[lamp]]\ngpio = "chip0"\n{RULE}': "lamp 1: gpio: 'chip0'; expected a chip, such as ",
    '[[lamp]]\ngpio = "/dev/c"\nrule = [{severity = 1}]': "lamp 1: rule 1: channel: missing; ",
    f'[[lamp]]\ntopic = "a"\n{RULE}': "lamp 1: topic: needs a broker: expected a section [mqtt]",
    f"{MQTT_LAMP}{RULE}": "lamp 1: rule 1: channel: 1; expected none: a lamp on MQTT is one topic",
    f"{MQTT_LAMP.replace('lamps', 'shoe/v1')}{RULE}": "lamp 1: topic: 'shoe/v1/7'; expected one ",
    f"{MQTT_LAMP.replace('lamps', 'a/+')}{RULE}": "lamp 1: topic: 'a/+/7'; expected a topic of ",
    f'{MQTT_LAMP}payload_on = ""': "lamp 1: payload_on: 0 bytes; expected 1 to 1000: ",
    f'{MQTT_LAMP}payload_on = "a"\npayload_off = "a"': "lamp 1: payload_off: 'a'; expected ",
}
THREE_TO_FIVE = "an irregularity of severity 3 to 5 is open"
CASES = [
    *WRONG.items(),
    *((f'site = "a"\n[table]\n{text}', said) for text, said in WRONG_IN_TABLE.items()),
    *((f'site = "a"\n{text}', said) for text, said in WRONG_SECTIONS.items()),
    *((f'site = "a"\n{text}', said) for text, said in WRONG_FORWARDS.items()),
    *((f'site = "a"\n{text}', said) for text, said in WRONG_LAMPS.items()),
]


def check(path: Path) -> Result:
    return CliRunner().invoke(main, ["check-config", str(path)])


def refusal(path: Path) -> str:
    """Return the lines with which a file is refused, each without its name."""
    before = path.read_bytes() if path.is_file() else None
    result = check(path)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert (path.read_bytes() if path.is_file() else None) == before
    before_each = f"shoe-daemon: {path}: "
    assert all(line.startswith(before_each) for line in result.stderr.splitlines())
    return result.stderr.replace(before_each, "").removesuffix("\n")


@each_case("text, said", CASES)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "table.toml"
    path.write_text(text + "\n", encoding="utf-8")
    expected, lines = said.format(folder=tmp_path), refusal(path).splitlines()
    assert any(line.startswith(expected) for line in lines), lines


TYPES = """
sites = "a"
[table]
round_end = "devise"
limits = {player = 5}
[mqtt]
hots = "x"
port = 70000
[[reader]]
prot = "x"
driver = "angel"
[[lamp]]
rule = [{severity = 6}, {blink = ["a", 1]}]
"""
CHECKS = """
site = "a"
[table]
name = "LONG"
house = "chikasaw"
policy = "nobody"
checkers = ["camera"]
[mqtt]
password_file = "x"
[journal]
path = "no/j.db"
[[reader]]
driver = "angel-eye-2"
port = "/dev/x"
[[reader]]
id = "b"
driver = "angel-eye-ii"
port = "ftp://x"
options = {allow_command = true}
line = {baudrat = 9600, parity = "Z"}
[[lamp]]
relay = "/dev/x"
rule = [{severity = 3, channel = 17}]
"""


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (
            TYPES,
            [
                "sites: unknown key; .*; did you mean site\\?",
                r"table\.round_end: 'devise'; expected one of auto, .*; did you mean device\?",
                r"table\.limits\.player: 5; expected a text, got a whole number",
                r"mqtt\.hots: unknown key; expected one of host, .*; did you mean host\?",
                r"mqtt\.port: 70000; expected a whole number of at most 65535",
                r"reader 1: prot: unknown key; expected one of driver, .*; did you mean port\?",
                r"reader 1: port: missing; expected a text",
                r"lamp 1: rule 1: severity: 6; expected a whole number of at most 5",
                r"lamp 1: rule 2: blink\.0: 'a'; expected a number, got a text",
                r"site: missing; expected a text",
            ],
        ),
        (
            CHECKS.replace("LONG", LONG),
            [
                r"mqtt\.password_file: a password needs mqtt\.username beside it",
                r"table\.name: 101 characters; expected at most 100",
                r"table\.checkers: 'camera'; expected ids of readers: shoe, b",
                r"lamp 1: rule 1: channel: 17; expected a relay from 1 to 16",
                r"lamp 1: relay: '/dev/x' is the line of reader 'shoe' too; expected .*",
                r"table\.house: chikasaw: no such house; .*; did you mean chickasaw\?",
                r"table\.policy: nobody: no such policy; expected one of management, .*",
                r"journal\.path: 'no/j\.db'; expected a folder that exists: .*",
                r"reader 'shoe': driver: no driver 'angel-eye-2'; .*; did you mean angel-eye-ii\?",
                r"reader 'b': options: allow_command: unknown .*; did you mean allow_commands\?",
                r"reader 'b': line: parity: 'Z'; expected one of E, M, N, O, S",
                r"reader 'b': line: baudrat: unknown key; .*; did you mean baudrate\?",
            ],
        ),
    ],
    ids=["types", "checks"],
)
def test_all_that_is_wrong_is_reported_at_once(
    tmp_path: Path, text: str, lines: list[str]
) -> None:
    path = tmp_path / "table.toml"
    path.write_text(text, encoding="utf-8")
    found = refusal(path).splitlines()
    assert len(found) == len(lines), found
    for one, pattern in zip(found, lines, strict=True):
        assert re.fullmatch(pattern, one), one


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    expected = "; expected a table's configuration"
    assert (
        refusal(tmp_path / "none.toml") == f"cannot be read: No such file or directory{expected}"
    )
    assert refusal(tmp_path) == f"cannot be read: Is a directory{expected}"


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_bytes(b'site = "\xff\xfe\x00"')
    assert refusal(path) == "byte 8 is not UTF-8; expected a table's configuration in TOML"


def test_a_file_with_nothing_in_its_credentials(tmp_path: Path) -> None:
    (tmp_path / "empty").write_text("\n")
    path = tmp_path / "table.toml"
    secret = f'username = "u"\npassword_file = "{tmp_path}/empty"'
    path.write_text(f'site = "a"\n[mqtt]\n{secret}')
    expected = f"mqtt.password_file: {tmp_path}/empty: its first line is empty"
    assert refusal(path) == expected
    path.write_text(f'site = "a"\n[mqtt.tls]\nca_file = "{tmp_path}/empty"')
    expected = f"mqtt.tls.ca_file: {tmp_path}/empty: no certificate or key in it that can be used"
    assert refusal(path) == expected


def test_two_names_of_one_device_are_one_line(tmp_path: Path) -> None:
    (tmp_path / "ttyUSB0").touch()
    (tmp_path / "by-id").symlink_to("ttyUSB0")
    path = tmp_path / "table.toml"
    names = [READER.replace("/dev/x", f"{tmp_path}/{name}") for name in ("by-id", "ttyUSB0")]
    path.write_text(f'site = "a"\n{names[0]}{names[1]}id = "b"\n')
    said = f"reader 2: port: '{tmp_path}/ttyUSB0' is the line of reader 'shoe' too; "
    assert refusal(path).startswith(said)


EVERYBODY = "EVERYBODY who reaches the address: they see cards before the players do"


def test_the_copy_of_a_reader_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    for forward, shown in (
        ('to = "/dev/y"', "/dev/y, 4800 8N1"),
        ('to = "/dev/y"\nline = {baudrate = 9600}', "/dev/y, 9600 8N1"),
        ('to = "tcp://127.0.0.1:4002"', "tcp://127.0.0.1:4002, for programs on this computer"),
        ('to = "tcp://0.0.0.0:1"\nopen_to_network = true', f"tcp://0.0.0.0:1, for {EVERYBODY}"),
    ):
        path.write_text(f'site = "a"\n{FORWARD}{forward}\n', encoding="utf-8")
        assert f"\n          copied to {shown}\n" in check(path).output


def test_seats_fit_a_house_where_players_draw(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text('site = "a"\n[table]\nhouse = "curator"\nseats = [1, 2]\n')
    assert check(path).exit_code == 0


NAMED_FILE = 'site = "a"\n[mqtt]\nusername = "u"\npassword_file = "mqtt-password"\n'


def test_a_credential_of_the_service_is_a_note_for_a_person(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(NAMED_FILE + '[orders]\noperators_file = "operators.toml"\n')
    result = check(path)
    assert result.exit_code == 0, result.output
    assert [line for line in result.output.splitlines() if line.startswith("note")] == [
        f"note      {key}: {tmp_path}/{name}: no such file or directory; the service finds it if "
        f"its unit has LoadCredential={name}:PATH"
        for key, name in (
            ("mqtt.password_file", "mqtt-password"),
            ("orders.operators_file", "operators.toml"),
        )
    ]
    with pytest.raises(UserError, match=r"mqtt\.password_file: .*/mqtt-password: no such file"):
        load_config(path)  # the daemon itself needs it


def test_a_password_with_a_path_is_no_credential(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(NAMED_FILE.replace("mqtt-password", "secrets/mqtt"))
    expected = f"mqtt.password_file: {tmp_path}/secrets/mqtt: no such file or directory"
    assert refusal(path) == expected


def test_within_the_service_both_places_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", "/run/credentials/unit")
    path = tmp_path / "table.toml"
    path.write_text(NAMED_FILE)
    assert refusal(path) == (
        "mqtt.password_file: no such file or directory: neither "
        f"/run/credentials/unit/mqtt-password nor {tmp_path}/mqtt-password"
    )


def test_files_of_the_broker_start_from_the_configurations_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.toml"
    path.write_text(NAMED_FILE)
    (tmp_path / "mqtt-password").write_text("secret\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    for file in (path, Path("../table.toml")):
        mqtt = load_config(file).config.mqtt
        assert mqtt is not None
        assert mqtt.password() == "secret"
    path.write_text('site = "a"\n[mqtt.tls]\nca_file = "ca.pem"\n')
    assert f"note      mqtt.tls.ca_file: {tmp_path}/ca.pem: no such file" in check(path).output


class TestJournalOfTheService:
    """For a configuration of the unit, a person is given the unit's journal."""

    @pytest.fixture
    def path(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """Return a configuration in the unit's folder."""
        monkeypatch.setattr("shoe_daemon.config.table.SERVICE_CONFIGS", tmp_path)
        monkeypatch.setattr("shoe_daemon.config.table.SERVICE_STATE", Path("/var/lib/shoe-daemon"))
        path = tmp_path / "table-7.toml"
        path.write_text('site = "a"')
        return path

    def test_it_is_in_the_state_directory(self, path: Path) -> None:
        line = "journal   /var/lib/shoe-daemon/table-7/journal.db (of shoe-daemon@table-7)"
        assert line in check(path).output.splitlines()

    def test_it_may_be_named_before_the_service_has_run(self, path: Path) -> None:
        path.write_text('site = "a"\n[journal]\npath = "/var/lib/shoe-daemon/table-7/other.db"\n')
        assert "journal   /var/lib/shoe-daemon/table-7/other.db" in check(path).output

    def test_a_daemon_started_by_hand_keeps_its_own(self, path: Path) -> None:
        assert load_config(path).journal == path.with_name("journal.db")

    def test_the_unit_has_these_folders(self) -> None:
        unit = EXAMPLE.with_name("shoe-daemon@.service").read_text(encoding="utf-8")
        assert "--config /etc/shoe-daemon/%i.toml" in unit
        assert "StateDirectory=shoe-daemon/%i" in unit


@given(text(characters(exclude_categories=["Cs"])))
def test_any_text_that_a_command_writes_is_read_back(value: str) -> None:
    assert tomllib.loads(f"value = {toml_value(value)}") == {"value": value}


def test_what_it_means_is_told(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(
        'site = "a"\n[table]\nid = "t"\nname = "High"\nhouse = "chickasaw"\n'
        '[mqtt]\nhost = "broker"\n[mqtt.tls]\n' + READER
    )
    result = check(path)
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "table     a/t (High)",
        "house     Chickasaw Nation, 8 decks, policy management",
        "faces     the Banker's first two hidden until 3 s after the fourth card",
        "rounds    end by device (auto), result on complete",
        "held      a result waits for a person from irregularities of severity 3 on",
        f"journal   {tmp_path}/journal.db",
        "publishes broker:8883, MQTT 5, TLS",
        "reader    shoe: angel-eye-ii on /dev/x, 4800 8N1",
    ]


def test_lamps_are_told(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(
        'site = "a"\n[mqtt]\n'
        '[[lamp]]\nid = "tower"\nrelay = "/dev/l"\nat_stop = "off"\ninverted = true\n'
        "rule = [{severity = 3, channel = 1, blink = [0.5, 0.25]}, {fault = true, channel = 2}]\n"
        '[[lamp]]\nid = "desk"\ntopic = "lamps/7"\n'
        "rule = [{severity = 2, up_to = 2, on = true}]\n",
        encoding="utf-8",
    )
    expected = (
        "lamp      tower: relay /dev/l, off when the daemon stops, lit while switched off",
        f"          channel 1: blinks (0.5 s on, 0.25 s off) while {THREE_TO_FIVE}",
        "          channel 2: on at a fault of the table",
        "lamp      desk: topic lamps/7, on when the daemon stops",
        "          on while an irregularity of severity 2 is open",
    )
    assert check(path).stdout.endswith("\n".join(expected) + "\n")


def test_little_is_needed(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text('site = "a"', encoding="utf-8-sig")
    lines = check(path).output.splitlines()
    assert "publishes nowhere (no [mqtt] section)" in lines
    assert "reader    none: nothing will be seen" in lines


def test_paths_start_from_the_files_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.toml"
    path.write_text('site = "a"\n[journal]\npath = "seven.db"')
    assert load_config(path).journal == tmp_path / "seven.db"
    path.write_text('site = "a"')
    assert load_config(path).journal == tmp_path / "journal.db"
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/shoe-daemon/t:/elsewhere")
    assert load_config(path).journal == Path("/var/lib/shoe-daemon/t/journal.db")


@pytest.mark.parametrize(
    ("text", "seconds"), [("", 3), ("reveal_after = 5", 5), ('reveal_on = "signal"', None)]
)
def test_tucked_cards_are_revealed_by_time_or_by_a_signal(
    tmp_path: Path, text: str, seconds: float | None
) -> None:
    path = tmp_path / "table.toml"
    path.write_text(f'site = "a"\n[table]\n{text}')
    assert load_config(path).options.reveal_after == seconds


@pytest.mark.parametrize(("severity", "held"), [(0, None), (2, 2)])
def test_nothing_is_held_from_severity_0(tmp_path: Path, severity: int, held: int | None) -> None:
    path = tmp_path / "table.toml"
    path.write_text(f'site = "a"\n[table]\nhold_from = {severity}')
    assert load_config(path).options.hold_from == held


def test_the_example_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "table-7.password").write_text("x\n", encoding="utf-8")
    (tmp_path / "table-7.toml").write_bytes(EXAMPLE.read_bytes())
    assert check(tmp_path / "table-7.toml").exit_code == 0


def example_with_all() -> str:
    """Return the example with every key set that only stands there as ``#key = …``."""
    text = EXAMPLE.read_text(encoding="utf-8")
    return re.sub(r"^#(?=\[|[a-z0-9_]+ = )", "", text, flags=re.MULTILINE)


def test_the_example_is_accepted_with_every_key_in_it() -> None:
    mapping = tomllib.loads(example_with_all())
    whole = convert_toml(Config, mapping, "all")
    assert whole.mqtt is not None
    assert whole.mqtt.tls is not None
    assert len(whole.reader) == 1
    assert len(whole.lamp) == 1
    assert whole.reader[0].forward is not None
    convert_toml(LineSettings, whole.reader[0].line, "line")
    convert_toml(LineSettings, whole.reader[0].forward.line, "line")
    convert_toml(AngelOptions, whole.reader[0].options, "options")


def test_the_examples_defaults_are_the_defaults() -> None:
    table = tomllib.loads(example_with_all())["table"]
    plain = TableSettings()
    same = ("policy", "round_end", "quiet_gap", "result_on", "reveal_on", "reveal_after")
    assert {key: table[key] for key in same} == {key: getattr(plain, key) for key in same}
    assert table["hold_from"] == plain.hold_from
