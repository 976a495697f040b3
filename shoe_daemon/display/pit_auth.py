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
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, Protocol

import structlog
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shoe_daemon.display.display_config import PitKey

__all__ = ["Lock", "Throttle"]

_log = structlog.get_logger(__name__)

_LONGEST: Final = 1024
_REMEMBERED: Final = 64
_AT_ONCE: Final = 2
_WAITING: Final = 16
_CHALLENGE: Final = 'Basic realm="pit", charset="UTF-8"'


class Throttle:
    """
    How long somebody has to wait after wrong passwords.

    Three are free; then there is a wait, which doubles with each more. It knows a
    limited number of addresses, those that it heard of last.
    """

    FREE: Final = 3
    FIRST: Final = 2.0
    MOST: Final = 300.0
    KNOWN: Final = 1000

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait(self, who: str) -> float:
        """
        Return the seconds that somebody still has to wait; 0 for none.
        """
        _, until = self._wrong.get(who, (0, 0.0))
        return max(0.0, until - self._monotonic())

    def wrong(self, who: str) -> None:
        """
        One more was wrong.
        """
        count = self._wrong.pop(who, (0, 0.0))[0] + 1
        until = 0.0
        if count >= self.FREE:
            doubled = self.FIRST * 2.0 ** min(count - self.FREE, 16)
            until = self._monotonic() + min(doubled, self.MOST)
        self._wrong[who] = (count, until)
        while len(self._wrong) > self.KNOWN:
            self._wrong.popitem(last=False)

    def right(self, who: str) -> None:
        """
        It was right: what was before is forgotten.
        """
        self._wrong.pop(who, None)


class _Hasher(Protocol):
    def verify(self, hash: str, password: str | bytes) -> bool: ...  # noqa: A002 - argon2's


class Lock:
    """
    Stands before every address that begins with a prefix.

    A password is checked once, on a thread of its own, which takes a tenth of a
    second; who has given the right one is known from then on at no cost, however
    many wrong ones others try.
    """

    def __init__(
        self, app: ASGIApp, key: PitKey, prefix: str, throttle: Throttle | None = None
    ) -> None:
        self._app, self._key, self._prefix = app, key, prefix
        self._throttle = throttle or Throttle()
        self._hasher = _hasher()
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
        wait = self._throttle.wait(who)
        if wait > 0 or self._queue >= _WAITING:
            return _too_many(int(wait) + 1)
        return await self._judge(given[0], mark, who)

    async def _judge(self, header: bytes, mark: bytes, who: str) -> PlainTextResponse | None:
        self._queue += 1
        try:
            async with self._doors:
                # What others got wrong while this one waited counts.
                if (wait := self._throttle.wait(who)) > 0:
                    return _too_many(int(wait) + 1)
                right = await asyncio.to_thread(self._is_right, header)
        finally:
            self._queue -= 1
        if not right:
            self._throttle.wrong(who)
            _log.warning("wrong_password", client=who)
            return _denied("Name or password is wrong.\n")
        self._throttle.right(who)
        self._known[mark] = None
        while len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)
        return None

    def _is_right(self, header: bytes) -> bool:
        user, password = _credentials(header)
        # Both are always looked at: a wrong name takes as long as a wrong password.
        known = hmac.compare_digest(user, self._key.user.encode())
        return self._verify(password) and known

    def _verify(self, password: bytes) -> bool:
        from argon2.exceptions import VerificationError  # noqa: PLC0415 - an extra

        try:
            return self._hasher.verify(self._key.hash, password)
        except VerificationError:
            return False


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


def _hasher() -> _Hasher:
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra

    return PasswordHasher()
