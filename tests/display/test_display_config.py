"""A configuration is accepted, or rejected in one line that says what to do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.display.app import PAGE_HOST, command_options
from shoe_daemon.display.config import (
    DisplaySetup,
    HistorySetup,
    LogDatabase,
    LogFile,
    load_display,
)
from shoe_daemon.errors import UserError
from shoe_daemon.operators import hash_pin
from shoe_daemon.settings.loader import has_section
from tests.each_case import each_case

EXAMPLE = Path(__file__).parents[2] / "systemd" / "display.toml"
HASH = "$argon2id$v=19$m=65536,t=3,p=4$c2FsdHNhbHQ$qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqo"


def load(folder: Path, text: str) -> DisplaySetup:
    path = folder / "display.toml"
    path.write_text(text, encoding="utf-8")
    return load_display(path)


@each_case(
    "text, told",
    [
        (
            "[metrics]\nlisten = '0.0.0.0:9464'\n",
            "'0.0.0.0:9464'; expected an address of loopback",
        ),
        ("[metrics]\nlisten = '9464'\n", "'9464'; expected ADDRESS:PORT"),
        *(
            (f"[display]\nlisten = '{address}'\n", f"'{address}'; expected ADDRESS:PORT")
            for address in ("", ":", "a:", ":80", "::1:80", "a b:80", "127.0.0.1:80/x")
        ),
        ("[displya]\n", "displya: unknown key; expected one of mqtt, display"),
        ("[display]\nlang = 'en'\n", "display.lang: unknown key; expected one of listen, hosts"),
        ("[display]\nlisten = '8080'\n", "'8080'; expected ADDRESS:PORT, such as 127.0.0.1:8080"),
        ("[display]\nlisten = 'a:99999'\n", "expected ADDRESS:PORT"),
        ("[display]\nlisten = 80\n", "display.listen: 80; expected a text, got"),
        ("[display]\nhosts = ['http://a/']\n", "'http://a/'; expected a name without port"),
        ("[display]\nsite = 'Haus'\n", "'Haus'; expected small letters, digits and hyphens"),
        ("[display]\ntables = ['Table 7']\n", "'Table 7'; expected a table's id, or SITE.TABLE"),
        ("[display]\nsite='a'\ntables=['b.t']\n", "expected a table of 'a', the only site that"),
        ("[display]\nlanguage = 'fr'\n", "display.language: 'fr'; expected one of en, "),
        ("[display]\ntime_zone = 'Paris'\n", "'Paris'; expected a name such as Europe/Paris"),
        ("[display.history]\nfile = 'no/h.db'\n", "'no/h.db'; expected a file in a folder that"),
        ("[display.history]\nfile = 'h'\nevidence = 'e'\n", "evidence: the pit asks nobody"),
        ("[display.history]\nfile = 'h'\nusername = 'x'\n", "history: username goes with"),
        ("[display]\nglyphs = 'x'\n", "'x'; expected one of chinese, letters"),
        (
            "[display]\nstale_after = 0\n",
            "display.stale_after: 0; expected a number of at least 1",
        ),
        ("[display.pit]\nuser = 'pit'\n", "user goes with one of password_hash and password_file"),
        ("[display.pit]\npassword_file = 'x'\n", "expected both or none"),
        ("[display.pit]\nstaff_alerts = true\n", "display.pit.staff_alerts: the pit asks nobody"),
        ("[display.pit]\nuser='p'\npassword_file = 'x'\n", "x: no such file or directory"),
        ("[display.pit]\nuser='p'\npassword_hash = 'geheim'\n", "expected what `shoe-daemon cmd"),
        (
            "[display.orders]\nbroker = 'a b'\n",
            "display.orders.broker: 'a b'; expected HOST or HOST:PORT, such as broker.casino",
        ),
        ("[display.orders]\nbroker = 'a:99999'\n", "expected HOST or HOST:PORT"),
        ("[display.orders]\nusername = 'pit'\n", "username goes with password_file; expected"),
        ("[mqtt]\nhots = 'x'\n", "mqtt.hots: unknown key; expected one of host, port"),
        ("[mqtt]\nprefix = 'a//b'\n", "mqtt.prefix: 'a//b': expected levels of letters"),
        ("[mqtt]\npassword_file = 'x'\n", "a password needs mqtt.username beside it"),
        ("site = 'house'\n", "site: unknown key; expected one of mqtt, display"),
        ("[display\n", "expected a display's configuration in TOML"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UserError) as caught:
        load(tmp_path, text)
    line = str(caught.value)
    assert line.startswith(f"{tmp_path / 'display.toml'}: ")
    assert told in line
    assert "\n" not in line


PIT = "[display.orders]\nusername='pit'\npassword_file='/etc/pit'\n"


@each_case(
    "text, options",
    [
        # A broker on loopback is, for other computers, where the page comes from.
        ("[display]\n", ["--host", PAGE_HOST]),
        ("[mqtt]\nhost='::1'\nport=1884\n", ["--host", PAGE_HOST, "--port", "1884"]),
        ("[mqtt]\nhost='broker'\n", ["--host", "broker"]),
        (
            "[mqtt]\nhost='broker'\nprotocol='3.1.1'\n",
            ["--host", "broker", "--protocol", "3.1.1"],
        ),
        ("[display.orders]\nbroker='b.example'\n", ["--host", "b.example"]),
        ("[display.orders]\nbroker='[fe80::1]:99'\n", ["--host", "fe80::1", "--port", "99"]),
        (PIT, ["--host", PAGE_HOST, "--username", "pit", "--password-file", "/etc/pit"]),
        # What the display cannot know is left to the person.
        (
            "[mqtt]\nhost='b'\nusername='board'\n",
            ["--host", "b", "--username", "NAME", "--password-file", "FILE"],
        ),
        ("[mqtt]\nhost='b'\n[mqtt.tls]\n", ["--config", "FILE"]),
        ("[mqtt]\nprefix='shoe/x'\n", ["--config", "FILE"]),
        ("[display.orders]\nconfig='~/orders.toml'\n", ["--config", "~/orders.toml"]),
    ],
)
def test_the_commands_shown_reach_the_broker_from_another_computer(
    tmp_path: Path, text: str, options: list[str | None]
) -> None:
    config = load(tmp_path, text).config
    assert command_options(config.mqtt, config.display.orders) == options


def test_a_password_is_kept_beside_the_file_or_by_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[display.pit]\nuser = 'pit'\npassword_file = 'pit-password'\n"
    (tmp_path / "pit-password").write_text(f"{HASH}\n", encoding="utf-8")
    setup = load(tmp_path, text)
    assert setup.pit_credentials is not None
    assert (setup.pit_credentials.user, setup.pit_credentials.hash) == ("pit", HASH)
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    other = hash_pin("12345678")
    (credentials / "pit-password").write_text(other, encoding="utf-8")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(credentials))
    setup = load(tmp_path, text)
    assert setup.pit_credentials is not None
    assert setup.pit_credentials.hash == other


def test_a_credential_of_the_service_is_a_note_for_a_person(tmp_path: Path) -> None:
    path = tmp_path / "display.toml"
    path.write_text(
        "[display.pit]\nuser = 'pit'\npassword_file = 'pit-password'\n"
        "[mqtt]\nusername = 'board'\npassword_file = 'mqtt-password'\n"
    )
    done = CliRunner().invoke(main, ["check-config", str(path)])
    assert done.exit_code == 0, done.output
    assert "pit       for pit, with a password" in done.output
    notes = [line for line in done.output.splitlines() if line.startswith("note")]
    assert [note.split()[1] for note in notes] == [
        "mqtt.password_file:",
        "display.pit.password_file:",
    ]
    assert f"{tmp_path}/mqtt-password: no such file" in notes[0]
    with pytest.raises(UserError, match="LoadCredential=mqtt-password:PATH"):
        load_display(path)
    # A display waits for the broker's password, but shows no pit that everybody may see.
    with pytest.raises(UserError, match="LoadCredential=pit-password:PATH"):
        load_display(path, serving=True)


def test_paths_of_the_broker_start_from_the_configurations_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "secret").write_text("sesame\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    mqtt = load(Path("conf"), "[mqtt]\nusername = 'b'\npassword_file = 'secret'\n").config.mqtt
    assert mqtt.password() == "sesame"
    assert mqtt.beside(Path("conf")) == mqtt  # a display's command line sets it up twice


@each_case(
    "text, address, loopback, is_open",
    [
        ("", ("127.0.0.1", 8080), True, False),
        ("listen = '127.0.0.1:1'", ("127.0.0.1", 1), True, False),
        ("listen = '[::1]:80'", ("::1", 80), True, False),
        ("listen = 'localhost:80'", ("localhost", 80), True, False),
        ("listen = '0.0.0.0:80'", ("0.0.0.0", 80), False, True),  # noqa: S104 - what is told
        ("listen = '[::]:80'", ("::", 80), False, True),
        ("listen = 'board:80'\npit = {behind_proxy = true}", ("board", 80), False, False),
    ],
)
def test_who_can_reach_it_is_known(
    tmp_path: Path, text: str, address: tuple[str, int], *, loopback: bool, is_open: bool
) -> None:
    settings = load(tmp_path, f"[display]\n{text}\n").config.display
    assert settings.address == address
    assert settings.on_loopback is loopback
    assert settings.open_pit is is_open


def test_the_example_is_a_configuration_and_every_line_of_it_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "board.password").write_text("x\n", encoding="utf-8")
    (tmp_path / "pit.hash").write_text(HASH, encoding="utf-8")
    (tmp_path / "pit-log.password").write_text("x\n", encoding="utf-8")
    assert has_section(EXAMPLE, "display")
    text = EXAMPLE.read_text(encoding="utf-8")
    load(tmp_path, text.replace('ca_file = "/etc', '#ca_file = "/etc'))
    lines = [
        line.removeprefix("#") if line.startswith("#") else line for line in text.splitlines()
    ]
    used = "\n".join(line for line in lines if not line.startswith(" "))
    # Files that are not here; and pages that send orders need no command lines.
    used = used.replace('[display.tls]\nlisten = "0.0.0.0:8443"\n', "")
    for key in ("password_file", "ca_file", "cert_file", "key_file", "operators_file", "logo"):
        used = "\n".join(
            line for line in used.splitlines() if "pit" in line or not line.startswith(key)
        )
    setup = load(tmp_path, used)
    assert setup.pit_credentials is not None
    assert setup.config.display.tables
    assert setup.history is not None
    assert isinstance(setup.history.log, LogFile)
    assert setup.history.log.mqtt.username == "pit-log"


def path_of(history: HistorySetup) -> Path:
    assert isinstance(history.log, LogFile)
    return history.log.path


@each_case(
    "keys, wrong",
    [
        ("database = 'host=db'\nfile = 'h.db'", "has file and database; expected one"),
        ("database = 'host=db'\ndays = 3", "has days and database"),
        ("database = 'host=db'\nusername = 'pit-log'", "has username and database"),
        ("database = 'host'", "display.history.database: missing"),
        ("database = 'host=db password=x'", "expected it in display.history.password_file"),
    ],
)
def test_a_log_is_in_a_file_or_in_a_database(tmp_path: Path, keys: str, wrong: str) -> None:
    pytest.importorskip("psycopg", exc_type=ImportError)
    with pytest.raises(UserError, match=re.escape(wrong)):
        load(tmp_path, f"[display.history]\n{keys}\n")
    found = load(tmp_path, "[display.history]\ndatabase = 'host=db'\n").history
    assert found == HistorySetup(LogDatabase("host=db", None, tmp_path))


def test_the_history_is_in_the_state_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "[display.history]\nfile = 'h.db'\n"
    found = load(tmp_path, text).history
    assert found is not None
    assert path_of(found) == tmp_path / "h.db"
    (tmp_path / "state").mkdir()
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path / 'state'}:/elsewhere")
    found = load(tmp_path, text).history
    assert found is not None
    assert path_of(found) == tmp_path / "state" / "h.db"
    unit = EXAMPLE.with_name("shoe-display.service").read_text(encoding="utf-8")
    assert "StateDirectory=shoe-display\n" in unit


def test_check_config_says_what_a_display_is(tmp_path: Path) -> None:
    path = tmp_path / "display.toml"
    path.write_text(
        "[mqtt]\nhost = 'broker'\n[display]\nlisten = '0.0.0.0:80'\ntables = ['a', 'b']\n"
        "language = 'zh-hant'\n",
        encoding="utf-8",
    )
    result = CliRunner().invoke(main, ["check-config", str(path)])
    assert result.exit_code == 0
    assert result.output.splitlines() == [
        "display   http://0.0.0.0:80/",
        "hears     broker:1883, MQTT 5, topics shoe/v1/+/+/…",
        "tables    a, b",
        "pages     繁體中文",
        "stale     after three heartbeats of the table",
        "pit       OPEN TO EVERYBODY who reaches the address: set [display.pit]",
    ]
    path.write_text("[display.pit]\nbehind_proxy = true\nstaff_alerts = true\n", "utf-8")
    last = CliRunner().invoke(main, ["check-config", str(path)]).output.splitlines()[-1]
    assert last.endswith("a proxy asks who it is; shows alerts that only staff may see")


@each_case(
    "arguments, told",
    [
        (["--broker", "host"], "--broker: 'host'; expected HOST:PORT, such as 127.0.0.1:1883"),
        (["--broker", "h:x"], "expected HOST:PORT"),
        (["--listen", "here"], "display.listen: 'here'; expected ADDRESS:PORT"),
        (["--config", "nothing.toml"], "nothing.toml: cannot be read: No such file"),
    ],
)
def test_a_wrong_option_is_one_line(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(main, ["display", *arguments])
    assert result.exit_code == 2
    assert told in result.output
    assert len(result.output.splitlines()) == 1


@each_case(
    "keys, wrong",
    [
        ('colour = "#123456"', "too dark"),
        ('colour = "gold"', "expected"),
        ('logo = "logo.gif"\nname = "Lumiere"', ".svg or .png"),
        ('logo = "logo.svg"', "a name for"),
        ('logo = "none.png"\nname = "Lumiere"', "No such file"),
    ],
)
def test_a_brand_is_legible_and_has_a_picture_that_browsers_know(
    tmp_path: Path, keys: str, wrong: str
) -> None:
    (tmp_path / "logo.svg").write_text("<svg/>")
    with pytest.raises(UserError, match=re.escape(wrong)):
        load(tmp_path, f"[display.brand]\n{keys}\n")
    brand = '[display.brand]\nname = "Lumiere"\nlogo = "logo.svg"\ncolour = "#7fd0ff"\n'
    assert load(tmp_path, brand).logo == tmp_path / "logo.svg"
