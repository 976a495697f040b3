"""`doctor` logs in to the broker like the table, and disturbs no client."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from click.testing import CliRunner
from paho.mqtt import client as paho

from shoe_daemon.cli import main
from shoe_daemon.doctor import brokers, examinations
from shoe_daemon.floor.messages import topic_filters
from tests.brokers import Listener, Message, Mosquitto, free_port, set_password
from tests.mqtt.sample_broker import OLDER_RIGHTS, rights_of
from tests.service.daemon_process import DaemonProcess
from tests.volume import sample
from tests.waiting import wait_for

pytestmark = pytest.mark.mosquitto

ROOT: Final = "shoe/v1/casino/table-7"
ALL = "pattern readwrite shoe/v1/casino/%u/#\n"
ONE_BY_ONE = """
pattern write shoe/v1/casino/%u/state
pattern write shoe/v1/casino/%u/reply/#
pattern read shoe/v1/casino/%u/cmd/#
"""
NO_STAFF = """
pattern write shoe/v1/casino/%u/+/+
pattern read shoe/v1/casino/%u/cmd/#
"""
PROTOCOLS = sample(["5", "3.1.1"], 2)
NOTHING = "pattern read shoe/v1/casino/%u/cmd/#\n"


@pytest.fixture(autouse=True)
def no_rights_of_this_computer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(brokers, "_LOCAL_RIGHTS", tmp_path / "none")


@cache
def _passwords() -> str:
    """Return the password file: hashing takes a while."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "passwords"
        for user in ("table-7", "board", "pit-display", "auditor"):
            set_password(file, user, user)
        return file.read_text(encoding="utf-8")


class Strict(Mosquitto):
    """A broker with users, whose password is their name, and rights."""

    def __init__(self, folder: Path, rights: str, more: str = "") -> None:
        folder.mkdir()
        (folder / "passwords").write_text(_passwords(), encoding="utf-8")
        text = f"user auditor\ntopic readwrite #\n\n{rights}"
        (folder / "rights").write_text(text, encoding="utf-8")
        files = f"password_file {folder}/passwords\nacl_file {folder}/rights\n"
        super().__init__(folder, f"allow_anonymous false\n{files}{more}")

    def auditor(self, name: str = "auditor") -> Listener:
        """Return a listener that receives everything."""
        return Listener(self.port, name=name, username="auditor", password="auditor")  # noqa: S106


def table(folder: Path, port: int, protocol: str = "5", *, secret: str = "table-7") -> Path:  # noqa: S107
    """Write the configuration of a table, and return where."""
    (folder / "secret").write_text(f"{secret}\n", encoding="utf-8")
    file = folder / "table.toml"
    file.write_text(
        f'site = "casino"\n[table]\nid = "table-7"\n[mqtt]\nport = {port}\n'
        f'protocol = "{protocol}"\nusername = "table-7"\npassword_file = "secret"\n',
        encoding="utf-8",
    )
    return file


def findings(file: Path) -> dict[str, list[tuple[str, str]]]:
    """Run the doctor, and return verdicts and texts by subject."""
    result = CliRunner().invoke(main, ["doctor", "--config", str(file), "--json"])
    told: dict[str, list[tuple[str, str]]] = {}
    for each in json.loads(result.stdout):
        told.setdefault(each["about"], []).append((each["verdict"], each["text"]))
    return told


def only(told: dict[str, list[tuple[str, str]]], about: str) -> tuple[str, str]:
    (finding,) = told[about]
    return finding


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_sample_rights_are_good(tmp_path: Path, protocol: str) -> None:
    with Strict(tmp_path / "broker", rights_of("table-7")) as broker:
        told = findings(table(tmp_path, broker.port, protocol))
    where = f"127.0.0.1:{broker.port}"
    text = f"{where} accepts the login of user 'table-7', MQTT {protocol}"
    assert only(told, "broker") == ("good", text)
    assert only(told, "subscribe")[0] == "good"
    assert only(told, "publish")[0] == "good"
    assert "rights" not in told


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_rights_of_an_earlier_version_work_and_are_warned_about(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Strict(tmp_path / "broker", OLDER_RIGHTS) as broker:
        file = table(tmp_path, broker.port, protocol)
        assert "rights" not in findings(file)
        monkeypatch.setattr(brokers, "_LOCAL_RIGHTS", tmp_path / "broker/rights")
        told = findings(file)
    assert only(told, "publish")[0] == "good"
    verdict, text = only(told, "rights")
    assert verdict == "note"
    assert "has `pattern write shoe/v1/casino/%u/#` for every user" in text
    assert text.endswith("docs/install-by-hand.md, Rights of an earlier version")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_table_that_may_speak_for_others_is_warned_about(tmp_path: Path, protocol: str) -> None:
    rights = "user table-7\ntopic readwrite shoe/v1/casino/#\n"
    with Strict(tmp_path / "broker", rights) as broker:
        verdict, text = only(findings(table(tmp_path, broker.port, protocol)), "rights")
    assert verdict == "note"
    assert text.startswith("this user may publish below shoe/v1/casino/doctor-")


def test_a_wrong_password_is_bad(tmp_path: Path) -> None:
    for protocol in ("5", "3.1.1"):
        with Strict(tmp_path / protocol, ALL) as broker:
            told = findings(table(tmp_path, broker.port, protocol, secret="guess"))  # noqa: S106
        verdict, text = only(told, "broker")
        assert verdict == "bad"
        assert text.startswith(f"127.0.0.1:{broker.port}, login of user 'table-7' as 'shoe-casino")
        assert "the broker refuses us: " in text
        assert "publish" not in told


def test_a_missing_user_is_bad(tmp_path: Path) -> None:
    with Strict(tmp_path / "broker", ALL) as broker:
        file = table(tmp_path, broker.port)
        file.write_text(f'site = "casino"\n[mqtt]\nport = {broker.port}\n')
        assert "login of nobody (no mqtt.username)" in only(findings(file), "broker")[1]


@pytest.mark.parametrize(
    ("rights", "verdicts", "said"),
    [
        (ALL, ["good"], f"any topic below {ROOT}, staff/ included"),
        (ONE_BY_ONE, ["note"], f"is accepted, but not any topic below {ROOT}"),
        (NO_STAFF, ["bad"], "is refused: Not authorized"),
        (NOTHING, ["bad", "bad"], "is refused: Not authorized"),
    ],
    ids=["all", "one by one", "no staff", "nothing"],
)
def test_mqtt_5_shows_what_may_be_published(
    tmp_path: Path, rights: str, verdicts: list[str], said: str
) -> None:
    with Strict(tmp_path / "broker", rights) as broker:
        told = findings(table(tmp_path, broker.port))["publish"]
    assert [verdict for verdict, _ in told] == verdicts
    assert all(said in text for _, text in told)


def test_mqtt_3_1_1_does_not_tell_a_refusal(tmp_path: Path) -> None:
    with Strict(tmp_path / "broker", NOTHING) as broker:
        verdict, text = only(findings(table(tmp_path, broker.port, "3.1.1")), "publish")
    assert verdict == "note"
    assert "did not come back" in text


def test_a_broker_that_retains_nothing_is_bad(tmp_path: Path) -> None:
    with Strict(tmp_path / "broker", ALL, "retain_available false") as broker:
        told = findings(table(tmp_path, broker.port))["broker"]
    assert [verdict for verdict, _ in told] == ["good", "bad"]
    assert "no retained messages" in told[1][1]


def test_a_running_table_is_not_disturbed(tmp_path: Path) -> None:
    with Strict(tmp_path / "broker", ALL) as broker, broker.auditor() as auditor:
        file = table(tmp_path, broker.port)
        with DaemonProcess(file, forked=True) as daemon:
            daemon.start().wait_ready()
            auditor.wait(f"{ROOT}/status")
            findings(file)
            assert daemon.stop() == 0
        mine = [each for each in auditor.messages if "doctor" in each.topic]
        assert len(mine) == 2
        assert not any(each.retain for each in mine)
        states = [each.json["state"] for each in auditor.of(f"{ROOT}/status")]
        assert states == ["online", "stopping", "offline"]
        assert "mqtt lost" not in daemon.log.read_text()
        log = broker.log.read_text()
        assert "already connected" not in log
        with broker.auditor("late") as late:
            late.wait(f"{ROOT}/status")
            assert not [each for each in late.messages if "doctor" in each.topic]


PLUGIN: Final = next(Path("/usr/lib").glob("*/mosquitto_dynamic_security.so"), None)


@pytest.mark.skipif(PLUGIN is None, reason="mosquitto's dynamic security is not installed")
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_refused_subscription_is_bad(tmp_path: Path, protocol: str) -> None:
    (tmp_path / "broker").mkdir()
    rights = {"publishClientSend": True, "publishClientReceive": True, "subscribe": False}
    security = tmp_path / "broker" / "security.json"
    security.write_text(json.dumps({"defaultACLAccess": rights | {"unsubscribe": True}}))
    security.chmod(0o600)
    lines = f"allow_anonymous true\nplugin {PLUGIN}\nplugin_opt_config_file {security}"
    with Mosquitto(tmp_path / "broker", lines) as broker:
        file = tmp_path / "table.toml"
        file.write_text(
            f'site = "casino"\n[mqtt]\nport = {broker.port}\nprotocol = "{protocol}"\n'
        )
        verdict, text = only(findings(file), "subscribe")
    assert verdict == "bad"
    assert text.startswith("shoe/v1/casino/table/cmd/# is refused: ")


def test_no_broker_at_all_is_bad(tmp_path: Path) -> None:
    verdict, text = only(findings(table(tmp_path, free_port())), "broker")
    assert verdict == "bad"
    assert text.endswith("cannot be reached: Connection refused")


class TestDisplay:
    """A display's configuration is accepted too."""

    @pytest.fixture
    def broker(self, tmp_path: Path) -> Iterator[Strict]:
        with Strict(tmp_path / "broker", rights_of("table-7")) as broker:
            yield broker

    def display(self, folder: Path, port: int, user: str = "board", text: str = "") -> Path:
        (folder / "secret").write_text(f"{user}\n", encoding="utf-8")
        file = folder / "display.toml"
        file.write_text(
            f'[display]\nlisten = "127.0.0.1:{free_port()}"\n{text}\n[mqtt]\nport = {port}\n'
            f'username = "{user}"\npassword_file = "secret"\n',
            encoding="utf-8",
        )
        return file

    def test_documents_that_arrive_show_the_right_to_read(
        self, tmp_path: Path, broker: Strict
    ) -> None:
        with broker.auditor() as auditor:
            auditor.publish(f"{ROOT}/state", b"{}", retain=True)
            told = findings(self.display(tmp_path, broker.port))
        assert only(told, "broker")[0] == "good"
        assert only(told, "listen")[0] == "good"
        assert "rights" not in told
        assert only(told, "subscribe") == (
            "good",
            "8 filters are accepted, 1 retained documents arrived",
        )

    @pytest.mark.parametrize("protocol", PROTOCOLS)
    def test_a_display_that_could_make_a_phantom_table_is_warned_about(
        self, tmp_path: Path, protocol: str
    ) -> None:
        with (
            Strict(tmp_path / "broker", OLDER_RIGHTS) as broker,
            broker.auditor() as auditor,
        ):
            auditor.publish(f"{ROOT}/state", b"{}", retain=True)
            file = self.display(tmp_path, broker.port)
            with file.open("a") as config:
                config.write(f'protocol = "{protocol}"\n')
            verdict, text = only(findings(file), "rights")

            def attempts() -> list[Message]:
                return [each for each in auditor.messages if "/board/" in each.topic]

            wait_for(attempts, "the attempt to publish")
            (tried,) = attempts()
        assert verdict == "note"
        assert text.startswith("this user may publish below shoe/v1/casino/board, so it can make")
        assert not tried.retain
        # It matches no subscription of a display.
        wanted = topic_filters("shoe/v1", None, staff_alerts=True, notifier_status=True)
        assert not [each for each in wanted if paho.topic_matches_sub(each, tried.topic)]

    def test_where_nothing_arrives_it_says_so(self, tmp_path: Path, broker: Strict) -> None:
        verdict, text = only(findings(self.display(tmp_path, broker.port)), "subscribe")
        assert verdict == "note"
        assert "no retained document arrived" in text

    def test_it_says_how_the_pit_gets_the_alerts_for_staff(
        self, tmp_path: Path, broker: Strict
    ) -> None:
        wanted = "[display.pit]\nbehind_proxy = true\nstaff_alerts = true"
        with broker.auditor() as auditor:
            for suffix in ("state", "staff/alert/active"):
                auditor.publish(f"{ROOT}/{suffix}", b"{}", retain=True)
            off = findings(self.display(tmp_path, broker.port))
            denied = findings(self.display(tmp_path, broker.port, text=wanted))
            good = findings(self.display(tmp_path, broker.port, "pit-display", wanted))
        verdict, text = only(off, "staff alerts")
        assert verdict == "note"
        assert "staff_alerts = true" in text
        verdict, text = only(denied, "staff alerts")
        assert verdict == "bad"
        assert "pit-display in mosquitto-shoe.acl" in text
        assert only(denied, "subscribe")[0] == "good"
        assert only(good, "staff alerts")[0] == "good"

    def test_a_kiosk_without_its_packages_is_bad(
        self, tmp_path: Path, broker: Strict, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        enabled = tmp_path / "shoe-kiosk.service"
        enabled.symlink_to("/lib/systemd/system/shoe-kiosk.service")
        file = self.display(tmp_path, broker.port)
        assert "kiosk" not in findings(file)
        monkeypatch.setattr(examinations, "_KIOSK_ENABLED", enabled)
        monkeypatch.setattr(examinations, "_KIOSK_PROGRAMS", {"no/cage": "cage", "bin/sh": "dash"})
        assert only(findings(file), "kiosk") == (
            "bad",
            "the screen stays dark: apt install cage",
        )
        monkeypatch.setattr(examinations, "_KIOSK_PROGRAMS", {"bin/sh": "dash"})
        assert only(findings(file), "kiosk")[0] == "good"

    def test_a_wrong_login_an_open_pit_and_a_busy_address(
        self, tmp_path: Path, broker: Strict
    ) -> None:
        file = self.display(tmp_path, broker.port)
        busy = file.read_text().replace("board", "nobody")
        file.write_text(busy.replace("127.0.0.1:", "0.0.0.0:"))
        told = findings(file)
        assert only(told, "broker")[0] == "bad"
        assert only(told, "pit")[0] == "bad"
        file.write_text(f'[display]\nlisten = "127.0.0.1:{broker.port}"\n')
        assert only(findings(file), "listen")[0] == "note"
