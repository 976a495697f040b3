"""Topics, settings, retry delays, the wakeup and the client id."""

from __future__ import annotations

import os
import random
import select
import socket
import threading
from pathlib import Path

import msgspec
import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt import topics
from shoe_daemon.mqtt.session import ReconnectDelay
from shoe_daemon.mqtt.settings import MqttSettings, Timeouts, TlsSettings
from shoe_daemon.mqtt.topics import TableIdentity, Topics, device, staff
from shoe_daemon.threads import Wakeup
from tests.waiting import PATIENCE


def test_the_tree_of_topics() -> None:
    topics = Topics("house", "table-7")
    assert topics.event("card_dealt") == "shoe/v1/house/table-7/event/card_dealt"
    assert topics.event("staff_card_dealt") == (
        "shoe/v1/house/table-7/staff/event/staff_card_dealt"
    )
    assert topics.retained("state") == "shoe/v1/house/table-7/state"
    assert topics.retained(device("shoe-1")) == "shoe/v1/house/table-7/device/shoe-1"
    assert topics.retained(staff("state")) == "shoe/v1/house/table-7/staff/state"
    assert topics.commands == "shoe/v1/house/table-7/cmd/#"
    assert topics.reply("a1") == "shoe/v1/house/table-7/reply/a1"
    assert Topics("house", "t", "casino/floor-2").root == "casino/floor-2/house/t"


def test_orders_are_told_from_everything_else() -> None:
    topics = Topics("house", "table-7")
    assert topics.verb("shoe/v1/house/table-7/cmd/new_shoe") == "new_shoe"
    assert topics.verb("shoe/v1/house/table-8/cmd/new_shoe") is None
    assert topics.verb("shoe/v1/house/table-7/state") is None


@pytest.mark.parametrize("bad", ["", "Table", "a/b", "a+", "#", "tisch ä", "a_b", "a\n"])
def test_an_id_that_cannot_stand_in_a_topic(bad: str) -> None:
    for make in (lambda: Topics(bad, "t"), lambda: Topics("s", bad), lambda: device(bad)):
        with pytest.raises(UserError, match="expected an id of a-z, 0-9 and -"):
            make()


@pytest.mark.parametrize("bad", ["", "/shoe", "shoe/", "shoe//v1", "shoe/#", "+"])
def test_a_prefix_that_cannot_stand_in_a_topic(bad: str) -> None:
    with pytest.raises(UserError, match="mqtt prefix"):
        Topics("s", "t", bad)


def test_the_usual_ports() -> None:
    assert MqttSettings().address == ("127.0.0.1", 1883)
    assert MqttSettings(host="broker", tls=TlsSettings()).address == ("broker", 8883)
    assert MqttSettings(port=1884, tls=TlsSettings()).address == ("127.0.0.1", 1884)


@pytest.mark.parametrize(
    "bad",
    [
        {"hots": "broker"},
        {"protocol": "4"},
        {"port": 0},
        {"port": 65536},
        {"keepalive": 0},
        {"heartbeat": 0},
        {"host": ""},
        {"tls": {"ca": "file"}},
    ],
)
def test_a_wrong_setting_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(bad, MqttSettings)


def test_a_password_is_the_first_line_of_its_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("open sesame\nand no more\n", encoding="utf-8")
    settings = MqttSettings(username="t", password_file=str(file))
    assert settings.password() == "open sesame"
    settings.checked(Path())


def test_a_bare_name_is_looked_for_among_the_credentials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mqtt").write_text("open sesame", encoding="utf-8")
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert MqttSettings(username="t", password_file="mqtt").password() == "open sesame"  # noqa: S106


def test_every_file_is_checked_and_named(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.touch()
    binary = tmp_path / "binary"
    binary.write_bytes(b"\xff\xfe")
    missing = str(tmp_path / "missing")

    def told(**settings: object) -> str:
        with pytest.raises(UserError) as caught:
            msgspec.convert(settings, MqttSettings).checked(Path())
        assert "\n" not in str(caught.value)
        return str(caught.value)

    assert told(username="t", password_file=missing) == (
        f"mqtt.password_file: {missing}: no such file or directory"
    )
    assert "first line is empty" in told(username="t", password_file=str(empty))
    assert "not UTF-8" in told(username="t", password_file=str(binary))
    assert "needs mqtt.username" in told(password_file=str(empty))
    assert told(tls={"ca_file": missing}).startswith(f"mqtt.tls.ca_file: {missing}: no such")
    assert "no certificate" in told(tls={"ca_file": str(empty)})
    assert told(tls={"cert_file": missing}) == (
        f"mqtt.tls.cert_file: {missing}: no such file or directory"
    )
    assert "no certificate or key" in told(tls={"cert_file": str(empty)})
    assert "needs mqtt.tls.cert_file" in told(tls={"key_file": str(empty)})


def test_the_client_has_a_name_per_table_and_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "machine-id"
    file.write_text("0123456789abcdef0123456789abcdef\n", encoding="ascii")
    monkeypatch.setattr(topics, "_MACHINE_ID", file)
    assert TableIdentity("house", "table-7", "x").client_id() == "shoe-house-table-7-01234567"
    file.unlink()
    monkeypatch.setattr(socket, "gethostname", lambda: "pit-4")
    other = TableIdentity("house", "table-7", "y").client_id()
    assert (
        other
        == TableIdentity("house", "table-7", "z").client_id()
        != "shoe-house-table-7-01234567"
    )


def test_the_reconnect_delay_doubles_up_to_its_limit() -> None:
    delay = ReconnectDelay(Timeouts(), random.Random(1))
    waits = [delay.after_failure() for _ in range(12)]
    assert 0.4 <= waits[0] <= 0.6
    assert all(8 <= wait <= 12 for wait in waits[5:])
    assert len(set(waits)) == 12
    assert delay.after_session(60.0) < 1


def test_only_a_stable_session_resets_the_delay() -> None:
    delay = ReconnectDelay(Timeouts(), random.Random(1))
    for _ in range(2):
        delay.after_session(1.0)
    assert not delay.id_conflict
    assert delay.after_session(1.0) > 10
    assert delay.after_session(11.0) < 1
    assert not delay.id_conflict


def test_a_session_taken_over_is_an_id_conflict() -> None:
    delay = ReconnectDelay(Timeouts(), random.Random(1))
    assert delay.after_session(1000.0, taken_over=True) > 10
    assert delay.id_conflict


def test_an_unreachable_or_restarted_broker_explains_short_sessions() -> None:
    delay = ReconnectDelay(Timeouts(), random.Random(1))
    for _ in range(10):
        delay.after_session(1.0)
        delay.after_failure()
        delay.after_session(1.0)
        delay.session_forgotten()
    assert not delay.id_conflict


def test_many_wakeups_are_cleared_at_once() -> None:
    wakeup = Wakeup()
    for _ in range(3):
        wakeup.wake()
    assert select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.clear()
    wakeup.clear()
    assert not select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.wake()
    assert select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.close()
    wakeup.close()
    wakeup.wake()


def test_clear_does_not_wait_for_wake(monkeypatch: pytest.MonkeyPatch) -> None:
    wakeup = Wakeup()
    written = os.eventfd_write
    in_time: list[bool] = []

    def write_and_clear(descriptor: int, value: int) -> None:
        written(descriptor, value)
        other = threading.Thread(target=wakeup.clear, daemon=True)
        other.start()
        other.join(PATIENCE)
        in_time.append(not other.is_alive())

    monkeypatch.setattr(os, "eventfd_write", write_and_clear)
    wakeup.wake()
    assert in_time == [True]
    wakeup.close()


def test_a_wakeup_during_clear_ends_the_next_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wakeup = Wakeup()
    written = os.eventfd_write

    def clear_and_write(descriptor: int, value: int) -> None:
        wakeup.clear()
        written(descriptor, value)

    monkeypatch.setattr(os, "eventfd_write", clear_and_write)
    wakeup.wake()
    assert select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.clear()
    assert not select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.close()


def test_no_wakeup_of_any_thread_is_lost() -> None:
    wakeup, wakeups = Wakeup(), 5000
    said = [0, 0]

    def wake(who: int) -> None:
        for _ in range(wakeups):
            said[who] += 1
            wakeup.wake()

    threads = [threading.Thread(target=wake, args=(who,)) for who in range(len(said))]
    for thread in threads:
        thread.start()
    while said != [wakeups, wakeups]:
        assert select.select([wakeup.descriptor], [], [], 60)[0]
        wakeup.clear()
    for thread in threads:
        thread.join()
    wakeup.clear()
    assert not select.select([wakeup.descriptor], [], [], 0)[0]
    wakeup.close()
