"""The largest packet that the broker accepts: announced (MQTT 5), or inferred. Pure."""

from __future__ import annotations

from typing import Final

_CLOSED_TIMES: Final = 3
"""From so many connections in a row on that ended at one message, its size is the cause."""


class PacketLimit:
    """
    Infers a limit that the broker does not announce: it ends connection after connection while
    the same message is the largest one without an answer.

    Answers to smaller ones may be lost with the connection, so the oldest message without an
    answer is not always the cause.

    An inferred limit is forgotten after `retry_s`, because the broker may have been changed.
    """

    def __init__(self, retry_s: float) -> None:
        self._retry_s = retry_s
        self._topic: str | None = None
        self._times = 0
        self._inferred: int | None = None
        self._until = 0.0

    def at(self, now: float, announced: int | None) -> int | None:
        """Return the limit in bytes at this moment (monotonic); None without one."""
        if self._inferred is None or now >= self._until:
            return announced
        return self._inferred if announced is None else min(self._inferred, announced)

    def accepted(self, topic: str) -> None:
        """Note that the broker has answered a message."""
        if topic == self._topic:
            self._topic = None

    def unreachable(self) -> None:
        """Note that the broker could not be reached: it ended by itself."""
        self._topic = None

    def closed(self, topic: str, size: int, now: float, *, certain: bool = False) -> bool:
        """
        Note that the broker has closed the connection, and the largest message without an answer;
        `certain` if it named the size as the reason. Return whether the size is the likely cause.
        """
        self._times = self._times + 1 if topic == self._topic else 1
        self._topic = topic
        if certain or self._times >= _CLOSED_TIMES:
            self._topic, self._inferred, self._until = None, size - 1, now + self._retry_s
        return certain or self._times > 1
