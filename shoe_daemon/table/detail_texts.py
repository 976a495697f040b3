"""
The English sentences of a table, each with a code.

A sentence on the wire is always made from its code and its values, and both are published
beside it, so that a display can translate it. In a sentence

- ``{name}`` is replaced by the value of that name;
- a part in brackets is omitted if one of its values is null;
- ``{hand}`` is ``player`` or ``banker`` as a value, and a name in the sentence;
- ``{because}`` is the code of another sentence, one of `DRAW_CODES`, whose
  values stand beside it: it is inserted with a small first letter.
"""

from __future__ import annotations

import re
from functools import cache
from string import Formatter
from typing import Final, NamedTuple

from shoe_daemon.game import IRREGULARITIES, REPORTABLE_KINDS

DetailValue = str | int | None

_DRAW_TEMPLATES: Final = {
    "first_card_due": "The first card of the {hand} is due.",
    "second_card_due": "The second card of the {hand} is due.",
    "cards_face_down": "Who draws cannot be told until the cards are turned over.",
    "card_not_seen": "Who draws cannot be told: a card of this round was not seen.",
    "natural": "The {hand} has a natural {total}: nobody draws.",
    "both_naturals": "Both hands are naturals, {player} against {banker}: nobody draws.",
    "player_draws": "The Player draws on {player}.",
    "player_stood_banker_draws": "The Player stands on {player}; the Banker draws on {banker}.",
    "player_stood_banker_stands": "The Player stands on {player}; the Banker stands on {banker}.",
    "player_drew_banker_draws": (
        "The Player drew a card worth {third}; the Banker draws on {banker}."
    ),
    "player_drew_banker_stands": (
        "The Player drew a card worth {third}; the Banker stands on {banker}."
    ),
    "both_complete": "Both hands are complete.",
}
_DUE_PART: Final = ", and a card of the {hand} is still due ({slot})."
_PLAYER_PAIR_PART: Final = (
    "Player pair: declared {player_pair_declared}, the cards give {player_pair_cards}"
)
_BANKER_PAIR_PART: Final = (
    "Banker pair: declared {banker_pair_declared}, the cards give {banker_pair_cards}"
)
_FIRST_READING_PART: Final = "; the first reading stands until a person decides."
_FAULT_PART: Final = "[ (code {code})][: {text}]."

DETAIL_TEMPLATES: Final[dict[str, str]] = {
    **_DRAW_TEMPLATES,
    # excess cards
    "excess_after_end": "{card} was drawn and is no part of this round: {because}",
    "excess_after_end_unseen": "A card was drawn and is no part of this round: {because}",
    "excess_out_of_order": (
        "{card} was drawn and is no part of this round: it was drawn outside the order of play."
    ),
    "excess_out_of_order_unseen": (
        "A card was drawn and is no part of this round: it was drawn outside the order of play."
    ),
    "excess_before_any_round": "{card} was drawn and is no part of any round: none had begun.",
    "excess_before_any_round_unseen": (
        "A card was drawn and is no part of any round: none had begun."
    ),
    "excess_by_correction": "By the corrected cards {card} is no part of round {round}.",
    "excess_by_reader": "The reader says that a card too many was drawn.",
    # missing draws
    "missing_at_result": f"A result was declared{_DUE_PART}",
    "missing_at_confirmation": f"The result was confirmed{_DUE_PART}",
    "missing_at_betting": f"Betting was opened{_DUE_PART}",
    "missing_at_closed_betting": f"Betting was closed for the next round{_DUE_PART}",
    "missing_before_late_card": f"The next card came later than a draw takes{_DUE_PART}",
    "missing_at_clearing": f"The table was cleared{_DUE_PART}",
    "missing_at_correction": f"A card was corrected{_DUE_PART}",
    "missing_by_correction": "By the corrected cards round {round} lacks a card.",
    # cards with the wrong hand, or at the wrong moment
    "player_third_unauthorised": (
        "A third card was given to the Player, who stands; "
        "the Banker is to draw, and by the order out of the shoe it is the Banker's."
    ),
    "second_card_on_place": "A second card was laid on {slot}.",
    "laid_on_another_place": (
        "A card was laid on {laid} while {slot} was due; "
        "by the order out of the shoe it is {slot}."
    ),
    "drawn_while_betting": "A card was drawn while betting was open.",
    "collected_early": "The cards were taken off before the result was known to the table.",
    "drawn_together": "Two cards left the shoe together.",
    # the declared result
    "result_mismatch": (
        "winner: declared {winner_declared}, the cards give {winner_cards}"
        f"[; {_PLAYER_PAIR_PART}][; {_BANKER_PAIR_PART}]."
    ),
    "impossible_winner": (
        "winner: declared {winner_declared}, which the cards that were seen do not allow"
        f"[; {_PLAYER_PAIR_PART}][; {_BANKER_PAIR_PART}]."
    ),
    "pair_mismatch": f"{_PLAYER_PAIR_PART}[; {_BANKER_PAIR_PART}].",
    "banker_pair_mismatch": f"{_BANKER_PAIR_PART}.",
    "forced_after_result": ("The reader ended the round by force after its result was published."),
    # faces
    "unread_card": "The card[ on {slot}] passed and could not be read.",
    "unread_by_reader": "The reader says that a card passed unread.",
    "another_card_on_place": (
        f"Another card is now said to lie on {{slot}} than was read before{_FIRST_READING_PART}"
    ),
    "readers_differ": (
        f"Two readers differ: {{source}} read another card[ on {{slot}}]{_FIRST_READING_PART}"
    ),
    "reader_read_more": (
        f"Two readers differ: {{source}} read more cards than were dealt{_FIRST_READING_PART}"
    ),
    # the shoe
    "duplicate_card": "{card} was read {times} times in a shoe of {decks} decks.",
    "duplicate_card_one_deck": "{card} was read {times} times in a shoe of 1 deck.",
    "duplicate_card_after_gap": (
        "A card was read more often than the shoe holds it[: {card}, {times} times]. The shoe "
        "was probably changed while the daemon or the reader was away: order new_shoe."
    ),
    "count_mismatch": (
        "{drawn} cards left the shoe and {counted} were counted in it: {sum} instead of {full}."
    ),
    "too_many_cards": "{drawn} cards left a shoe that holds {full}.",
    "shoe_empty": "All {full} cards have left the shoe, and one is due.",
    "burned_too_many": "One card more was burned than the {due} due.",
    "nothing_burned": "The first round began and no card had been burned.",
    "burn_incomplete": "The first round began with {cards} cards still to be burned.",
    "ordered_burn_incomplete": (
        "A round began with {cards} cards still to be burned by the ruling."
    ),
    "cut_card_overrun": (
        "A round was begun after the last permitted one, and no new shoe was announced or burned."
    ),
    "cut_card_missing": (
        "The cut card, {position} from the back, has not come out, and its place is passed."
    ),
    "sequence_of_one_suit": "{cards} cards in a row came of one suit.",
    "sequence_of_one_rank": "{cards} cards in a row came of one rank.",
    "sequence_upwards": "{cards} cards in a row came upwards in rank.",
    "sequence_downwards": "{cards} cards in a row came downwards in rank.",
    # the reader
    "card_returned": "The reader says that a card was pushed back into the shoe.",
    "fault_button": f"The reader reports that a button was pressed out of turn{_FAULT_PART}",
    "fault_card_code": f"The reader reports that its card code is wrong{_FAULT_PART}",
    "fault_timeout": f"The reader reports that a draw took too long{_FAULT_PART}",
    "fault": f"The reader reports an error{_FAULT_PART}",
    # reports of a person
    "said_by_person": "{text}",
    "voided_by_person": "A supervisor made the round void.",
    **{f"reported_{kind}": IRREGULARITIES[kind].text for kind in sorted(REPORTABLE_KINDS)},
    # faults of the daemon: the alarm in `state`
    "not_recorded": "Nothing can be recorded, so no round goes on: {reason}",
    "cards_too_fast": "Cards come faster than they can be recorded.",
}
"""The sentence of every code. A display needs a translation of each."""

DRAW_CODES: Final = tuple(_DRAW_TEMPLATES)
"""The codes of `draw_due`, the values of ``{because}``."""

HAND_NAMES: Final = {"player": "Player", "banker": "Banker"}
"""The text of ``{hand}`` in a sentence."""

_OPTIONAL_PATTERN: Final = re.compile(r"\[([^]]*)\]")


class Detail(NamedTuple):
    """A sentence with its code and its values."""

    code: str
    values: dict[str, DetailValue]
    text: str


def make_detail(code: str, /, **values: DetailValue) -> Detail:
    """Return the sentence of a code with these values."""
    # Cards and slots are written as plain text.
    plain = {
        name: str(value) if isinstance(value, str) else value
        for name, value in sorted(values.items())
    }
    return Detail(code, plain, detail_text(code, plain))


def detail_text(code: str, values: dict[str, DetailValue]) -> str:
    """Return the English sentence of a code with these values."""
    words = dict(values)
    because = words.pop("because", None)
    if because is not None:
        reason = detail_text(str(because), words)
        words["because"] = reason[0].lower() + reason[1:]
    if "hand" in words:
        words["hand"] = HAND_NAMES.get(str(words["hand"]), words["hand"])
    kept = _OPTIONAL_PATTERN.sub(
        lambda part: _optional_part(part[1], words), DETAIL_TEMPLATES[code]
    )
    return kept.format_map(words)


def _optional_part(part: str, words: dict[str, DetailValue]) -> str:
    return "" if any(words.get(name) is None for name in _placeholder_names(part)) else part


@cache
def _placeholder_names(template: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for _, name, _, _ in Formatter().parse(template) if name))


DETAIL_VALUES: Final[dict[str, tuple[str, ...]]] = {
    code: _placeholder_names(template) for code, template in DETAIL_TEMPLATES.items()
}
"""The names of the values of every code; ``because`` adds those of its code."""
