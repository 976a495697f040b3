"""
The shortest log for every kind of irregularity: the table, its observations, the expected
event.

A line of a log is a line for `shoe-daemon replay`, except `after`: the seconds since the
previous line, 1 by default.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from shoe_daemon.game.cards import DECK
from shoe_daemon.game.house_rules import house_to_mapping
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.game.rulings import DEFAULT_POLICY, POLICY_IDS, load_policy
from shoe_daemon.table import observations as seen
from shoe_daemon.table.times import from_microseconds
from tests.golden.parts import read_parts, write_parts
from tests.table.dealer import (
    BANKER_STANDS,
    BOTH_STAND,
    NATURAL,
    SIX,
    SQUEEZE,
    START,
    Burn,
    CutCard,
    house,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.table.dealer import House

Line = dict[str, Any]

GOLDEN = Path(__file__).parents[1] / "golden" / "logs" / "irregularities.jsonl"


class IrregularityLog(NamedTuple):
    """
    A log that raises one irregularity, and no other.

    Attributes:
        name: What happens.
        kind: The irregularity.
        lines: What the table is told, from its session on.
        rules: The house; None for none.
        options: Of the table.
        signals: The equipment that it rests upon, by the values of `Signal`.
        situations: Under which heads of a policy it falls.
        slot: The place that it names.
        card: The face that it names.
    """

    name: str
    kind: str
    lines: tuple[Line, ...]
    rules: House | None = None
    options: dict[str, Any] = {}  # noqa: RUF012 - nothing writes to it
    signals: tuple[str, ...] = ()
    situations: tuple[str, ...] | None = None
    slot: str | None = None
    card: str | None = None

    @property
    def heads(self) -> tuple[str, ...]:
        """The heads of a policy: that of the kind's own name where none is given."""
        return (self.kind,) if self.situations is None else self.situations

    def observations(self, policy: str) -> Iterator[seen.AnyObservation]:
        """Read the log under a policy."""
        start: Line = {"type": "session", "policy": policy, "options": self.options}
        if self.rules is not None:
            start["rules"] = house_to_mapping(self.rules)
        now = START
        for line in (start, *self.lines):
            now += round(line.get("after", 1) * 1_000_000)
            stamped = {**line, "at": from_microseconds(now)}
            yield seen.decode_observation(msgspec.json.encode(stamped))


def deal(text: str) -> tuple[Line, ...]:
    """Deal cards: ``P1 8S, B1 3H``."""
    pairs = (each.split() for each in text.split(", "))
    return tuple({"type": "card", "slot": slot, "card": face} for slot, face in pairs)


def burn(count: int, role: str = "burn") -> tuple[Line, ...]:
    """Burn so many cards, each another one."""
    return tuple({"type": "card", "role": role, "card": card.value} for card in DECK[:count])


def order(name: str, **fields: Any) -> Line:  # noqa: ANN401 - of any order
    """Give an order."""
    return {"type": "command", "name": name, "operator": "ann", **fields}


def error(cause: str) -> Line:
    """Let the reader report an error."""
    return {"type": "device_error", "cause": cause}


def result(outcome: str) -> Line:
    """Declare a result."""
    return {"type": "result", "outcome": outcome}


NEW_SHOE = order("new_shoe")
OUTSIDE: Line = {"type": "card", "role": "outside", "card": "4C"}
DRAWS = "P1 6S, B1 2H, P2 KD, B2 3C"
"""The Player stands on 6, the Banker has to draw on 5."""
_CUT = house(
    burn=Burn(mode="fixed", fixed=1), cut_card=CutCard(mode="checked", position=16, hands_after=0)
)
_EXPOSED, _UNEXPOSED = ("excess_exposed",), ("excess_unexposed",)
_INVENTORY = ("inventory_violation",)
_PERSON = "a person reports it"


def _too_many(name: str, whole: str, **fields: Any) -> IrregularityLog:  # noqa: ANN401 - of any log
    lines = (*deal(whole), *deal("P3 4C"))
    return IrregularityLog(f"a card after {name}", "excess_card", lines, slot="P3", **fields)


LOGS = (
    IrregularityLog(
        "a card while bets are open",
        "premature_draw",
        ({"type": "betting_open"}, *deal("P1 9S")),
        signals=("betting",),
    ),
    IrregularityLog(
        "the Banker's third card is laid to the Player",
        "player_third_unauthorised",
        deal(f"{DRAWS}, P3 9D"),
        slot="B3",
        card="9D",
        signals=("slots",),
    ),
    _too_many("a natural", NATURAL, situations=_EXPOSED, card="4C"),
    _too_many("both stand", BOTH_STAND, situations=_EXPOSED, card="4C"),
    _too_many("the Banker stands", BANKER_STANDS, situations=_EXPOSED, card="4C"),
    _too_many("the sixth", SIX, situations=_EXPOSED, card="4C"),
    IrregularityLog(
        "a card after faces that were turned over",
        "excess_card",
        (*deal(NATURAL), order("reveal"), *deal("P3 4C")),
        slot="P3",
        situations=_UNEXPOSED,
        rules=house(dealing_style=SQUEEZE),
    ),
    IrregularityLog(
        "a card outside the game",
        "excess_card",
        (*deal(NATURAL), OUTSIDE),
        situations=_EXPOSED,
        card="4C",
    ),
    IrregularityLog(
        "the reader alone says that there was one",
        "excess_card",
        (*deal(NATURAL), error("overdraw")),
        situations=("excess_unexposed", "excess_exposed"),
    ),
    IrregularityLog(
        "a result while a card is due",
        "missing_draw",
        (*deal(DRAWS), result("banker")),
        slot="B3",
        signals=("results",),
    ),
    IrregularityLog(
        "two cards to the Player at once",
        "wrong_hand",
        deal("P1 6S, P2 7H"),
        slot="B1",
        card="7H",
        signals=("slots",),
    ),
    IrregularityLog(
        "the other winner is declared",
        "result_mismatch",
        (*deal(NATURAL), result("banker")),
        signals=("results",),
    ),
    IrregularityLog(
        "the cards go while one lies face down",
        "premature_collect",
        (*deal(NATURAL), {"type": "table_cleared"}),
        rules=house(dealing_style=SQUEEZE),
        signals=("cleared",),
    ),
    IrregularityLog(
        _PERSON,
        "face_up_in_shoe",
        (*deal("P1 9S"), order("hold", kind="face_up_in_shoe", slot="B1")),
        slot="B1",
    ),
    IrregularityLog(
        "two cards within a tenth of a second",
        "double_feed",
        (*deal("P1 9S"), {**deal("B1 2H")[0], "after": 0.1}),
        options={"least_gap": 0.3},
    ),
    IrregularityLog(
        "a card passes unread",
        "unreadable_card",
        ({"type": "unreadable", "slot": "P1"},),
        slot="P1",
        signals=("faults",),
    ),
    IrregularityLog(
        "the reader alone says that one passed unread",
        "unreadable_card",
        (*deal("P1 9S"), error("unreadable")),
        slot="B1",
        signals=("faults",),
    ),
    IrregularityLog(
        "a camera sees another card",
        "source_conflict",
        (*deal("P1 9S"), {"type": "placed", "slot": "P1", "card": "8S"}),
        slot="P1",
        signals=("placement",),
    ),
    IrregularityLog(
        "twice in a single deck",
        "duplicate_card",
        deal("P1 9S, B1 9S"),
        options={"decks": 1},
        situations=_INVENTORY,
        slot="B1",
        card="9S",
    ),
    IrregularityLog(
        _PERSON, "foreign_card", (order("hold", kind="foreign_card"),), situations=_INVENTORY
    ),
    IrregularityLog(
        "one card less in the shoe than there should be",
        "card_count_mismatch",
        (NEW_SHOE, *deal(NATURAL), result("player"), order("new_shoe", left=47)),
        options={"decks": 1},
        situations=_INVENTORY,
    ),
    IrregularityLog(
        "no card is burned",
        "burn_error",
        (NEW_SHOE, *deal("P1 9S")),
        rules=house(burn=Burn(mode="first_card")),
    ),
    IrregularityLog(
        "the shoe is empty after two cards of a round",
        "insufficient_cards",
        (NEW_SHOE, *burn(50), *deal(f"P1 {DECK[50]}, B1 {DECK[51]}")),
        options={"decks": 1},
    ),
    IrregularityLog(
        "a round after the last",
        "cut_card_overrun",
        (
            NEW_SHOE,
            *burn(1),
            *deal("P1 9S"),
            {"type": "cut_card"},
            *deal("B1 2H, P2 KD, B2 3C"),
            result("player"),
            *deal("P1 8H"),
        ),
        rules=_CUT,
        signals=("cut_card", "results"),
    ),
    IrregularityLog(
        "nine cards are left behind the place of the cut card",
        "cut_card_missing",
        (NEW_SHOE, *burn(42), *deal(f"P1 {DECK[50]}")),
        rules=house(decks=1, cut_card=CutCard(mode="checked", position=16)),
        signals=("cut_card",),
    ),
    IrregularityLog(
        "the reader says so",
        "card_returned",
        (*deal("P1 9S"), error("card_returned")),
        signals=("faults",),
    ),
    IrregularityLog(
        _PERSON, "card_returned", (*deal("P1 9S"), order("hold", kind="card_returned"))
    ),
    IrregularityLog(
        _PERSON, "card_off_table", (*deal("P1 9S"), order("hold", kind="card_off_table"))
    ),
    IrregularityLog(
        "four of one suit",
        "suspect_sequence",
        deal("P1 2S, B1 9S, P2 4S, B2 KS"),
        options={"suspect_run": 4},
    ),
    IrregularityLog(
        "a draw takes too long",
        "device_fault",
        (*deal("P1 9S"), error("timeout")),
        signals=("faults",),
    ),
    IrregularityLog(
        "a person voids the round", "manual_void", (*deal("P1 9S"), order("void_round"))
    ),
)
"""At least one for every kind."""


def golden_parts() -> dict[str, str]:
    """Return the logs of each kind as the golden corpus keeps them; a log keeps its policy."""
    parts = read_parts(GOLDEN)
    for kind in dict.fromkeys(log.kind for log in LOGS):
        policies = re.findall(r'"policy":"(\w+)"', parts.get(kind, ""))
        logs = [log for log in LOGS if log.kind == kind]
        texts = (
            _golden(log, policies[number] if number < len(policies) else _policy(kind))
            for number, log in enumerate(logs)
        )
        parts[kind] = "\n".join(texts)
    return parts


def _policy(kind: str) -> str:
    """Return the first policy that rules on a kind, or the default."""
    ruling = (each for each in POLICY_IDS if load_policy(each).rulings(IrregularityKind(kind)))
    return next(ruling, DEFAULT_POLICY)


def _golden(log: IrregularityLog, policy: str) -> str:
    lines = [seen.encode_observation(each).decode() for each in log.observations(policy)]
    return "\n".join([f"# {log.name}", *lines, ""])


if __name__ == "__main__":
    write_parts(GOLDEN, golden_parts())
