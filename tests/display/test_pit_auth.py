"""
The pit needs a password: a right one is accepted quickly, guessing is slowed down, and nobody
delays others.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator

import pytest

from shoe_daemon.operators import hash_pin
from tests.brokers import free_port
from tests.display.display_process import Browser, Display
from tests.each_case import each_case
from tests.waiting import wait_for

PASSWORD = "pit ☕ boss"  # noqa: S105 - it opens nothing but this test


def basic(user: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"


RIGHT = basic("pit", PASSWORD)


@pytest.fixture(scope="module")
def display(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Display]:
    """A display with a locked pit and no log."""
    folder = tmp_path_factory.mktemp("locked")
    (folder / "pit-password").write_text(hash_pin(PASSWORD), encoding="utf-8")
    text = '[display.pit]\nuser = "pit"\npassword_file = "pit-password"\n'
    with Display(folder, free_port(), text) as display:
        yield display


PIT = ("/pit", "/pit/live", "/pit/table/x", "/pit/table/x/live", "/pit/", "/pit/report")
LOG = ("/pit/log", "/pit/log?format=csv", "/pit/round/a.b/1/1")


@each_case("path", (*PIT, *LOG))
def test_without_a_password_there_is_no_pit(display: Display, path: str) -> None:
    answer = display.ask(path)
    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="pit", charset="UTF-8"'
    assert answer.headers["cache-control"] == "no-store"
    assert "content-security-policy" in answer.headers


@each_case("path", ["/", "/table/x", "/health", "/static/board.css", "/pitfall"])
def test_everything_else_is_for_everybody(display: Display, path: str) -> None:
    # Without a broker its health is 503, which anybody may read.
    assert display.ask(path).status in {200, 404, 503}


def test_who_knows_the_password_comes_in(display: Display) -> None:
    assert display.ask("/pit", Authorization=RIGHT).block["live"] == "/pit/live"
    with Browser(display, "/pit/live", Authorization=RIGHT) as browser:
        wait_for(lambda: "pit" in browser.latest)
    log = display.ask("/pit/log", Authorization=RIGHT)
    assert log.block["first"]["log"]["enabled"] is False
    report = display.ask("/pit/report", Authorization=RIGHT)
    assert (report.status, b"keeps no log" in report.body) == (404, True)
    began = time.monotonic()
    for _ in range(20):
        assert display.ask("/pit", Authorization=RIGHT).status == 200
    # Twenty of the slow hash would take some two seconds, on a machine of its own.
    assert time.monotonic() - began < 10


def test_who_guesses_waits_and_nobody_else_does(display: Display) -> None:
    assert display.ask("/pit", Authorization=RIGHT).status == 200
    # One that is too long is not checked.
    assert display.ask("/pit", Authorization=basic("pit", "x" * 3000)).status == 401
    wrong = [
        basic("pit", "wrong"),
        basic("Pit", PASSWORD),
        "Basic !!!",
        "Bearer x",
        basic("", ""),
        basic("pit", "wrong as well"),
        basic("pit", "still wrong"),
    ]
    answers = [display.ask("/pit", Authorization=each) for each in wrong]
    assert [each.status for each in answers] == [401] * 6 + [429]
    assert int(answers[-1].headers["retry-after"]) >= 1
    assert "wrong_password" in display.said()
    # Who was known before is let in at once; boards are not held up at all.
    assert display.ask("/pit", Authorization=RIGHT).status == 200
    assert display.ask("/table/x").status == 200
