"""
The live page shows the state and accepts commands from itself alone; a person answers there or
at the terminal.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pytest

from calibration.camera.layout import layout_named
from calibration.camera.person_dialogue import PromptDialogue
from calibration.camera.plane import plane_from_points, projection_of
from calibration.camera.scripted_dialogue import ThroatStep
from calibration.camera.wizard_page import Command, WizardState, serve_page
from calibration.terminal import Terminal
from drivers.camera.image import Image
from drivers.camera.web import LocalServer
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.waiting import PATIENCE

SIZE = (1280, 720)
PICTURE: Image = np.full((720, 1280, 3), 90, np.uint8)
FELT = np.full((720, 1280, 3), (40, 90, 40), np.uint8)
PLANE = plane_from_points([(580, 320), (700, 320), (700, 400), (580, 400)], (80, 53), SIZE)


@pytest.fixture
def desk() -> WizardState:
    return WizardState(lambda: PICTURE, 36.0)


@pytest.fixture
def page(desk: WizardState) -> Iterator[LocalServer]:
    page = serve_page(desk)
    yield page
    page.close()


def call(
    page: LocalServer, path: str, body: object = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    where = urlsplit(page.url)
    sent = None if body is None else json.dumps(body)
    heads = {name.replace("_", "-"): value for name, value in headers.items()}
    target = path if path.startswith("/") else where.path + path
    with closing(HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)) as line:
        line.request("GET" if body is None else "POST", target, sent, heads)
        got = line.getresponse()
        told = {name.lower(): value for name, value in got.getheaders()}
        return got.status, told, got.read()


def secret(page: LocalServer) -> str:
    return urlsplit(page.url).path.strip("/")


def test_the_page_is_on_loopback_and_loads_nothing_from_elsewhere(page: LocalServer) -> None:
    assert urlsplit(page.url).hostname == "127.0.0.1"
    status, heads, body = call(page, "")
    assert status == 200
    assert "default-src 'none'" in heads["content-security-policy"]
    assert "unsafe" not in heads["content-security-policy"]
    assert heads["x-content-type-options"] == "nosniff"
    assert b"http" not in body
    for name, kind in (("live.js", "text/javascript"), ("live.css", "text/css")):
        status, heads, _ = call(page, name)
        assert status == 200
        assert heads["content-type"].startswith(kind)


def test_every_path_needs_the_secret(page: LocalServer) -> None:
    for path in ("/", "/state", "/wrong/state", "/picture.jpg", "//state"):
        assert call(page, path)[0] == 404
    assert call(page, "state", Host="evil.example")[0] == 400
    assert call(page, "../../etc/passwd")[0] == 404
    assert call(page, "live.html")[0] == 404


def test_the_page_gets_the_image_and_the_overlay(page: LocalServer, desk: WizardState) -> None:
    desk.place_boxes(PLANE, layout_named("seven"))
    desk.begin_step("The boxes", "Drag them.", "boxes")
    status, heads, body = call(page, "picture.jpg?1")
    assert (status, heads["content-type"], body[:2]) == (200, "image/jpeg", b"\xff\xd8")
    state = json.loads(call(page, "state")[2])
    assert [box["name"] for box in state["boxes"]] == ["P1", "B1", "P2", "B2", "P3", "B3", "other"]
    assert state["size"] == list(SIZE)
    assert state["wants"] == "boxes"


def test_only_the_page_itself_can_send_commands(page: LocalServer, desk: WizardState) -> None:
    desk.begin_step("The boxes", "Drag them.", "boxes")
    order = {"do": "next", "serial": 1}
    kind = {"Content_Type": "application/json"}
    assert call(page, "do", order, **kind)[0] == 403
    guess = {**kind, "X_Secret": "guessed"}
    assert call(page, "do", order, **guess)[0] == 403
    plain = {"Content_Type": "text/plain", "X_Secret": secret(page)}
    assert call(page, "do", order, **plain)[0] == 403
    assert call(page, "do", order, **kind, X_Secret=secret(page), Host="evil")[0] == 400
    assert call(page, "do", {"do": "rm"}, **kind, X_Secret=secret(page))[0] == 400
    assert call(page, "do", {"x": "9" * 5000}, **kind, X_Secret=secret(page))[0] == 413
    assert desk.answers.empty()
    assert call(page, "do", order, **kind, X_Secret=secret(page))[0] == 200
    assert desk.answers.get_nowait() == ""


def test_a_second_click_does_not_answer_the_next_step(desk: WizardState) -> None:
    desk.begin_step("The plane", "Lay the markers.", "markers")
    desk.execute(Command(do="next", serial=1))
    desk.begin_step("The empty table", "Clear it.", "next")
    desk.execute(Command(do="next", serial=1))
    assert desk.answers.qsize() == 1


def test_dragging_moves_a_box_or_all_of_them(desk: WizardState) -> None:
    desk.place_boxes(PLANE, layout_named("six"))
    desk.execute(Command(do="box", index=0, x=300, y=300))
    assert desk.boxes[0] == layout_named("six")[0], "not while boxes are not to be dragged"
    desk.begin_step("The boxes", "Drag them.", "boxes")
    desk.execute(Command(do="box", index=0, x=300, y=300))
    seen = projection_of(PLANE).to_pixels([(desk.boxes[0].x, desk.boxes[0].y)])[0]
    assert np.abs(seen - (300, 300)).max() < 0.2
    desk.execute(Command(do="all", x=15.0, y=-30.0))
    x, y, _ = desk.shift
    assert (x, y) == pytest.approx((10.0, -19.9), abs=0.2)
    desk.execute(Command(do="turn", degrees=1.0))
    assert desk.shift[2] == 1.0
    desk.execute(Command(do="box", index=60))


def person(
    desk: WizardState, lines: list[str], *, throat: bool = False
) -> tuple[PromptDialogue, list[str]]:
    said: list[str] = []
    terminal = Terminal(said.append, lines, desk.answers)
    return PromptDialogue(desk, terminal, 90.0, None, throat=throat), said


def test_a_person_answers_at_the_terminal(desk: WizardState) -> None:
    lines = ["\n", "\n", "\n", "nonsense\n", "ad\n", "skip\n", "stop\n", "no\n"]
    asked, said = person(desk, lines)
    assert asked.plane().size == 90.0
    asked.empty()
    assert asked.layout(PLANE, FELT).boxes == layout_named("six")
    step = asked.card([])
    assert step is not None
    assert (step.card, step.slot) == (Card("AD"), Slot.P1)
    assert any("'NONSENSE'; expected a card such as AS" in line for line in said)
    assert asked.back() is None
    assert asked.sample(0) is None
    assert not asked.ask_retry("nothing there")


@pytest.mark.parametrize("said", ["0x0", "400x0", "5x5", f"{'9' * 30}x9", "400x", "4 x 2", "²x³"])
def test_an_invalid_rectangle_is_reported_before_any_click(desk: WizardState, said: str) -> None:
    asked, _ = person(desk, [said])
    with pytest.raises(UserError, match="expected width x height in millimetres, from 6 to 1000"):
        asked.plane()
    assert desk.allowed_action == "", "no corners are asked for"


def test_four_points_are_clicked_on_the_page(desk: WizardState) -> None:
    desk.execute(Command(do="point", x=1, y=1))
    assert desk.clicked_points == [], "not while none is asked for"
    desk.begin_step("Four points", "Click them.", "points")
    for number in range(23):
        desk.execute(Command(do="point", x=number, y=5))
    assert desk.clicked_points == [(float(number), 5.0) for number in range(20)], "five rectangles"
    desk.execute(Command(do="clear"))
    assert desk.clicked_points == []


def test_the_result_is_shown_with_its_faults(page: LocalServer, desk: WizardState) -> None:
    asked, _ = person(desk, [])
    assert json.loads(call(page, "state")[2])["over"] == ""
    asking = threading.Thread(target=asked.finish, args=(["P1: blurred"], "table.toml"))
    asking.start()
    told: dict[str, Any] = {"over": ""}
    while not told["over"]:
        told = json.loads(call(page, "state")[2])
    asking.join(PATIENCE)
    assert (told["over"], told["step"], told["wants"]) == ("bad", "1 thing to put right", "")
    assert told["lines"] == ["to put right: P1: blurred"]
    asked.finish([], "table.toml")
    assert (desk.snapshot()["over"], desk.snapshot()["step"]) == ("good", "Calibrated")


def test_boxes_keep_their_positions_in_a_repeated_step(desk: WizardState) -> None:
    asked, _ = person(desk, ["\n", "\n"])
    asked.layout(PLANE, FELT)
    desk.begin_step("The boxes", "Drag them.", "boxes")
    desk.execute(Command(do="box", index=0, x=300, y=300))
    left = list(desk.boxes)
    assert left != list(layout_named("six"))
    assert list(asked.layout(PLANE, FELT).boxes) == left


def test_the_direction_of_the_cards_is_asked_at_the_throat(desk: WizardState) -> None:
    asked, _ = person(desk, ["left\n", "Down  Long\n", "\n"], throat=True)
    left, down, usual = (asked.throat(PLANE) for _ in range(3))
    assert (left.direction, left.turn) == ((-1.0, 0.0), 0)
    assert (down.direction, down.turn) == ((0.0, 1.0), 90)
    assert usual == ThroatStep()


@pytest.mark.parametrize("said", ["sideways", "long", "left short", "up long long"])
def test_an_invalid_direction_is_refused(desk: WizardState, said: str) -> None:
    asked, _ = person(desk, [f"{said}\n"], throat=True)
    with pytest.raises(UserError, match=f"'{said}'; expected right, left, up or down"):
        asked.throat(PLANE)
