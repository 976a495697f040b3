"""
The retained documents that wait to be sent: of each the newest, and when it is
sent, made for that moment.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import NamedTuple

__all__ = ["Document", "Shelf"]

Document = bytes | Callable[[str], bytes]
"""A payload, or what makes it for a moment of publication (RFC 3339)."""


class _Kept(NamedTuple):
    document: Document
    seq: int


class Shelf:
    """
    The documents of one table; filled by any thread, emptied by the publisher's.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._all: dict[str, _Kept] = {}
        self._fresh: dict[str, None] = {}

    def __len__(self) -> int:
        """
        How many are not sent.
        """
        return len(self._fresh)

    def put(self, suffix: str, document: Document, seq: int) -> None:
        """
        Lay a document down in place of the one of the same name.
        """
        with self._lock:
            self._all[suffix] = _Kept(document, seq)
            self._fresh[suffix] = None

    def again(self, suffix: str | None = None) -> None:
        """
        Mark one document, or all of them, as not sent.
        """
        with self._lock:
            names = self._all if suffix is None else [n for n in (suffix,) if n in self._all]
            self._fresh.update(dict.fromkeys(names))

    def drop(self, suffix: str) -> None:
        """
        Forget a document; what the broker has of it stays.
        """
        with self._lock:
            self._all.pop(suffix, None)
            self._fresh.pop(suffix, None)

    def fresh(self) -> list[tuple[str, int]]:
        """
        Return name and seq of what is not sent.
        """
        with self._lock:
            return [(name, self._all[name].seq) for name in self._fresh]

    def take(self, suffix: str) -> tuple[Document, int] | None:
        """
        Return a document that is not sent, and its seq, and count it as sent;
        None if there is none.
        """
        with self._lock:
            if suffix not in self._fresh:
                return None
            del self._fresh[suffix]
            return self._all[suffix]
