"""
Passwords and PINs: their argon2 hashes, and the wait after wrong ones.

argon2-cffi is an extra and is imported when it is needed.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from shoe_daemon.errors import UserError
from shoe_daemon.retry_and_log_limits import exponential_delay

_MAX_NAMES: Final = 1000


class LoginThrottle:
    """
    The wait after wrong passwords, per name or address.

    From the third wrong password on there is a wait, which doubles with each more.
    The most recent names are kept.
    """

    FREE: Final = 3

    def __init__(
        self,
        first_wait_s: float,
        max_wait_s: float,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._first_wait_s = first_wait_s
        self._max_wait_s = max_wait_s
        self._monotonic = monotonic
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()

    def wait_s(self, name: str) -> float:
        """Return the seconds until the next attempt is allowed; 0 for now."""
        _, until = self._wrong.get(name, (0, 0.0))
        return max(0.0, until - self._monotonic())

    def failed(self, name: str) -> None:
        """Count a wrong password."""
        count = self._wrong.pop(name, (0, 0.0))[0] + 1
        until = 0.0
        if count >= self.FREE:
            wait_s = exponential_delay(self._first_wait_s, self._max_wait_s, count - self.FREE)
            until = self._monotonic() + wait_s
        self._wrong[name] = (count, until)
        while len(self._wrong) > _MAX_NAMES:
            self._wrong.popitem(last=False)

    def succeeded(self, name: str) -> None:
        """Forget the wrong passwords of a name."""
        self._wrong.pop(name, None)


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
