"""
Renders the camera pictures in docs/pictures: what was seen, and what was read.

    python -m tools.make_camera_pictures     all of them anew

The same seeds deal the same cards. The labels in the pictures are the driver's readings.
"""

from __future__ import annotations

import tempfile
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

import cv2
import numpy as np

from drivers.camera.image import Image, VideoFrame
from drivers.camera.line import make_station
from drivers.camera.options import CameraOptions
from drivers.camera.preview import PlaceOverlay, PreviewedStation, PreviewServer, draw_places
from drivers.camera.profile.file import load_profile
from drivers.simulators.camera.files import write_simulated_profile
from drivers.simulators.camera.scene import Scene
from drivers.simulators.camera.settings import SceneFault, Settings, Station

ROOT: Final = Path(__file__).resolve().parent.parent
PICTURES: Final = ROOT / "docs" / "pictures"

_OVERHEAD: Final = Settings(seed=3, rounds=3, fps=20, squeezed=0.5, overlap=0.4)
_DIRTY: Final = Settings(
    seed=11, rounds=2, fps=20, faults=(SceneFault.UNREADABLE,), fault_rate=1.0
)
_THROAT: Final = Settings(seed=5, rounds=1, fps=60, station=Station.THROAT)

_FONT: Final = cv2.FONT_HERSHEY_SIMPLEX
_WIDE: Final = 960
_PATCH: Final = 250
_GAP: Final = 12
_PAPER: Final = (250, 250, 250)
_INK: Final = (30, 30, 30)

Wanted = Callable[[list[PlaceOverlay]], float]


def main() -> None:
    """Render all pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        squeezed, read = _best(_OVERHEAD, folder, _is_busy, _how_many("held"))
        (dirty,) = _best(_DIRTY, folder, _how_many("unreadable"))
        (mouth,) = _best(_THROAT, folder, _how_many("read"), before=12)
        _write("camera-read.jpg", _table([[squeezed, read], [dirty, mouth]]))
        patches = sorted((folder / "evidence").glob("*.jpg"))
        chosen = [each for each in patches if "unread" in each.name][:2]
        chosen += [each for each in patches if "unread" not in each.name][: 8 - len(chosen)]
        strip = [_patch(each) for each in sorted(chosen)]
        _write("camera-evidence.jpg", _table([strip[:4], strip[4:]]))


def _best(settings: Settings, folder: Path, *wanted: Wanted, before: int = 1) -> list[Image]:
    """
    Watch a game and return the best picture for each criterion.

    Of the last `before` pictures the brightest is taken: a reported card has already left.
    """
    place = folder / f"{settings.station}-{settings.seed}"
    profile = load_profile(write_simulated_profile(settings, place))
    options = CameraOptions(station=profile.station)
    station = make_station(profile, options, folder / "evidence")
    viewed = PreviewedStation(station, profile, PreviewServer("127.0.0.1:0"))
    found: list[tuple[float, Image]] = []
    last: deque[Image] = deque(maxlen=before)
    for number, (image, at, _) in enumerate(Scene(settings).frames(), 1):
        if image is None:
            continue
        last.append(image)
        viewed.process(VideoFrame(image, at, number))
        looks = viewed.overlays()
        worth = [each(looks) for each in wanted]
        found = found or [(-1.0, image)] * len(wanted)
        for place_of, each in enumerate(worth):
            if each > found[place_of][0]:
                found[place_of] = each, draw_places(max(last, key=np.mean), looks)
    viewed.close()
    return [_sized(image) for _, image in found]


def _sized(image: Image) -> Image:
    high = round(image.shape[0] * _WIDE / image.shape[1])
    return np.asarray(cv2.resize(image, (_WIDE, high), interpolation=cv2.INTER_AREA), np.uint8)


def _how_many(state: str) -> Wanted:
    return lambda looks: float(sum(look.state == state for look in looks))


def _is_busy(looks: list[PlaceOverlay]) -> float:
    """Rate the content of a picture: cards read, face down, and under a hand."""
    held, down, moving = (_how_many(state)(looks) for state in ("held", "down", "moving"))
    return min(held, 2.0) + min(down, 2.0) + (2.0 if moving == 1 else 0.0)


def _patch(path: Path) -> Image:
    """Return a picture of the evidence with its name below."""
    image = cv2.imread(str(path), cv2.IMREAD_COLOR)
    assert image is not None  # noqa: S101 - it was written a moment ago
    high = round(image.shape[0] * _PATCH / image.shape[1])
    page = np.full((_PATCH + 34, _PATCH, 3), _PAPER, np.uint8)
    small = cv2.resize(image, (_PATCH, min(high, _PATCH)), interpolation=cv2.INTER_AREA)
    page[: small.shape[0]] = small
    words = path.stem.partition(".")[2][4:]
    cv2.putText(page, words, (4, _PATCH + 24), _FONT, 0.62, _INK, 1, cv2.LINE_AA)
    return page


def _table(rows: list[list[Image]]) -> Image:
    """Arrange pictures in rows."""
    lines = []
    for row in rows:
        high = max(each.shape[0] for each in row)
        lines.append(np.hstack([_framed(each, high) for each in row]))
    return np.vstack(lines)


def _framed(image: Image, high: int) -> Image:
    below = high - image.shape[0]
    sides = _GAP // 2, below + _GAP // 2, _GAP // 2, _GAP // 2
    framed = cv2.copyMakeBorder(image, *sides, cv2.BORDER_CONSTANT, value=_PAPER)
    return np.asarray(framed, np.uint8)


def _write(name: str, image: Image) -> None:
    path = PICTURES / name
    cv2.imwrite(str(path), image, [cv2.IMWRITE_JPEG_QUALITY, 82])
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
