"""Settings of the simulated table and camera."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta

from drivers.simulators.shoe import Dealing


class Station(StrEnum):
    """The camera's position: above the table, or at the shoe's exit."""

    OVERHEAD = "overhead"
    THROAT = "throat"


class SceneFault(StrEnum):
    """
    Faults of the table, the light or the camera.

    Table: ``overdraw``: an excess card is dealt; ``missed-draw``: the cards are collected although
    a draw is due; ``reset``: they are collected in mid-round; ``unreadable``: marker buttons hide
    both indices of a card, or it leaves the shoe too fast; ``wrong-place``: a third card is dealt
    to the other hand's place; ``covered``: a hand rests on cards. Light: ``lamp-out``,
    ``flicker``, ``shadow``, ``glare``. Camera: ``bump`` by 5 mm and ``knock`` by 50 mm;
    ``defocus``; ``damaged``: torn pictures; ``stopped``: no pictures for some seconds; ``frozen``;
    ``black``. ``other-deck``: another maker's cards from the next shoe on. Shoe's exit:
    ``double-feed``: two cards together; ``returned``: a card is pushed back and drawn again.
    """

    OVERDRAW = "overdraw"
    MISSED_DRAW = "missed-draw"
    RESET = "reset"
    UNREADABLE = "unreadable"
    WRONG_PLACE = "wrong-place"
    COVERED = "covered"
    LAMP_OUT = "lamp-out"
    FLICKER = "flicker"
    SHADOW = "shadow"
    GLARE = "glare"
    BUMP = "bump"
    KNOCK = "knock"
    DEFOCUS = "defocus"
    DAMAGED = "damaged"
    STOPPED = "stopped"
    FROZEN = "frozen"
    BLACK = "black"
    OTHER_DECK = "other-deck"
    DOUBLE_FEED = "double-feed"
    RETURNED = "returned"


SHOE_FAULTS: Final = (
    SceneFault.OVERDRAW,
    SceneFault.MISSED_DRAW,
    SceneFault.RESET,
    SceneFault.UNREADABLE,
)
"""Faults made by the dealer; the other simulators have them too, by the same names."""

THROAT_FAULTS: Final = (
    *SHOE_FAULTS,
    SceneFault.DOUBLE_FEED,
    SceneFault.RETURNED,
    SceneFault.LAMP_OUT,
    SceneFault.FLICKER,
    SceneFault.DEFOCUS,
    SceneFault.DAMAGED,
    SceneFault.STOPPED,
    SceneFault.FROZEN,
    SceneFault.BLACK,
    SceneFault.OTHER_DECK,
)
OVERHEAD_FAULTS: Final = tuple(
    each for each in SceneFault if each not in {SceneFault.DOUBLE_FEED, SceneFault.RETURNED}
)

Share = Annotated[float, Meta(ge=0, le=1)]


class Settings(Dealing, frozen=True, kw_only=True):
    """
    The same settings always give the same pictures.

    Attributes:
        station: The camera's position.
        width, height: Picture size in pixels.
        fps: Pictures per second.
        deck: The deck's number; None: chosen by the seed. Never a deck of the training.
        faults: Possible faults.
        pause: Factor of the pauses between actions; 1 as at a real table.
        turned: Share of rounds dealt face down and then turned over.
        squeezed: Share of those in which a player slowly bends a card first.
        overlap: Share of third cards that overlap a neighbour.
        noise: Sensor noise, in steps of 255.
        lens: Lens distortion; 0 for none, 1 as in a cheap webcam.
        exposure: Exposure time in seconds.
    """

    station: Station = Station.OVERHEAD
    width: Annotated[int, Meta(ge=320, le=4096)] = 1280
    height: Annotated[int, Meta(ge=240, le=4096)] = 720
    fps: Annotated[float, Meta(gt=0, le=240)] = 25.0
    deck: int | None = None
    faults: tuple[SceneFault, ...] = ()
    pause: Annotated[float, Meta(ge=0, le=10)] = 1.0
    turned: Share = 0.5
    squeezed: Share = 0.4
    overlap: Share = 0.2
    noise: Annotated[float, Meta(ge=0, le=50)] = 2.5
    lens: Annotated[float, Meta(ge=0, le=3)] = 0.6
    exposure: Annotated[float, Meta(ge=0, le=0.1)] = 0.006
