"""
The results of a shoe as one short word: ``BpPTBbn``.

One upper-case letter a round, ``P`` ``B`` ``T``, each followed by flags: ``p`` a Player pair,
``b`` a Banker pair, ``n`` a natural.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Outcome

_OUTCOME_OF_LETTER: Final = {"P": Outcome.PLAYER, "B": Outcome.BANKER, "T": Outcome.TIE}
_LETTER_OF_OUTCOME: Final = {outcome: letter for letter, outcome in _OUTCOME_OF_LETTER.items()}
_ROUND_PATTERN: Final = re.compile(r"([PBT])([pbn]*)|(\s+)|(.)", re.DOTALL)


class Result(NamedTuple):
    """
    The result of one round, as the roads need it.

    Attributes:
        outcome: Which hand won.
        player_pair: The Player's first two cards were a pair.
        banker_pair: The Banker's were.
        natural: Either hand was a two-card 8 or 9.
    """

    outcome: Outcome
    player_pair: bool = False
    banker_pair: bool = False
    natural: bool = False


def parse_sequence(text: str) -> list[Result]:
    """
    Parse a sequence; white space is allowed between rounds.

    Raises:
        UserError: A character is invalid, or a flag is doubled or precedes every round.
    """
    results = []
    for found in _ROUND_PATTERN.finditer(text):
        letter, flags, _space, other = found.groups()
        if other is not None:
            raise UserError(
                f"sequence, character {found.start() + 1} ({other!r}): expected P, B or T, "
                f"each with p (Player pair), b (Banker pair) or n (natural) behind it, "
                f"such as BpPTBbn"
            )
        if letter is None:
            continue
        if len(set(flags)) < len(flags):
            raise UserError(
                f"sequence, character {found.start() + 1} ({found.group()!r}): "
                f"the same flag is given twice"
            )
        results.append(
            Result(_OUTCOME_OF_LETTER[letter], "p" in flags, "b" in flags, "n" in flags)
        )
    return results


def format_sequence(results: Iterable[Result]) -> str:
    """Format results as a sequence, the flags in the order ``p b n``."""
    return "".join(
        _LETTER_OF_OUTCOME[each.outcome]
        + "p" * each.player_pair
        + "b" * each.banker_pair
        + "n" * each.natural
        for each in results
    )
