"""
Checks of passwords and PINs that browsers send: few at a time, and few wrong ones.

A check takes a tenth of a second of a processor, so there are two lanes: one for sessions and for
addresses that were right before, one for all others. Strangers delay only strangers.
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
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import ceil
from typing import Final

import structlog
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from shoe_daemon.display.config import PitCredentials
from shoe_daemon.operators import WrongAttempts, verify_password
from shoe_daemon.web import Network, client_network

MAX_WAITING: Final = 8
"""Checks of a lane that may be under way or wait for it; one more is refused at once."""

MAX_KNOWN: Final = 1000
"""Names with an address at which they were right; the ones unused for longest are forgotten."""

_PER_MINUTE: Final = (6, 60.0)
_PER_HOUR: Final = (30, 3600.0)
_OF_STRANGERS_PER_HOUR: Final = (60, 3600.0)
"""For a name from all addresses, and at an address for all names, where it was never right."""


class TooManyError(Exception):
    """
    A password is not checked now.

    Attributes:
        seconds: When to try again.
    """

    def __init__(self, wait_s: float) -> None:
        self.seconds = max(1, ceil(wait_s))
        super().__init__(f"too many wrong passwords: wait {self.seconds} s")


class _Lane:
    """One thread that checks passwords, and those that wait for it."""

    def __init__(self, name: str) -> None:
        self._thread = ThreadPoolExecutor(1, name)
        self._waiting: set[object] = set()

    async def run(self, key: object, is_right: Callable[[], bool]) -> bool:
        if key in self._waiting or len(self._waiting) >= MAX_WAITING:
            raise TooManyError(1)
        self._waiting.add(key)
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, is_right)
        finally:
            self._waiting.discard(key)

    def close(self) -> None:
        self._thread.shutdown(wait=False)


class Logins:
    """
    Checks of one kind of password; for the thread of the event loop.

    Of a name and an address, six passwords a minute and thirty an hour may be wrong. An address
    has sixty wrong ones an hour for all names that were never right there, and one check at a
    time of these: who invents names fills no lane. With `guessable`, addresses at which a name
    was never right have sixty wrong ones an hour for it, all of them together, so that half of
    the PINs of six digits take a year. Meanwhile its operator needs a session, or an address that
    is known.
    """

    def __init__(
        self,
        name: str,
        proxies: Iterable[Network] = (),
        *,
        guessable: bool,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._proxies = tuple(proxies)
        self._strangers, self._known_lane = _Lane(f"{name}-strangers"), _Lane(f"{name}-known")
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._limits = [WrongAttempts(*each, monotonic) for each in (_PER_MINUTE, _PER_HOUR)]
        self._of_address = WrongAttempts(*_OF_STRANGERS_PER_HOUR, monotonic)
        self._of_strangers = None
        if guessable:
            self._of_strangers = WrongAttempts(*_OF_STRANGERS_PER_HOUR, monotonic)

    def address(self, scope: Scope) -> str:
        """Return the address of a request's client, as `client_network` does."""
        peer = scope["client"][0] if scope.get("client") else ""
        forwarded = [
            value.decode("latin-1")
            for name, value in scope["headers"]
            if name == b"x-forwarded-for"
        ]
        return client_network(peer, forwarded, self._proxies)

    async def check(self, name: str, address: str, is_right: Callable[[], bool]) -> bool:
        """
        Return whether a password is right.

        Args:
            name: Whose password it is.
            address: The client's, as `address` returns it.
            is_right: Checks it, on another thread.

        Raises:
            TooManyError: It was not checked.
        """
        key = (name, address)
        is_known = key in self._known
        limits: list[tuple[WrongAttempts, object]] = [(each, key) for each in self._limits]
        if not is_known:
            limits.append((self._of_address, address))
        if self._of_strangers is not None and not is_known:
            limits.append((self._of_strangers, name))
        if (wait_s := max(limit.wait_s(whose) for limit, whose in limits)) > 0:
            raise TooManyError(wait_s)
        if is_known:
            right = await self._known_lane.run(key, is_right)
        else:
            right = await self._strangers.run(address, is_right)
        if right:
            self._known[key] = None
            self._known.move_to_end(key)
            while len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)
            return True
        for limit, whose in limits:
            limit.failed(whose)
        return False

    async def check_of_session(self, is_right: Callable[[], bool]) -> bool:
        """Return whether the PIN of a running session is right, however many strangers guess."""
        return await self._known_lane.run(object(), is_right)

    def close(self) -> None:
        """Check no more."""
        self._strangers.close()
        self._known_lane.close()


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
