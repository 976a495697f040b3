"""
A table in a real Home Assistant: the oldest version that can read its discovery document, and a
new one.

Each runs in a Debian of its own, with the Python that it needs, and logs in at the sample broker
with its sample account. `make test-machine` installs both once; `tests/packaging/debian_tree.py`
keeps them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Final, NamedTuple, Self
from urllib.parse import urlencode

import pytest

from shoe_daemon import __version__
from shoe_daemon.game.coup import Outcome
from shoe_daemon.mqtt.home_assistant import MAX_STATE
from tests.brokers import Listener, free_port
from tests.mqtt.sample_broker import SampleBroker
from tests.mqtt.test_home_assistant import examples, rendered
from tests.packaging.debian_tree import cached_debian
from tests.service.conftest import Run, run
from tests.service.daemon_process import DaemonProcess, Shoe, cli
from tests.waiting import PATIENCE, wait_for

__all__ = ["run"]

pytestmark = [
    pytest.mark.mosquitto,
    pytest.mark.timeout(1800),  # the installation compiles old packages
    pytest.mark.skipif(
        os.environ.get("TEST_MACHINE") != "1", reason="Home Assistant is large: make test-machine"
    ),
]


class Version(NamedTuple):
    """
    A version of Home Assistant.

    Attributes:
        number: Its number.
        suite: A Debian with a Python for it.
        packages: This Python, and compilers where the version needs packages without wheels.
        day: Its packages are those of this day: newer ones may not fit.
    """

    number: str
    suite: str
    packages: tuple[str, ...]
    day: str

    def tree(self) -> Path:
        """Return a Debian with it, or skip the test."""
        install = f"""
            python3 -m venv /opt/ha
            /opt/ha/bin/pip install --quiet --no-cache-dir uv
            cp /opt/ha/bin/uv /tmp/uv
            install() {{
                /tmp/uv pip install --quiet --no-cache --exclude-newer {self.day} \
                    --python /opt/ha/bin/python "$@"
            }}
            install --no-deps homeassistant=={self.number}
            cd /opt/ha/lib/python3*/site-packages/homeassistant
            install --constraint package_constraints.txt homeassistant=={self.number} \
                $(/opt/ha/bin/python -Ic '{_REQUIREMENTS}')
        """
        return cached_debian(self.suite, (*self.packages, "ca-certificates"), install)


_REQUIREMENTS: Final = """
import json
for part in ("mqtt", "frontend", "hassio", "backup"):
    print(*json.load(open(f"components/{part}/manifest.json")).get("requirements", ()))
"""
"""Prints what its own parts need that are started here."""

COMPILER: Final = ("gcc", "libc6-dev", "python3-dev")
VERSIONS: Final = (
    Version("2024.11.3", "trixie", ("python3-venv", *COMPILER), "2024-12-01"),
    Version("2026.11.0", "sid", ("python3-venv",), "2026-11-20"),
)

ACCOUNT: Final = "home-assistant"
ENTITIES: Final = {
    "online": "binary_sensor.baccarat_7_online",
    "alert": "binary_sensor.baccarat_7_alert",
    "alert_text": "sensor.baccarat_7_most_severe_alert",
    "alarm": "binary_sensor.baccarat_7_alarm",
    "held": "binary_sensor.baccarat_7_result_held",
    "due": "sensor.baccarat_7_due",
    "betting": "sensor.baccarat_7_betting",
    "rounds": "sensor.baccarat_7_rounds_of_this_shoe",
    "result": "sensor.baccarat_7_last_result",
    "reader_shoe": "binary_sensor.baccarat_7_reader_shoe",
    "reader_desk": "binary_sensor.baccarat_7_reader_desk",
}
OF_STATE: Final = ("alarm", "held", "due", "betting", "rounds")
"""The entities that expire when the table is silent."""
ROOT: Final = "shoe/v1/casino/table-7/"
DISCOVERY: Final = "homeassistant/device/shoe_casino_table-7/config"
GONE: Final = "unavailable"


class HomeAssistant:
    """
    A Home Assistant with an owner, for a `with` block.

    Args:
        tree: The Debian with it.
        folder: An empty folder for all that it keeps.
    """

    def __init__(self, tree: Path, folder: Path) -> None:
        self._tree, self._folder, self._port = tree, folder, free_port()
        self._log = folder.with_suffix(".log")
        self._process: subprocess.Popen[bytes] | None = None
        self._token = ""
        self._usual: set[str] = set()

    def __enter__(self) -> Self:
        (self._folder / "configuration.yaml").write_text(
            f"http:\n  server_host: 127.0.0.1\n  server_port: {self._port}\n"
            "logger:\n  default: info\n"
        )
        try:
            self.start()
            owner = {"client_id": f"http://127.0.0.1:{self._port}/", "language": "en"}
            person = {"name": "Kim", "username": "kim", "password": "a long password"}
            code = self.call("POST", "/api/onboarding/users", owner | person)["auth_code"]
            grant = {"grant_type": "authorization_code", "code": code} | owner
            self._token = self.call("POST", "/auth/token", urlencode(grant))["access_token"]
            self._wait_running()
        except BaseException:
            self.__exit__()
            raise
        # Parts that are not installed, and the network that it does not have.
        self._usual = self._complaints()
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def start(self) -> None:
        """Start it; all its processes end with this one."""
        enter = 'mount -t proc proc "$0/proc"; mount --bind "$1" "$0/mnt"; : >"$0/etc/resolv.conf"'
        hass = 'exec chroot "$0" /opt/ha/bin/hass --config /mnt --skip-pip'
        spaces = ("unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *("setpriv", "--pdeathsig=KILL", *spaces),
                    *("sh", "-ec", f"{enter}; {hass}", self._tree, self._folder),
                ],
                env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self._answers, "an answer of Home Assistant", timeout=4 * PATIENCE)

    def restart(self) -> None:
        """Stop it as its owner does, and start it again."""
        assert self._process is not None
        self.call("POST", "/api/services/homeassistant/stop", {})
        self._process.wait(PATIENCE)
        self.start()
        self._wait_running()

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self._log.read_text()
        try:
            self.call("GET", "/api/onboarding")
        except OSError:
            return False
        return True

    def _wait_running(self) -> None:
        wait_for(lambda: self.call("GET", "/api/config")["state"] == "RUNNING", "its start")

    def call(self, method: str, path: str, content: object = None) -> Any:  # noqa: ANN401 - any JSON
        """Return the answer of its REST interface; None for something unknown."""
        connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        try:
            headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
            if isinstance(content, str):
                headers["Content-Type"] = "application/x-www-form-urlencoded"
            elif content is not None:
                headers["Content-Type"] = "application/json"
                content = json.dumps(content)
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            body = response.read().decode()
        finally:
            connection.close()
        if response.status == 404:
            return None
        assert response.status in {200, 201}, f"{path}: {response.status} {body}"
        try:
            return json.loads(body)
        except ValueError:
            return body

    def add_broker(self, port: int) -> None:
        """Add the integration MQTT, as its owner does in a dialogue."""
        flows = "/api/config/config_entries/flow"
        dialogue = self.call("POST", flows, {"handler": "mqtt", "show_advanced_options": False})
        account = {"username": ACCOUNT, "password": ACCOUNT}
        answers = _answers(
            dialogue["data_schema"], {"broker": "127.0.0.1", "port": port, **account}
        )
        done = self.call("POST", f"{flows}/{dialogue['flow_id']}", answers)
        assert done["type"] == "create_entry", done

    def template(self, text: str) -> str:
        """Return what one of its templates gives."""
        return str(self.call("POST", "/api/template", {"template": text}))

    def state(self, entity: str) -> str | None:
        """Return the state of an entity; None for an unknown one."""
        found = self.call("GET", f"/api/states/{entity}")
        return None if found is None else found["state"]

    def wait(self, **states: str | None) -> None:
        """Wait until entities of the table, by their keys in its document, have these states."""
        wanted = {ENTITIES[key]: state for key, state in states.items()}
        until = time.monotonic() + PATIENCE
        while (found := {each: self.state(each) for each in wanted}) != wanted:
            assert time.monotonic() < until, f"{found}, and not {wanted}"
            time.sleep(0.05)

    def complaints(self) -> set[str]:
        """Return the warnings and errors in its log since the first start."""
        return self._complaints() - self._usual

    def _complaints(self) -> set[str]:
        lines = re.findall(
            r"^\S+ \S+ ((?:WARNING|ERROR|CRITICAL) .*)", self._log.read_text(), re.MULTILINE
        )
        return set(lines)


def _answers(schema: list[dict[str, Any]], given: dict[str, Any]) -> dict[str, Any]:
    """Return the answers to a form: what is given, and the first choice where one is required."""
    answers: dict[str, Any] = {}
    for field in schema:
        name = field["name"]
        if name in given:
            answers[name] = given[name]
        elif field.get("type") == "expandable":
            answers[name] = _answers(field["schema"], {})
        elif field.get("required") and "default" not in field:
            select = field["selector"].get("select")
            answers[name] = select["options"][0] if select else False
    return answers


class Floor(NamedTuple):
    """A Home Assistant at a broker, and a client of the broker that may do everything."""

    home_assistant: HomeAssistant
    broker: SampleBroker
    auditor: Listener


@pytest.fixture(scope="module", params=VERSIONS, ids=[each.number for each in VERSIONS])
def floor(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Floor]:
    tree = request.param.tree()
    broker = SampleBroker(tmp_path_factory.mktemp("broker"))
    with (broker.folder / "shoe.acl").open("a") as rights:
        rights.write("user auditor\ntopic readwrite #\n")
    for account in (ACCOUNT, "auditor"):
        broker.add_account(account)
    home_assistant = HomeAssistant(tree, tmp_path_factory.mktemp("home-assistant"))
    with broker, broker.listen("auditor") as auditor, home_assistant:
        assert home_assistant.call("GET", "/api/config")["version"] == request.param.number
        home_assistant.add_broker(broker.port)
        yield Floor(home_assistant, broker, auditor)


@pytest.fixture
def home_assistant(floor: Floor) -> Iterator[HomeAssistant]:
    """Home Assistant, which complains about nothing and knows no table afterwards."""
    yield floor.home_assistant
    floor.auditor.publish(DISCOVERY, b"", retain=True)
    floor.home_assistant.wait(**dict.fromkeys(ENTITIES))
    assert not floor.home_assistant.complaints()


@pytest.fixture
def shoe(tmp_path: Path) -> Iterator[Shoe]:
    with Shoe(tmp_path / "shoe") as shoe:
        yield shoe


@pytest.fixture
def table(tmp_path: Path, floor: Floor, shoe: Shoe, run: Run) -> DaemonProcess:
    """A table with two readers, started."""
    (tmp_path / "t").mkdir()
    config = tmp_path / "t" / "table.toml"
    config.write_text(f"""
site = "casino"
[table]
id = "table-7"
name = "Baccarat 7"
hold_from = 2
[mqtt]
port = {floor.broker.port}
username = "table-7"
password_file = "{floor.broker.password_file("table-7")}"
heartbeat = 3
keepalive = 600
home_assistant = true
[[reader]]
driver = "angel-eye-ii"
port = "{shoe.link}"
{DESK}""")
    daemon = run(config).wait_ready()
    shoe.wait_heard()
    return daemon


DESK: Final = """
[[reader]]
id = "desk"
driver = "buttons"
port = "socket://127.0.0.1:9"
"""
"""A reader that never answers."""


def test_a_table_is_a_device_and_its_entities_follow_the_round(
    home_assistant: HomeAssistant, table: DaemonProcess, shoe: Shoe
) -> None:
    home_assistant.wait(online="on", reader_shoe="on", reader_desk="off")
    home_assistant.wait(alert="off", alert_text="none", alarm="off", held="off")
    home_assistant.wait(rounds="0", due="none", betting="unknown", result="unknown")
    online = ENTITIES["online"]
    device = home_assistant.template(
        f"{{{{ [device_attr('{online}', 'identifiers') | list, device_attr('{online}', 'name'),"
        f" device_attr('{online}', 'manufacturer'), device_attr('{online}', 'sw_version'),"
        f" device_entities(device_id('{online}')) | sort] }}}}"
    )
    assert device == str(
        [
            [("mqtt", "shoe_casino_table-7")],
            *("Baccarat 7", "shoe-daemon", __version__),
            sorted(ENTITIES.values()),
        ]
    )
    shoe.say("S")
    shoe.draw("P1:2S", "B1:3H", "P2:3D", "B2:KD")
    home_assistant.wait(due="The Player draws on 5.")
    shoe.draw("P3:9S")
    home_assistant.wait(due="The Player drew a card worth 9; the Banker draws on 3.")
    shoe.draw("B3:5S")
    home_assistant.wait(result="unknown")
    shoe.call(Outcome.BANKER)
    home_assistant.wait(result="banker", rounds="1", alert="off")


def test_a_misdeal_is_an_alert_until_it_is_decided(
    home_assistant: HomeAssistant, table: DaemonProcess, shoe: Shoe
) -> None:
    shoe.say("S")
    shoe.draw("P1:2S", "B1:3H", "P2:3D", "B2:KD", "P3:9S", "P3:9C")
    text = "A card was laid on P3 while B3 was due; by the order out of the shoe it is B3."
    home_assistant.wait(alert="on", held="on", alert_text=text, result="unknown")
    answer = cli("cmd", "acknowledge", "--config", table.config, "--operator", "Kim")
    assert answer.exit_code == 0, answer.output
    home_assistant.wait(alert="off", held="off", alert_text="none", result="player")


def test_a_table_that_is_off_or_silent_shows_no_old_state(
    home_assistant: HomeAssistant, table: DaemonProcess
) -> None:
    others = [each for each in ENTITIES if each != "online"]
    home_assistant.wait(online="on", rounds="0")
    assert table.stop() == 0
    home_assistant.wait(online="off", **dict.fromkeys(others, GONE))
    table.start().wait_ready()
    home_assistant.wait(online="on", rounds="0", alert="off", reader_shoe="on")
    table.kill()
    home_assistant.wait(online="off", **dict.fromkeys(others, GONE))
    table.start().wait_ready()
    home_assistant.wait(online="on", rounds="0")
    table.process.send_signal(signal.SIGSTOP)
    home_assistant.wait(online="on", alert="off", **dict.fromkeys(OF_STATE, GONE))
    table.process.send_signal(signal.SIGCONT)
    home_assistant.wait(online="on", rounds="0", alarm="off")


def test_home_assistant_may_restart_at_any_time(
    home_assistant: HomeAssistant, table: DaemonProcess, shoe: Shoe
) -> None:
    shoe.say("S")
    shoe.draw("P1:9S", "B1:2H", "P2:KD", "B2:TC")
    shoe.call(Outcome.PLAYER)
    home_assistant.wait(result="player", rounds="1")
    home_assistant.restart()
    home_assistant.wait(online="on", reader_shoe="on", result="player", rounds="1", alert="off")
    assert table.stop() == 0
    home_assistant.restart()
    home_assistant.wait(online="off", result=GONE, rounds=GONE)
    table.start().wait_ready()
    home_assistant.wait(online="on", result="player")


def test_an_empty_document_removes_the_device_until_the_next_start_of_the_table(
    floor: Floor, home_assistant: HomeAssistant, table: DaemonProcess
) -> None:
    home_assistant.wait(online="on", reader_shoe="on", reader_desk="off")
    assert table.stop() == 0
    home_assistant.wait(online="off")
    floor.auditor.publish(DISCOVERY, b"", retain=True)
    home_assistant.wait(**dict.fromkeys(ENTITIES))
    # Home Assistant keeps a component that a new document lacks: only so it is removed.
    table.config.write_text(table.config.read_text().replace(DESK, ""))
    table.start().wait_ready()
    home_assistant.wait(online="on", reader_shoe="on", reader_desk=None)


def test_every_document_of_the_examples_is_accepted(
    floor: Floor, home_assistant: HomeAssistant, table: DaemonProcess
) -> None:
    home_assistant.wait(online="on", rounds="0")
    document = json.loads(floor.auditor.wait(DISCOVERY)[-1].payload)
    table.kill()
    home_assistant.wait(online="off")
    floor.auditor.publish(f"{ROOT}status", b'{"state": "online"}')
    severe = {"data": {"severity": 5, "detail": "牌" * 400}}
    documents = examples()
    documents["alert/active"].append({"payload": {"alerts": [severe]}})
    for key, component in document["components"].items():
        suffix = component["state_topic"].removeprefix(ROOT)
        for example in documents["device" if suffix.startswith("device/") else suffix]:
            floor.auditor.publish(ROOT + suffix, json.dumps(example["payload"]).encode())
            state = rendered(key.replace("desk", "shoe"), example["payload"])
            assert len(state) <= MAX_STATE
            shown = {"ON": "on", "OFF": "off", "None": "unknown"}.get(state, state)
            home_assistant.wait(**{key: shown})
            if key == "online":
                floor.auditor.publish(f"{ROOT}status", b'{"state": "online"}')
