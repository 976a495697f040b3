"""
Commands from the pit's pages: who is logged in gives them, everything else is refused, and no PIN
or token is written down anywhere.
"""

from __future__ import annotations

import json
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from argon2 import PasswordHasher
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.display.sessions import (
    IDLE_S,
    LONGEST_S,
    MAX_SESSIONS,
    OperatorSessions,
)
from shoe_daemon.install.certificates import make_authority, make_server_certificate
from shoe_daemon.operators import Operators
from tests.brokers import Listener, Mosquitto, free_port
from tests.commands.command_table import Pit, open_pit
from tests.display.display_process import PATIENCE, Answer, Display
from tests.floor.table_messages import payload
from tests.waiting import wait_for

PIN, OTHER_PIN = "4711-geheim", "1234"
CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
OPERATORS = f"""
[[operator]]
name = "Maria"
pin = "{CHEAP.hash(PIN)}"

[[operator]]
name = "Kim"
roles = ["dealer"]
pin = "{CHEAP.hash(OTHER_PIN)}"

[[operator]]
name = "Guessed"
pin = "{CHEAP.hash(PIN)}"

[[operator]]
name = "Elsewhere"
pin = "{CHEAP.hash(PIN)}"
tables = ["no-such-table"]
"""
_ids = count(1)


class Desk:
    """A browser at the display: with a cookie, and the token of the page that logged in."""

    def __init__(self, display: Display, table: str) -> None:
        self.display, self.table = display, table
        self.origin = f"http://127.0.0.1:{display.port}"
        self.cookie = self.token = ""

    def post(self, path: str, body: object, **headers: str) -> Answer:
        """Send JSON; a header that is empty is left out."""
        sent = {
            "Content_Type": "application/json",
            "Origin": self.origin,
            "Cookie": self.cookie,
            "X_CSRF_Token": self.token,
            **headers,
        }
        given = {name: value for name, value in sent.items() if value}
        text = body if isinstance(body, str) else json.dumps(body)
        return self.display.ask(path, method="POST", body=text, **given)

    def log_in(self, operator: str = "Maria", pin: str = PIN, **headers: str) -> Answer:
        """Log in, and keep what a browser would keep."""
        answer = self.post("/orders/session", {"operator": operator, "pin": pin}, **headers)
        if answer.status == 200:
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
            self.token = json.loads(answer.body)["csrf"]
        return answer

    def order(self, verb: str, headers: dict[str, str] | None = None, **fields: object) -> Answer:
        """Give an order as the page does."""
        order = {"id": f"page-{next(_ids)}", **fields}
        return self.post(f"/orders/{self.table}/{verb}", order, **headers or {})


class Place(NamedTuple):
    """A display, one table, and the operators file that both have."""

    display: Display
    pit: Pit
    operators: Path
    broker: int

    def desk(self) -> Desk:
        """Return a browser without a log-in."""
        return Desk(self.display, f"hall.{self.pit.root.rpartition('/')[2]}")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("place")
    operators = folder / "operators.toml"
    operators.write_text(OPERATORS)
    text = '[display.orders]\noperators_file = "operators.toml"\n'
    with ExitStack() as stack:
        mosquitto = stack.enter_context(Mosquitto(folder))
        pit = stack.enter_context(
            open_pit(folder, mosquitto.port, '[orders]\noperators_file = "operators.toml"')
        )
        display = stack.enter_context(Display(folder, mosquitto.port, text))
        wait_for(lambda: display.health()["tables"] > 0, "the table on the display")
        yield Place(display, pit, operators, mosquitto.port)


@pytest.fixture
def desk(place: Place) -> Desk:
    """Where Maria is logged in."""
    desk = place.desk()
    assert desk.log_in().status == 200
    return desk


def told(answer: Answer) -> Any:  # noqa: ANN401 - JSON
    return json.loads(answer.body)


pytestmark = pytest.mark.mosquitto


def test_an_order_reaches_its_table_and_the_answer_the_page(place: Place, desk: Desk) -> None:
    answer = desk.order("new-shoe", pin=PIN)
    assert (answer.status, told(answer)["ok"]) == (200, True)
    journaled = place.pit.journaled()[-1]
    assert (journaled.name, journaled.operator, journaled.claimed) == ("new_shoe", "Maria", False)


def test_the_table_decides(desk: Desk) -> None:
    answer = desk.order("acknowledge", irregularity=123456)
    assert answer.status == 200
    assert not told(answer)["ok"]
    assert told(answer)["refused"]


def test_a_double_tap_is_carried_out_once(place: Place, desk: Desk) -> None:
    before = place.pit.seq
    first = desk.order("hold", id="tapped-twice")
    second = desk.order("hold", id="tapped-twice")
    assert told(first)["ok"]
    assert told(second)["earlier"]["ok"]
    assert len(told(first)["events"]) <= place.pit.seq - before <= 2
    assert told(desk.order("resume"))["ok"]


def test_the_same_order_may_be_sent_again_without_the_pin(place: Place, desk: Desk) -> None:
    fields: dict[str, Any] = {"id": "sent-again", "reason": "the first answer was lost"}
    assert told(desk.order("new-shoe", pin=PIN, **fields))["ok"]
    assert told(desk.order("new-shoe", **fields))["earlier"]["ok"]
    other = desk.order("new-shoe", id="sent-again", reason="another one")
    assert (other.status, told(other)["code"]) == (403, "pin")
    assert [each.id for each in place.pit.journaled()].count("sent-again") == 1, (
        "a repeat grows the journal"
    )


def test_an_order_without_an_answer_is_in_the_log(place: Place, desk: Desk) -> None:
    begin = len(place.display.said())
    root = "shoe/v1/hall/mute"
    with Listener(place.broker, f"{root}/cmd/+", name="mute") as listener:
        listener.publish(f"{root}/state", payload("state", site="hall", table="mute"), retain=True)
        wait_for(lambda: place.display.health()["tables"] > 1, "the table on the display")
        answer = desk.post("/orders/hall.mute/hold", {"id": "never-answered"})
        listener.publish(f"{root}/state", b"", retain=True)
    assert (answer.status, told(answer)["code"]) == (504, "no_reply")
    lines = map(json.loads, place.display.said(begin).splitlines())
    (line,) = (each for each in lines if each["event"] == "command_forwarded")
    assert (line["id"], line["operator"], line["answered"]) == ("never-answered", "Maria", False)


def test_a_dealer_gives_a_dealers_orders_only(place: Place) -> None:
    desk = place.desk()
    assert told(desk.log_in("Kim", OTHER_PIN))["roles"] == ["dealer"]
    assert told(desk.order("no-more-bets"))["ok"]
    assert desk.order("new-shoe", pin=OTHER_PIN).status == 403


def test_the_cookie_is_for_the_server_only(place: Place) -> None:
    cookie = place.desk().log_in().headers["set-cookie"].lower()
    for part in ("httponly", "samesite=strict", "path=/orders"):
        assert part in cookie
    # Over plain http a browser would not send a Secure cookie back.
    assert "secure" not in cookie


def test_only_the_pit_tells_who_may_log_in(place: Place, desk: Desk) -> None:
    answer = told(desk.display.ask("/orders/session", Cookie=desk.cookie))
    assert (answer["operator"], answer["csrf"]) == ("Maria", desk.token)
    assert 0 < answer["ends_in_s"] <= IDLE_S
    nobody = told(place.display.ask("/orders/session"))
    assert nobody == {"operator": None}
    page = place.display.ask(f"/pit/table/{desk.table}").block
    assert page["operators"] == ["Maria", "Kim", "Guessed", "Elsewhere"]
    for page in ("", "/dealer"):
        assert "Maria" not in place.display.ask(f"/table/{desk.table}{page}").body.decode()


def test_a_preview_keeps_no_session_from_ending(desk: Desk) -> None:
    """A page asks for previews by itself, and may be left alone."""

    def ends_in() -> int:
        return int(told(desk.display.ask("/orders/session", Cookie=desk.cookie))["ends_in_s"])

    wait_for(lambda: ends_in() < IDLE_S - 1, "a session that is a second old")
    assert told(desk.order("betting-open", dry_run=True))["ok"]
    assert ends_in() < IDLE_S - 1
    assert told(desk.order("betting-open"))["ok"]
    assert ends_in() == IDLE_S - 1


def test_after_log_out_the_cookie_opens_nothing(desk: Desk) -> None:
    assert desk.post("/orders/log-out", {}).status == 200
    assert desk.order("hold").status == 401


FOREIGN = "http://casino.example"
FORM = "application/x-www-form-urlencoded"
LOG_IN, MARIA = "/orders/session", {"operator": "Maria", "pin": PIN}
PROXY = {"X_Forwarded_For": "192.0.2.7"}

# A cookie and a token, by name the value; what is not named is Maria's.
STOLEN: dict[str, tuple[int, dict[str, Callable[[Desk], str]]]] = {
    "no session": (401, {"cookie": lambda _: ""}),
    "an invented cookie": (401, {"cookie": lambda _: "shoe_operator=" + "A" * 43}),
    "an empty cookie": (401, {"cookie": lambda _: "shoe_operator="}),
    "a cookie that is too long": (401, {"cookie": lambda desk: f"{desk.cookie}x"}),
    "a cookie of another name": (401, {"cookie": lambda desk: f"x{desk.cookie}"}),
    "no token": (403, {"token": lambda _: ""}),
    "an altered token": (403, {"token": lambda desk: desk.token[:-2] + "__"}),
    "a token that is not ASCII": (403, {"token": lambda _: "\xe9" * 43}),
    "the cookie as the token": (403, {"token": lambda desk: desk.cookie}),
    "a foreign origin": (403, {"origin": lambda _: FOREIGN}),
    "no origin": (403, {"origin": lambda _: ""}),
    "the origin null": (403, {"origin": lambda _: "null"}),
    "another port": (403, {"origin": lambda _: "http://127.0.0.1:1"}),
    "https in place of http": (403, {"origin": lambda d: d.origin.replace("http", "https")}),
    "an origin with a path": (403, {"origin": lambda desk: f"{desk.origin}/"}),
}
# A verb, headers, and fields of an order of Maria's.
ORDERS: dict[str, tuple[int, str, dict[str, str], dict[str, object]]] = {
    "a browser that says cross-site": (403, "hold", {"Sec_Fetch_Site": "cross-site"}, {}),
    "a browser that says same-site": (403, "hold", {"Sec_Fetch_Site": "same-site"}, {}),
    "another host name": (421, "hold", {"Host": "casino.example"}, {}),
    # A form of a foreign page can send these kinds without being asked for.
    "a form": (415, "hold", {"Content_Type": FORM}, {}),
    "plain text": (415, "hold", {"Content_Type": "text/plain"}, {}),
    "no type": (415, "hold", {"Content_Type": ""}, {}),
    "an order through a proxy": (403, "hold", {"Forwarded": "for=192.0.2.7"}, {}),
    "no PIN": (403, "new-shoe", {}, {}),
    "a wrong PIN": (403, "new-shoe", {}, {"pin": "0000"}),
    "somebody else's PIN": (403, "new-shoe", {}, {"pin": OTHER_PIN}),
    "an empty PIN": (403, "new-shoe", {}, {"pin": ""}),
    "a PIN that is a number": (403, "new-shoe", {}, {"pin": 4711}),
    "a PIN in a list": (403, "new-shoe", {}, {"pin": [PIN]}),
    "void without a PIN": (403, "void-round", {}, {}),
    "a ruling without a PIN": (403, "rule", {}, {"action": "void_round"}),
    "a correction without a PIN": (403, "correct-card", {}, {"slot": "P1", "card": "AS"}),
    "a card without a PIN": (403, "enter-card", {}, {"slot": "P1", "card": "AS"}),
    "a result without a PIN": (403, "enter-result", {}, {"outcome": "tie"}),
    "undo without a PIN": (403, "undo", {}, {}),
    "a dry run in words": (403, "new-shoe", {}, {"dry_run": "yes"}),
    "a dry run as a number": (403, "new-shoe", {}, {"dry_run": 1}),
    # Fields that the display sets, or that are not a page's business.
    "another operator": (400, "hold", {}, {"operator": "Kim"}),
    "another expiry": (400, "hold", {}, {"expires_at": "2099-01-01T00:00:00Z"}),
    "events once more": (404, "replay", {}, {"from_seq": 1}),
    "an unknown field": (400, "hold", {}, {"claimed": False}),
    "an unknown verb": (404, "open-the-safe", {}, {}),
    "a verb with a slash": (404, "hold%2Fmaria", {}, {}),
    "no id": (400, "hold", {}, {"id": None}),
    "an id with a level more": (400, "hold", {}, {"id": "x/y"}),
    "an id for all answers": (400, "hold", {}, {"id": "+"}),
    "an id that is no topic": (400, "new-shoe", {}, {"id": "x#y", "pin": PIN}),
    "an order that is too long": (413, "hold", {}, {"reason": "x" * 5000}),
}
# A name, a PIN and headers of a log-in.
LOG_INS: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "log-in from a foreign page": (403, "Maria", PIN, {"Origin": FOREIGN}),
    "a PIN that came through a proxy": (403, "Maria", PIN, PROXY),
    "a proxy that only says https": (403, "Maria", PIN, {**PROXY, "X_Forwarded_Proto": "https"}),
    "nobody's name": (403, "Eve", PIN, {}),
    "no name": (403, "", PIN, {}),
    "a name in small letters": (403, "maria", PIN, {}),
    "a name with a space": (403, "Maria ", PIN, {}),
}
# A path and a body; TABLE is the table's key.
POSTS: dict[str, tuple[int, str, object]] = {
    "no PIN at log-in": (403, LOG_IN, {"operator": "Maria"}),
    "log-in with a list": (400, LOG_IN, [MARIA]),
    "log-in with no JSON": (400, LOG_IN, "{operator: Maria}"),
    "log-in with too much": (413, LOG_IN, {**MARIA, "x": "x" * 5000}),
    "an unknown table": (404, "/orders/hall.no-such-table/hold", {"id": "x"}),
    "a wildcard for the table": (404, "/orders/+/hold", {"id": "x"}),
    "a list for an order": (400, "/orders/TABLE/hold", ["hold"]),
    "POST to a page": (405, "/pit", {}),
    "POST to a board": (405, "/table/TABLE", {}),
}


def forbidden(place: Place) -> Iterator[tuple[str, int, Answer]]:
    """Try all; yield the name of each, the status that it must have, and the answer."""

    def logged_in() -> Desk:
        desk = place.desk()
        assert desk.log_in().status == 200
        return desk

    for name, (status, changes) in STOLEN.items():
        desk = logged_in()
        for what, value in changes.items():
            setattr(desk, what, value(desk))
        yield name, status, desk.order("hold")
    for name, (status, verb, headers, fields) in ORDERS.items():
        yield name, status, logged_in().order(verb, headers, **fields)
    for name, (status, operator, pin, headers) in LOG_INS.items():
        yield name, status, place.desk().log_in(operator, pin, **headers)
    for name, (status, path, body) in POSTS.items():
        desk = logged_in()
        yield name, status, desk.post(path.replace("TABLE", desk.table), body)
    for changed in ({"X_CSRF_Token": ""}, {"Origin": FOREIGN}):
        yield f"log-out with {changed}", 403, logged_in().post("/orders/log-out", {}, **changed)
    for method in ("GET", "PUT"):
        desk = logged_in()
        path = f"/orders/{desk.table}/hold"
        yield method, 405, place.display.ask(path, method=method, Cookie=desk.cookie)


def refusals(place: Place) -> list[str]:
    """Return the reasons of all refusals in the log."""
    lines = [json.loads(line) for line in place.display.said().splitlines() if "order_ref" in line]
    return [line["reason"] for line in lines]


def test_a_flood_of_forbidden_requests_is_a_line_a_minute(place: Place, desk: Desk) -> None:
    before = len(refusals(place))
    for _ in range(40):
        assert desk.display.ask("/orders/session", method="POST").status == 403
    assert len(refusals(place)) - before <= 2


def test_what_is_forbidden_is_refused_logged_and_not_done(place: Place) -> None:
    before = len(place.pit.journaled())
    for name, status, answer in forbidden(place):
        assert (answer.status, "set-cookie" in answer.headers) == (status, False), name
        if status not in {404, 405, 421}:
            assert told(answer)["code"] in refusals(place), name
    # Another order is answered: these would have been journaled before it.
    last = place.desk()
    assert last.log_in().status == 200
    assert told(last.order("betting-open"))["ok"]
    assert len(place.pit.journaled()) == before + 1


def test_an_operator_of_another_table_is_refused(place: Place) -> None:
    desk = place.desk()
    assert desk.log_in("Elsewhere").status == 200
    answer = desk.order("hold")
    assert (answer.status, told(answer)["code"]) == (403, "role")


def test_a_removed_operator_is_logged_out(place: Place) -> None:
    desk = place.desk()
    place.operators.write_text(OPERATORS.replace('"Kim"', '"Robin"'))
    assert desk.log_in("Robin", OTHER_PIN).status == 200
    place.operators.write_text(OPERATORS)
    assert desk.order("no-more-bets").status == 401


def test_who_guesses_waits_whether_the_name_exists_or_not(place: Place) -> None:
    """The answers are the same, and the session of the name's owner goes on."""
    owner = place.desk()
    assert owner.log_in("Guessed").status == 200
    answers = {
        name: [place.desk().log_in(name, f"{number:04}") for number in range(8)]
        for name in ("Guessed", "Stranger")
    }
    for found in answers.values():
        assert [each.status for each in found] == [403] * 6 + [429] * 2
        assert told(found[-1])["refused"].startswith("too many")
        assert 1 <= int(found[-1].headers["retry-after"]) <= 60
    assert answers["Guessed"][0].body == answers["Stranger"][0].body
    assert told(owner.order("new-shoe", pin=PIN))["ok"]


def test_a_configured_proxy_is_believed_and_each_of_its_browsers_has_guesses_of_its_own(
    tmp_path: Path,
) -> None:
    (tmp_path / "operators.toml").write_text(OPERATORS)
    text = (
        '[display]\nhosts = ["board.casino.example"]\n[display.pit]\nbehind_proxy = true\n'
        '[display.orders]\noperators_file = "operators.toml"\n'
    )
    with Display(tmp_path, free_port(), text) as display:
        desk = Desk(display, "hall.table-1")

        def log_in(client: str, pin: str, scheme: str = "https") -> Answer:
            desk.origin = f"{scheme}://board.casino.example"
            headers = {"Host": "board.casino.example", "X_Forwarded_Proto": scheme}
            return desk.log_in(pin=pin, X_Forwarded_For=client, **headers)

        assert told(log_in("192.0.2.7", PIN, "http"))["code"] == "plain_http"
        guesses = [log_in("203.0.113.9", "0000").status for _ in range(7)]
        assert guesses == [403] * 6 + [429]
        assert log_in("198.51.100.7, 203.0.113.9", PIN).status == 429
        answer = log_in("198.51.100.7", PIN)
        assert answer.status == 200
        assert "secure" in answer.headers["set-cookie"].lower()


def test_a_session_ends_after_six_wrong_pins(place: Place, desk: Desk) -> None:
    for number in range(6):
        assert desk.order("new-shoe", pin=f"{number:06}").status == 403
    answer = desk.order("new-shoe", pin=PIN)
    assert (answer.status, told(answer)["code"]) == (401, "session")
    assert desk.log_in().status == 200


def test_an_order_that_drips_in_is_given_up(place: Place) -> None:
    head = (
        f"POST /orders/session HTTP/1.1\r\nHost: 127.0.0.1:{place.display.port}\r\n"
        f"Origin: http://127.0.0.1:{place.display.port}\r\n"
        "Content-Type: application/json\r\nContent-Length: 4000\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", place.display.port), timeout=PATIENCE) as line:
        line.sendall(head.encode())
        # To its end: the display closes the line.
        answer = line.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()


def test_no_pin_and_no_token_is_written_down(place: Place, desk: Desk) -> None:
    desk.order("new-shoe", pin=PIN)
    desk.order("new-shoe", pin=f"{PIN}!")
    desk.order(f"hold/{PIN}", pin=PIN)
    desk.post(f"/orders/{PIN}/hold?pin={PIN}", {"pin": PIN, PIN: PIN})
    heard = [m.payload for m in place.pit.heard if "/cmd/" not in m.topic]
    log = place.display.said()
    for secret in (PIN, desk.token, desk.cookie.partition("=")[2]):
        assert not any(secret.encode() in payload for payload in heard)
        assert secret not in log
        assert secret not in place.pit.journal.read_bytes().decode("latin-1")
    assert "command_forwarded" in log


@contextmanager
def secured(folder: Path, https_port: int | None = None) -> Iterator[Display]:
    """A display with a certificate; with a port, https is there, and http where it was."""
    authority = make_authority("casino")
    pair = make_server_certificate(authority, ["127.0.0.1", "board.casino.example"])
    for name, text in (
        ("ca.pem", authority.certificate),
        ("display.pem", pair.certificate),
        ("display.key", pair.key),
        ("operators.toml", OPERATORS),
    ):
        (folder / name).write_text(text)
    listen = "" if https_port is None else f'listen = "127.0.0.1:{https_port}"'
    text = (
        '[display]\nhosts = ["board.casino.example"]\n'
        '[display.orders]\noperators_file = "operators.toml"\n'
        f'[display.tls]\n{listen}\ncert_file = "display.pem"\nkey_file = "display.key"\n'
    )
    trusted = folder / "ca.pem" if https_port is None else None
    with Display(folder, free_port(), text, trusted=trusted) as display:
        yield display


def test_over_tls_a_pin_is_taken_and_the_cookie_stays_there(tmp_path: Path) -> None:
    with secured(tmp_path) as display:
        desk = Desk(display, "hall.table-1")
        # Of the scheme http it would be another origin.
        assert desk.log_in().status == 403
        # The name by which other computers know it: without TLS no PIN would be taken.
        host = f"board.casino.example:{display.port}"
        desk.origin = f"https://{host}"
        answer = desk.log_in(Host=host)
        assert answer.status == 200, answer.body
        assert "secure" in answer.headers["set-cookie"].lower()
        session = told(display.ask("/orders/session", Cookie=desk.cookie, Host=host))
        assert session["operator"] == "Maria"
        assert "code" not in session


def test_boards_stay_on_http_beside_a_pit_on_https(tmp_path: Path) -> None:
    port = free_port()
    with secured(tmp_path, port) as display:
        assert display.ask("/").status == 200
        trusted = ssl.create_default_context(cafile=tmp_path / "ca.pem")
        url = f"https://127.0.0.1:{port}/pit"
        with urllib.request.urlopen(url, context=trusted, timeout=PATIENCE) as answer:
            assert answer.status == 200
        # The pit on http takes no PIN under a name that other computers use.
        desk = Desk(display, "hall.table-1")
        host = f"board.casino.example:{display.port}"
        desk.origin = f"http://{host}"
        assert told(desk.log_in(Host=host))["code"] == "plain_http"


def test_in_a_laboratory_pages_without_tls_take_pins(tmp_path: Path) -> None:
    (tmp_path / "operators.toml").write_text(OPERATORS)
    text = (
        '[display]\nhosts = ["board.casino.example"]\n'
        '[display.orders]\noperators_file = "operators.toml"\nallow_plain_pins = true\n'
    )
    with Display(tmp_path, free_port(), text) as display:
        desk = Desk(display, "hall.table-1")
        desk.origin = "http://board.casino.example"
        assert desk.log_in(Host="board.casino.example").status == 200


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("empty.pem", "no certificate or key in it that can be used"),
        ("/nowhere/display.pem", "display.tls.cert_file"),
    ],
)
def test_a_bad_certificate_is_one_line(tmp_path: Path, name: str, why: str) -> None:
    config = tmp_path / "display.toml"
    config.write_text(f'[display.tls]\ncert_file = "{name}"\nkey_file = "{name}"\n')
    (tmp_path / "empty.pem").write_text("")
    result = CliRunner().invoke(main, ["check-config", str(config)])
    assert result.exit_code == 2
    assert why in result.output
    assert len(result.output.splitlines()) == 1


class Clock:
    """Seconds, set by a test."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_after_five_idle_minutes() -> None:
    clock = Clock()
    sessions = OperatorSessions(clock)
    token, _ = sessions.begin("Maria")
    clock.now += IDLE_S - 1
    assert sessions.find(token, used=False)  # looking on is not using it
    clock.now += 1
    assert sessions.find(token) is None
    assert len(sessions) == 0


def test_a_session_ends_after_twelve_hours_however_busy() -> None:
    clock = Clock()
    sessions = OperatorSessions(clock)
    token, _ = sessions.begin("Maria")
    began = clock.now
    while sessions.find(token):
        clock.now += IDLE_S - 1
    assert 0 <= clock.now - began - LONGEST_S < IDLE_S


def test_the_number_of_sessions_is_limited_and_the_least_used_goes() -> None:
    sessions = OperatorSessions(Clock())
    tokens = [sessions.begin("Maria")[0] for _ in range(MAX_SESSIONS)]
    assert sessions.find(tokens[0])
    sessions.begin("Kim")
    assert len(sessions) == MAX_SESSIONS
    assert sessions.find(tokens[0])
    assert sessions.find(tokens[1]) is None


def test_a_wrong_name_takes_as_long_as_a_wrong_pin(tmp_path: Path) -> None:
    (tmp_path / "operators.toml").write_text(
        f'[[operator]]\nname = "Maria"\npin = "{PasswordHasher().hash(PIN)}"\n'
    )
    operators = Operators("operators.toml", tmp_path)
    operators.load()

    def seconds(name: str) -> float:
        began = time.process_time()
        assert not operators.is_right(name, "0000")
        return time.process_time() - began

    seconds("Nobody at all")
    # Both check one hash of the same cost; nothing else takes a hundredth of that.
    assert 0.3 < seconds("Eve") / seconds("Maria") < 1 / 0.3
