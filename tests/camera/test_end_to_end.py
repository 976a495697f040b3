"""
A simulated shoe before a simulated camera, through the recogniser to a table: every round is
exact, or marked as uncertain.
"""

from __future__ import annotations

from pathlib import Path

from drivers.camera.image import VideoFrame
from drivers.camera.line import make_station
from drivers.camera.options import CameraOptions
from drivers.camera.profile.file import load_profile
from drivers.camera.sources.capture import FrameCheck
from drivers.simulators.camera.scene import Scene
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.transport import LineError
from shoe_daemon.table.observations import TableCleared
from tests.camera.event_comparison import Judged, hands
from tests.camera.profiles import simulated_profile


def played(settings: Settings, folder: Path) -> tuple[Judged, list[tuple[object, ...]]]:
    """Play all rounds; return the table, and the hands that were dealt."""
    profile = load_profile(simulated_profile(settings, folder))
    options = CameraOptions(station=settings.station.value)
    station, judge = make_station(profile, options, None), FrameCheck("sim", (1280, 720))
    table, dealt, now = Judged(), [], 0.0
    for number, shot in enumerate(Scene(settings).frames()):
        now = shot.at
        if shot.truth.finished is not None:
            dealt.append(hands(shot.truth.finished))
        if shot.image is None:
            continue
        try:
            judge.check(shot.image, now)
            table.say(station.process(VideoFrame(shot.image, now, number)), now)
        except LineError:
            table.lost(now)
            station, judge = make_station(profile, options, None), FrameCheck("sim", (1280, 720))
    table.say(station.finish(), now)
    table.observe(TableCleared(), now + 60)
    return table, dealt  # type: ignore[return-value]


def test_no_round_is_silently_wrong(tmp_path: Path) -> None:
    settings = Settings(
        station=Station.THROAT,
        seed=3,
        rounds=1,
        pause=0.1,
        faults=(SceneFault.DOUBLE_FEED,),
        fault_rate=1.0,
    )
    table, dealt = played(settings, tmp_path)
    assert all(wrong or found in dealt for found, wrong in table.rounds())
    assert any(event.type == "irregularity" for event in table.events)
