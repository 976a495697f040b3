"""Files that `shoe-daemon init` writes, and files that it keeps."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace

from drivers import create_driver
from drivers.simulators.angel_eye import Settings
from drivers.simulators.lines import TcpLine
from drivers.simulators.simulator import Pace, find_simulator, play
from shoe_daemon.cli.init import command
from shoe_daemon.cli.samples import sample_files
from shoe_daemon.config.table import load_config
from shoe_daemon.display.config import LogFile, load_display
from shoe_daemon.install.answers import Answers
from shoe_daemon.install.changes import prepare
from shoe_daemon.install.files import Record, can_encrypt
from shoe_daemon.install.mosquitto import add_tables, users
from shoe_daemon.journal.keys import load_public_key, load_signing_key
from shoe_daemon.journal.signatures import Signature
from shoe_daemon.operators import Operators
from tests.mqtt.sample_broker import OLDER_RIGHTS

BARE = ("--yes", "--reader", "simulated")


def init(root: Path, *options: str, typed: str = "") -> Result:
    return CliRunner().invoke(command, ["--root", str(root), *options], input=typed)


def written(root: Path, *options: str, typed: str = "") -> str:
    result = init(root, *options, typed=typed)
    assert result.exit_code == 0, result.output
    return result.output


def contents(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


class Installed(NamedTuple):
    """The files of a first run for a table with an operator, and what it printed."""

    root: Path
    output: str

    @property
    def etc(self) -> Path:
        return self.root / "etc/shoe-daemon"

    def drop_in(self, unit: str) -> str:
        return (self.root / f"etc/systemd/system/{unit}.service.d/50-init.conf").read_text()


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    root = tmp_path_factory.mktemp("installed")
    options = ("--site", "grand", "--table", "table-7", "--operator", "Maria")
    return Installed(root, written(root, *BARE, *options, "--show", typed="471100\n"))


def test_the_configurations_are_valid(installed: Installed) -> None:
    setup = load_config(installed.etc / "table-7.toml")
    assert (setup.config.site, setup.config.table.name) == ("grand", "Table 7")
    assert setup.readers[0].port == "socket://127.0.0.1:4007"
    assert setup.config.table.simulated
    assert load_display(installed.etc / "display.toml").config.display.site == "grand"
    rights = (installed.root / "etc/mosquitto/shoe.acl").read_text()
    assert "\nuser table-7\ntopic write shoe/v1/grand/table-7/#\n" in rights
    assert "\npattern" not in rights
    assert "casino" not in rights


def test_secrets_are_for_root_alone_and_never_shown(installed: Installed) -> None:
    folder = installed.etc
    for path in [*folder.glob("*.password"), folder / "operators.toml", folder / "journal.key"]:
        assert path.stat().st_mode & 0o777 == 0o600
        secret = path.read_text().splitlines()[0]
        assert secret not in installed.output
    assert "argon2" not in installed.output
    operators = Operators("operators.toml", folder)
    operators.load()
    assert operators.authenticate("Maria", "471100", privileged=True)


def test_a_unit_starts_without_its_credentials(installed: Installed) -> None:
    """A unit that lacks a credential does not start, unless it has one in its place."""
    unit = Path(__file__).parents[2] / "systemd/shoe-daemon@.service"
    table = unit.read_text() + installed.drop_in("shoe-daemon@table-7")
    wanted = re.findall(r"^LoadCredential\w*=([^:\n]+):", table, re.MULTILINE)
    assert wanted == ["%i.password", "operators.toml", "journal.key"]
    display = installed.drop_in("shoe-display")
    more = ["pit-display.password", "operators.toml", "pit.password", "pit-log.password"]
    assert set(more) <= set(re.findall(r"^LoadCredential=([^:\n]+):", display, re.MULTILINE))
    for text, names in ((table, wanted), (display, more)):
        for name in names:
            assert f"\nSetCredential={name}:\\n\n" in text


def test_the_display_has_an_account_for_each_task(installed: Installed) -> None:
    """Operators give orders on its pages; it keeps a log, and may request what this lacks."""
    setup = load_display(installed.etc / "display.toml")
    assert setup.operators is not None
    assert setup.operators.names() == ["Maria"]
    assert setup.commanding.username == "pit"
    assert setup.history is not None
    assert isinstance(setup.history.log, LogFile)
    assert setup.history.log.mqtt.username == "pit-log"
    # The pit may read whether notifications arrive.
    assert setup.config.mqtt.username == "pit-display"
    rights = (installed.root / "etc/mosquitto/shoe.acl").read_text()
    own = rights.partition("user pit-display\n")[2].partition("\n\n")[0]
    assert "topic read shoe-notify/v1/+" in own
    assert "write" not in own


def test_a_new_table_signs_its_journal(installed: Installed) -> None:
    signer = load_config(installed.etc / "table-7.toml").signer
    assert signer is not None
    body = b"the head of a chain"
    is_valid = load_public_key(installed.etc / "journal-public.pem")
    assert is_valid(Signature(1, 1, body, signer.public, signer.sign(body)))
    # What verifies journals is shown; what signs them is not.
    assert "new       /etc/shoe-daemon/journal-public.pem  (0644)" in installed.output
    public, key = installed.etc / "journal-public.pem", installed.etc / "journal.key"
    assert public.read_text().splitlines()[1] in installed.output
    assert key.read_text().splitlines()[1] not in installed.output


def test_a_later_run_keeps_the_pages_encrypted(tmp_path: Path) -> None:
    options = ("--display", "network", "--tls", "board.example", "--operator", "Maria")
    written(tmp_path, *BARE, *options, typed="a long password\n471100\n")
    display = tmp_path / "etc/shoe-daemon/display.toml"
    before = display.read_text()
    assert "[display.tls]" in before
    assert 'listen = "0.0.0.0:8443"' in before
    # The unit hands both files over by these names.
    drop_in = tmp_path / "etc/systemd/system/shoe-display.service.d/50-init.conf"
    for name, source in (("display.pem", "broker.pem"), ("display.key", "broker.key")):
        assert f'"{name}"' in before
        assert f"LoadCredential={name}:/etc/mosquitto/certs/{source}" in drop_in.read_text()
        assert (tmp_path / "etc/mosquitto/certs" / source).exists()
    written(tmp_path, *BARE, "--table", "table-2")
    written(tmp_path, *BARE, "--table", "table-1", "--operator", "Kim", typed="081500\n")
    assert display.read_text() == before
    written(tmp_path, *BARE, "--table", "table-1", "--tls", "none")
    assert "[display.tls]" not in display.read_text()


def test_a_later_run_adds_an_operator(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--operator", "Maria", typed="471100\n")
    file = tmp_path / "etc/shoe-daemon/operators.toml"
    edited = file.read_text() + '\n[[operator]]\nname = "Robin"\nroles = ["dealer"]\n'
    file.write_text(edited)
    again = ("--operator", "Maria", "--operator", "Kim")
    output = written(tmp_path, *BARE, *again, typed="081500\n")
    assert "changed   /etc/shoe-daemon/operators.toml" in output
    assert "argon2" not in output
    assert file.read_text().startswith(edited)
    assert file.stat().st_mode & 0o777 == 0o600
    operators = Operators("operators.toml", file.parent)
    operators.load()
    assert operators.authenticate("Maria", "471100", privileged=True)
    assert operators.authenticate("Kim", "081500", privileged=True)
    assert operators.find("Robin") is not None
    before = contents(tmp_path)
    written(tmp_path, *BARE, *again)
    assert contents(tmp_path) == before
    file.write_text("[[operator]\n")
    result = init(tmp_path, *BARE, "--operator", "Robin", typed="081500\n")
    assert "operators.toml" in str(result.exception)
    assert file.read_text() == "[[operator]\n"


def test_a_table_with_a_camera_keeps_pictures_and_video_for_the_log(tmp_path: Path) -> None:
    camera = ("--reader", "camera:rtsp://10.0.0.5/1", "--display", "network")
    written(tmp_path, *BARE, *camera, typed="a long password\n")
    setup = load_display(tmp_path / "etc/shoe-daemon/display.toml")
    assert setup.history is not None
    assert setup.history.evidence == Path("/var/lib/shoe-evidence")
    text = (tmp_path / "etc/shoe-daemon/table-1.toml").read_text()
    assert 'evidence = "/var/lib/shoe-evidence/casino.table-1"' in text
    assert tomllib.loads(text)["witness"] == [
        {"reader": "camera", "folder": "/var/lib/shoe-evidence/casino.table-1"}
    ]


@pytest.mark.parametrize("source", ["rtsp://10.0.0.9/1", "/dev/v4l/by-id/usb-pit"])
def test_a_witness_of_a_table_with_a_smart_shoe(tmp_path: Path, source: str) -> None:
    written(tmp_path, *BARE, "--witness", source)
    (witness,) = load_config(tmp_path / "etc/shoe-daemon/table-1.toml").config.witness
    assert (witness.source, witness.reader) == (source, None)
    units = tmp_path / "etc/systemd/system/shoe-daemon@table-1.service.d"
    assert "DeviceAllow=char-video4linux" in (units / "40-camera.conf").read_text()
    drop_in = (units / "50-init.conf").read_text()
    assert "ReadWritePaths=/var/lib/shoe-evidence" in drop_in
    assert ("10.0.0.9" in drop_in) is source.startswith("rtsp")
    # The answer is kept for the next run.
    written(tmp_path, *BARE)
    assert load_config(tmp_path / "etc/shoe-daemon/table-1.toml").config.witness == (witness,)


def test_a_signing_key_is_never_overwritten(tmp_path: Path) -> None:
    written(tmp_path, *BARE)
    folder = tmp_path / "etc/shoe-daemon"
    before = [(folder / name).read_bytes() for name in ("journal.key", "journal-public.pem")]
    written(tmp_path, *BARE, "--table", "table-2")
    assert [
        (folder / name).read_bytes() for name in ("journal.key", "journal-public.pem")
    ] == before
    first, second = (load_config(folder / f"table-{number}.toml").signer for number in (1, 2))
    assert first is not None
    assert second is not None
    assert first.public == second.public
    (folder / "journal.key").unlink()
    result = init(tmp_path, *BARE, "--table", "table-3")
    assert "journal-public.pem: is there without its journal.key" in str(result.exception)
    assert (folder / "journal-public.pem").read_bytes() == before[1]


def test_without_the_extra_no_key_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shoe_daemon.journal.keys", None)
    written(tmp_path, *BARE)
    assert not list((tmp_path / "etc/shoe-daemon").glob("journal*"))
    assert load_config(tmp_path / "etc/shoe-daemon/table-1.toml").signer is None


def test_passwords_and_the_signing_key_are_encrypted(tmp_path: Path) -> None:
    if not can_encrypt():
        pytest.skip("systemd-creds does not encrypt here")
    folder = tmp_path / "etc/shoe-daemon"
    samples = {path.name: path.read_text(encoding="utf-8") for path in sample_files()}
    answers = Answers(site="casino", table="table-1", name="Table 1", reader="simulated")
    installation = prepare(answers, tmp_path, Record(), samples, encrypt=True)
    shown = list(installation.description(with_contents=True))
    installation.write(Record())
    assert not list(folder.glob("*.password"))
    assert not (folder / "journal.key").exists()
    drop_in = tmp_path / "etc/systemd/system/shoe-daemon@table-1.service.d/50-init.conf"
    for name in ("table-1.password", "journal.key"):
        file = f"/etc/shoe-daemon/{name}.cred"
        assert f"new       {file}  (encrypted)" in shown
        assert f"\nLoadCredentialEncrypted={name}:{file}\n" in drop_in.read_text()
    command = ["systemd-creds", "decrypt", "--name=journal.key", f"{folder}/journal.key.cred", "-"]
    key = subprocess.run(command, check=True, capture_output=True).stdout
    credentials = tmp_path / "credentials"
    credentials.mkdir()
    (credentials / "journal.key").write_bytes(key)
    (credentials / "journal.key").chmod(0o400)
    assert load_signing_key(credentials / "journal.key")
    # A person is told where the key is; it is no fault.
    (note,) = load_config(folder / "table-1.toml", inspecting=True).notes
    assert note == (
        f"journal.key_file: {folder}/journal.key.cred: encrypted; only the service can read it"
    )
    # The next table takes the same key.
    again = prepare(replace(answers, table="table-2"), tmp_path, Record(), samples, encrypt=True)
    assert list(again.sealed) == ["table-2.password"]


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--tls", "broker.example", "--tls", "10.0.0.5")
    before = contents(tmp_path)
    output = written(tmp_path, *BARE, "--tls", "broker.example")
    assert contents(tmp_path).keys() == before.keys()
    assert set(re.findall(r"^(\w+) +/etc", output, re.MULTILINE)) == {"unchanged"}
    changed = {name for name, text in contents(tmp_path).items() if before[name] != text}
    assert changed <= {"etc/shoe-daemon/init.json"}


def test_a_second_table_shares_the_broker_and_the_display(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    pit = (tmp_path / "etc/shoe-daemon/pit.password").read_text()
    written(tmp_path, *BARE, "--table", "table-2")
    accounts = (tmp_path / "etc/mosquitto/shoe.passwd").read_text()
    assert [line.partition(":")[0] for line in accounts.splitlines()] == [
        "table-1",
        "board",
        "pit",
        "pit-display",
        "pit-log",
        "table-2",
    ]
    assert (tmp_path / "etc/shoe-daemon/pit.password").read_text() == pit
    assert load_config(tmp_path / "etc/shoe-daemon/table-1.toml")


def table_rights(site: str, table: str) -> str:
    return f"\nuser {table}\ntopic write shoe/v1/{site}/{table}/#\n"


def test_rights_that_a_person_edited_get_the_blocks_of_new_tables_only(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    file = tmp_path / "etc/mosquitto/shoe.acl"
    edited = file.read_text() + "\nuser maria\ntopic write shoe/v1/casino/+/cmd/+/maria\n"
    file.write_text(edited)
    assert "amended   /etc/mosquitto/shoe.acl" in written(tmp_path, *BARE, "--table", "table-2")
    extended = file.read_text()
    assert extended.startswith(edited)
    assert extended[len(edited) :].startswith(table_rights("casino", "table-2"))
    # It still counts as edited: a later run does not replace it.
    written(tmp_path, *BARE, "--table", "table-2", "--site", "grand")
    assert file.read_text() == extended
    assert table_rights("grand", "table-2") in Path(f"{file}.init-new").read_text()


def test_rights_that_the_script_extended_do_not_count_as_edited(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    etc = tmp_path / "etc/mosquitto"
    with (etc / "shoe.passwd").open("a") as accounts:
        accounts.write("table-2:\n")
    (etc / "shoe.acl").write_text(add_tables((etc / "shoe.acl").read_text(), ["table-2"]))
    assert "unchanged /etc/mosquitto/shoe.acl" in written(tmp_path, *BARE, "--table", "table-1")
    written(tmp_path, *BARE, "--table", "table-1", "--site", "grand")
    rights = (etc / "shoe.acl").read_text()
    assert [users(rights).count(f"table-{number}") for number in (1, 2)] == [1, 1]
    assert table_rights("grand", "table-2") in rights


@pytest.mark.parametrize("edited", [False, True])
def test_older_rights_are_replaced_for_all_accounts_unless_they_are_edited(
    tmp_path: Path, *, edited: bool
) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    etc = tmp_path / "etc/mosquitto"
    with (etc / "shoe.passwd").open("a") as accounts:
        accounts.write("table-8:\n")
    (etc / "shoe.acl").write_text(OLDER_RIGHTS)
    record = tmp_path / "etc/shoe-daemon/init.json"
    kept = json.loads(record.read_bytes())
    if not edited:
        kept["hashes"]["/etc/mosquitto/shoe.acl"] = sha256(OLDER_RIGHTS.encode()).hexdigest()
    record.write_text(json.dumps(kept))
    written(tmp_path, *BARE, "--table", "table-2")
    new = (etc / ("shoe.acl.init-new" if edited else "shoe.acl")).read_text()
    for table in ("table-1", "table-2", "table-8"):
        assert table_rights("casino", table) in new
    assert "\npattern" not in new
    if edited:
        assert (etc / "shoe.acl").read_text() == OLDER_RIGHTS


def test_an_edited_file_stays(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    config = tmp_path / "etc/shoe-daemon/table-1.toml"
    edited = config.read_text() + "# ours\n"
    config.write_text(edited)
    output = written(tmp_path, *BARE, "--table", "table-1", "--name", "Salon")
    assert config.read_text() == edited
    assert 'name = "Salon"' in Path(f"{config}.init-new").read_text()
    assert f"edited    /etc/shoe-daemon/{config.name}" in output


def test_a_kiosk_names_the_packages_that_its_screen_lacks(tmp_path: Path) -> None:
    output = written(tmp_path, *BARE, "--display", "kiosk", "--dry-run")
    assert "new       /etc/shoe-daemon/table-1.toml" in output
    assert contents(tmp_path) == {}
    dark = "!!  kiosk        the screen stays dark: apt install"
    assert f"\n{dark} cage xwayland chromium\n" in output
    unit = (Path(__file__).parents[2] / "systemd/shoe-kiosk.service").read_text()
    for name in ("cage", "chromium"):
        assert f"/usr/bin/{name} " in unit
    for name in ("cage", "Xwayland"):
        program = tmp_path / "usr/bin" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch()
    output = written(tmp_path, *BARE, "--display", "kiosk")
    assert f"\n{dark} chromium\n" in output
    (tmp_path / "usr/bin/chromium").touch()
    assert "apt install" not in written(tmp_path, *BARE, "--display", "kiosk")
    assert "apt install" not in written(tmp_path, *BARE, "--display", "local")


def test_a_changed_answer_changes_its_files_only(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    output = written(tmp_path, *BARE, "--table", "table-1", "--name", "Salon", "--show")
    changed = re.findall(r"^changed +(\S+)", output, re.MULTILINE)
    assert changed == ["/etc/shoe-daemon/table-1.toml"]
    assert '+name = "Salon"' in output


def test_at_most_ten_questions(tmp_path: Path) -> None:
    """Each prompt takes one line; PINs and passwords are asked for once without a terminal."""
    reader = "socket://10.0.0.5:4001"
    typed = [
        "table-3",
        "grand",
        "curator",
        "fr_2007",
        reader,
        "3",
        "Maria",
        "pit password",
        "471100",
    ]
    output = written(tmp_path, "--listen", "0", typed="\n".join([*typed, "y", ""]))
    assert (tmp_path / "etc/shoe-daemon/table-3.toml").exists(), output
    setup = load_config(tmp_path / "etc/shoe-daemon/table-3.toml")
    assert (setup.config.table.house, setup.policy.id) == ("curator", "fr_2007")
    assert setup.readers[0].port == reader
    assert not setup.config.table.simulated
    assert len(typed) < 10
    assert "0.0.0.0:8080" in (tmp_path / "etc/shoe-daemon/display.toml").read_text()


def test_files_are_named_and_shown_on_demand(tmp_path: Path) -> None:
    typed = ["table-1", "casino", "", "1", "simulated", "1", ""]
    output = written(tmp_path, typed="\n".join([*typed, "show", "y", ""]))
    named, question, shown = output.partition("Write these files and start:")
    assert question
    heading = "new       /etc/shoe-daemon/table-1.toml  (0644)\n"
    assert heading in named
    assert f"{heading}    # Table 1." in shown
    assert "\n    " not in named.partition(heading)[2]
    # The default house is the usual game.
    config = load_config(tmp_path / "etc/shoe-daemon/table-1.toml").config
    assert config.table.house == "punto-banco"
    quiet = written(tmp_path, *BARE, "--table", "table-2", "--dry-run")
    assert "\n    " not in quiet
    assert "\n    [table]\n" in written(
        tmp_path, *BARE, "--table", "table-2", "--dry-run", "--show"
    )


def test_a_wrong_answer_is_asked_again(tmp_path: Path) -> None:
    typed = ["Table 3", "table-3", "grand", "99", "1", "0", "1", "COM3", "simulated", "1", "", "y"]
    output = written(tmp_path, typed="".join(f"{line}\n" for line in typed))
    assert "reader: 'COM3'; expected a device below /dev" in output
    assert "small letters, digits and hyphens" in output
    assert "expected a number from 1 to" in output


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--witness", "ftp://10.0.0.9/1"], "witness: source 'ftp://10.0.0.9/1': expected /dev/"),
        (["--site", "Grand"], "site: 'Grand'; expected small letters"),
        (["--table", "board"], "table: 'board'; expected another id"),
        (["--house", "nowhere"], "house: 'nowhere'; expected one of"),
        (["--policy", "nowhere"], "policy: 'nowhere'; expected one of management, fr_2007"),
        (["--site", ""], "site: ''; expected small letters"),
        (["--reader", ""], "reader: ''; expected a device below /dev"),
        (["--policy", ""], "policy: ''; expected one of"),
        (["--broker", ""], "broker: ''; expected here, HOST or HOST:PORT"),
        (["--reader", "COM3"], "reader: 'COM3'; expected a device below /dev"),
        (["--reader", "/dev/input/event3"], "expected a device below /dev, socket://HOST:PORT"),
        (["--broker", "a:b"], "broker: 'a:b'; expected here, HOST or HOST:PORT"),
        (["--broker", "b.example", "--tls", "x"], "tls: names of a broker here"),
        (["--operator", ""], "operator: ''; expected 1 to 60"),
        (["--operator", "Maria"], "a PIN has 6 to 64 characters"),
        (["--display", "network"], "pit password: expected at least 8"),
    ],
)
def test_an_invalid_answer_is_one_line_and_writes_nothing(
    tmp_path: Path, options: list[str], error: str
) -> None:
    result = init(tmp_path, *BARE, *options)
    assert error in str(result.exception)
    assert contents(tmp_path) == {}


def test_a_broker_elsewhere_needs_its_password(tmp_path: Path) -> None:
    output = written(
        tmp_path,
        *BARE,
        *("--broker", "10.0.0.9:8883", "--ca-file", "system"),
        typed="secret\nsecret\n",
    )
    assert "mosquitto" not in output
    folder = tmp_path / "etc/shoe-daemon"
    mqtt = load_config(folder / "table-1.toml").config.mqtt
    assert mqtt is not None
    assert (mqtt.address, mqtt.tls is not None) == (("10.0.0.9", 8883), True)
    assert (folder / "table-1.password").read_text() == "secret\n"
    assert load_display(folder / "display.toml").config.mqtt.username == "board"
    drop_in = "etc/systemd/system/shoe-daemon@table-1.service.d/50-init.conf"
    assert "IPAddressAllow=localhost 10.0.0.9" in (tmp_path / drop_in).read_text()


class TestReader:
    """The reader is identified by what it sends, and stays known."""

    @pytest.fixture
    def bee_tek(self) -> Iterator[str]:
        line, stopping = TcpLine("127.0.0.1", 0), threading.Event()
        driver = create_driver("bee-tek")
        scenes = find_simulator("bee-tek")(driver).scenes(Settings(seed=3), once=True)

        def run() -> None:
            for _ in play(scenes, line, Pace(speed=0, copies=1), stopping):
                pass

        player = threading.Thread(target=run)
        player.start()
        yield line.address
        stopping.set()
        player.join()
        line.close()

    def test_a_line_tells_its_driver_and_a_second_run_keeps_it(
        self, tmp_path: Path, bee_tek: str
    ) -> None:
        output = written(tmp_path, "--yes", "--reader", bee_tek, "--listen", "30")
        assert f"{bee_tek}: bee-tek" in output
        path = tmp_path / "etc/shoe-daemon/table-1.toml"
        reader = load_config(path).readers[0]
        assert (reader.driver.name, reader.port) == ("bee-tek", bee_tek)
        before = path.read_bytes()
        written(tmp_path, "--yes", "--reader", bee_tek, "--site", "grand")
        assert path.read_bytes() == before.replace(b'"casino"', b'"grand"')
        written(tmp_path, "--yes", "--reader", "/dev/ttyUSB7")
        assert load_config(path).readers[0].driver.name == "angel-eye-ii"

    def test_the_driver_may_be_given(self, tmp_path: Path, bee_tek: str) -> None:
        options = ("--yes", "--reader", bee_tek, "--driver")
        written(tmp_path, *options, "json-lines")
        path = tmp_path / "etc/shoe-daemon/table-1.toml"
        assert load_config(path).readers[0].driver.name == "json-lines"
        result = init(tmp_path, *options, "json-lines", "--listen", "1")
        assert "bytes, no frames of json-lines; expected a known reader" in str(result.exception)
        result = init(tmp_path, *options, "shoe")
        assert "driver: 'shoe'; expected one of angel-eye-ii, bee-tek, " in str(result.exception)

    def test_settings_of_the_line_are_written_and_those_of_version_0_1_stay(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        found = {
            "driver": "line-scanner",
            "driver_options": {"preset": "handheld"},
            "line": {"baudrate": 19200, "parity": "E"},
        }
        monkeypatch.setattr("shoe_daemon.install.readers.identify_reader", lambda *_: found)
        written(tmp_path, "--yes", "--reader", "/dev/ttyUSB7", "--listen", "1")
        path = tmp_path / "etc/shoe-daemon/table-1.toml"
        reader = load_config(path).readers[0]
        assert (reader.line.baudrate, reader.line.parity) == (19200, "E")
        assert 'preset = "handheld"' in path.read_text()

        record = tmp_path / "etc/shoe-daemon/init.json"
        kept = json.loads(record.read_bytes())
        for field in ("driver", "driver_options", "line"):
            del kept["answers"]["table-1"][field]
        kept["answers"]["table-1"]["baudrate"] = 4800
        record.write_text(json.dumps(kept))
        written(tmp_path, "--yes")
        reader = load_config(path).readers[0]
        assert (reader.driver.name, reader.line.baudrate) == ("angel-eye-ii", 4800)
