"""What is played before the simulated camera, and how it is seen."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final

from msgspec import Meta, Struct

from drivers.simulators.simulated_shoe import CUT_BEHIND, Excess, Fault

__all__ = ["OVERHEAD_FAULTS", "SHOE_FAULTS", "THROAT_FAULTS", "SceneFault", "Settings", "Station"]


class Station(StrEnum):
    """Where the camera is: above the table, or at the shoe's mouth."""

    OVERHEAD = "overhead"
    THROAT = "throat"


class SceneFault(StrEnum):
    """
    What can go wrong before the camera, or with it.

    At the table: ``overdraw``: a card too many is laid; ``missed-draw``: the cards are
    collected though one is due; ``reset``: they are collected in mid-round;
    ``unreadable``: both indices of a card lie under marker buttons, or it leaves
    the shoe too fast; ``wrong-place``: a second card is laid on the other hand's
    third place; ``covered``: a hand rests on cards. In the light: ``lamp-out``,
    ``flicker``, ``shadow``, ``glare``. With the camera: ``bump`` by 5 mm and
    ``knock`` by 50 mm; ``defocus``; ``damaged``: torn pictures; ``stopped``: none for
    some seconds; ``frozen``; ``black``. ``other-deck``: cards of another maker from
    the next shoe on. At the shoe's mouth: ``double-feed``: two cards together;
    ``returned``: a card is pushed back, and comes again.
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


SHOE_FAULTS: Final = {
    SceneFault.OVERDRAW: Fault.OVERDRAW,
    SceneFault.MISSED_DRAW: Fault.MISSED_DRAW,
    SceneFault.RESET: Fault.RESET,
    SceneFault.UNREADABLE: Fault.UNREADABLE,
}
"""Those that the dealer makes; the other simulators know them too."""

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


class Settings(Struct, frozen=True, kw_only=True):
    """
    The same settings give the same pictures, always.

    Attributes:
        station: Where the camera is.
        width, height: Of the pictures.
        fps: Pictures a second.
        seed: Whatever chance is needed comes of it: cards, table, lamps, camera, hands.
        deck: Which deck; None for one of the seed. The simulator's decks are others than
            those of the recogniser's training.
        decks: In a shoe, 1 to 12.
        rounds, shoes: Ends after so many; None does not.
        faults: What may go wrong.
        fault_rate: The chance of each round that something does.
        excess: What becomes of a card too many.
        make_good: Whether cards that were missed are dealt after all.
        cut_behind: Cards behind the cut card, 14 or more.
        last_rounds: Rounds after the one in which the cut card comes.
        pause: How long is waited between actions: 1 as at a real table, 0.1 for the hurried.
        turned: The share of rounds in which cards are dealt face down and then turned over.
        squeezed: The share of those in which a player bends one open slowly first.
        overlap: The share of third cards that lie on their neighbour's edge.
        noise: Of the sensor, in steps of 255.
        lens: How much the lens bends; 0 not at all, 1 as a cheap webcam.
        exposure: Seconds for which a picture is exposed.
    """

    station: Station = Station.OVERHEAD
    width: Annotated[int, Meta(ge=320, le=4096)] = 1280
    height: Annotated[int, Meta(ge=240, le=4096)] = 720
    fps: Annotated[float, Meta(gt=0, le=240)] = 25.0
    seed: int = 0
    deck: int | None = None
    decks: Annotated[int, Meta(ge=1, le=12)] = 8
    rounds: Annotated[int, Meta(ge=1)] | None = None
    shoes: Annotated[int, Meta(ge=1)] | None = None
    faults: tuple[SceneFault, ...] = ()
    fault_rate: Share = 0.1
    excess: Excess = Excess.EITHER
    make_good: bool = False
    cut_behind: Annotated[int, Meta(ge=CUT_BEHIND)] = CUT_BEHIND
    last_rounds: Annotated[int, Meta(ge=0, le=1)] = 1
    pause: Annotated[float, Meta(ge=0, le=10)] = 1.0
    turned: Share = 0.5
    squeezed: Share = 0.4
    overlap: Share = 0.2
    noise: Annotated[float, Meta(ge=0, le=50)] = 2.5
    lens: Annotated[float, Meta(ge=0, le=3)] = 0.6
    exposure: Annotated[float, Meta(ge=0, le=0.1)] = 0.006
