"""
The settlement of wagers: one mechanism for all of them.

A `WagerDefinition` lists the prizes of a wager in order. A house's pay table names the prizes
that it pays, and their odds. The first prize of a coup that the table names is the wager's
result; a coup without one loses. Odds are ``to:for`` in whole numbers. Amounts are never
computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Final, Literal, NamedTuple

from shoe_daemon.game.coup import FIRST_CARDS, NATURAL, CountedHand, Coup, Outcome

PUSH: Final = "push"
"""The entry of a pay table for a prize that returns the stake."""

_ODDS_PATTERN: Final = re.compile(r"([1-9]\d*):([1-9]\d*)")
_SHARE_PATTERN: Final = re.compile(r"(\d+)/([1-9]\d*)")


class HandShape(NamedTuple):
    """
    The properties of a hand on which wagers depend.

    Attributes:
        total: 0 to 9.
        cards: The number of cards, 2 or 3.
        pair: The first two cards are of one rank.
        perfect_pair: They are of one rank and suit.
    """

    total: int
    cards: int
    pair: bool
    perfect_pair: bool

    @classmethod
    def of(cls, hand: CountedHand) -> HandShape:
        """Return the shape of a counted hand."""
        first, second, *_ = hand.cards
        return cls(hand.total, len(hand.cards), hand.pair, first is second)

    @property
    def natural(self) -> bool:
        """A two-card 8 or 9."""
        return self.cards == FIRST_CARDS and self.total >= NATURAL


class CoupShape(NamedTuple):
    """The properties of a coup on which wagers depend: two coups of one shape settle alike."""

    player: HandShape
    banker: HandShape

    @classmethod
    def of(cls, coup: Coup) -> CoupShape:
        """Return the shape of a finished round."""
        return cls(HandShape.of(coup.player), HandShape.of(coup.banker))

    @property
    def outcome(self) -> Outcome:
        """The winner."""
        return Outcome.of_totals(self.player.total, self.banker.total)

    @property
    def margin(self) -> int:
        """The points between the hands, 0 to 9."""
        return abs(self.player.total - self.banker.total)

    @property
    def cards(self) -> int:
        """The number of cards dealt, 4 to 6."""
        return self.player.cards + self.banker.cards


class Prize(NamedTuple):
    """
    One line of a wager's pay table.

    Attributes:
        id: Its name in the pay table.
        is_won: Returns whether a coup of this shape wins it.
        usual: The odds of most houses; None if most have no such line.
    """

    id: str
    text: str
    is_won: Callable[[CoupShape], bool]
    usual: str | None


class WagerDefinition(NamedTuple):
    """
    A wager without the prices of a house.

    Attributes:
        id: Its name in the contract.
        prizes: Most special first: the first that is won and paid counts.
        commission: The house takes its commission from the winnings.
    """

    id: str
    name: str
    prizes: tuple[Prize, ...]
    commission: bool = False

    @property
    def usual(self) -> dict[str, str]:
        """The pay table of most houses."""
        return {prize.id: prize.usual for prize in self.prizes if prize.usual is not None}


class Settlement(NamedTuple):
    """The result of one wager; `pays` is ``to:for``, None unless it wins."""

    wager: str
    result: Literal["win", "lose", "push"]
    pays: str | None


class PayLine(NamedTuple):
    """A prize and its price in a house: ``to:for`` after commission, or `PUSH`."""

    prize: Prize
    pays: str


class Wager(NamedTuple):
    """A wager as one house offers it."""

    definition: WagerDefinition
    lines: tuple[PayLine, ...]

    @property
    def id(self) -> str:
        """Its name in the contract."""
        return self.definition.id

    @classmethod
    def priced(
        cls, definition: WagerDefinition, table: Mapping[str, str], commission: str
    ) -> Wager:
        """
        Price a wager by ``to:for`` before commission, or ``push``, by prize.

        `commission` is the share of the winnings that the house keeps, ``1/20``.

        Raises:
            ValueError: The pay table is invalid; the message begins with the prize's id.
        """
        known = [prize.id for prize in definition.prizes]
        for name in table:
            if name not in known:
                msg = f"{name}: no such prize; expected {', '.join(known)}"
                raise ValueError(msg)
        if not set(table.values()) - {PUSH}:
            msg = f"{known[0]}: missing; expected its odds: a wager must be able to win"
            raise ValueError(msg)
        kept = parse_share(commission) if definition.commission else Fraction(0)
        return cls(
            definition,
            tuple(
                PayLine(prize, _net_odds(prize.id, table[prize.id], kept))
                for prize in definition.prizes
                if prize.id in table
            ),
        )

    def line(self, shape: CoupShape) -> PayLine | None:
        """Return the line of the pay table that a coup of this shape wins; None loses."""
        for line in self.lines:
            if line.prize.is_won(shape):
                return line
        return None

    def settle(self, shape: CoupShape) -> Settlement:
        """Return the result of the wager in a coup of this shape."""
        line = self.line(shape)
        if line is None:
            return Settlement(self.id, "lose", None)
        if line.pays == PUSH:
            return Settlement(self.id, "push", None)
        return Settlement(self.id, "win", line.pays)


def settle_wagers(wagers: Iterable[Wager], coup: Coup) -> tuple[Settlement, ...]:
    """Settle each wager, in the order given."""
    shape = CoupShape.of(coup)
    return tuple(wager.settle(shape) for wager in wagers)


class Settler:
    """
    The settlement of a house's wagers, computed once for each shape of a coup.

    A known shape costs one look-up and returns the same tuple, so that a caller may cache its
    own result by the identity of the tuple. There are at most 3,600 shapes.
    """

    def __init__(self, wagers: tuple[Wager, ...]) -> None:
        self._wagers = wagers
        self._settled: dict[tuple[object, ...], tuple[Settlement, ...]] = {}

    def __call__(self, coup: Coup) -> tuple[Settlement, ...]:
        """Settle every wager of the house."""
        (player, player_total, _, player_pair), (banker, banker_total, _, banker_pair), _ = coup
        # The values of `CoupShape`, without the cost of building it.
        key = (
            player_total,
            len(player),
            player_pair,
            player[0] is player[1],
            banker_total,
            len(banker),
            banker_pair,
            banker[0] is banker[1],
        )
        settled = self._settled.get(key)
        if settled is None:
            settled = self._settled[key] = settle_wagers(self._wagers, coup)
        return settled


def parse_odds(text: str) -> Fraction:
    """
    Parse ``19:20`` as the win of one unit, 19/20.

    Raises:
        ValueError: The text is not odds in whole numbers from 1.
    """
    found = _ODDS_PATTERN.fullmatch(text)
    if found is None:
        msg = f"{text!r} is no odds; expected to:for in whole numbers, such as 8:1, or push"
        raise ValueError(msg)
    return Fraction(int(found[1]), int(found[2]))


def parse_share(text: str) -> Fraction:
    """
    Parse ``1/20`` as an exact share, from 0 to less than 1.

    Raises:
        ValueError: The text is not such a fraction.
    """
    found = _SHARE_PATTERN.fullmatch(text)
    if found is None or (share := Fraction(int(found[1]), int(found[2]))) >= 1:
        msg = f"{text!r} is no share; expected a fraction below 1, such as 1/20, or 0/1 for none"
        raise ValueError(msg)
    return share


def _net_odds(prize: str, pays: str, kept: Fraction) -> str:
    if pays == PUSH:
        return PUSH
    try:
        net = parse_odds(pays) * (1 - kept)
    except ValueError as error:
        msg = f"{prize}: {error}"
        raise ValueError(msg) from error
    return f"{net.numerator}:{net.denominator}"
