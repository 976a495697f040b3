"""
The facts of a round: the cards as they were drawn, and what readers and persons have said.

Where the cards lie, which card is due and what is irregular is derived from these facts by `view`
and `checks`. The field names are part of every checkpoint.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum, IntFlag
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict

from shoe_daemon.game import FOUR_CARDS, Card, Kind, Outcome, Slot
from shoe_daemon.table.drawn_card import DrawnCard
from shoe_daemon.table.events import DrawDue
from shoe_daemon.table.next_card import OnFive
from shoe_daemon.table.view import Style, View, interpret, lay

VOID: Final = "void"
"""`Round.cause` if a person voided it."""
DECLARED: Final = "declared"
"""`Round.end` while no card is missing."""
MISSING_AT_CORRECTION: Final = "missing_at_correction"
"""`Round.end` if only corrected cards show that a card is missing."""


class Phase(IntEnum):
    """The round that the next card belongs to: this one, another, or none but this coup."""

    DEALING = 0
    ENDED = 1
    REST = 2


class Doubt(IntFlag):
    """The reasons why a round is partial: cards or signals of it were missed."""

    NONE = 0
    JOINED = 1
    """It had begun before the table observed it."""
    LOST = 2
    """Frames were lost."""
    TORN = 4
    """Its cards may belong to two rounds."""
    RESTART = 8
    """The daemon was down."""
    UNREAD = 16
    """The slot of a card is unknown: it was not read, or the Player chose its hand."""
    ENTERED = 32
    """A person entered its result."""
    STRANGE = 64
    """A face was disclosed that no card of it has."""


class Round(Struct, dict=True, omit_defaults=True):
    """
    The round in progress, and after its end the one still on the table.

    Attributes:
        number: From 1 within the shoe.
        drawn: Its cards in the order drawn, those of neither hand included.
        doubts: Why it is partial; none if every card was observed.
        phase: The round that the next card belongs to.
        cause: Why it ended without a result; `VOID` if a person voided it.
        end: The code of its declared end while that waits for a card or for faces: a sentence of
            a missing draw, or `DECLARED`.
        winner: The outcome that was declared at its end.
        entered: Outcome and pairs that a person entered.
        said: A result was declared for it: a later one concerns another round.
        draw_ordered: A person has ordered that the missing card be drawn now.
        unread_pending: The reader has reported an unread card; its slot is unknown.
        cleared: Its cards have been taken off the table.
        interrupted: The reader booted in mid-round, and its coup may go on.
        bets_closed: Betting for it was closed before its first card.
        next_closed: Betting for the round after it is closed already.
        finished: Its result was published, or is held back.
        ruled: Excess cards on which a person has ruled before they were seen.
        dismissed: The findings that are not raised again, by key: their kind, or "" for each.
        rest: The cards of its coup after its end, in `Phase.REST`.
        holder: The seat that draws its cards; None if the dealer draws them.
        out_before: Cards that had left the shoe when it began.
        card_at: The `at` of its latest card; "" before the first.
        due: The last published `draw_due`.
        chooses: The Player may draw or stand on 5.
        view: What the players can know; derived, and part of no checkpoint.
        away: It is no longer on the table; it is not part of a checkpoint either.
    """

    number: int
    kind: Kind = Kind.NORMAL
    drawn: list[DrawnCard] = []
    doubts: int = 0
    phase: int = 0
    cause: str | None = None
    end: str | None = None
    winner: Outcome | None = None
    entered: tuple[Outcome | None, bool | None, bool | None] | None = None
    said: bool = False
    draw_ordered: bool = False
    unread_pending: bool = False
    cleared: bool = False
    interrupted: bool = False
    bets_closed: bool = False
    next_closed: bool = False
    finished: bool = False
    ruled: int = 0
    dismissed: dict[str, str] = {}
    rest: list[DrawnCard] = []
    holder: int | None = None
    out_before: int = 0
    card_at: str = ""
    due: DrawDue | None = None
    chooses: bool = False

    def __post_init__(self) -> None:
        self.away = False
        self.changed()

    def changed(self) -> None:
        """Derive the views again, after a fact was edited."""
        self.view: View = interpret(
            self.drawn, masked=True, partial=self.doubts != 0, on_five=self.on_five
        )
        self._known: View | None = None
        if self.chooses:
            self._doubt_choice()

    def add(self, card: DrawnCard, style: Style) -> None:
        """Add a card that is drawn now; the views grow by it, as `interpret` would make them."""
        partial = self.doubts != 0
        card.sure = not partial
        self.drawn.append(card)
        if self.chooses:
            self.view.on_five = OnFive.CHOOSES
        lay(self.view, card, masked=True, partial=partial, style=style)
        if self._known is not None:
            self._known.on_five = self.view.on_five
            lay(self._known, card, masked=False, partial=partial)
        if self.chooses:
            self._doubt_choice()

    def _doubt_choice(self) -> None:
        """Doubt the round if there is a fifth card, and it does not show what the Player chose."""
        if self.view.due.choice and len(self.view.dealt) > FOUR_CARDS and not self.doubts:
            self.doubt(Doubt.UNREAD)

    def take_away(self, card: DrawnCard) -> None:
        """Remove a card that belongs to another round."""
        self.drawn = [each for each in self.drawn if each is not card]
        self.dismissed[card.key] = ""
        self.changed()

    def doubt(self, why: Doubt) -> None:
        """Record that cards or signals of it were missed."""
        self.doubts |= why
        self.changed()

    @property
    def known(self) -> View:
        """The view by all known faces; the same as `view` while none of them is hidden."""
        view = self.view
        if not view.hidden:
            return view
        if self._known is None:
            self._known = interpret(
                self.drawn, masked=False, partial=self.doubts != 0, on_five=self.on_five
            )
        return self._known

    @property
    def on_five(self) -> OnFive:
        """What a Player with 5 does."""
        if not self.chooses:
            return OnFive.DRAWS
        # After a card that was missing at the declared end, the Player may choose again.
        is_over = self.phase or (self.over and self.is_missing)
        return OnFive.STANDS if is_over else OnFive.CHOOSES

    @property
    def deciding(self) -> View:
        """The view that decides the end: in a partial round hidden faces decide nothing."""
        return self.view if self.doubts else self.known

    @property
    def cards(self) -> list[DrawnCard]:
        """The cards of both hands by the public view, in the order drawn."""
        return self.view.dealt

    @property
    def partial(self) -> bool:
        """Cards or signals of it were missed."""
        return self.doubts != 0

    @property
    def lacks(self) -> bool:
        """It is partial, or it has its result although a card of it was never read."""
        return self.doubts != 0 or (
            self.finished and any(card.face is None for card in self.view.dealt)
        )

    @property
    def ended(self) -> bool:
        """The next card belongs to another round."""
        return self.phase != 0

    @property
    def is_settled(self) -> bool:
        """It has ended, and whether it has a result is decided."""
        return self.phase != 0 and (self.finished or self.cause is not None)

    @property
    def over(self) -> bool:
        """
        Its end was declared: once it is complete, the next card belongs to another round.

        A correction that shows a missing card declares no end.
        """
        return self.end is not None and self.end != MISSING_AT_CORRECTION

    @property
    def is_missing(self) -> bool:
        """Its end was declared while a card was due, and none was dealt since."""
        return self.end is not None and self.end != DECLARED

    @property
    def is_complete(self) -> bool:
        """No further card is due by the known faces."""
        return self.deciding.complete

    @property
    def may_end(self) -> bool:
        """No further card is due by the known faces, unless the Player chooses to draw."""
        due = self.deciding.due
        return self.is_complete or (None in due.choice and not self.unread_pending)

    @property
    def is_due_unreadable(self) -> bool:
        """The due card depends on a card that could not be read."""
        return any(card.unread for card in self.view.dealt) and not self.deciding.due.known

    @property
    def awaits_faces(self) -> bool:
        """
        Faces of its hands are still to be disclosed.

        An unread card does not count: its face does not come by itself.
        """
        view = self.view
        return bool(view.hidden) and any(not (card.public or card.unread) for card in view.dealt)

    @property
    def hides_faces(self) -> bool:
        """A known face of its hands is not public."""
        view = self.view
        return bool(view.hidden) and any(
            card.face is not None and not card.public for card in view.dealt
        )


class PastCard(Struct, array_like=True):
    """
    A card of a `PastRound`; the fields are as in `DrawnCard`.

    `flags` are, from the lowest bit: public, unread, out, seed, sure, and told.
    """

    order: int
    face: Card | None
    declared: Slot | None
    laid: Slot | None
    flags: int


class PastRound(Struct, array_like=True):
    """The facts of a round that was taken off the table: a correction may still change them."""

    number: int
    kind: Kind
    doubts: int
    cause: str | None
    winner: Outcome | None
    entered: tuple[Outcome | None, bool | None, bool | None] | None
    finished: bool
    dismissed: dict[str, str]
    drawn: list[PastCard]
    chooses: bool = False

    @classmethod
    def of(cls, round_: Round) -> PastRound:
        """Put a round away."""
        return cls(
            round_.number,
            round_.kind,
            round_.doubts,
            round_.cause,
            round_.winner,
            round_.entered,
            round_.finished,
            round_.dismissed,
            [_put_away(card) for card in round_.drawn],
            round_.chooses,
        )

    def round(self) -> Round:
        """Return the whole round again, as it was published."""
        found = Round(**{**asdict(self), "drawn": []}, phase=Phase.ENDED, said=True)
        found.away = True
        found.drawn = [_drawn(card) for card in self.drawn]
        found.changed()
        return found


def _put_away(card: DrawnCard) -> PastCard:
    flags = (
        card.public
        | card.unread << 1
        | card.out << 2
        | card.seed << 3
        | card.sure << 4
        | (card.told is not None) << 5
    )
    return PastCard(card.order, card.face, card.declared, card.laid, flags)


def _drawn(card: PastCard) -> DrawnCard:
    public, unread, out, seed, sure, told = (bool(card.flags >> bit & 1) for bit in range(6))
    return DrawnCard(
        card.face,
        card.declared,
        public=public,
        unread=unread,
        order=card.order,
        out=out,
        laid=card.laid,
        sure=sure,
        seed=seed,
        told=((card.face or "") if public else "") if told else None,
        told_staff=card.face,
        counted=card.face,
        counted_public=public,
    )


def is_repeat(card: DrawnCard, cards: Sequence[DrawnCard]) -> bool:
    """Return whether the reader has reported this card before, on the same slot."""
    slot, face = card.declared, card.face
    if slot is None or face is None:
        return False
    for each in cards:  # noqa: SIM110 - a generator for every card costs more than the loop
        if each.declared is slot and each.face is face:
            return True
    return False
