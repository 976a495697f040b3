"""
Live page of a calibration, for a browser of this machine: the camera's image, the layout over
it, and the buttons of the wizard.

Everything is below a secret path; a command is sent with the secret in a header, which no page
of another site can send. The wizard's state decides what is shown and what a command does
(`wizard_state`).
"""

from __future__ import annotations

import contextlib
import json
import secrets
from http import HTTPStatus
from pathlib import Path
from typing import Final

import msgspec

from calibration.camera.wizard_state import Command, WizardState
from drivers.camera.preview.loopback_server import LoopbackHandler, LoopbackServer

__all__ = ["LivePage"]

_STATIC_FOLDER: Final = Path(__file__).parent / "static"
_PAGE_FILES: Final = {
    "": ("live.html", "text/html; charset=utf-8"),
    "live.js": ("live.js", "text/javascript; charset=utf-8"),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "live.css": ("live.css", "text/css; charset=utf-8"),
}
_MAX_COMMAND_BYTES: Final = 4096


class LivePage:
    """
    Serves the page on loopback, at a free port.

    Attributes:
        url: Address of the page; its path is secret.
    """

    def __init__(self, state: WizardState) -> None:
        self._server = _Server(state)
        self._server.start("calibration-page")
        self.url = f"http://127.0.0.1:{self._server.port}/{self._server.secret}/"

    def close(self) -> None:
        """Stop serving."""
        self._server.close()


class _Server(LoopbackServer):
    def __init__(self, state: WizardState) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.state = state
        self.secret = secrets.token_urlsafe(18)
        self.hosts = {f"127.0.0.1:{self.port}", f"localhost:{self.port}"}


class _Handler(LoopbackHandler):
    server: _Server
    content_security_policy = (
        "default-src 'none'; img-src 'self'; script-src 'self'; style-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )

    def do_GET(self) -> None:  # noqa: N802 - as http.server calls it
        """Send the page, one of its files, the image or the state."""
        with contextlib.suppress(OSError):
            self._get()

    def do_POST(self) -> None:  # noqa: N802 - as above
        """Execute a command, if the page itself sends it."""
        with contextlib.suppress(OSError):
            self._post()

    def _get(self) -> None:
        name = self._requested_name()
        if name == "picture.jpg":
            self.respond(HTTPStatus.OK, self.server.state.jpeg(), "image/jpeg")
        elif name == "state":
            state = self.server.state.snapshot()
            self.respond(HTTPStatus.OK, json.dumps(state).encode(), "application/json")
            self.server.state.snapshot_sent(state)
        elif name in _PAGE_FILES:
            file, content_type = _PAGE_FILES[name]
            self.respond(HTTPStatus.OK, (_STATIC_FOLDER / file).read_bytes(), content_type)
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _requested_name(self) -> str | None:
        """Return the path below the secret one; None for another host or path."""
        if self.headers.get("Host") not in self.server.hosts:
            return None
        _, secret, *rest = [*self.path.partition("?")[0].split("/", 2), ""][:3]
        return rest[0] if self._is_secret(secret) else None

    def _is_secret(self, text: str) -> bool:
        return secrets.compare_digest(text.encode(), self.server.secret.encode())

    def _post(self) -> None:
        is_authentic = self._is_secret(self.headers.get("X-Calibration", ""))
        content_type = self.headers.get("Content-Type", "")
        if (
            self._requested_name() != "do"
            or not is_authentic
            or content_type != "application/json"
        ):
            self._refuse(HTTPStatus.FORBIDDEN)
            return
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MAX_COMMAND_BYTES:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return
        try:
            command = msgspec.json.decode(self.rfile.read(int(length)), type=Command)
        except msgspec.DecodeError:
            self._refuse(HTTPStatus.BAD_REQUEST)
            return
        self.server.state.execute(command)
        state = json.dumps(self.server.state.snapshot()).encode()
        self.respond(HTTPStatus.OK, state, "application/json")

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True
        self.respond(status, content_type="text/plain; charset=utf-8")
