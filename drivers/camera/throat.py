"""
The station at the shoe's mouth: which card left.

All pictures of a passage are kept until it is over. Then the sharpest in which an index
is whole are read, and have to agree. A card that went back was not dealt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import cv2
import numpy as np

from drivers.camera.bearings import Ambience, Bearings
from drivers.camera.evidence import Evidence
from drivers.camera.eye import Eye, Reads
from drivers.camera.frames import Image, Picture
from drivers.camera.geometry import Floats, Ground
from drivers.camera.messages import Say, Statement
from drivers.camera.mouth import Mouth
from drivers.camera.passage import Extent, Passage
from drivers.camera.profile import Profile
from shoe_daemon.game.cards import Card

__all__ = ["Throat"]

_MOST: Final = 14
"""Pictures of one passage that are kept."""

_READ: Final = 3
"""Pictures of either end that are read."""

_AGREE: Final = 2
_TOO_LONG: Final = 8.0
"""Millimetres by which a card is too long to be one."""

_HOLE: Final = 0.3
"""Seconds without a picture in which a card may have passed unseen."""

_QUIET: Final = 1.0
"""Seconds without anything in the mouth after which an error is over."""


class _Shot(NamedTuple):
    picture: Picture
    extent: Extent


class _Read(NamedTuple):
    reads: Reads
    blur: float
    patch: Image


class _Index(NamedTuple):
    """
    A picture in which one end of a card is whole.
    """

    image: Image
    window: Floats
    blur: float
    patch: Image


class Throat:
    """
    Watches the mouth.
    """

    def __init__(
        self, profile: Profile, reference: Image, eye: Eye, evidence: Evidence | None = None
    ) -> None:
        self._ground = ground = Ground(profile)
        reference = np.asarray(cv2.GaussianBlur(reference, (3, 3), 0), np.uint8)
        self._mouth = Mouth(profile, ground, reference)
        self._ambience = Ambience(profile, ground, reference)
        self._bearings = Bearings(profile, ground, reference)
        self._eye = eye
        self._evidence = evidence
        self._gain = 1.0
        self._passage: Passage | None = None
        self._shots: list[_Shot] = []
        self._error = False
        self._quiet_since = 0.0
        self._last: float | None = None

    def look(self, picture: Picture) -> list[Statement]:
        """
        Take the next picture.
        """
        missed = self._missed(picture.at)
        return missed + self._watch(picture)

    def _missed(self, at: float) -> list[Statement]:
        before, self._last = self._last, at
        if before is None or at - before <= _HOLE:
            return []
        return [Statement(say=Say.MISSED, note=f"no picture for {at - before:.1f} s")]

    def _watch(self, picture: Picture) -> list[Statement]:
        image, at, _ = picture
        self._bearings.check(image, at)
        light = self._ambience.measure(image)
        if self._passage is None:
            self._gain = light.gain
        found = self._mouth.extents(image, at, self._gain)
        if not found:
            return self._nothing(at)
        said: list[Statement] = []
        if len(found) > 1 and self._passage is not None and not self._follows(found[0]):
            said = self._over(at)  # the next card is on its way before this one is gone
        if self._passage is None:
            self._passage, self._shots = Passage(), []
        self._passage.add(found[0])
        self._keep(_Shot(picture, found[0]))
        return said

    def finish(self) -> list[Statement]:
        """
        There will be no more pictures: a card on its way has not left.
        """
        return []

    def close(self) -> None:
        """
        Give back what it holds.
        """
        if self._evidence is not None:
            self._evidence.close()

    def _follows(self, extent: Extent) -> bool:
        # The innermost thing is what it was, not another one behind it.
        passage = self._passage
        return passage is not None and extent.end >= passage.extents[-1].end - _TOO_LONG

    def _nothing(self, at: float) -> list[Statement]:
        if self._passage is not None:
            self._quiet_since = at
            return self._over(at)
        if self._error and at - self._quiet_since >= _QUIET:
            self._error = False
            return [Statement(say=Say.OVER)]
        return []

    def _keep(self, shot: _Shot) -> None:
        self._shots.append(shot)
        if len(self._shots) > _MOST:
            # Where it rests, one picture is as good as another.
            steps = [
                abs(after.extent.end - before.extent.end)
                + abs(after.extent.start - before.extent.start)
                for before, after in pairwise(self._shots)
            ]
            del self._shots[int(np.argmin(steps[:-1])) + 1]

    def _over(self, at: float) -> list[Statement]:
        """
        Say what has passed.
        """
        passage, shots = self._passage, self._shots
        self._passage, self._shots = None, []
        if passage is None:
            return []
        way = passage.way
        last = passage.extents[-1].at
        if not way.to_table:
            return self._returned(shots)
        if not way.from_shoe:
            return []  # a hand that reached in
        late = int((at - last) * 1000)
        excess = passage.excess(self._mouth.length)
        readings = self._readings(shots)
        if excess is not None and excess > _TOO_LONG:
            return self._two(readings, excess, late)
        return self._one(readings, late, shots)

    def _returned(self, shots: list[_Shot]) -> list[Statement]:
        if not any(shot.extent.ends for shot in shots):
            return []
        self._error = True
        return [Statement(say=Say.RETURNED, patch=self._kept(shots[-1].picture.image, "returned"))]

    def _one(
        self, readings: tuple[list[_Read], list[_Read]], late: int, shots: list[_Shot]
    ) -> list[Statement]:
        cards = {card for part in readings if (card := self._agreed(part)) is not None}
        if len(cards) > 1:
            return self._two(readings, 0.0, late)
        return [self._say(readings, late, shots)]

    def _two(
        self, readings: tuple[list[_Read], list[_Read]], excess: float, late: int
    ) -> list[Statement]:
        """
        Two cards came together: the first hides the second but for its end.
        """
        self._error = True
        far = f"by {excess:.0f} mm" if excess else "as two indices tell"
        note = f"two cards left the shoe together, one behind the other {far}"
        said = [Statement(say=Say.DOUBLE_FEED, note=note)]
        return said + [self._say((part, []), late, []) for part in readings]

    def _agreed(self, one: list[_Read], other: Sequence[_Read] = ()) -> Card | None:
        """
        Return what pictures agree upon, all together and most of them alone.
        """
        both = [*one, *other]
        whole = self._eye.together([each.reads for each in one], [each.reads for each in other])
        if whole is None or whole.card is None:
            return None
        for_it = sum(each.reads.best is whole.card for each in both)
        against = any(
            each.reads.card is not None and each.reads.card is not whole.card for each in both
        )
        return None if against or for_it < max(_AGREE, len(both) * 2 / 3) else whole.card

    def _say(
        self, readings: tuple[list[_Read], list[_Read]], late: int, shots: list[_Shot]
    ) -> Statement:
        card = self._agreed(*readings)
        whole = self._eye.together(*[[each.reads for each in part] for part in readings])
        sharpest = min([*readings[0], *readings[1]], key=lambda read: read.blur, default=None)
        patch = sharpest.patch if sharpest else None
        if patch is None and shots:
            patch = shots[len(shots) // 2].picture.image
        return Statement(
            say=Say.UNREADABLE if card is None else Say.CARD,
            card=card,
            best=whole.best if card is None and whole else None,
            confidence=round(whole.confidence, 4) if whole else None,
            blur=round(sharpest.blur, 4) if sharpest else None,
            late=late,
            patch=self._kept(patch, card.value if card else "unread"),
        )

    def _kept(self, image: Image | None, what: str) -> str | None:
        if self._evidence is None or image is None:
            return None
        shrink = max(1, round(image.shape[1] / 400))
        small = image[::shrink, ::shrink].copy()
        return self._evidence.keep(small, f"shoe-{what}")

    def _readings(self, shots: list[_Shot]) -> tuple[list[_Read], list[_Read]]:
        """
        Read the end that leads and the one that trails, each in its sharpest pictures.
        """
        return self._read(shots, leading=True), self._read(shots, leading=False)

    def _read(self, shots: list[_Shot], *, leading: bool) -> list[_Read]:
        found = [
            index for shot in shots if (index := self._index(shot, leading=leading)) is not None
        ]
        found.sort(key=lambda index: index.blur)
        return [
            _Read(self._eye.read_end(index.image, index.window), index.blur, index.patch)
            for index in found[:_READ]
        ]

    def _index(self, shot: _Shot, *, leading: bool) -> _Index | None:
        image = shot.picture.image
        aimed = self._mouth.aim(image, shot.extent, self._gain, leading=leading)
        if aimed is None:
            return None
        end = Mouth.leading if leading else 1 - Mouth.leading
        window = self._eye.window(aimed.quad, end)
        if not self._mouth.holds(self._ground, window):
            return None
        blur = self._eye.blur_of_end(image, window)
        return _Index(image, window, blur, aimed.patch) if self._eye.is_sharp(blur) else None
