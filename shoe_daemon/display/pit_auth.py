"""Basic authentication of the pit."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from collections import OrderedDict
from functools import partial
from typing import Final

import structlog
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shoe_daemon.display.display_config import PitCredentials
from shoe_daemon.display.logins import Logins, TooManyError
from shoe_daemon.password_hashes_and_throttle import verify_password

_log = structlog.get_logger(__name__)

MAX_HEADER_BYTES: Final = 1024
MAX_ACCEPTED_HEADERS: Final = 64
_CHALLENGE: Final = 'Basic realm="pit", charset="UTF-8"'


class PitAuth:
    """
    ASGI middleware: asks for a name and a password on all addresses below a prefix.

    A password is checked once, on a thread of its own. A header that was accepted is accepted
    again without a check, however many wrong passwords others try.
    """

    def __init__(
        self, app: ASGIApp, credentials: PitCredentials, prefix: str, logins: Logins
    ) -> None:
        self._app, self._credentials, self._prefix = app, credentials, prefix
        self._logins = logins
        self._salt = secrets.token_bytes(32)
        self._accepted: OrderedDict[bytes, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path: str = scope["path"]
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            rejection = await self._rejection(scope)
            if rejection is not None:
                await rejection(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _rejection(self, scope: Scope) -> PlainTextResponse | None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or len(given[0]) > MAX_HEADER_BYTES:
            return _unauthorized("The pit asks for a name and a password.\n")
        digest = hmac.digest(self._salt, given[0], hashlib.sha256)
        if digest in self._accepted:  # keyed: the time of the look-up reveals nothing
            return None
        address = self._logins.address(scope)
        try:
            right = await self._logins.check("", address, partial(self._is_right, given[0]))
        except TooManyError as error:
            return _too_many(error.seconds)
        if not right:
            _log.warning("wrong_password", client=address)
            return _unauthorized("Name or password is wrong.\n")
        self._accepted[digest] = None
        while len(self._accepted) > MAX_ACCEPTED_HEADERS:
            self._accepted.popitem(last=False)
        return None

    def _is_right(self, header: bytes) -> bool:
        user, password = _decode_credentials(header)
        # Both are always checked: a wrong name takes as long as a wrong password.
        right_user = hmac.compare_digest(user, self._credentials.user.encode())
        return verify_password(self._credentials.hash, password) and right_user


def _decode_credentials(header: bytes) -> tuple[bytes, bytes]:
    scheme, _, encoded = header.partition(b" ")
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return b"", b""
    return (user, password) if scheme.lower() == b"basic" else (b"", b"")


def _unauthorized(why: str) -> PlainTextResponse:
    headers = {"WWW-Authenticate": _CHALLENGE, "Cache-Control": "no-store"}
    return PlainTextResponse(why, 401, headers=headers)


def _too_many(seconds: int) -> PlainTextResponse:
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    return PlainTextResponse(
        f"Too many wrong passwords: wait {seconds} s.\n", 429, headers=headers
    )
