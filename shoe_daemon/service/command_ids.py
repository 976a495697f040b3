"""The ids of the commands of the last day: a command is carried out at most once."""

from __future__ import annotations

from collections import Counter, deque
from typing import Final, NamedTuple

from shoe_daemon.mqtt.document_contents import Earlier

KEPT_S: Final = 24 * 3600.0
"""
Seconds for which an id is remembered, by the monotonic clock: `expires_at` is compared with the
wall clock, which may be set back.
"""

MAX_IDS: Final = 50_000
MAX_UNPROVED_IDS: Final = 40_000
"""With so many, a command without the right PIN is refused."""

MAX_IDS_OF_VERB: Final = 10_000
"""With so many of its verb, likewise: a flood of one verb leaves room for the others."""


class _Place(NamedTuple):
    """The place of a command until a moment; an invalid command without an id takes one too."""

    until: float
    verb: str
    id: str | None


class CommandIds:
    """The ids of the last day with their results; times are monotonic seconds."""

    def __init__(self) -> None:
        self._earlier: dict[str, Earlier] = {}
        self._places: deque[_Place] = deque()
        self._of_verb: Counter[str] = Counter()

    def find(self, command_id: str | None, now: float) -> Earlier | None:
        """Return the result of the command with this id; None for a new id."""
        self._forget(now)
        return None if command_id is None else self._earlier.get(command_id)

    def has_room(self, verb: str, now: float, *, proved: bool) -> bool:
        """Return whether another command may be judged; `proved` by the operator's PIN."""
        self._forget(now)
        places = len(self._places)
        if proved:
            return places < MAX_IDS
        return places < MAX_UNPROVED_IDS and self._of_verb[verb] < MAX_IDS_OF_VERB

    def add(
        self, verb: str, command_id: str | None, earlier: Earlier, now: float, age_s: float = 0.0
    ) -> None:
        """Remember a command that was judged `age_s` ago; the oldest is added first."""
        self._places.append(_Place(now + KEPT_S - age_s, verb, command_id))
        self._of_verb[verb] += 1
        if command_id is not None:
            self._earlier.setdefault(command_id, earlier)

    def _forget(self, now: float) -> None:
        while self._places and self._places[0].until <= now:
            _, verb, command_id = self._places.popleft()
            self._of_verb[verb] -= 1
            if command_id is not None:
                self._earlier.pop(command_id, None)
