"""
Which tables the broker has anything of, found out anew over every connection. Pure.

A broker does not say when it has sent all that it had kept. Some send it before they
answer a subscription, some after, and most no more at a time than is acknowledged. So
a silence is waited for, then a small part is asked for again: that is answered only by
a broker that is alive, over a line that is. A silence after the answer is the end.

It may still be wrong, of a broker that thinks for long. That does no lasting harm: what
comes late makes its table known again.
"""

from __future__ import annotations

from typing import Final

__all__ = ["Census"]

QUIET: Final = 2.0
"""Seconds without a copy that the broker had kept."""

_ASKS: Final = 2
_MOST: Final = 100_000
"""Tables are no more; somebody is making them up."""


class Census:
    """
    The census of one connection.

    Args:
        prefix: What stands before the site in every topic.
        quiet: How long a silence is one.
    """

    def __init__(self, prefix: str, quiet: float = QUIET) -> None:
        self._start = len(prefix) + 1
        self._quiet = quiet
        self._there: set[str] = set()
        self._over = False
        self._answers = 0
        self._since: float | None = None

    def note(self, topic: str, payload: bytes, *, retained: bool, now: float) -> None:
        """
        Take note of a message; one that clears its topic says nothing.
        """
        if self._over or not payload:
            return
        site, _, rest = topic[self._start :].partition("/")
        self._there.add(f"{site}.{rest.partition('/')[0]}")
        if retained and self._since is not None:
            self._since = now
        if len(self._there) > _MOST:
            self.give_up()

    def answered(self, now: float) -> None:
        """
        All that was asked for has been granted.
        """
        self._answers += 1
        self._since = now

    def give_up(self) -> None:
        """
        Nothing can be concluded over this connection.
        """
        self._over = True
        self._there.clear()

    def is_to_ask(self, now: float) -> bool:
        """
        Tell whether to ask again: once, after the first silence.
        """
        if self._answers >= _ASKS or not self._is_quiet(now):
            return False
        self._since = None
        return True

    def result(self, now: float) -> frozenset[str] | None:
        """
        Return the keys of all tables of which there is anything, once; None before and after.
        """
        if self._answers < _ASKS or not self._is_quiet(now):
            return None
        self._over = True
        there, self._there = frozenset(self._there), set()
        return there

    def _is_quiet(self, now: float) -> bool:
        return not self._over and self._since is not None and now - self._since >= self._quiet
