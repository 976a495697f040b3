"""The table's own `status`, as the broker has it: pure; times are arguments, monotonic."""

from __future__ import annotations

from typing import Final

import msgspec

from shoe_daemon.mqtt.document_contents import Status

_MIN_INTERVAL_S: Final = 5.0
_MAX_EARLIER: Final = 100

_decode = msgspec.json.Decoder(Status).decode


def read_status(payload: bytes) -> Status | None:
    """Return a `status`; None where the payload is no such document."""
    try:
        return _decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None


class OwnStatus:
    """
    Decides when to publish `status` again because another message has taken its place, such as
    the last will of an earlier connection, which a broker that hung publishes late.

    A broker sends the messages of a topic in their order. So whatever follows our own ``online``,
    as the broker sends it to us, has replaced it until our own comes again.

    Attributes:
        foreign: The session of another daemon that is online as this table; None if none is
            known. It is not contradicted, as it would contradict in turn.
    """

    def __init__(self, session: str) -> None:
        self.foreign: str | None = None
        self._session = session
        self._earlier: set[str] = set()
        self._ever_published = False
        self._is_published = False
        self._is_replaced = False
        self._not_before = 0.0

    def begin(self) -> None:
        """Begin a connection."""
        self._is_published = self._is_replaced = False
        self.foreign = None

    def receive(self, payload: bytes) -> None:
        """Note a message on the topic, retained or not."""
        status = read_status(payload)
        session = None if status is None else status.session
        is_online = status is not None and status.state == "online"
        if is_online and session == self._session:
            self._is_published = self._ever_published = True
            self._is_replaced = False
        elif not self._ever_published:
            # Whatever came before the first `online` of this start is of an earlier one.
            if session and len(self._earlier) < _MAX_EARLIER:
                self._earlier.add(session)
        elif is_online and session not in self._earlier:
            self.foreign = session
        elif self._is_published:
            self._is_replaced = True
            if session == self.foreign:
                self.foreign = None

    def is_due(self, now: float) -> bool:
        """Return whether to publish again now; if so, it counts as done."""
        if not self._is_replaced or now < self._not_before:
            return False
        self._is_replaced = self._is_published = False
        self._not_before = now + _MIN_INTERVAL_S
        return True
