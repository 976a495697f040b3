"""
Reads a card whose corners are known: two index windows, three networks, one confidence.

The card's plane is the unit square: x along the short side, y along the long one, corner 0 the
upper left in reading order. A card reads the same upside down, so it has two windows, one at
each end. Below the threshold `CardReading.card` is None. A recogniser belongs to one thread.
"""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Sequence
from lzma import LZMAError
from pathlib import Path
from typing import Any, Final, NamedTuple

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from drivers.camera.image import Image
from drivers.camera.profile.sections import IndexWindow
from drivers.camera.recognition.confidence import (
    ANSWERS,
    MIN_WEIGHT,
    Belief,
    belief_of,
    combine_ends,
    count_visible_ends,
    doubt_between,
    pool_beliefs,
    sees_index,
)
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card

Quad = NDArray[np.float32]
"""Four corners in image pixels, a row each, in reading order."""

PATCH_SIZE_PX: Final = (48, 96)
"""Width and height of the network's input."""

_SHRINK_FROM: Final = 1.4
_SHRINK_TO: Final = 1.2
"""Image pixels per patch pixel from which the image is shrunk first, and the value after that."""

_MIN_PRINT_CONTRAST: Final = 12.0
"""Minimum grey range from ink to paper: noise is not stretched to look like print."""

_DARKEST, _LIGHTEST = 2, 98
"""Percentiles of a patch that count as ink and paper."""


_UNIT_SQUARE: Final = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], np.float32)


def window_quads(quad: Quad, window: IndexWindow) -> tuple[Quad, Quad]:
    """Return the windows of both ends of a card in image pixels."""
    right, bottom = window.x + window.width, window.y + window.height
    corners = np.array(
        [[[window.x, window.y], [right, window.y], [right, bottom], [window.x, bottom]]],
        np.float32,
    )
    upper, lower = (
        cv2.perspectiveTransform(
            corners, cv2.getPerspectiveTransform(_UNIT_SQUARE, _rolled(quad, turn))
        )
        for turn in (0, 2)
    )
    return np.asarray(upper[0], np.float32), np.asarray(lower[0], np.float32)


def _rolled(quad: Quad, turn: int) -> Any:  # noqa: ANN401 - what OpenCV's stubs take
    return np.ascontiguousarray(np.roll(np.asarray(quad, np.float32), -turn, 0))


def crop_window(image: Image, window: Quad) -> Image:
    """
    Cut a window out of an image and rectify it to a patch, without aliasing.

    Beyond the image's edge its border is repeated.
    """
    low = np.floor(window.min(0)).astype(int) - 2
    high = np.ceil(window.max(0)).astype(int) + 3
    height, width = image.shape[:2]
    x0, y0 = (int(np.clip(low[0], 0, width - 1)), int(np.clip(low[1], 0, height - 1)))
    x1, y1 = (int(np.clip(high[0], x0 + 1, width)), int(np.clip(high[1], y0 + 1, height)))
    part, corners = image[y0:y1, x0:x1], window - np.array([x0, y0], np.float32)
    part, corners = _shrink(part, corners)
    target = _UNIT_SQUARE * np.array(PATCH_SIZE_PX, np.float32)
    plane = cv2.getPerspectiveTransform(np.asarray(corners, np.float32), target)
    return np.asarray(
        cv2.warpPerspective(
            part, plane, PATCH_SIZE_PX, flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE
        ),
        np.uint8,
    )


def _shrink(part: Image, corners: Quad) -> tuple[Image, Quad]:
    """Shrink a part of an image where the patch would skip pixels of it."""
    sides = np.linalg.norm(np.roll(corners, -1, 0) - corners, axis=1)
    excess = min(
        (sides[0] + sides[2]) / 2 / PATCH_SIZE_PX[0], (sides[1] + sides[3]) / 2 / PATCH_SIZE_PX[1]
    )
    if excess <= _SHRINK_FROM:
        return part, corners
    size = np.array(part.shape[1::-1])
    wanted = np.maximum(np.round(size * _SHRINK_TO / excess), 2).astype(int)
    small = cv2.resize(part, (int(wanted[0]), int(wanted[1])), interpolation=cv2.INTER_AREA)
    return np.asarray(small, np.uint8), np.asarray(corners * (wanted / size), np.float32)


def normalise_patch(patch: Image) -> NDArray[np.float32]:
    """
    Normalise a patch to the network's input, 3 x 96 x 48: paper is 1, ink -1, in any light.

    Black is common to all channels, white is per channel: this removes the colour of the
    lamp and keeps the colour of the ink.
    """
    sample = patch[1::3, 1::2].reshape(-1, 3).astype(np.float32)
    (low,) = percentiles(sample.mean(1), _DARKEST)
    (high,) = percentiles(sample, _LIGHTEST)
    span = np.maximum(high - low, _MIN_PRINT_CONTRAST).astype(np.float32)
    stretched = (patch - low) * (2 / span) - 1
    return np.ascontiguousarray(np.clip(stretched, -2, 2).transpose(2, 0, 1), np.float32)


def percentiles(values: NDArray[np.float32], *percents: float) -> list[Any]:
    """
    Return percentiles (0 up to, but not, 100) along the first axis of two values or more.

    `np.percentile` takes twice the time.
    """
    places = [(len(values) - 1) * percent / 100 for percent in percents]
    lower = [int(place) for place in places]
    parts = np.partition(values, sorted({n for k in lower for n in (k, k + 1)}), axis=0)
    return [
        parts[k] + (parts[k + 1] - parts[k]) * np.float32(place - k)
        for k, place in zip(lower, places, strict=True)
    ]


_FOLDER: Final = Path(__file__).parent / "weights"
WEIGHTS_FILE: Final = _FOLDER / "networks.zip"
"""The networks of the package, ONNX files."""

_WINDOW_SCALES: Final = (1.19, 0.84, 1.5)
"""Scales of the windows through which an index is read: decks have different index sizes."""

_MIN_SCALE_WEIGHT: Final = 0.2
"""
Weight of a scale that shows no index, relative to 1 of one that certainly does.

An index is seen at all scales, less clearly. The smallest window alone may cut a sign that is no
rank or suit so that it looks like one.
"""

_NAMED: Final = 0.6
"""Confidence from which one network names a card through one window."""

_FIRST_NETWORKS: Final = 2
_CERTAIN: Final = 0.99
"""Confidence of the first networks from which the first window of each end is enough."""

_PROBABLE: Final = 0.85
"""Confidence of the first networks below which the others cannot give a card a name: an emblem may
look like a suit through the smallest window alone."""

_CERTAIN_PIXELS: Final = 46.0
"""Height of an index window in the image below which everything is asked all the same."""

_MIN_CONTRAST: Final = 8.0
"""Range from ink to paper in the channel that shows the most, below which a patch is empty."""

_MIN_SECOND_CHANNEL: Final = 0.2
"""Range in the second best channel as a share of the best one's: each ink shows in two channels of
white light."""

_NOISE_RATIO: Final = 3.82
"""Of noise alone, the slope at the 98th percentile as a multiple of the one at the 25th."""

_SQRT_TAU: Final = float(np.sqrt(2 * np.pi))


class WeightsInfo(Struct, frozen=True):
    """
    Properties of the weights in the package (``weights/index.json``).

    Attributes:
        sha256: Checksum of the file.
        threshold: Minimum confidence of an accepted card.
        sharpness: Minimum sharpness of an index.
        pixels: Minimum height of an index window in the image.
        temperature: Divisor of the network's output.
    """

    sha256: str
    threshold: float
    sharpness: float
    pixels: float
    temperature: float


def _load_weights_info() -> WeightsInfo:
    properties = json.loads((_FOLDER / "index.json").read_text())
    return WeightsInfo(**{name: properties[name] for name in WeightsInfo.__struct_fields__})


WEIGHTS_INFO: Final = _load_weights_info()


class IndexReading(Struct, frozen=True):
    """
    Reading of one index window.

    Attributes:
        believed: Every card's probability.
        pixels: Height of the window in the image.
        sharpness: 1 over an edge's spread in pixels of the patch; 0 where there is no edge.
        patch: The crop of the window.
    """

    believed: Belief
    pixels: float
    sharpness: float
    patch: Image


class CardReading(Struct, frozen=True):
    """
    Reading of a card.

    Attributes:
        card: None where the confidence is too low, the suit is in doubt, the rank may be another
            sign, or the image is too soft or too small.
        confidence: Confidence of `best`, from 0 to 1.
        best: The most likely card, for reports only.
        index_pixels: Height of the larger index window in the image.
        sharpness: Sharpness of the sharper end.
        is_clear: The image is neither too soft nor too small.
        ends: Reading of each window.
    """

    card: Card | None
    confidence: float
    best: Card
    index_pixels: float
    sharpness: float
    is_clear: bool
    ends: tuple[IndexReading, ...]

    @property
    def accepted_up_to(self) -> float:
        """The highest threshold at which `best` is accepted if the image is clear."""
        return combine_ends([end.believed for end in self.ends]).accepted_up_to


class Recogniser:
    """Reads cards and single indexes."""

    def __init__(
        self,
        weights: Path | None = None,
        window: IndexWindow | None = None,
        threshold: float | None = None,
        sharpness: float | None = None,
        *,
        pixels: float | None = None,
    ) -> None:
        path = weights or WEIGHTS_FILE
        self.window = window or IndexWindow()
        self.threshold = WEIGHTS_INFO.threshold if threshold is None else threshold
        self.sharpness = WEIGHTS_INFO.sharpness if sharpness is None else sharpness
        self.pixels = WEIGHTS_INFO.pixels if pixels is None else pixels
        self._networks = _load_networks(path)

    def read(self, image: Image, quad: Quad) -> CardReading:
        """Read a card by its four corners in reading order."""
        corners = np.asarray(quad, np.float32)
        sizes = [self.window.scaled(scale, scale) for scale in _WINDOW_SCALES]
        scaled = [window_quads(corners, size) for size in sizes]
        return self._read_scaled(image, window_quads(corners, self.window), scaled)

    def read_window(self, image: Image, window: Quad) -> CardReading:
        """Read a card by one index window: in a fan, or in the throat of a shoe."""
        scaled = [(_scale_window(window, scale),) for scale in _WINDOW_SCALES]
        return self._read_scaled(image, (window,), scaled)

    def _read_scaled(
        self, image: Image, ends: Sequence[Quad], scaled: Sequence[Sequence[Quad]]
    ) -> CardReading:
        """
        Read the windows of all ends at the first scale with two networks; if any doubt is left, at
        all scales with all networks. A card that is too small gets no name in any case.
        """
        heights = [_window_height(end) for end in ends]
        cuts = [_cut(image, window) for window in scaled[0]]
        answers = self.answers(_patches_of(cuts), _FIRST_NETWORKS)
        first = self._pool_ends(cuts, answers, heights)
        if first.index_pixels < self.pixels or (first.is_clear and _is_certain(first)):
            return first
        cuts += [_cut(image, window) for windows in scaled[1:] for window in windows]
        answers = self.answers(_patches_of(cuts), known=answers)
        return self._pool_ends(cuts, answers, heights, is_probable=first.confidence >= _PROBABLE)

    def _pool_ends(
        self,
        cuts: Sequence[_Cut],
        answers: NDArray[np.float32],
        heights: Sequence[float],
        *,
        is_probable: bool = True,
    ) -> CardReading:
        """Combine windows that belong to the ends in turn; doubt a card that is not probable."""
        views = _index_readings(cuts, answers)
        pooled = [
            _pool_readings(views[end :: len(heights)], height, _MIN_SCALE_WEIGHT)
            for end, height in enumerate(heights)
        ]
        combined = combine_ends([end.believed for end in pooled])
        others = _named_cards(answers) - {combined.best}
        if not (others or is_probable):
            others = {combined.runner_up}
        return self._decide(_doubted(pooled, combined.best, others))

    def read_windows(self, image: Image, windows: Sequence[Quad]) -> CardReading:
        """Read one index through several windows, not all of which need to fit."""
        height = _window_height(windows[len(windows) // 2])
        cuts = [_cut(image, window) for window in windows]
        answers = self.answers(_patches_of(cuts))
        return self._decide([_pool_readings(_index_readings(cuts, answers), height)])

    def combined(self, readings: Sequence[CardReading]) -> CardReading:
        """Combine readings of one card in several frames, end by end."""
        ends = zip(*(each.ends for each in readings), strict=True)
        return self._decide(
            [_pool_readings(end, max(view.pixels for view in end)) for end in ends]
        )

    def answers(
        self,
        patches: NDArray[np.float32],
        networks: int | None = None,
        *,
        known: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """
        Return the outputs of so many networks (None: of all), of each a row for each patch.

        Where the first network sees no index, the others are not asked, and its output stands for
        theirs. Each began its training with other random weights, so they make different errors on
        cards that no training had. `known` are the outputs of the first networks for the first
        patches, which are not asked again.
        """
        if known is None:
            known = np.zeros((0, 0, ANSWERS), np.float32)
        first, *others = self._networks[:networks]
        old = known.shape[1]
        rows = np.concatenate([*known[:1], _run(first, patches[old:])])
        answers = np.stack([rows] * (1 + len(others)))
        answers[: len(known), :old] = known
        seen = [number for number, row in enumerate(rows) if sees_index(row)]
        for number, network in enumerate(others, 1):
            asked = seen if number >= len(known) else [place for place in seen if place >= old]
            if asked:
                answers[number, asked] = _run(network, np.ascontiguousarray(patches[asked]))
        return answers

    def _decide(self, ends: Sequence[IndexReading]) -> CardReading:
        believed = combine_ends([end.believed for end in ends])
        sharpness = max(end.sharpness for end in ends)
        pixels = max(end.pixels for end in ends)
        is_clear = sharpness >= self.sharpness and pixels >= self.pixels
        is_accepted = is_clear and believed.accepted_up_to >= self.threshold
        return CardReading(
            card=believed.best if is_accepted else None,
            confidence=believed.confidence,
            best=believed.best,
            index_pixels=pixels,
            sharpness=sharpness,
            is_clear=is_clear,
            ends=tuple(ends),
        )


class _Cut(NamedTuple):
    """
    An index window cut out of an image.

    Attributes:
        patch, pixels, sharpness: See `IndexReading`.
    """

    patch: Image
    pixels: float
    sharpness: float


def _cut(image: Image, window: Quad) -> _Cut:
    patch = crop_window(image, np.asarray(window, np.float32))
    return _Cut(patch, _window_height(window), _measure_sharpness(patch))


def _patches_of(cuts: Sequence[_Cut]) -> NDArray[np.float32]:
    return np.stack([normalise_patch(cut.patch) for cut in cuts])


def _index_readings(cuts: Sequence[_Cut], answers: NDArray[np.float32]) -> list[IndexReading]:
    """Return what all networks together read through each window."""
    return [
        IndexReading(
            belief_of(answer, WEIGHTS_INFO.temperature), cut.pixels, cut.sharpness, cut.patch
        )
        for answer, cut in zip(answers.mean(0), cuts, strict=True)
    ]


def _named_cards(answers: NDArray[np.float32]) -> set[Card]:
    """Return the cards that single networks name through single windows."""
    beliefs = [belief_of(row, WEIGHTS_INFO.temperature) for row in answers.reshape(-1, ANSWERS)]
    return {each.best for each in beliefs if each.confidence >= _NAMED}


def _doubted(ends: Sequence[IndexReading], best: Card, others: set[Card]) -> list[IndexReading]:
    """Doubt at all ends between the likeliest card and others, if there are any."""
    if not others:
        return list(ends)
    return [replace(end, believed=doubt_between(end.believed, best, others)) for end in ends]


def _is_certain(reading: CardReading) -> bool:
    """Return whether every end shows a large index, and together they leave hardly any doubt."""
    ends = [end.believed for end in reading.ends]
    shown = count_visible_ends(ends) == len(ends) and reading.index_pixels >= _CERTAIN_PIXELS
    return shown and reading.confidence >= _CERTAIN


def _load_networks(path: Path) -> list[cv2.dnn.Net]:
    """Load one ONNX file, or all those of a ZIP file."""
    # Where OpenCV has two engines, the classic one runs these networks in half the time.
    older = getattr(cv2.dnn, "ENGINE_CLASSIC", None)
    engine = () if older is None else (older,)
    try:
        return [
            cv2.dnn.readNetFromONNX(np.frombuffer(network, np.uint8), *engine)
            for network in _network_files(path)
        ]
    except (cv2.error, zipfile.BadZipFile, LZMAError, OSError) as error:
        reason = getattr(error, "err", error)
        raise UserError(f"{path}: no networks that OpenCV can read ({reason})") from error


def _network_files(path: Path) -> list[bytes]:
    if not zipfile.is_zipfile(path):
        return [path.read_bytes()]
    with zipfile.ZipFile(path) as archive:
        networks = [archive.read(name) for name in archive.namelist()]
    if not networks:
        raise zipfile.BadZipFile("the file is empty")
    return networks


def _run(network: cv2.dnn.Net, patches: NDArray[np.float32]) -> NDArray[np.float32]:
    network.setInput(patches)
    return np.array(network.forward(), np.float32).reshape(len(patches), -1)


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file of weights."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _pool_readings(
    views: Sequence[IndexReading], pixels: float, min_weight: float = MIN_WEIGHT
) -> IndexReading:
    """Combine several readings of one index; the first patch is kept for display."""
    believed = pool_beliefs([view.believed for view in views], min_weight)
    sharpness = max(view.sharpness for view in views)
    return IndexReading(believed, pixels, sharpness, views[0].patch)


def _scale_window(window: Quad, scale: float) -> Quad:
    """Scale a window about the middle of its index."""
    middle = window[0] + (window[1] - window[0]) * 0.33 + (window[3] - window[0]) * 0.33
    return np.asarray(middle + (window - middle) * scale, np.float32)


def _window_height(window: Quad) -> float:
    return float(np.linalg.norm(window[3] - window[0]))


def _measure_sharpness(patch: Image) -> float:
    """
    Return the sharpness of a patch: 1 over the spread of its steepest edges in pixels.

    An edge of height h with a slope of g a pixel was smeared by h / (g * sqrt(2 pi)). It is
    measured in the channel that shows the most: sodium light has no blue. Slopes of noise, which
    the bare paper has too, do not count as edges. It is 0 where only one channel shows the print:
    red ink in red light is white.
    """
    smooth = cv2.GaussianBlur(patch[:72, :36], (3, 3), 0)
    low, high = percentiles(smooth[::2, ::2].reshape(-1, 3).astype(np.float32), 2, 98)
    ranges = high - low
    _, second, contrast = (float(each) for each in np.sort(ranges))
    if contrast < _MIN_CONTRAST or second < _MIN_SECOND_CHANNEL * contrast:
        return 0.0
    shown = np.ascontiguousarray(smooth[:, :, int(ranges.argmax())])
    across, along = (cv2.Sobel(shown, cv2.CV_32F, dx, 1 - dx, scale=1 / 8) for dx in (1, 0))
    slopes = np.maximum(np.abs(across), np.abs(along))
    steepest, quiet = (float(each) for each in percentiles(slopes.ravel(), 98, 25))
    edges = math.sqrt(max(0.0, steepest**2 - (_NOISE_RATIO * quiet) ** 2))
    return edges * _SQRT_TAU / contrast
