"""Dialogue with a person at the terminal and on the live page."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Final

from calibration.camera.layout import Box, layout_named
from calibration.camera.plane import Plane
from calibration.camera.printed_boxes import propose_boxes
from calibration.camera.scripted_dialogue import (
    BackStep,
    CardStep,
    EmptyStep,
    LayoutStep,
    PlaneStep,
    ThroatStep,
    missing_ranks,
)
from calibration.camera.shown_cards import card_with_symbol
from calibration.camera.wizard_page import CardPrompt, WizardState
from calibration.terminal import Terminal
from drivers.camera.image import Image
from drivers.camera.profile.sections import Point
from shoe_daemon.errors import UserError
from shoe_daemon.game import DEALING_ORDER, DECK, Card, Slot

_RECTANGLE_CORNERS: Final = 4
_SAMPLE_CARDS: Final = 6
_FINISH_TIMEOUT_S: Final = 3.0
"""Time for a page to show the end."""

_SIDE_RANGE_MM: Final = range(6, 1001)
"""Allowed length of a rectangle's side."""

_OVERHEAD_STAGES: Final = ("plane", "empty table", "boxes", "13 cards", "back", "sample")
_THROAT_STAGES: Final = ("plane", "empty throat", "window", "13 cards", "back", "sample")

_DIRECTIONS: Final = {
    "right": (1.0, 0.0),
    "left": (-1.0, 0.0),
    "down": (0.0, 1.0),
    "up": (0.0, -1.0),
}
"""Directions in which cards leave the shoe, in the image."""


class PromptDialogue:
    """Asks one question after another; Enter goes on, as does the page's button."""

    def __init__(
        self,
        state: WizardState,
        terminal: Terminal,
        side: float,
        preset: str | None,
        *,
        throat: bool,
    ) -> None:
        """
        Take the state of the page, the terminal, the side of the markers in millimetres, and the
        name of the layout.
        """
        self._state = state
        self._terminal = terminal
        self._side = side
        self._preset = preset or "six"
        self._throat = throat
        self._chosen = random.sample(DECK, _SAMPLE_CARDS)
        self._state.stages = _THROAT_STAGES if throat else _OVERHEAD_STAGES

    def _ask(
        self,
        name: str,
        text: str,
        wants: str = "next",
        hint: str = "",
        card: CardPrompt | None = None,
    ) -> str:
        self._state.begin_step(name, text, wants, hint, card)
        answer = self._terminal.ask(f"\n{name}{'' if name.endswith('?') else '.'} {text}")
        self._state.begin_step(name, "One moment …")
        return answer

    def show(self, text: str) -> None:
        """Show a line at the terminal and on the page."""
        self._terminal.show(f"    {text}")
        self._state.add_line(text)

    def plane(self) -> PlaneStep:
        """Ask for markers, or for clicked corners."""
        self._state.reach_stage("plane")
        text = (
            f"Lay the printed markers ({self._side:g} mm) flat on the empty table, far apart, and "
            "go on; or answer with a rectangle's size in mm to click its corners."
        )
        if self._throat:
            text = (
                "Lay a card into the shoe's throat as it leaves, and answer 88x63 to click its "
                "corners; or “63x88” where its short side is the upper one."
            )
        answer = self._ask("The plane", text, "markers", "or a size, such as 400x200")
        if not answer:
            return PlaneStep(size=self._side)
        width, separator, height = answer.partition("x")
        if not (separator and _is_side(width) and _is_side(height)):
            raise UserError(
                f"{answer!r}; expected width x height in millimetres, from {_SIDE_RANGE_MM[0]} to "
                f"{_SIDE_RANGE_MM[-1]}, such as 400x200"
            )
        return PlaneStep(points=self._clicked_corners(), rectangle=(float(width), float(height)))

    def _clicked_corners(self) -> tuple[Point, ...]:
        text = (
            "Click the rectangle's corners on the page, clockwise from the upper left one; then, "
            "better, those of a second one as large, far from it: it tells of the lens."
        )
        if self._throat:
            text = (
                "Click the card's corners on the page, clockwise from the upper left one: where "
                "its edges would meet if they were not round."
            )
        self._state.clicked_points.clear()
        while not (points := self._state.clicked_points) or len(points) % _RECTANGLE_CORNERS:
            self._ask("Four points", text, "points")
        return tuple(points)

    def empty(self) -> EmptyStep:
        """Ask for an empty table."""
        self._state.clicked_points.clear()
        self._state.reach_stage(self._state.stages[1])
        what = "out of the throat: cards" if self._throat else "off the table: markers, cards"
        self._ask(f"The {self._state.stages[1]}", f"Take everything {what}, hands.")
        return EmptyStep()

    def layout(self, plane: Plane, empty: Image) -> LayoutStep:
        """Propose the boxes that are printed on the felt, and ask for their positions."""
        found = self._propose_boxes(plane, empty)
        self._state.reach_stage("boxes")
        text = (
            "Drag the boxes on the page onto those of the felt: one by one, or from beside them "
            "all at once."
        )
        if found:
            text = (
                "The boxes of the felt were found. Look on the page whether each name is where "
                "that card is dealt; then go on, or drag the boxes."
            )
        self._ask(f"The boxes ({self._preset})", text, "boxes")
        x, y, turn = self._state.shift
        return LayoutStep(preset=self._preset, x=x, y=y, turn=turn, boxes=tuple(self._state.boxes))

    def _propose_boxes(self, plane: Plane, empty: Image) -> bool:
        """Show boxes on the page; return whether they are those of the felt."""
        if self._state.boxes:
            # In a repeated step the boxes stay where they were left.
            self._state.place_boxes(plane, self._state.boxes)
            return False
        layout = layout_named(self._preset)
        found = propose_boxes(empty, plane, layout)
        boxes, shift = found or (layout, None)
        self._state.place_boxes(plane, boxes, shift)
        return found is not None

    def throat(self, plane: Plane) -> ThroatStep:
        """Ask for the direction in which cards leave, and for the leading side."""
        self._state.place_boxes(plane, (Box(None, 0.0, 0.0, 90),))
        self._state.reach_stage("window")
        text = (
            "Which way do cards leave the shoe in the picture: right, left, up or down? "
            "Where a long side comes first, add “long”: “down long”."
        )
        answer = self._ask("The shoe's throat", text, "answer", "right").lower()
        way, *ahead = answer.split() or ["right"]
        if way not in _DIRECTIONS or ahead not in ([], ["long"]):
            raise UserError(
                f"{answer!r}; expected right, left, up or down, or such as “down long”"
            )
        return ThroatStep(direction=_DIRECTIONS[way], turn=90 if ahead else 0)

    def card(self, done: Sequence[Card]) -> CardStep | None:
        """Ask for a card of a missing rank."""
        missing = missing_ranks(done)
        if not missing:
            return None
        rank, slot = missing[0], self._slot(len(done))
        suggested = Card(f"{rank}{'SHDC'[len(done) % 4]}")
        self._state.reach_stage("13 cards")
        text = (
            f"Lay the {suggested} {_place_text(slot)}. "
            f"Or answer with the {rank} that you lay; “stop” ends."
        )
        name = f"Card {len(done) + 1} of {len(done) + len(missing)}"
        return self._named(name, text, suggested, slot)

    def _named(self, name: str, text: str, suggested: Card, slot: Slot | None) -> CardStep | None:
        """Ask for a card until its name is valid; None where the person stops."""
        place = str(slot or "the throat")
        shown = CardPrompt(card_with_symbol(suggested), suggested.suit in "HD", place)
        while (answer := self._ask(name, text, "answer", str(suggested), shown).upper()) != "STOP":
            try:
                return CardStep(card=Card(answer) if answer else suggested, slot=slot)
            except ValueError:
                self.show(f"{answer!r}; expected a card such as {suggested}")
        return None

    def _slot(self, number: int) -> Slot | None:
        return None if self._throat else DEALING_ORDER[number % len(DEALING_ORDER)]

    def back(self) -> BackStep | None:
        """Ask for a card that lies face down."""
        slot = self._slot(0)
        self._state.reach_stage("back")
        shown = CardPrompt("a back", red=False, slot=str(slot or "the throat"))
        text = f"Lay a card face down {_place_text(slot)}; “skip” leaves it out."
        answer = self._ask("The back", text, "answer", "", shown)
        return None if answer.lower() == "skip" else BackStep(slot=slot)

    def sample(self, number: int) -> CardStep | None:
        """Ask for a random card."""
        if number >= _SAMPLE_CARDS:
            return None
        suggested, slot = self._chosen[number], self._slot(number)
        self._state.reach_stage("sample")
        text = (
            f"Lay the {suggested} {_place_text(slot)}, as a dealer would. "
            "Or name another; “stop” ends."
        )
        return self._named(f"Sample {number + 1} of {_SAMPLE_CARDS}", text, suggested, slot)

    def ask_retry(self, fault: str) -> bool:
        """Ask whether to repeat a failed step."""
        self._state.add_line(fault)
        text = f"{fault}. Go on to try again, “no” gives up."
        answer = self._ask("Once more?", text, "answer", "")
        return answer.lower() not in {"n", "no"}

    def finish(self, faults: Sequence[str], profile: str) -> None:
        """Show the result."""
        for each in faults:
            self._state.add_line(f"to put right: {each}")
        many = f"{len(faults)} thing{'s' if len(faults) > 1 else ''} to put right"
        name = many if faults else "Calibrated"
        text = f"Profile and report are written: {profile}. This page can be closed."
        self._state.finish(name, text, good=not faults, timeout_s=_FINISH_TIMEOUT_S)


def _is_side(text: str) -> bool:
    return text.isdecimal() and int(text) in _SIDE_RANGE_MM


def _place_text(slot: Slot | None) -> str:
    return "into the shoe's throat" if slot is None else f"on {slot}"
