"""The way of each card through the daemon, in the log at level debug."""

from __future__ import annotations

import time
from collections.abc import Sequence

import structlog

from drivers import Frame
from shoe_daemon.logs import is_debugging
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import Event, encode_event, encode_observation

_log = structlog.get_logger(__name__)


class Trace(Part):
    """
    Logs frames, their observations, and events once they are on disk; `ms` is the time since the
    last byte was received.

    The publisher logs the documents. Faces are in the log before the table shows them.
    """

    def on_frames(self, frames: Sequence[tuple[str, Frame]]) -> None:
        """Log what was read."""
        for source, frame in frames:
            _log.debug(
                "frame_read",
                reader=source,
                kind=str(frame.kind),
                bytes=frame.raw,
                ms=round((time.monotonic() - frame.received) * 1000, 1),
                **({"note": frame.note} if frame.note else {}),
            )
            for observation in frame.observations:
                _log.debug("observation_decoded", text=encode_observation(observation).decode())

    def on_events(self, events: Sequence[Event]) -> None:
        """Log what follows from it."""
        for event in events:
            _log.debug("event_recorded", text=encode_event(event).decode())


def make(_surroundings: Surroundings) -> Trace | None:
    """Return the part where the log has level debug."""
    return Trace() if is_debugging() else None
