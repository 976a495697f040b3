"""Begins and ends the clips of disputes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from drivers import Frame, FrameKind
from shoe_daemon.journal.clips import WITNESS_PREFIX, is_witness
from shoe_daemon.service.part import Part, Surroundings
from shoe_daemon.table import (
    CardCorrected,
    Event,
    Irregularity,
    ResultRevised,
    RoundHeld,
    RoundVoided,
    StaffIrregularity,
)
from shoe_daemon.witness.config import MISSING_VIDEO_PACKAGES
from shoe_daemon.witness.span import Cause

if TYPE_CHECKING:
    from drivers import VideoFrame
    from shoe_daemon.witness.thread import Witnesses

_DISPUTES: Final = (RoundHeld, RoundVoided, ResultRevised, CardCorrected)
"""Events that are a cause for a clip, besides irregularities."""


def make(daemon: Surroundings) -> Part | None:
    """Return the witnesses, if some are configured."""
    config = daemon.setup.config
    if not config.witness:
        return None
    try:
        # Tables without a witness need neither OpenCV nor its memory.
        from shoe_daemon.witness.thread import Witnesses  # noqa: PLC0415
    except ImportError:
        missing = Part()
        missing.alerts = (f"no clips: {MISSING_VIDEO_PACKAGES}",)
        return missing

    drivers = {each.id: each.driver for each in daemon.setup.readers}

    def record(name: str, line: bytes) -> None:
        frame = Frame(line, FrameKind.FRAME, (), time.monotonic())
        daemon.put(f"{WITNESS_PREFIX}{name}", frame)

    def share_frames(reader: str, receive: Callable[[VideoFrame], None]) -> None:
        drivers[reader].share_frames(receive)

    places = (daemon.setup.beside, daemon.setup.journal)
    label = f"{config.site}.{config.table.id}"
    return _Witnesses(daemon, Witnesses(config.witness, places, label, record, share_frames))


class _Witnesses(Part):
    name = "witnesses"

    def __init__(self, daemon: Surroundings, witnesses: Witnesses) -> None:
        self._daemon = daemon
        self._witnesses = witnesses
        self._was_on_hold = False

    @property
    def working(self) -> Mapping[str, bool]:
        return self._witnesses.working

    def start(self) -> None:
        """Start, and begin clips of what was undecided when the daemon started."""
        alerts = self._daemon.core.table.state.alerts
        self._follow(
            [Cause(each.data.kind, each.data.id, each.shoe, each.round) for each in alerts]
        )
        self._witnesses.start()

    def on_frames(self, frames: Sequence[tuple[str, Frame]]) -> None:
        for source, frame in frames:
            if is_witness(source):
                self._witnesses.recorded(frame.raw)

    def on_events(self, events: Sequence[Event]) -> None:
        self._follow([_cause(each) for each in events if _is_dispute(each)])
        self.check()

    def check(self) -> None:
        """Begin a clip when the table is put on hold, which is no event, and note its end."""
        state = self._daemon.core.table.state
        if state.on_hold is not self._was_on_hold:
            self._was_on_hold = state.on_hold
            round_ = state.round.number if state.round else None
            cause = Cause("on_hold", state.seq, state.shoe.number if state.shoe else None, round_)
            self._follow([cause] if state.on_hold else [])
        self.alerts = self._witnesses.alerts

    def stop(self) -> None:
        self._witnesses.stop()

    def _follow(self, causes: list[Cause]) -> None:
        state = self._daemon.core.table.state
        undecided = bool(state.alerts or state.held or state.on_hold)
        self._witnesses.follow(causes, undecided=undecided)


def _is_dispute(event: Event) -> bool:
    return isinstance(event.data, (Irregularity, StaffIrregularity, *_DISPUTES))


def _cause(event: Event) -> Cause:
    data = event.data
    if isinstance(data, Irregularity | StaffIrregularity):
        return Cause(data.kind, data.id, event.shoe, event.round)
    return Cause(event.type, event.seq, event.shoe, event.round)
