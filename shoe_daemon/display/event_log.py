"""
The latest events of one table, and what all tables together weigh.
"""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["Events", "Scale"]


class Scale:
    """
    How many bytes all tables together hold, and may hold.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._held = 0

    def add(self, size: int) -> None:
        """
        So much more is held; less, where it is negative.
        """
        self._held += size

    def bears(self, size: int) -> bool:
        """
        Tell whether so much more may be held.
        """
        return self._held + size <= self.most


class Events:
    """
    Events by their numbers, oldest first; what finds no room falls out at the old end.

    Args:
        count: The most that are kept.
        size: The most bytes of all of them.
        scale: Weighs them with all others.
    """

    def __init__(self, count: int, size: int, scale: Scale) -> None:
        self._count, self._most, self._scale = count, size, scale
        self._by_seq: dict[int, bytes] = {}
        self._size = 0

    def __len__(self) -> int:
        return len(self._by_seq)

    def __iter__(self) -> Iterator[int]:
        return iter(self._by_seq)

    @property
    def json(self) -> list[bytes]:
        """
        Every event's JSON.
        """
        return list(self._by_seq.values())

    @property
    def last(self) -> int:
        """
        The number of the last one; 0 before the first.
        """
        return next(reversed(self._by_seq), 0)

    def add(self, seq: int, json: bytes) -> bool:
        """
        Keep an event; tell whether it is news: neither known nor older than all.
        """
        if seq in self._by_seq or (self._by_seq and seq < next(iter(self._by_seq))):
            return False
        in_order = seq > self.last
        self._by_seq[seq] = json
        self._weigh(len(json))
        if not in_order:
            self._by_seq = dict(sorted(self._by_seq.items()))
        while self._by_seq and self._is_too_much():
            self._weigh(-len(self._by_seq.pop(next(iter(self._by_seq)))))
        return True

    def clear(self) -> None:
        """
        Forget all.
        """
        self._weigh(-self._size)
        self._by_seq.clear()

    def _is_too_much(self) -> bool:
        over = len(self._by_seq) > self._count or self._size > self._most
        return over or not self._scale.bears(0)

    def _weigh(self, size: int) -> None:
        self._size += size
        self._scale.add(size)
