"""
A simulated table for calibrations: markers, cards, lamps and a camera that can be moved, drawn
by the simulator of whole shoes.

Commands, one per line, each with a lasting effect:

    markers [NUMBER]       lay printed markers, five where no number is given
    empty                  remove everything
    lay SLOT CARD|back     lay a card as a dealer does: never quite straight
    exactly SLOT CARD      lay a card quite straight
    push X Y [DEGREES]     move the camera by millimetres on the table
    blur PIXELS            put the lens out of focus
    light SHARE            dim or brighten the lamps; `lamp out` switches one off
    flicker 50|60|0        lamps on such mains; 0 makes them steady
    deck NUMBER            use another maker's cards; 0 is the first deck
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import cv2
import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from calibration.camera.markers import DICTIONARY
from calibration.camera.plane import rectangle_corners
from drivers.camera.image import Image
from drivers.simulators.camera.animated_round import (
    FACE,
    AnimatedRound,
    CardTrack,
    Effect,
    Key,
    Pose,
    scene_state,
)
from drivers.simulators.camera.projection import create_camera
from drivers.simulators.camera.sensor import Sensor
from drivers.simulators.camera.settings import SceneFault, Settings, Station
from drivers.simulators.camera.table_image import TableImage
from drivers.simulators.camera.table_layout import PLACES, Point
from drivers.simulators.camera.throat_image import ThroatImage
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card, Slot

COMMAND_FORMS: Final = (
    "markers [NUMBER], empty, lay SLOT CARD|back, exactly SLOT CARD, push X Y [DEGREES], "
    "blur PIXELS, light SHARE, lamp out|on, flicker 50|60|0 or deck NUMBER"
)
"""The commands, for people."""

_TRACK_END_S: Final = 99.0
_FLICKER_SHARE: Final = 0.08
"""Share of the light by which lamps flicker."""

_MARKER_PX: Final = 480
_RIM_PX: Final = 120
_PAPER_BRIGHTNESS: Final = 0.85
_MAX_OFFSET_MM: Final = 3.0
_MAX_TURN_DEGREES: Final = 3.0
"""Usual offset and rotation of a card on its place."""


class MarkerSheet(Struct, frozen=True):
    """A printed marker on the table."""

    number: int
    x: float
    y: float
    turn: float = 0.0


class LyingCard(Struct, frozen=True):
    """A card on its place, with its offset; None lies face down."""

    card: Card | None
    x: float = 2.0
    y: float = -1.5
    turn: float = 2.0


MARKER_SHEETS: Final = (
    MarkerSheet(0, -300, -120, 5),
    MarkerSheet(1, 300, -130, -12),
    MarkerSheet(2, 290, 150, 30),
    MarkerSheet(3, -290, 160, 88),
    MarkerSheet(4, 0, 10, 0),
)


class TableState(Struct, frozen=True, kw_only=True):
    """
    State of the table.

    Attributes:
        sheets: The printed markers; `side` is that of their black edge.
        cards: The card on each place; at the throat the place does not matter.
        deck: Number of the deck.
        pushed: Movement of the camera: millimetres, and degrees.
        blur: Pixels by which it is out of focus.
        light: Brightness, as a multiple of the usual one.
        lamp_out: Whether one lamp is out.
        flicker: Frequency of the mains on which lamps flicker; 0 where they do not.
    """

    sheets: tuple[MarkerSheet, ...] = ()
    side: float = 120.0
    cards: Mapping[Slot, LyingCard] = {}
    deck: int = 0
    pushed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    blur: float = 0.0
    light: float = 1.0
    lamp_out: bool = False
    flicker: int = 0


class SimulatedTable:
    """
    A simulated table and its camera.

    Attributes:
        settings: Settings of the simulator.
        camera: Initial position of the camera.
        state: Current state.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.camera = create_camera(settings)
        self.state = TableState()
        overhead = settings.station is Station.OVERHEAD
        self._view = (TableImage if overhead else ThroatImage)(settings, self.camera)
        self._sensor = Sensor(settings)
        self._random = np.random.default_rng([settings.seed & 0xFFFFFFFF, 17])
        self._last_drawn: tuple[TableState, Image] | None = None
        # Drawings are cached by the identity of their tracks, so the tracks have to stay alive.
        self._tracks: list[CardTrack] = []
        self._points: tuple[tuple[float, float, float], NDArray[np.float32]] | None = None

    def picture(self, state: TableState | None = None, at: float = 0.0) -> Image:
        """Take a frame of a state, by default the current one."""
        state = self.state if state is None else state
        drawn = self._still(state)
        if state.flicker:
            drawn = self._with_flicker(drawn, state.flicker, at)
        return self._sensor.take(drawn, at, flicker=False, blur=state.blur, torn=False)

    def _still(self, state: TableState) -> Image:
        if self._last_drawn is None or self._last_drawn[0] != state:
            self._last_drawn = state, self._draw(state)
        return self._last_drawn[1]

    def _draw(self, state: TableState) -> Image:
        camera = self.camera.moved(*state.pushed) if any(state.pushed) else self.camera
        self._view.camera = camera
        effects = [Effect(SceneFault.LAMP_OUT, 0.0, _TRACK_END_S)] if state.lamp_out else []
        cards = [self._track(slot, card_pose) for slot, card_pose in state.cards.items()]
        self._tracks += cards
        animation = AnimatedRound(0, cards=cards, effects=effects, deck=state.deck)
        drawn = np.array(self._view.draw(scene_state(animation, 3.0)))
        for sheet in state.sheets:
            _draw_sheet(drawn, self._table_points(state.pushed), sheet, state.side)
        if state.light != 1:
            drawn = np.asarray(cv2.convertScaleAbs(drawn, alpha=state.light), np.uint8)
        return drawn

    def _table_points(self, pushed: tuple[float, float, float]) -> NDArray[np.float32]:
        if self._points is None or self._points[0] != pushed:
            self._points = pushed, self.camera.moved(*pushed).table_points()
        return self._points[1]

    def _track(self, slot: Slot, card_pose: LyingCard) -> CardTrack:
        turn = 0.0 if card_pose.card is None else FACE
        x, y, heading = card_pose.x, card_pose.y, card_pose.turn + 90.0
        if self.settings.station is Station.OVERHEAD:
            box = PLACES[slot]
            x, y, heading = box.x + x, box.y + y, box.turn + card_pose.turn
        pose = Pose(x, y, heading=heading, turn=turn)
        keys = [Key(0.0, pose), Key(_TRACK_END_S, pose)]
        return CardTrack(keys=keys, card=card_pose.card or Card("AS"), slot=slot)

    def _with_flicker(self, drawn: Image, mains: int, at: float) -> Image:
        """Apply lamps that flash twice a period, with a rolling shutter."""
        rows = np.arange(len(drawn)) / len(drawn) / self.settings.fps
        wave = 1 + _FLICKER_SHARE * np.sin(2 * np.pi * 2 * mains * (at + rows))
        return np.asarray(np.clip(drawn * wave[:, None, None], 0, 255), np.uint8)

    def lay_like_dealer(self, card: Card | None) -> LyingCard:
        """Return a card that lies as a dealer lays it."""
        most = _MAX_OFFSET_MM, _MAX_OFFSET_MM, _MAX_TURN_DEGREES
        x, y, turn = (self._random.uniform(-1, 1, 3) * most).tolist()
        return LyingCard(card, x, y, turn)

    def execute(self, line: str) -> None:
        """Execute a command; raise a UserError for another text."""
        try:
            self.state = self._state_after(line.split())
        except ValueError:
            raise UserError(f"{line!r}; expected {COMMAND_FORMS}") from None

    def _state_after(self, words: Sequence[str]) -> TableState:
        match words:
            case ["markers", *number]:
                count = int(number[0]) if number else len(MARKER_SHEETS)
                changes: dict[str, Any] = {"sheets": MARKER_SHEETS[:count]}
            case ["empty", *_]:
                changes = {"sheets": (), "cards": {}}
            case ["lay", slot, "back", *_]:
                changes = self._with_card(slot, self.lay_like_dealer(None))
            case ["lay", slot, card, *_]:
                changes = self._with_card(slot, self.lay_like_dealer(Card(card.upper())))
            case ["exactly", slot, card, *_]:
                changes = self._with_card(slot, LyingCard(Card(card.upper()), 0.0, 0.0, 0.0))
            case ["push", x, y, *turn]:
                changes = {"pushed": (float(x), float(y), float(turn[0]) if turn else 0.0)}
            case ["lamp", "out" | "on" as lamp, *_]:
                changes = {"lamp_out": lamp == "out"}
            case [("blur" | "light") as name, amount, *_]:
                changes = {name: float(amount)}
            case [("flicker" | "deck") as name, number, *_]:
                changes = {name: int(number)}
            case _:
                raise ValueError
        return replace(self.state, **changes)

    def _with_card(self, slot: str, card_pose: LyingCard) -> dict[str, Any]:
        return {"cards": {**self.state.cards, Slot(slot.upper()): card_pose}}


def _draw_sheet(
    picture: Image, points: NDArray[np.float32], sheet: MarkerSheet, side: float
) -> None:
    """Draw a printed marker into an image whose pixels' points on the table are known."""
    dictionary = cv2.aruco.getPredefinedDictionary(DICTIONARY)
    whole = _MARKER_PX + 2 * _RIM_PX
    drawn = np.full((whole, whole), 255, np.uint8)
    inner = slice(_RIM_PX, _RIM_PX + _MARKER_PX)
    drawn[inner, inner] = cv2.aruco.generateImageMarker(dictionary, sheet.number, _MARKER_PX)
    soft = cv2.GaussianBlur(drawn, (0, 0), 2.2)
    turn, middle = math.radians(sheet.turn), (whole - 1) / 2
    dx, dy = points[..., 0] - sheet.x, points[..., 1] - sheet.y
    u = (dx * math.cos(turn) + dy * math.sin(turn)) / side * _MARKER_PX + middle
    v = (dy * math.cos(turn) - dx * math.sin(turn)) / side * _MARKER_PX + middle
    pixels = cv2.remap(soft, u.astype(np.float32), v.astype(np.float32), cv2.INTER_LINEAR)
    there = (u > 0) & (v > 0) & (u < whole - 1) & (v < whole - 1)
    picture[there] = (np.asarray(pixels)[there] * _PAPER_BRIGHTNESS)[:, None]


def marker_corners(sheet: MarkerSheet, side: float) -> list[Point]:
    """Return the corners of a marker on the table, starting at the upper left."""
    turn = math.radians(sheet.turn)
    x_axis, y_axis = (math.cos(turn), math.sin(turn)), (-math.sin(turn), math.cos(turn))
    corners = rectangle_corners(side, side) @ np.array([x_axis, y_axis]) + (sheet.x, sheet.y)
    return [(x, y) for x, y in corners.tolist()]
