"""
Passwords and PINs: their argon2 hashes, and the wait after wrong ones.

argon2-cffi is an extra and is imported when it is needed.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable

from shoe_daemon.errors import UserError


class WrongAttempts:
    """
    The wait after wrong passwords: of each key at most `limit` in any `window_s` seconds.

    A wait is never longer than `window_s`. A right password does not end it: otherwise each
    log-in of the operator would give somebody else as many guesses again. Keys are forgotten after
    their window, so that the number of checks, which take a tenth of a second each, bounds theirs.
    """

    def __init__(
        self, limit: int, window_s: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._monotonic = monotonic
        self._wrong_at: OrderedDict[Hashable, list[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._wrong_at)

    def wait_s(self, key: Hashable) -> float:
        """Return the seconds until the next attempt is allowed; 0 for now."""
        times = self._wrong_at.get(key)
        if times is None or len(times) < self._limit:
            return 0.0
        return max(0.0, times[0] + self._window_s - self._monotonic())

    def failed(self, key: Hashable) -> None:
        """Count a wrong password."""
        now = self._monotonic()
        times = self._wrong_at.setdefault(key, [])
        times.append(now)
        del times[: -self._limit]
        self._wrong_at.move_to_end(key)
        while next(iter(self._wrong_at.values()))[-1] <= now - self._window_s:
            self._wrong_at.popitem(last=False)


def require_argon2(message: str) -> None:
    """
    Check that argon2-cffi is installed.

    Raises:
        UserError: It is not; with this message.
    """
    try:
        import argon2  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise UserError(message) from error


def hash_password(password: str) -> str:
    """Return the hash of a password."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra

    return PasswordHasher().hash(password)


def verify_password(password_hash: str, password: str | bytes) -> bool:
    """Return whether a password is the one of a hash; takes a tenth of a second."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra
    from argon2.exceptions import VerificationError  # noqa: PLC0415 - an extra

    try:
        return PasswordHasher().verify(password_hash, password)
    except VerificationError:
        return False


def is_hash(text: str) -> bool:
    """Return whether a text is an argon2 hash."""
    from argon2 import extract_parameters  # noqa: PLC0415 - an extra

    try:
        return extract_parameters(text).hash_len > 0
    except ValueError:
        return False
