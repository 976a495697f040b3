"""
Who may see the pit: basic authentication, slow to guess and quick to remember.
"""

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

from shoe_daemon.display.display_config import PitKey
from shoe_daemon.passwords import LoginThrottle, verify_password

__all__ = ["Lock"]

_log = structlog.get_logger(__name__)

_LONGEST: Final = 1024
_REMEMBERED: Final = 64
_AT_ONCE: Final = 2
_WAITING: Final = 16
_FIRST_WAIT_S: Final = 2.0
_MAX_WAIT_S: Final = 300.0
_CHALLENGE: Final = 'Basic realm="pit", charset="UTF-8"'


class Lock:
    """
    Stands before every address that begins with a prefix.

    A password is checked once, on a thread of its own, which takes a tenth of a
    second; who has given the right one is known from then on at no cost, however
    many wrong ones others try.
    """

    def __init__(
        self, app: ASGIApp, key: PitKey, prefix: str, throttle: LoginThrottle | None = None
    ) -> None:
        self._app, self._key, self._prefix = app, key, prefix
        self._throttle = throttle or LoginThrottle(_FIRST_WAIT_S, _MAX_WAIT_S)
        self._salt = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, None] = OrderedDict()
        self._doors = asyncio.Semaphore(_AT_ONCE)
        self._queue = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """
        Answer one question.
        """
        path: str = scope["path"]
        if path == self._prefix or path.startswith(f"{self._prefix}/"):
            refusal = await self._refusal(scope)
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or len(given[0]) > _LONGEST:
            return _denied("The pit asks for a name and a password.\n")
        mark = hmac.digest(self._salt, given[0], hashlib.sha256)
        if mark in self._known:  # a keyed digest: how long it takes tells nothing
            return None
        who = scope["client"][0] if scope.get("client") else ""
        wait = self._throttle.wait_s(who)
        if wait > 0 or self._queue >= _WAITING:
            return _too_many(int(wait) + 1)
        return await self._judge(given[0], mark, who)

    async def _judge(self, header: bytes, mark: bytes, who: str) -> PlainTextResponse | None:
        self._queue += 1
        try:
            async with self._doors:
                # What others got wrong while this one waited counts.
                if (wait := self._throttle.wait_s(who)) > 0:
                    return _too_many(int(wait) + 1)
                right = await asyncio.to_thread(self._is_right, header)
        finally:
            self._queue -= 1
        if not right:
            self._throttle.failed(who)
            _log.warning("wrong_password", client=who)
            return _denied("Name or password is wrong.\n")
        self._throttle.succeeded(who)
        self._known[mark] = None
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return None

    def _is_right(self, header: bytes) -> bool:
        user, password = _credentials(header)
        # Both are always looked at: a wrong name takes as long as a wrong password.
        known = hmac.compare_digest(user, self._key.user.encode())
        return verify_password(self._key.hash, password) and known


def _credentials(header: bytes) -> tuple[bytes, bytes]:
    scheme, _, encoded = header.partition(b" ")
    try:
        user, _, password = base64.b64decode(encoded.strip(), validate=True).partition(b":")
    except (binascii.Error, ValueError):
        return b"", b""
    return (user, password) if scheme.lower() == b"basic" else (b"", b"")


def _denied(why: str) -> PlainTextResponse:
    headers = {"WWW-Authenticate": _CHALLENGE, "Cache-Control": "no-store"}
    return PlainTextResponse(why, 401, headers=headers)


def _too_many(seconds: int) -> PlainTextResponse:
    headers = {"Retry-After": str(seconds), "Cache-Control": "no-store"}
    return PlainTextResponse(
        f"Too many wrong passwords: wait {seconds} s.\n", 429, headers=headers
    )
