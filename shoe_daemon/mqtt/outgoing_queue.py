"""
What is to be sent next, and what the broker has taken: the publisher's memory.

No thread, no socket, no clock: moments come in. Up to a window of messages are
unacknowledged. An answer or a retained document of seq N goes after the events
up to N, and where events cannot flow, or there are days of them, neither waits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from shoe_daemon.mqtt.event_queue import Lane, Sent, Trouble
from shoe_daemon.mqtt.reply_queue import Letter, Letters, Rerun
from shoe_daemon.mqtt.retained_queue import Shelf
from shoe_daemon.mqtt.timeouts import Pace, Refusals
from shoe_daemon.mqtt.topics import STATUS, Topics

__all__ = ["REFUSED", "Outgoing", "Pipeline"]

REFUSED: Final = 0x80
"""Answers from this on are refusals."""

_NOBODY: Final = 16
_WINDOW: Final = 20

_BACKLOG: Final = 1000
"""With more events than this to catch up on, displays are served first."""


_RERUN_WINDOW: Final = 10
"""What is published again leaves so much of the window to what is new."""


class Outgoing(NamedTuple):
    """
    One message to send.

    Attributes:
        suffix: Of a document; None for an event and a letter.
        letter: It is this one; None for an event and a document.
    """

    topic: str
    payload: bytes
    seq: int
    suffix: str | None
    letter: Letter | None = None


class Pipeline:
    """
    Decides what goes next; used by the publisher's thread alone.

    Attributes:
        listened: Whether anybody listens to our events; None where the broker
            does not tell.
        in_haste: A stop has little time left: answers and documents do not wait for
            the events before them, and the events are left to the next start.
        status_first: A stop is near: `status` overtakes everything.
        status_only: A stop is here: nothing but `status` is sent.
    """

    def __init__(  # noqa: PLR0913 - what it works with is told once, by name
        self,
        topics: Topics,
        lane: Lane,
        shelf: Shelf,
        *,
        letters: Letters,
        rerun: Rerun,
        pace: Pace,
        moment: Callable[[], str],
        trouble: Trouble,
    ) -> None:
        self.listened: bool | None = None
        self.in_haste = False
        self.status_first = False
        self.status_only = False
        self._topics = topics
        self._lane = lane
        self._shelf = shelf
        self._letters = letters
        self._rerun = rerun
        self._pace = pace
        self._moment = moment
        self._trouble = trouble
        self._limit = _WINDOW
        self._flight: dict[int, tuple[Outgoing, Sent | None]] = {}
        self._refusals: dict[str, Refusals] = {}

    def begin(self, receive_maximum: int | None) -> None:
        """
        A new session: what was in flight in the old one counts as not sent.
        """
        self._limit = min(_WINDOW, receive_maximum or _WINDOW)
        flight = [message for message, _ in self._flight.values()]
        self._letters.again(m.letter for m in flight if m.letter is not None)
        self._flight.clear()
        self._refusals.clear()
        self._lane.begin()

    @property
    def in_flight(self) -> int:
        """
        How many messages the broker has not acknowledged.
        """
        return len(self._flight)

    @property
    def drained(self) -> bool:
        """
        Whether everything was sent and acknowledged.
        """
        return not (self._flight or self._lane.queued or len(self._shelf) or len(self._letters))

    @property
    def refused(self) -> bool:
        """
        Whether the broker has refused something and not taken it since.
        """
        return self._lane.refused or bool(self._refusals)

    def served(self, now: float) -> bool:
        """
        Whether every document was sent that the broker will take.
        """
        return not any(self._may_try(suffix, now) for suffix, _ in self._shelf.fresh())

    def next(self, now: float) -> Outgoing | None:
        """
        Return the message to send now, or None.
        """
        if len(self._flight) >= self._limit:
            return None
        if self.status_first and self._may_try(STATUS, now) and (status := self._build(STATUS)):
            return status
        if self.status_only:
            return None
        if self._displays_first and (message := self._next_aside(now)):
            return message
        if self.in_haste:
            return None
        return self._next_event(now) or self._next_aside(now) or self._next_again()

    def wake_at(self, now: float) -> float:
        """
        Return when to ask again though nothing has happened.
        """
        moments = [self._lane.wake_at, *(refusals.until for refusals in self._refusals.values())]
        return min((moment for moment in moments if moment > now), default=now + 60)

    def sent(self, message: Outgoing, mid: int) -> None:
        """
        The message is on its way under this number.
        """
        is_event = message.suffix is None and message.letter is None
        entry = self._lane.sent(message.seq) if is_event else None
        self._flight[mid] = (message, entry)

    def acknowledged(self, mid: int, reason: int, now: float) -> Outgoing | None:
        """
        The broker has answered; return the message that it answered.
        """
        message, entry = self._flight.pop(mid, (None, None))
        if message is None:
            return None
        if message.suffix is not None:
            self._document_answered(message.suffix, reason, now)
        elif entry is not None:
            self._event_answered(entry, reason, now)
        return message

    def _event_answered(self, entry: Sent, reason: int, now: float) -> None:
        if reason >= REFUSED:
            self._lane.refuse(now)
        else:
            self.listened = reason != _NOBODY
            self._lane.acknowledged(entry)

    def _document_answered(self, suffix: str, reason: int, now: float) -> None:
        if reason >= REFUSED:
            self._refusals.setdefault(suffix, Refusals(self._pace)).note(now)
            self._shelf.again(suffix)
        else:
            self._refusals.pop(suffix, None)

    def _next_event(self, now: float) -> Outgoing | None:
        event = self._lane.next(now)
        if event is None:
            return None
        return Outgoing(self._topics.event(event.type), event.body, event.seq, None)

    @property
    def _displays_first(self) -> bool:
        """
        Whether the events that wait would hold answers and documents up for too long.
        """
        return self.in_haste or self._lane.backlog > _BACKLOG

    def _next_aside(self, now: float) -> Outgoing | None:
        at_once = self._lane.blocked or self._displays_first
        letter = self._letters.next(self._lane.last_sent, at_once=at_once)
        return _in_envelope(letter) or self._next_document(now, at_once=at_once)

    def _next_again(self) -> Outgoing | None:
        if len(self._flight) >= min(_RERUN_WINDOW, self._limit) or self.status_first:
            return None
        return _in_envelope(self._rerun.next())

    def _next_document(self, now: float, *, at_once: bool) -> Outgoing | None:
        if not len(self._shelf):
            return None
        lane = self._lane
        for suffix, seq in self._shelf.fresh():
            if (at_once or seq <= lane.last_sent) and self._may_try(suffix, now):
                message = self._build(suffix)
                if message is not None:
                    return message
        return None

    def _may_try(self, suffix: str, now: float) -> bool:
        refusals = self._refusals.get(suffix)
        return refusals is None or refusals.until <= now

    def _build(self, suffix: str) -> Outgoing | None:
        waiting = self._shelf.take(suffix)
        if waiting is None:
            return None
        document, seq = waiting
        try:
            payload = document if isinstance(document, bytes) else document(self._moment())
        except Exception as error:  # noqa: BLE001 - one bad document must not stop the others
            self._trouble(f"{suffix} cannot be built", error)
            return None
        return Outgoing(self._topics.retained(suffix), payload, seq, suffix)


def _in_envelope(letter: Letter | None) -> Outgoing | None:
    if letter is None:
        return None
    return Outgoing(letter.topic, letter.payload, letter.seq, None, letter)
