"""The preview shows frames and readings to browsers of this machine, and to no other."""

from __future__ import annotations

import contextlib
import http.client
import socket
import struct
from collections.abc import Iterator
from contextlib import closing
from threading import Thread
from threading import enumerate as enumerate_threads

import cv2
import numpy as np
import pytest
from structlog.testing import capture_logs

from drivers.camera import preview as views
from drivers.camera.image import VideoFrame
from drivers.camera.messages import Say, Statement
from drivers.camera.options import parse_listen_address
from drivers.camera.preview import PlaceOverlay, PreviewedStation, PreviewServer, draw_places
from drivers.camera.profile.file import load_profile
from drivers.simulators.camera.settings import Station
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from shoe_daemon.game.coup import Slot
from tests.camera.profiles import simulated_profile
from tests.camera.simulated_tables import settings
from tests.waiting import wait_for

_SQUARE = ((100.0, 100.0), (200.0, 100.0), (200.0, 220.0), (100.0, 220.0))


class _Quiet:
    """A station that has read an ace on P1."""

    def __init__(self) -> None:
        self.closed = False
        self.asked = 0

    def process(self, picture: VideoFrame) -> list[Statement]:
        first = picture.number == 1
        ace = Statement(say=Say.PLACED, slot=Slot.P1, card=Card("AS"), confidence=0.98)
        return [ace, Statement(say=Say.UNREADABLE, slot=Slot.B1)] if first else []

    def states(self) -> dict[Slot, tuple[str, Card | None]]:
        self.asked += 1
        return {Slot.P1: ("held", Card("AS")), Slot.B1: ("settled", None)}

    def finish(self) -> list[Statement]:
        return []

    def close(self) -> None:
        self.closed = True


def _has_ipv6() -> bool:
    with contextlib.suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
        return True
    return False


class _Shoe(_Quiet):
    """A station at the throat of a shoe that an ace has left."""

    def process(self, picture: VideoFrame) -> list[Statement]:
        ace = Statement(say=Say.CARD, card=Card("AS"), confidence=0.99)
        return [ace] if picture.number == 1 else []


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> Iterator[PreviewServer]:
    # Tests may run slowly.
    monkeypatch.setattr(views, "_MAX_FRAME_AGE_S", 3600.0)
    monkeypatch.setattr(views, "_VIEWER_TIMEOUT_S", 3600.0)
    view = PreviewServer("127.0.0.1:0")
    yield view
    view.close()


def _ask(
    view: PreviewServer, path: str, host: str | None = None, at: str = "127.0.0.1"
) -> tuple[int, dict[str, str], bytes]:
    with closing(http.client.HTTPConnection(at, view.port, timeout=60)) as line:
        line.request("GET", path, headers={} if host is None else {"Host": host})
        answer = line.getresponse()
        headers = {key.lower(): value for key, value in answer.getheaders()}
        return answer.status, headers, answer.read()


def _grey() -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    return np.full((360, 640, 3), 60, np.uint8)


@pytest.mark.parametrize(
    "listen",
    [
        "0.0.0.0:8091",
        "8091",
        "127.0.0.1:",
        "127.0.0.1:99999",
        "127.0.0.1:\u0663",
        "table.example:80",
        "",
    ],
)
def test_only_loopback_addresses_are_accepted(listen: str) -> None:
    with pytest.raises(UserError, match=r"options\.view: .* expected an address of this machine"):
        parse_listen_address(listen)


def test_a_used_port_costs_the_preview_and_not_the_camera(
    view: PreviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_LISTEN_RETRY_S", 0.0)
    with capture_logs() as logs:
        other = PreviewServer(f"127.0.0.1:{view.port}")
        other.show(_grey(), list)
        other.show(_grey(), list)
    assert [(log["event"], log["log_level"]) for log in logs] == [
        ("preview_port_unavailable", "warning")
    ]
    assert str(view.port) in logs[0]["listen"]
    view.close()
    other.show(_grey(), list)
    assert _ask(other, "/picture.jpg")[0] == 200
    other.close()


@pytest.mark.skipif(not _has_ipv6(), reason="this machine has no IPv6")
def test_the_preview_listens_on_ipv6_loopback() -> None:
    view = PreviewServer("[::1]:0")
    assert _ask(view, "/", host=f"[::1]:{view.port}", at="::1")[0] == 200
    view.close()


@pytest.mark.parametrize("path", ["/", "/preview.js", "/preview.css"])
def test_the_page_loads_nothing_from_other_sites(view: PreviewServer, path: str) -> None:
    status, headers, body = _ask(view, path)
    assert status == 200
    assert headers["content-security-policy"].startswith("default-src 'none'")
    assert headers["x-content-type-options"] == "nosniff"
    assert b"http://" not in body


def test_another_host_name_is_refused(view: PreviewServer) -> None:
    view.show(_grey(), list)
    status, _, body = _ask(view, "/picture.jpg", host="evil.example:8091")
    assert (status, body) == (400, b"")


def test_the_preview_accepts_no_commands(view: PreviewServer) -> None:
    with closing(http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)) as line:
        headers = {"Content-Type": "application/json", "X-Secret": ""}
        line.request("POST", "/picture.jpg", "{}", headers)
        assert line.getresponse().status == 403


def test_other_paths_are_not_found(view: PreviewServer) -> None:
    assert _ask(view, "/../profile.toml")[0] == 404
    assert _ask(view, "/etc/passwd")[0] == 404


def test_an_old_frame_is_not_shown(view: PreviewServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "_FRAME_TIMEOUT_S", 0.05)
    assert _ask(view, "/picture.jpg")[0] == 503, "before the first frame"
    view.show(_grey(), list)
    assert _ask(view, "/picture.jpg")[0] == 200
    monkeypatch.setattr(views, "_MAX_FRAME_AGE_S", 0.0)
    assert _ask(view, "/picture.jpg")[0] == 503


def test_a_new_viewer_waits_for_the_next_frame(
    view: PreviewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "_FRAME_TIMEOUT_S", 60.0)
    answers: list[int] = []
    asking = Thread(target=lambda: answers.append(_ask(view, "/picture.jpg")[0]), daemon=True)
    asking.start()
    wait_for(lambda: view.has_viewers)
    view.show(_grey(), list)
    asking.join(60)
    assert answers == [200]


def test_closing_ends_the_connections_of_viewers(view: PreviewServer) -> None:
    view.show(_grey(), list)
    with closing(http.client.HTTPConnection("127.0.0.1", view.port, timeout=60)) as line:
        line.request("GET", "/picture.jpg")
        with closing(line.getresponse()) as answer:
            assert answer.status == 200
            answer.read()
        view.close()
        with pytest.raises((http.client.HTTPException, OSError)):
            _again(line)


def test_a_disconnected_viewer_is_not_logged(
    view: PreviewServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_connection(("127.0.0.1", view.port), timeout=60) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        line.sendall(b"GET /picture.jpg HTTP/1.1\r\nHost: 127.0.0.1:1\r\n\r\n")
        wait_for(lambda: view.has_viewers)
    view.show(_grey(), list)
    wait_for(lambda: not any("process_request" in each.name for each in enumerate_threads()))
    assert capsys.readouterr().err == ""


def _again(line: http.client.HTTPConnection) -> None:
    line.auto_open = 0
    line.request("GET", "/picture.jpg")
    line.getresponse()


def test_the_image_is_the_newest_frame_with_the_overlay(view: PreviewServer) -> None:
    _ask(view, "/picture.jpg")
    view.show(_grey(), lambda: [PlaceOverlay("P1", _SQUARE, "held", Card("AS"), 0.98)])
    _, headers, body = _ask(view, "/picture.jpg")
    assert headers["content-type"] == "image/jpeg"
    assert headers["cache-control"] == "no-store"
    shown = cv2.imdecode(np.frombuffer(body, np.uint8), cv2.IMREAD_COLOR)
    assert shown is not None
    assert shown.shape == (360, 640, 3)
    green = shown[150, 98:103].astype(int)
    assert (green[:, 1] - green[:, 2]).max() > 60
    assert abs(int(shown[300, 600].mean()) - 60) < 4


def test_a_card_that_left_the_shoe_is_shown_for_a_while(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("mouth")
    wanted = settings(seed=1, station=Station.THROAT)
    profile = load_profile(simulated_profile(wanted, folder))
    viewed = PreviewedStation(_Shoe(), profile, PreviewServer("127.0.0.1:0"))
    words = []
    for number, at in enumerate((0.0, 1.0, 2.0), 1):
        viewed.process(VideoFrame(_grey(), at, number))
        words.append([look.label for look in viewed.overlays()])
    assert words == [["last AS 0.99"], ["last AS 0.99"], ["throat empty"]]
    viewed.close()


def test_a_cleared_table_is_shown_without_old_readings(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    class Clearing(_Quiet):
        def process(self, picture: VideoFrame) -> list[Statement]:
            return super().process(picture) or [Statement(say=Say.CLEARED)]

        def states(self) -> dict[Slot, tuple[str, Card | None]]:
            return {}

    profile = load_profile(simulated_profile(settings(seed=1), tmp_path_factory.mktemp("cleared")))
    viewed = PreviewedStation(Clearing(), profile, PreviewServer("127.0.0.1:0"))
    shown = []
    for number in (1, 2):
        viewed.process(VideoFrame(_grey(), 0.1 * number, number))
        shown.append({look.name: look.state for look in viewed.overlays()}["B1"])
    assert shown == ["unreadable", ""]
    viewed.close()


def test_a_label_at_the_upper_edge_stays_in_the_image() -> None:
    place = ((300.0, 2.0), (360.0, 2.0), (360.0, 90.0), (300.0, 90.0))
    picture = draw_places(_grey(), [PlaceOverlay("P1", place, "moving")])
    # The label has a background of the colour, from the first row on.
    assert (picture[0, 305:330] != 60).any(axis=1).all()
    assert len(np.unique(picture[3:18, 305:340])) > 10, "letters"


def test_readings_are_labels_of_their_places(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("view")
    profile = load_profile(simulated_profile(settings(seed=1), folder))
    station = _Quiet()
    viewed = PreviewedStation(station, profile, PreviewServer("127.0.0.1:0"))
    said = viewed.process(VideoFrame(_grey(), 0.0, 1))
    assert [each.say for each in said] == [Say.PLACED, Say.UNREADABLE]
    looks = {look.name: look for look in viewed.overlays()}
    assert looks["P1"].label == "P1 AS 0.98"
    assert looks["B1"].state == "unreadable"
    assert set(looks) == {"P1", "B1", "P2", "B2", "P3", "B3"}
    viewed.close()
    assert station.closed
