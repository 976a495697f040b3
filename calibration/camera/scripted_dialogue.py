"""
Steps of a calibration, and the dialogue that supplies them from a script (a person:
`person_dialogue`).

A script is a TOML file; `at` is a time in the recording, in seconds:

    risk = 0.0001
    [plane]                  # size of the markers in millimetres, or points of rectangles
    at = 0.0
    size = 90
    [empty]
    at = 1.0
    [layout]
    preset = "six"
    x = 0                    # position of its middle, from the middle of the markers
    [mouth]                  # instead, for a camera at the shoe's throat
    direction = [0, 1]       # cards leave downwards in the image
    turn = 90                # the long side leads; 0 for the short one
    [[card]]                 # one of every rank
    at = 2.0
    card = "AS"
    slot = "P1"
    [[sample]]               # afterwards, to verify
    at = 15.0
    card = "7H"
    slot = "B3"
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from calibration.camera.layout import Box, layout_named, leaves_along_x
from calibration.camera.plane import Plane
from drivers.camera.image import Image
from drivers.camera.profile.sections import Point, Polygon
from shoe_daemon.game import RANKS, Card, Slot
from shoe_daemon.settings.toml import convert_toml, read_toml

_EMPTY_TABLE_FRAMES: Final = 12
"""Frames of the empty table."""

Side = Annotated[float, Meta(gt=5, le=1000)]
Offset = Annotated[float, Meta(ge=-10_000, le=10_000)]
Moment = Annotated[float, Meta(ge=0)]


class _Step(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    at: Moment | None = None


class PlaneStep(_Step, frozen=True):
    """
    The step that finds the table's plane.

    Attributes:
        size: Side of the markers' black edge in millimetres.
        points: Instead of markers: four corners of a rectangle, in pixels; then those of a
            second one of the same size, and so on.
        rectangle: Its width and height in millimetres.
    """

    size: Side = 120.0
    points: tuple[Point, ...] = ()
    rectangle: tuple[Side, Side] | None = None


class EmptyStep(_Step, frozen=True):
    """The empty table."""

    pictures: Annotated[int, Meta(ge=1, le=200)] = _EMPTY_TABLE_FRAMES


class LayoutStep(_Step, frozen=True):
    """Positions of the boxes: a preset that is moved and turned, or single boxes."""

    preset: str = "six"
    x: Offset = 0.0
    y: Offset = 0.0
    turn: Annotated[float, Meta(ge=-180, le=180)] = 0.0
    boxes: tuple[Box, ...] = ()

    @property
    def chosen(self) -> tuple[Box, ...]:
        """The boxes."""
        return self.boxes or layout_named(self.preset)


class ThroatStep(_Step, frozen=True):
    """
    The watched window of the throat, and the direction in which cards leave.

    Attributes:
        x, y: Its middle in millimetres.
        size: Width and height in millimetres; None for a card with a margin.
        turn: 0 where a short side leads, 90 where a long one does.
    """

    x: Offset = 0.0
    y: Offset = 0.0
    size: tuple[Side, Side] | None = None
    direction: tuple[Offset, Offset] = (1.0, 0.0)
    turn: Literal[0, 90] = 0

    @property
    def corners(self) -> Polygon:
        """Corners of a window of the given size, or of a card with room before and behind it."""
        along, across = (79.0, 94.0) if self.turn else (104.0, 69.0)
        usual = (along, across) if leaves_along_x(self.direction) else (across, along)
        wide, high = self.size or usual
        left, top = self.x - wide / 2, self.y - high / 2
        return ((left, top), (left + wide, top), (left + wide, top + high), (left, top + high))


class CardStep(_Step, frozen=True):
    """A card that is shown."""

    card: Card
    slot: Slot | None = None


class BackStep(_Step, frozen=True):
    """A card that is shown face down."""

    slot: Slot | None = None


class Script(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All steps."""

    plane: PlaneStep
    empty: EmptyStep = EmptyStep()
    layout: LayoutStep | None = None
    mouth: ThroatStep = ThroatStep()
    card: tuple[CardStep, ...] = ()
    back: BackStep | None = None
    sample: tuple[CardStep, ...] = ()
    risk: Annotated[float, Meta(gt=0, lt=1)] | None = None


def load_script(path: Path) -> Script:
    """Load a script; a `UserError` has a line for each error."""
    return convert_toml(Script, read_toml(path, "the answers of a calibration"), str(path))


class ScriptedDialogue:
    """
    Supplies the steps of a script, each once. As in any dialogue, a method raises a UserError
    where the answer is invalid; `ask_retry` then returns whether to repeat the step.
    """

    def __init__(
        self, script: Script, preset: str | None, echo: Callable[[str], None] = lambda _: None
    ) -> None:
        self._script = script
        self._preset = preset
        self._echo = echo
        self._cards = iter(script.card)
        self._samples = iter(script.sample)

    def show(self, text: str) -> None:
        """Show a line."""
        self._echo(text)

    def plane(self) -> PlaneStep:
        """Return the script's step."""
        return self._script.plane

    def empty(self) -> EmptyStep:
        """Return the script's step."""
        return self._script.empty

    def layout(self, _plane: Plane, _empty: Image) -> LayoutStep:
        """Return the script's step, or the preset of the command line."""
        return self._script.layout or LayoutStep(preset=self._preset or "six")

    def throat(self, _plane: Plane) -> ThroatStep:
        """Return the script's step."""
        return self._script.mouth

    def card(self, _done: Sequence[Card]) -> CardStep | None:
        """Return the next card."""
        return next(self._cards, None)

    def back(self) -> BackStep | None:
        """Return the script's step."""
        return self._script.back

    def sample(self, _number: int) -> CardStep | None:
        """Return the next sample."""
        return next(self._samples, None)

    def ask_retry(self, fault: str) -> bool:
        """Return False."""
        self._echo(fault)
        return False

    def finish(self, faults: Sequence[str], profile: str) -> None:
        """Do nothing."""


def missing_ranks(done: Sequence[Card]) -> list[str]:
    """Return the ranks that have not been shown."""
    there = {card.rank for card in done}
    return [rank for rank in RANKS if rank not in there]
