"""The table's own documents, as the broker has them: pure; times are arguments, monotonic."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from shoe_daemon.mqtt.documents import Status
from shoe_daemon.mqtt.queues import ErrorHandler
from shoe_daemon.mqtt.topics import SIGNATURE, STATUS

Compare = Callable[[Mapping[str, bytes]], bool]
"""
Compares what the broker had retained, by the document's name, with the journal. True lets the
publisher begin; otherwise it waits for `Publisher.begin`.
"""

OWN_DOCUMENTS: Final = (STATUS, SIGNATURE)
"""What is compared."""

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


class Comparison:
    """
    Compares what the broker had retained before this start with the journal, once.

    Attributes:
        may_publish: The journal was compared, and may be published.
        skip_to: Events up to this one are not published; None publishes all.
    """

    def __init__(self, compare: Compare | None, session: str, on_error: ErrorHandler) -> None:
        self.may_publish = compare is None
        self.skip_to: int | None = None
        self._compare = compare
        self._session = session
        self._on_error = on_error
        self._copies: dict[str, bytes] = {}

    @property
    def is_done(self) -> bool:
        """True if the copies were compared; the result may still be awaited."""
        return self._compare is None

    @property
    def is_complete(self) -> bool:
        """True if every document was received."""
        return all(name in self._copies for name in OWN_DOCUMENTS)

    def receive(self, name: str, payload: bytes) -> None:
        """Note a document that the broker had retained."""
        if name == STATUS:
            status = read_status(payload)
            # The will of a connection that was lost before the comparison is no copy.
            if status is None or status.session == self._session:
                return
        self._copies[name] = payload

    def run(self) -> None:
        """Compare."""
        compare, self._compare = self._compare, None
        if compare is None:
            return
        try:
            self.may_publish = compare(self._copies)
        except Exception as error:  # noqa: BLE001 - a table without displays is worse
            self._on_error("copies_not_compared", error)
            self.may_publish = True
