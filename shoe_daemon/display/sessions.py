"""
Sessions of operators who are logged in to the pit.

A session is a random token that only the browser has; here lies its digest. It ends after five
minutes without a request, after twelve hours, after six wrong PINs, at log-out, and when the
operator is removed.
"""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

IDLE_S: Final = 300.0
LONGEST_S: Final = 12 * 3600.0
MAX_SESSIONS: Final = 200
"""Of these the one that was idle longest makes room for a new one."""

MAX_SENT: Final = 50
MAX_WRONG_PINS: Final = 6
_TOKEN_BYTES: Final = 32


@dataclass(slots=True)
class OperatorSession:
    """
    One operator at one browser.

    Attributes:
        operator: The name, as in the operators file.
        csrf_token: The page sends it back with every order; a foreign page cannot read it.
        began: Monotonic seconds.
        last_used: Monotonic seconds of its last request.
        wrong_pins: Wrong PINs that it has sent.
        sent: Digests of the commands sent last, by id: only the same one may be sent again
            without the PIN.
    """

    operator: str
    began: float
    last_used: float
    wrong_pins: int = 0
    csrf_token: str = field(
        default_factory=lambda: secrets.token_urlsafe(_TOKEN_BYTES), repr=False
    )
    sent: OrderedDict[str, bytes] = field(default_factory=OrderedDict)

    def note_sent(self, command_id: str, command: bytes) -> None:
        """Note a command, without its PIN, whose PIN was right."""
        self.sent[command_id] = hashlib.sha256(command).digest()
        while len(self.sent) > MAX_SENT:
            self.sent.popitem(last=False)

    def was_sent(self, command_id: str, command: bytes) -> bool:
        """Return whether exactly this command was sent before."""
        return self.sent.get(command_id) == hashlib.sha256(command).digest()

    def ends_in(self, now: float) -> float:
        """Return the seconds until it ends, if no request comes."""
        return min(self.last_used + IDLE_S, self.began + LONGEST_S) - now


class OperatorSessions:
    """All sessions of one display; for one thread."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._by_digest: OrderedDict[bytes, OperatorSession] = OrderedDict()

    def __len__(self) -> int:
        return len(self._by_digest)

    def begin(self, operator: str) -> tuple[str, OperatorSession]:
        """Begin a session; return the browser's token with it."""
        token, now = secrets.token_urlsafe(_TOKEN_BYTES), self._monotonic()
        session = OperatorSession(operator, now, now)
        self._by_digest[_digest(token)] = session
        while len(self._by_digest) > MAX_SESSIONS:
            self._by_digest.popitem(last=False)
        return token, session

    def find(self, token: str | None, *, used: bool = True) -> OperatorSession | None:
        """
        Return the session of a token; None where there is none, or where it has ended.

        Args:
            token: From the browser.
            used: Whether the operator did something: only that keeps the session from ending.
        """
        if token is None:
            return None
        digest, now = _digest(token), self._monotonic()
        session = self._by_digest.get(digest)
        if session is None:
            return None
        if session.ends_in(now) <= 0:
            del self._by_digest[digest]
            return None
        if used:
            session.last_used = now
            self._by_digest.move_to_end(digest)
        return session

    def end(self, token: str | None) -> None:
        """End the session of a token."""
        if token is not None:
            self._by_digest.pop(_digest(token), None)


def _digest(token: str) -> bytes:
    # A look-up by digest takes the same time for every wrong token.
    return hashlib.sha256(token.encode()).digest()
