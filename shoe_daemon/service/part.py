"""The protocol of a part of the daemon: something that follows the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, NamedTuple

from drivers import Frame, Reader
from shoe_daemon.config.table import Setup
from shoe_daemon.mqtt.publisher import Publisher
from shoe_daemon.service.core import Core
from shoe_daemon.service.state import StatePublisher
from shoe_daemon.table import Event


class Surroundings(NamedTuple):
    """
    What a part may use.

    Attributes:
        session: The id of this run of the daemon.
        put: Puts a frame of a source into the journal; from any thread.
        waiting: Returns the number of frames and commands that are not yet processed.
        parts: All parts; complete once they have started.
    """

    setup: Setup
    core: Core
    state: StatePublisher
    readers: Sequence[Reader]
    publisher: Publisher | None
    session: str
    put: Callable[[str, Frame], None]
    waiting: Callable[[], int]
    parts: Sequence[Part]


class Part:
    """
    A part of the daemon; it changes neither the table nor the journal by itself.

    Every method is called on the core's thread and returns at once: what takes time belongs on a
    thread of the part. The defaults do nothing.

    Attributes:
        name: The key of its things in the metrics.
        alerts: One sentence for each fault, for the unit's status and the pit.
    """

    name: ClassVar[str] = ""
    alerts: Sequence[str] = ()

    @property
    def working(self) -> Mapping[str, bool]:
        """Whether each of its things works, by id."""
        return {}

    def start(self) -> None:
        """Start, before anything is written to the journal."""

    def on_frames(self, frames: Sequence[tuple[str, Frame]]) -> None:
        """React to frames that are on disk now, with their sources."""

    def on_events(self, events: Sequence[Event]) -> None:
        """React to events that are on disk; to none after a command or a change of the alarm."""

    def check(self) -> None:
        """Do what is due; called several times a second, and not while frames come."""

    def stop(self) -> None:
        """End; what it puts into the journal now is still written."""
