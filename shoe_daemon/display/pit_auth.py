"""Basic authentication of the pit, with throttling of wrong passwords."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections import OrderedDict
from typing import Final

import structlog
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shoe_daemon.display.display_config import PitCredentials
from shoe_daemon.password_hashes_and_throttle import LoginThrottle, verify_password

_log = structlog.get_logger(__name__)

MAX_HEADER_BYTES: Final = 1024
MAX_ACCEPTED_HEADERS: Final = 64
MAX_CHECKS: Final = 2
"""Passwords that are checked at the same time; each takes a tenth of a second."""

MAX_WAITING_CHECKS: Final = 16
FIRST_WAIT_S: Final = 2.0
MAX_WAIT_S: Final = 300.0
_CHALLENGE: Final = 'Basic realm="pit", charset="UTF-8"'


class PitAuth:
    """
    ASGI middleware: asks for a name and a password on all addresses below a prefix.

    A password is checked once, on a thread of its own. A header that was accepted is accepted
    again without a check, however many wrong passwords others try.
    """

    def __init__(
        self,
        app: ASGIApp,
        credentials: PitCredentials,
        prefix: str,
        throttle: LoginThrottle | None = None,
    ) -> None:
        self._app, self._credentials, self._prefix = app, credentials, prefix
        self._throttle = throttle or LoginThrottle(FIRST_WAIT_S, MAX_WAIT_S)
        self._salt = secrets.token_bytes(32)
        self._accepted: OrderedDict[bytes, None] = OrderedDict()
        self._checks = asyncio.Semaphore(MAX_CHECKS)
        self._waiting_checks = 0

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
        address = scope["client"][0] if scope.get("client") else ""
        wait = self._throttle.wait_s(address)
        if wait > 0 or self._waiting_checks >= MAX_WAITING_CHECKS:
            return _too_many(int(wait) + 1)
        return await self._check(given[0], digest, address)

    async def _check(self, header: bytes, digest: bytes, address: str) -> PlainTextResponse | None:
        self._waiting_checks += 1
        try:
            async with self._checks:
                # Failures recorded while this check waited count too.
                if (wait := self._throttle.wait_s(address)) > 0:
                    return _too_many(int(wait) + 1)
                right = await asyncio.to_thread(self._is_right, header)
        finally:
            self._waiting_checks -= 1
        if not right:
            self._throttle.failed(address)
            _log.warning("wrong_password", client=address)
            return _unauthorized("Name or password is wrong.\n")
        self._throttle.succeeded(address)
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
