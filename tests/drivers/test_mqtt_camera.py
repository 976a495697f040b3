"""
Snapshots of a recogniser: each card is dealt once, none is overwritten, and what the broker had
kept from before is old. With the real mosquitto: it goes away and comes back, and refuses.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from paho.mqtt import client as paho
from paho.mqtt.enums import MQTTErrorCode
from structlog.testing import capture_logs

from drivers.driver import FrameKind
from drivers.mqtt_camera import MqttCamera, MqttCameraOptions
from drivers.reader_thread import Reader
from drivers.registry import create_driver
from drivers.transport import LineError
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card, Slot
from shoe_daemon.table.observations import (
    Gap,
    Link,
    Observation,
    Placed,
    TableCleared,
    Unreadable,
)
from tests.brokers import Listener, Mosquitto, free_port, mosquitto, set_password
from tests.drivers.scripted_line import Heard
from tests.mqtt.test_tls import Papers
from tests.waiting import PATIENCE, wait_for

__all__ = ["mosquitto"]

HANDS = ("P1", "P2", "P3", "B1", "B2", "B3")
DEALT = ("P1", "B1", "P2", "B2", "P3", "B3")
OPTIONS: dict[str, Any] = {"slots": list(HANDS)}
TOPIC = "studio/table 7/result"
LOST = Gap()


def snapshot(**cards: str) -> bytes:
    """Return a message with these cards, in the recogniser's order."""
    texts = [cards.get(slot, "") for slot in HANDS]
    return json.dumps({"response": "result", "arg": {"res": texts}}).encode()


def dealt(*cards: str) -> dict[str, str]:
    return dict(zip(DEALT, cards, strict=False))


def placed(**cards: str) -> list[Observation]:
    return [Placed(slot=Slot(slot), card=Card(card)) for slot, card in cards.items()]


FOUR = dealt("9H", "2H", "KD", "3C")
SIX = dealt("AS", "4D", "4H", "2S", "6S", "KS")


class Recogniser:
    """A decoder of a table that was seen empty."""

    def __init__(self, **options: object) -> None:
        driver = create_driver("mqtt-camera", OPTIONS | options)
        self.decoder = driver.decoder()
        self.now = 0.0

    def say(self, message: bytes, after: float = 1.0) -> list[Observation]:
        self.now += after
        frames = self.decoder.feed(message + b"\n", self.now)
        assert b"".join(frame.raw for frame in frames) == message + b"\n"
        found = [each for frame in frames for each in frame.observations]
        assert not found or frames[-1].kind is FrameKind.FRAME
        return found


@pytest.fixture
def recogniser() -> Recogniser:
    recogniser = Recogniser()
    recogniser.say(snapshot())
    return recogniser


class TestKnownCards:
    def test_only_what_is_new_is_reported_in_dealing_order(self, recogniser: Recogniser) -> None:
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")
        assert recogniser.say(snapshot(P1="9H")) == []
        assert recogniser.say(snapshot(**FOUR)) == placed(B1="2H", P2="KD", B2="3C")

    def test_a_card_that_vanishes_and_returns_is_not_new(self, recogniser: Recogniser) -> None:
        recogniser.say(snapshot(**dealt("9H", "2H", "KD")))
        for message in (snapshot(B1="2H"), snapshot(), snapshot(P1="9H")):
            assert recogniser.say(message) == []
        assert recogniser.say(snapshot(**FOUR)) == placed(B2="3C")

    def test_no_cards_after_four_is_a_cleared_table(self, recogniser: Recogniser) -> None:
        recogniser.say(snapshot(**FOUR))
        assert recogniser.say(snapshot(P1="9H")) == []
        assert recogniser.say(snapshot()) == [TableCleared()]
        assert recogniser.say(snapshot()) == []
        # The next round may begin with the same card.
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")

    def test_a_few_cards_are_cleared_by_time(self, recogniser: Recogniser) -> None:
        recogniser.say(snapshot(**dealt("9H", "2H")))
        recogniser.say(snapshot())
        assert recogniser.say(snapshot(**dealt("9H", "2H")), 4.9) == []
        recogniser.say(snapshot())
        recogniser.say(snapshot(), 3)
        assert recogniser.say(snapshot(P1="9H"), 2) == [TableCleared(), *placed(P1="9H")]

    def test_another_face_is_reported_once_and_overwrites_nothing(
        self, recogniser: Recogniser
    ) -> None:
        recogniser.say(snapshot(**dealt("9H", "2H")))
        other = snapshot(**dealt("9H", "7H"))
        assert recogniser.say(other) == placed(B1="7H")
        assert recogniser.say(snapshot(**dealt("9H", "2H"))) == []
        assert recogniser.say(other) == []

    def test_a_snapshot_without_any_card_of_before_is_the_next_round(
        self, recogniser: Recogniser
    ) -> None:
        recogniser.say(snapshot(**FOUR))
        new = dealt("JD", "QD")
        assert recogniser.say(snapshot(**new)) == [TableCleared(), *placed(**new)]

    def test_two_other_cards_are_the_next_round_however_few_lay_there(
        self, recogniser: Recogniser
    ) -> None:
        recogniser.say(snapshot(**dealt("9H", "2H", "KD")))
        assert recogniser.say(snapshot(P1="JD")) == placed(P1="JD")
        new = dealt("JD", "QD")
        assert recogniser.say(snapshot(**new)) == [TableCleared(), *placed(**new)]

    def test_a_late_snapshot_of_the_last_round_is_old(self, recogniser: Recogniser) -> None:
        for message in (snapshot(**SIX), snapshot(), snapshot(P1="9H")):
            recogniser.say(message)
        assert recogniser.say(snapshot(**SIX)) == []
        assert recogniser.say(snapshot(**FOUR)) == placed(B1="2H", P2="KD", B2="3C")

    def test_cards_that_are_collected_are_old_also_when_their_snapshots_come_late(
        self, recogniser: Recogniser
    ) -> None:
        for message in (snapshot(**SIX), snapshot(P1="AS", B2="2S"), snapshot()):
            recogniser.say(message)
        for late in (snapshot(P1="AS", B2="2S"), snapshot(P1="AS"), snapshot(P1="AS", B2="??")):
            assert recogniser.say(late, 0.4) == []
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")

    def test_an_equal_first_card_right_after_the_last_round_is_dealt_with_the_second_one(
        self, recogniser: Recogniser
    ) -> None:
        for message in (snapshot(**SIX), snapshot()):
            recogniser.say(message)
        assert recogniser.say(snapshot(P1="AS"), 0.4) == []
        assert recogniser.say(snapshot(P1="AS", B1="KD"), 0.4) == placed(P1="AS", B1="KD")

    def test_a_second_reading_of_a_card_is_no_card_of_the_next_round(
        self, recogniser: Recogniser
    ) -> None:
        recogniser.say(snapshot(**SIX))
        other = SIX | {"P1": "4S"}
        assert recogniser.say(snapshot(**other)) == placed(P1="4S")
        assert recogniser.say(snapshot(P1="4S")) == []
        assert recogniser.say(snapshot()) == [TableCleared()]
        recogniser.say(snapshot(P1="9H"))
        assert recogniser.say(snapshot(**other)) == []

    def test_cards_that_were_not_cleared_after_all_are_not_dealt_again(
        self, recogniser: Recogniser
    ) -> None:
        for message in (snapshot(**FOUR), snapshot()):
            recogniser.say(message)
        assert recogniser.say(snapshot(**FOUR)) == [LOST]
        assert recogniser.say(snapshot(**FOUR, P3="5C")) == placed(P3="5C")
        assert recogniser.say(snapshot()) == [TableCleared()]

    def test_a_text_that_is_no_card_is_unreadable_until_it_is_read(
        self, recogniser: Recogniser
    ) -> None:
        assert recogniser.say(snapshot(P1="??")) == [Unreadable(slot=Slot.P1)]
        assert recogniser.say(snapshot(P1="4X")) == []
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")
        assert recogniser.say(snapshot(P1="??")) == []

    def test_after_a_lost_line_all_that_lies_there_is_reported(
        self, recogniser: Recogniser
    ) -> None:
        recogniser.say(snapshot(**FOUR))
        recogniser.decoder.reset()
        # Nobody saw them being laid, and a hand may hide others: the round is partial.
        first, *others = placed(**FOUR)
        assert recogniser.say(snapshot(**FOUR)) == [first, LOST, *others]
        recogniser.decoder.reset()
        assert recogniser.say(snapshot()) == [TableCleared()]
        recogniser.decoder.reset()
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")


class TestMessages:
    def test_what_the_broker_had_kept_is_old(self) -> None:
        recogniser = Recogniser()
        assert recogniser.say(b"retained " + snapshot(**SIX)) == []
        assert recogniser.say(snapshot(P1="9H")) == placed(P1="9H")

    @pytest.mark.parametrize(
        "message",
        [
            b"",
            b"no JSON",
            b"7",
            b'"KD"',
            b"[]",
            b'{"response":"status"}',
            b'{"response":"result"}',
            b'{"response":"result","arg":null}',
            b'{"response":"result","arg":{"res":["KD"]}}',
            b'{"response":"result","arg":{"res":"KD10S6S"}}',
            b"{" * 2000,
            b"\xff\xfe",
        ],
    )
    def test_other_messages_mean_nothing(self, message: bytes, recogniser: Recogniser) -> None:
        recogniser.say(snapshot(P1="9H"))
        assert recogniser.say(message) == []
        assert recogniser.say(snapshot(P1="9H")) == []

    @pytest.mark.parametrize("text", ["10S", "TS", "S10", "ST", "ts", " 10s "])
    def test_a_card_is_named_rank_or_suit_first(self, text: str, recogniser: Recogniser) -> None:
        assert recogniser.say(snapshot(P1=text)) == placed(P1="10S")

    def test_order_path_and_names_are_options(self) -> None:
        recogniser = Recogniser(
            slots=["B3", "B2", "B1", "P3", "P2", "P1"],
            path="tables.0.cards",
            only={"type": "table", "tables.0.state": "live"},
            cards={"s1": "AS", "hk": "KH"},
        )

        def message(state: str, *texts: str | None) -> bytes:
            table = {"state": state, "cards": texts}
            return json.dumps({"type": "table", "tables": [table]}).encode()

        none = (None,) * 4
        assert recogniser.say(message("live", None, None, *none)) == [TableCleared()]
        assert recogniser.say(message("test", *none, "s1", "hk")) == []
        assert recogniser.say(message("live", *none, "s1", "hk")) == placed(P1="KH", P2="AS")


def test_a_capture_that_is_given_away_names_no_login() -> None:
    login = {"username": "eye", "password_file": "eye.password", "cards": {"s1": "AS"}}
    driver = create_driver("mqtt-camera", OPTIONS | login)
    assert isinstance(driver, MqttCamera)
    assert driver.anonymised_options == {
        "slots": HANDS,
        "path": "arg.res",
        "only": {"response": "result"},
        "cleared_after": 5.0,
    }


def config(folder: Path, port: str, options: str) -> Path:
    file = folder / "table.toml"
    file.write_text(
        f'site = "a"\n[[reader]]\nid = "eye"\ndriver = "mqtt-camera"\nport = "{port}"\n'
        f"[reader.options]\n{options}\n",
        encoding="utf-8",
    )
    return file


SLOTS = f"slots = {json.dumps(HANDS)}"
URL = f"mqtt://127.0.0.1:1883/{TOPIC}"


@pytest.mark.parametrize(
    ("port", "options", "told"),
    [
        (URL, "", "options.slots: missing; expected the slots in the order of the recogniser's"),
        (URL, 'slots = ["P1"]', "options: slots: P1; expected each of P1 B1 P2 B2 P3 B3 once"),
        (URL, 'slots = ["P4"]', "options: slots.0: 'P4'; expected one of "),
        (URL, f'{SLOTS}\npath = "a..b"', "options: path: 'a..b'; expected names with dots"),
        (URL, f'{SLOTS}\nonly = {{"" = "x"}}', "options: only: ''; expected names with dots"),
        (URL, f'{SLOTS}\ncards = {{x = "5X"}}', "options: cards.x: '5X'; expected a card"),
        (URL, f'{SLOTS}\npassword_file = "p"', "options.password_file: a password needs options."),
        (URL, f'{SLOTS}\nca_file = "p"', "options.ca_file: given with 'mqtt://127.0.0.1:1883/"),
        ("mqtts://h/t", f'{SLOTS}\nca_file = "/no"', "options.ca_file: /no: no such file or "),
        (
            "mqtts://h/t",
            f'{SLOTS}\nkey_file = "/no"',
            "options.key_file: a key needs options.cert",
        ),
        ("mqtt://h", SLOTS, "port 'mqtt://h': expected mqtt://HOST:PORT/TOPIC, or mqtts: "),
        ("mqtt://h:0/t", SLOTS, "port 'mqtt://h:0/t': expected mqtt://HOST:PORT/TOPIC"),
        ("mqtt://h:70000/t", SLOTS, "port 'mqtt://h:70000/t': expected mqtt://HOST:PORT/TOPIC"),
        ("mqtt://h/a/+/b", SLOTS, "expected mqtt://HOST:PORT/TOPIC, or mqtts: with TLS, and one "),
        ("/dev/ttyUSB0", SLOTS, "port '/dev/ttyUSB0': expected mqtt://HOST:PORT/TOPIC"),
        ("mqtt://me:hush@h/t", SLOTS, "the login belongs into options.username and options.pass"),
    ],
)
def test_a_fault_of_the_configuration_is_one_line(
    port: str, options: str, told: str, tmp_path: Path
) -> None:
    done = CliRunner().invoke(main, ["check-config", str(config(tmp_path, port, options))])
    assert done.exit_code == 2
    assert told in done.stderr
    assert "reader 'eye'" in done.stderr
    assert done.stderr.count("\n") == 1
    assert "hush" not in done.stderr


def test_a_missing_password_of_the_service_is_a_note(tmp_path: Path) -> None:
    options = f'{SLOTS}\nusername = "eye"\npassword_file = "eye.password"'
    done = CliRunner().invoke(main, ["check-config", str(config(tmp_path, URL, options))])
    assert done.exit_code == 0, done.output
    assert "options.password_file: " in done.stdout
    assert "rounds    end by device (auto)" in done.stdout


@contextlib.contextmanager
def reading(url: str, **options: object) -> Iterator[Heard]:
    """Run a reader of a recogniser until it is connected."""
    heard = Heard()
    driver = create_driver("mqtt-camera", OPTIONS | options)
    reader = Reader("eye", driver, url, driver.line, heard.append)
    with capture_logs():
        reader.start()
        try:
            wait_for(lambda: Link(up=True) in heard.observations, "the line")
            yield heard
        finally:
            reader.stop()
            assert reader.join(PATIENCE)


def line(broker: Mosquitto, scheme: str = "mqtt") -> str:
    return f"{scheme}://127.0.0.1:{broker.port}/{TOPIC}"


@pytest.mark.mosquitto
class TestBroker:
    @pytest.mark.parametrize("protocol", ["5", "3.1.1"])
    def test_a_kept_snapshot_is_old_and_live_ones_are_dealt(
        self, mosquitto: Mosquitto, protocol: str
    ) -> None:
        with Listener(mosquitto.port, "nothing") as studio:
            studio.publish(TOPIC, snapshot(**SIX), retain=True)
            with reading(line(mosquitto), protocol=protocol) as heard:
                wait_for(lambda: len(heard) == 2, "the kept one")
                assert heard[1].kind is FrameKind.REPEAT
                # A recogniser may let the broker keep each of its snapshots.
                for count in range(5):
                    cards = dict(list(FOUR.items())[:count])
                    studio.publish(TOPIC, snapshot(**cards), retain=True)
                expected = [Link(up=True), TableCleared(), *placed(**FOUR)]
                wait_for(lambda: heard.observations == expected, "the cards")

    def test_a_broker_that_goes_and_comes_back_is_a_gap(self, mosquitto: Mosquitto) -> None:
        with (
            Listener(mosquitto.port, "nothing") as studio,
            reading(line(mosquitto)) as heard,
        ):
            studio.publish(TOPIC, snapshot(P1="9H"))
            studio.publish(TOPIC, snapshot(**dealt("9H", "2H")))
            wait_for(lambda: heard.observations[1:] == placed(**dealt("9H", "2H")), "two cards")
            mosquitto.kill()
            wait_for(lambda: len(heard.links) == 2, "the loss")
            mosquitto.start()
            wait_for(lambda: len(heard.links) == 4, "the line again")
            assert [type(each) for each in heard.links] == [Link, Link, Link, Gap]
            studio.publish(TOPIC, snapshot(**FOUR))
            first, *others = placed(**FOUR)
            expected = [first, LOST, *others]
            wait_for(lambda: heard.observations[6:] == expected, "the cards of now")

    def test_a_silent_broker_is_a_lost_line(
        self, mosquitto: Mosquitto, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("drivers.mqtt_line._KEEPALIVE_S", 1)
        with reading(line(mosquitto)) as heard:
            mosquitto.halt()
            try:
                wait_for(lambda: len(heard.links) == 2, "the loss")
            finally:
                mosquitto.resume()

    def test_a_login_that_is_refused_says_so_and_never_the_password(self, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("correct horse\n")
        passwords = tmp_path / "passwords"
        set_password(passwords, "eye", "correct horse")
        access = tmp_path / "access"
        access.write_text(f"user eye\ntopic read {TOPIC}\n")
        lines = f"allow_anonymous false\npassword_file {passwords}\nacl_file {access}"
        with Mosquitto(tmp_path, lines) as broker:
            with pytest.raises(LineError, match="the broker refuses us: Not authorized"):
                create_driver("mqtt-camera", OPTIONS).open_line(line(broker))
            login = {"username": "eye", "password_file": str(tmp_path / "secret")}
            with reading(line(broker), **login):
                pass
            (tmp_path / "secret").write_text("wrong horse\n")
            options = f'{SLOTS}\nusername = "eye"\npassword_file = "secret"'
            file = config(tmp_path, line(broker), options)
            done = CliRunner().invoke(main, ["doctor", "--config", str(file)])
            assert "the broker refuses us: Not authorized" in " ".join(done.stdout.split())
            assert "horse" not in done.output

    def test_tls_checks_the_broker_and_shows_a_certificate(self, tmp_path: Path) -> None:
        papers = Papers(tmp_path / "ours")
        certificate, key = papers.sign("broker")
        lines = (
            f"cafile {papers.ca}\ncertfile {certificate}\nkeyfile {key}\n"
            "require_certificate true\nuse_identity_as_username true\nallow_anonymous false"
        )
        own, own_key = papers.sign("eye")
        shown = {"cert_file": str(own), "key_file": str(own_key)}
        with Mosquitto(tmp_path, lines) as broker:
            with reading(line(broker, "mqtts"), ca_file=str(papers.ca), **shown):
                pass
            with pytest.raises(LineError, match="certificate"):
                create_driver("mqtt-camera", OPTIONS | shown).open_line(line(broker, "mqtts"))


class EndingClient(paho.Client):
    """A client whose connection ends in the moment in which the last message arrives."""

    def connect(self, *_: object) -> MQTTErrorCode:
        return MQTTErrorCode.MQTT_ERR_SUCCESS

    def loop(self, timeout: float = 1.0) -> MQTTErrorCode:
        assert self.on_subscribe is not None
        assert self.on_message is not None
        if not self.subscribed:
            self.subscribed = True
            self.on_subscribe(self, None, 1, [], None)  # type: ignore[call-arg, arg-type]
            return MQTTErrorCode.MQTT_ERR_SUCCESS
        message = paho.MQTTMessage(topic=b"t")
        message.payload = snapshot(P1="9H")
        if not self.is_over:
            self.on_message(self, None, message)
        self.is_over = True
        return MQTTErrorCode.MQTT_ERR_CONN_LOST

    subscribed = is_over = False


def test_the_last_message_before_the_end_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drivers.mqtt_camera.paho.Client", EndingClient)
    driver = MqttCamera(MqttCameraOptions(slots=tuple(map(Slot, HANDS))))
    line = driver.open_line("mqtt://127.0.0.1/t")
    assert line.read() == snapshot(P1="9H") + b"\n"
    with pytest.raises(LineError, match=r"mqtt://127\.0\.0\.1:1883/t: "):
        line.read()


def test_no_broker_is_a_line_that_cannot_be_opened() -> None:
    port = free_port()
    driver = MqttCamera(MqttCameraOptions(slots=tuple(map(Slot, HANDS))))
    with pytest.raises(LineError, match=rf"mqtt://127\.0\.0\.1:{port}/topic: Connection refused"):
        driver.open_line(f"mqtt://127.0.0.1:{port}/topic")
    with pytest.raises(UserError, match="expected mqtt://"):
        driver.open_line("mqtt://127.0.0.1")
