"""Files that `shoe-daemon init` writes, and files that it keeps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from shoe_daemon.cli.init import command
from shoe_daemon.config import load_config
from shoe_daemon.display.display_config import load_display
from shoe_daemon.operators import Operators

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


def test_the_configurations_are_valid(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--site", "grand", "--table", "table-7")
    folder = tmp_path / "etc/shoe-daemon"
    setup = load_config(folder / "table-7.toml")
    assert (setup.config.site, setup.config.table.name) == ("grand", "Table 7")
    assert setup.readers[0].port == "socket://127.0.0.1:4007"
    assert load_display(folder / "display.toml").config.display.site == "grand"
    rights = (tmp_path / "etc/mosquitto/shoe.acl").read_text()
    assert "shoe/v1/grand/%u/#" in rights
    assert "casino" not in rights


def test_secrets_are_for_root_alone_and_never_shown(tmp_path: Path) -> None:
    output = written(tmp_path, *BARE, "--operator", "Maria", typed="4711\n")
    folder = tmp_path / "etc/shoe-daemon"
    for path in [*folder.glob("*.password"), folder / "operators.toml"]:
        assert path.stat().st_mode & 0o777 == 0o600
        secret = path.read_text().splitlines()[0]
        assert secret not in output
    assert "argon2" not in output
    operators = Operators("operators.toml", folder)
    operators.load()
    assert operators.authenticate("Maria", "4711", privileged=True)


def test_a_table_starts_without_its_credentials(tmp_path: Path) -> None:
    """A unit that lacks a credential does not start, unless it has one in its place."""
    written(tmp_path, *BARE, "--operator", "Maria", typed="4711\n")
    folder = tmp_path / "etc/systemd/system/shoe-daemon@table-1.service.d"
    unit = Path(__file__).parents[2] / "systemd/shoe-daemon@.service"
    text = unit.read_text() + (folder / "50-init.conf").read_text()
    wanted = re.findall(r"^LoadCredential\w*=([^:\n]+):", text, re.MULTILINE)
    assert wanted == ["%i.password", "operators.toml"]
    for name in wanted:
        assert f"\nSetCredential={name}:\\n\n" in text


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
        "table-2",
    ]
    assert (tmp_path / "etc/shoe-daemon/pit.password").read_text() == pit
    assert load_config(tmp_path / "etc/shoe-daemon/table-1.toml")


def test_an_edited_file_stays(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    config = tmp_path / "etc/shoe-daemon/table-1.toml"
    edited = config.read_text() + "# ours\n"
    config.write_text(edited)
    output = written(tmp_path, *BARE, "--table", "table-1", "--name", "Salon")
    assert config.read_text() == edited
    assert 'name = "Salon"' in Path(f"{config}.init-new").read_text()
    assert f"edited    /etc/shoe-daemon/{config.name}" in output


def test_a_changed_answer_changes_its_files_only(tmp_path: Path) -> None:
    written(tmp_path, *BARE, "--table", "table-1")
    output = written(tmp_path, *BARE, "--table", "table-1", "--name", "Salon")
    changed = re.findall(r"^changed +(\S+)", output, re.MULTILINE)
    assert changed == ["/etc/shoe-daemon/table-1.toml"]
    assert '+name = "Salon"' in output


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    output = written(tmp_path, *BARE, "--dry-run")
    assert "new       /etc/shoe-daemon/table-1.toml" in output
    assert contents(tmp_path) == {}


def test_at_most_ten_questions(tmp_path: Path) -> None:
    """Each prompt takes one line; PINs and passwords are asked for once without a terminal."""
    typed = ["grand", "table-3", "2", "1", "here", "3", "Maria", "pit password", "4711", "y"]
    output = written(tmp_path, typed="".join(f"{line}\n" for line in typed))
    assert (tmp_path / "etc/shoe-daemon/table-3.toml").exists(), output
    assert load_config(tmp_path / "etc/shoe-daemon/table-3.toml").config.table.house == "curator"
    assert "0.0.0.0:8080" in (tmp_path / "etc/shoe-daemon/display.toml").read_text()


def test_a_wrong_answer_is_asked_again(tmp_path: Path) -> None:
    typed = ["Grand Casino!", "grand", "table-3", "9", "1", "1", "here", "1", "", "y"]
    output = written(tmp_path, typed="".join(f"{line}\n" for line in typed))
    assert "small letters, digits and hyphens" in output
    assert "expected a number from 1 to" in output


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--site", "Grand"], "site: 'Grand'; expected small letters"),
        (["--table", "board"], "table: 'board'; expected another id"),
        (["--house", "nowhere"], "house: 'nowhere'; expected one of"),
        (["--reader", "COM3"], "reader: 'COM3'; expected a device below /dev"),
        (["--broker", "a:b"], "broker: 'a:b'; expected here, HOST or HOST:PORT"),
        (["--broker", "b.example", "--tls", "x"], "tls: names of a broker here"),
        (["--operator", ""], "operator: ''; expected 1 to 60"),
        (["--operator", "Maria"], "a PIN has 4 to 64 characters"),
        (["--display", "network"], "pit password: expected at least 8"),
    ],
)
def test_an_invalid_answer_is_one_line(tmp_path: Path, options: list[str], error: str) -> None:
    result = init(tmp_path, *BARE, *options)
    assert error in str(result.exception)
    assert contents(tmp_path) == {}


def test_a_broker_elsewhere_needs_its_password(tmp_path: Path) -> None:
    output = written(
        tmp_path,
        *BARE,
        *("--broker", "10.0.0.9:8883", "--ca-file", "system", "--display", "none"),
        typed="secret\n",
    )
    assert "mosquitto" not in output
    folder = tmp_path / "etc/shoe-daemon"
    mqtt = load_config(folder / "table-1.toml").config.mqtt
    assert mqtt is not None
    assert (mqtt.address, mqtt.tls is not None) == (("10.0.0.9", 8883), True)
    assert (folder / "table-1.password").read_text() == "secret\n"
    drop_in = "etc/systemd/system/shoe-daemon@table-1.service.d/50-init.conf"
    assert "IPAddressAllow=localhost 10.0.0.9" in (tmp_path / drop_in).read_text()
