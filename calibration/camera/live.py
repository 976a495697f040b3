"""
The live page of a calibration: the camera's picture with what is found in it, in a browser
of this machine only.

Everything is below a secret path; what is changed is sent with the secret in a header,
which no page of another site can send.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from collections.abc import Callable, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import Queue
from typing import Annotated, Any, Final, Literal

import cv2
import msgspec
import numpy as np
from msgspec import Meta, Struct

from calibration.camera.cards import budget_of
from calibration.camera.layout import Box, places_of
from calibration.camera.markers import find_markers
from calibration.camera.measures import light_of, sharpness_of
from calibration.camera.plane import Plane, ground_of
from drivers.camera.frames import Image
from drivers.camera.profile import CardSize, Point
from drivers.camera.windows import CropWindow
from shoe_daemon.errors import UserError

__all__ = ["Asked", "Desk", "LivePage", "Order"]

_STATIC: Final = Path(__file__).parent / "static"
_FILES: Final = {
    "": ("live.html", "text/html; charset=utf-8"),
    "live.js": ("live.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "live.css": ("live.css", "text/css; charset=utf-8"),
}
_POLICY: Final = (
    "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_MOST: Final = 4096
_LINES: Final = 14
_POINTS: Final = 20
Pixel = Annotated[float, Meta(ge=-16_384, le=16_384)]


class Order(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    What the page asks for.

    Attributes:
        do: ``next``, ``answer``: go on, with a text; ``box``: its middle goes to x, y;
            ``all``: every box goes by x, y pixels; ``turn``: by `degrees`; ``point``: a
            corner is at x, y; ``clear``: the points are forgotten.
        serial: The step that is answered: a second click answers no second question.
        index: Which box.
    """

    do: Literal["next", "answer", "box", "all", "turn", "point", "clear"]
    serial: int = -1
    index: Annotated[int, Meta(ge=0, le=64)] = 0
    x: Pixel = 0.0
    y: Pixel = 0.0
    degrees: Annotated[float, Meta(ge=-180, le=180)] = 0.0
    text: Annotated[str, Meta(max_length=40)] = ""


class Asked(Struct, frozen=True):
    """
    A card that is to be laid: its name for people, its colour, its place.
    """

    card: str
    red: bool
    slot: str


class Desk:
    """
    What the page shows and what is changed on it; any thread may use it.

    Attributes:
        said: What was answered, on the page or at the terminal.
        wants: What can be done now: ``markers``, ``points``, ``boxes``, ``answer`` or nothing.
        stages: The names of all that is done, one after the other.
    """

    def __init__(self, newest: Callable[[], Image | None], least: float) -> None:
        self.said: Queue[str] = Queue()
        self.wants = ""
        self.points: list[Point] = []
        self.boxes: list[Box] = []
        self.stages: Sequence[str] = ()
        self._stage = 0
        self._hint = self._over = ""
        self._asked: Asked | None = None
        self._seen = threading.Event()
        self._watched = False
        self._newest = newest
        self._least = least
        self._plane: Plane | None = None
        self._shift = (0.0, 0.0, 0.0)
        self._serial = 0
        self._step = "The camera's picture"
        self._text = ""
        self._lines: list[str] = []
        self._lock = threading.Lock()

    def step(
        self, name: str, text: str, wants: str = "", hint: str = "", asked: Asked | None = None
    ) -> None:
        """
        Begin a step.

        Args:
            name: For people.
            text: What to do.
            wants: What can be done on the page, as above.
            hint: What an answer may look like.
            asked: The card that is to be laid.
        """
        with self._lock:
            self._step, self._text, self.wants = name, text, wants
            self._hint, self._asked = hint, asked
            self._serial += 1

    def reach(self, stage: str) -> None:
        """
        Come to one of the stages.
        """
        if stage in self.stages:
            self._stage = list(self.stages).index(stage)

    def finish(self, name: str, text: str, *, good: bool, patience: float) -> None:
        """
        Say how it ended; wait a little for a page to show it.
        """
        self._seen.clear()
        self._over = "good" if good else "bad"
        self.step(name, text)
        if self._watched:
            self._seen.wait(patience)

    def tell(self, line: str) -> None:
        """
        Show a line.
        """
        with self._lock:
            self._lines = [*self._lines, line][-_LINES:]

    def place(self, plane: Plane, boxes: Sequence[Box]) -> None:
        """
        Show boxes on a plane.
        """
        with self._lock:
            self._plane, self.boxes = plane, list(boxes)

    @property
    def shift(self) -> tuple[float, float, float]:
        """
        Where the layout was dragged to: millimetres, and degrees.
        """
        return self._shift

    def take(self, order: Order) -> None:
        """
        Do what the page asks for.
        """
        match order.do:
            case "next" | "answer":
                if self.wants and order.serial == self._serial:
                    self.said.put(order.text)
            case "point" if self.wants == "points" and len(self.points) < _POINTS:
                self.points.append((order.x, order.y))
            case "clear":
                self.points.clear()
            case _:
                with self._lock:
                    self._drag(order)

    def _drag(self, order: Order) -> None:
        if self._plane is None or self.wants != "boxes":
            return
        x, y, degrees = self._shift
        if order.do == "turn":
            self._shift = (x, y, max(-180.0, min(180.0, degrees + order.degrees)))
        elif order.do == "all":
            ground = ground_of(self._plane)
            middle = ground.to_pixels([(x, y)])[0]
            to = ground.to_table([(middle[0] + order.x, middle[1] + order.y)])[0]
            self._shift = (float(to[0]), float(to[1]), degrees)
        elif order.do == "box" and order.index < len(self.boxes):
            to = ground_of(self._moved()).to_table([(order.x, order.y)])[0]
            at = (round(float(to[0]), 1), round(float(to[1]), 1))
            self.boxes[order.index] = self.boxes[order.index].at(at)

    def _moved(self) -> Plane:
        if self._plane is None:
            raise UserError("no plane is known")
        return self._plane.moved(*self._shift)

    def picture(self) -> bytes:
        """
        Return the newest picture as a JPEG; nothing where there is none.
        """
        image = self._newest()
        if image is None:
            return b""
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, 85])
        return data.tobytes()

    def shown(self, state: dict[str, Any]) -> None:
        """
        A page has got this.
        """
        self._watched = True
        if state["over"]:
            self._seen.set()

    def state(self) -> dict[str, Any]:
        """
        Return all that lies over the picture.
        """
        image = self._newest()
        with self._lock:
            told: dict[str, Any] = {
                "step": self._step,
                "serial": self._serial,
                "text": self._text,
                "wants": self.wants,
                "lines": self._lines,
                "points": self.points,
                "boxes": self._boxes(),
                "stages": self.stages,
                "stage": self._stage,
                "hint": self._hint,
                "ask": msgspec.to_builtins(self._asked),
                "over": self._over,
            }
        if image is not None:
            told["size"] = [image.shape[1], image.shape[0]]
            told["sharpness"] = sharpness_of(image)
            told["light"] = light_of(image)
            told["markers"] = self._markers(image)
        return told

    def _boxes(self) -> list[dict[str, Any]]:
        if self._plane is None:
            return []
        plane = self._moved()
        ground, places = ground_of(plane), places_of(self.boxes)
        told = budget_of(plane, places, CardSize(), CropWindow(), self._least)
        return [
            {
                "name": budget.slot,
                "points": np.round(ground.to_pixels(place.polygon), 1).tolist(),
                "pixels": round(budget.pixels),
                "least": round(budget.least),
            }
            for place, budget in zip(places, told, strict=True)
        ]

    def _markers(self, image: Image) -> list[dict[str, Any]]:
        if self.wants != "markers":
            return []
        return [
            {"name": str(each.number), "points": np.round(each.corners, 1).tolist()}
            for each in find_markers(image)
        ]


class LivePage:
    """
    Serves the page on loopback, at a port that is free.

    Attributes:
        url: Where it is; whoever knows it sees the camera.
    """

    def __init__(self, desk: Desk, port: int = 0) -> None:
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.desk = desk
        self._server.secret = secrets.token_urlsafe(18)
        port = int(self._server.server_address[1])
        self._server.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.url = f"http://127.0.0.1:{port}/{self._server.secret}/"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True
        ).start()

    def close(self) -> None:
        """
        Go away.
        """
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    desk: Desk
    secret: str
    hosts: set[str]


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = 20

    def do_GET(self) -> None:
        """
        Give the page, its parts, the picture or the state.
        """
        with contextlib.suppress(OSError):
            self._get()

    def do_POST(self) -> None:
        """
        Take an order, if the page itself sends it.
        """
        with contextlib.suppress(OSError):
            self._post()

    def _get(self) -> None:
        name = self._name()
        if name is None:
            self._fail(HTTPStatus.NOT_FOUND)
        elif name == "picture.jpg":
            self._give(self.server.desk.picture(), "image/jpeg")
        elif name == "state":
            state = self.server.desk.state()
            self._give(json.dumps(state).encode(), "application/json")
            self.server.desk.shown(state)
        elif name in _FILES:
            file, kind = _FILES[name]
            self._give((_STATIC / file).read_bytes(), kind)
        else:
            self._fail(HTTPStatus.NOT_FOUND)

    def _name(self) -> str | None:
        if self.headers.get("Host") not in self.server.hosts:
            return None
        _, secret, *rest = [*self.path.partition("?")[0].split("/", 2), ""][:3]
        return (
            rest[0]
            if secrets.compare_digest(secret.encode(), self.server.secret.encode())
            else None
        )

    def _post(self) -> None:
        told = self.headers.get("X-Calibration", "")
        same = secrets.compare_digest(told.encode(), self.server.secret.encode())
        kind = self.headers.get("Content-Type", "")
        if self._name() != "do" or not same or kind != "application/json":
            self._fail(HTTPStatus.FORBIDDEN)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST:
            self._fail(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            order = msgspec.json.decode(self.rfile.read(int(length)), type=Order)
        except msgspec.DecodeError:
            self._fail(HTTPStatus.BAD_REQUEST)
            return
        self.server.desk.take(order)
        self._give(json.dumps(self.server.desk.state()).encode(), "application/json")

    def _give(self, data: bytes, kind: str) -> None:
        self.send_response(HTTPStatus.OK)
        self._heads(kind, len(data))
        self.wfile.write(data)

    def _fail(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.send_response(status)
        self._heads("text/plain; charset=utf-8", 0)

    def _heads(self, kind: str, length: int) -> None:
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(length)),
            ("Content-Security-Policy", _POLICY),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
        ):
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - as http.server gives it
        """
        Say nothing.
        """
