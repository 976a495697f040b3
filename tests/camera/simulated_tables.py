"""Small simulated tables for tests: quick deals, few and small frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from drivers.simulators.camera.scene import Scene, Shot, Truth
from drivers.simulators.camera.settings import SceneFault, Settings, Station

__all__ = ["mouth", "settings", "shots", "table"]

_SMALL = {"width": 640, "height": 360, "pause": 0.0, "rounds": 1}


def settings(**wishes: Any) -> Settings:  # noqa: ANN401 - settings, by their names
    return Settings(**{**_SMALL, "fps": 8.0, **wishes})


def table(trouble: SceneFault | None = None, **wishes: Any) -> Scene:  # noqa: ANN401 - as above
    faults = {} if trouble is None else {"faults": (trouble,), "fault_rate": 1.0}
    return Scene(settings(**faults, **wishes))


def mouth(trouble: SceneFault | None = None, **wishes: Any) -> Scene:  # noqa: ANN401 - as above
    return table(trouble, station=Station.THROAT, **{"fps": 50.0, **wishes})


def shots(
    scene: Scene, wanted: Callable[[Truth], bool] = lambda _: True, most: int = 1000
) -> list[Shot]:
    """Take the requested frames."""
    found: list[Shot] = []
    number = 0
    while len(found) < most:
        at = number / scene.settings.fps
        shot = scene.shot(at, draw=False)
        if shot is None:
            break
        if wanted(shot.truth):
            taken = scene.shot(at)
            assert taken is not None
            found.append(taken)
        number += 1
    return found
