"""The searches of the log as the address of a page gives them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, timedelta, tzinfo
from datetime import time as clock
from typing import Any, Final, NamedTuple

from shoe_daemon.display.log.queries import Cursor, LogFilter
from shoe_daemon.display.log.summaries import CARD_NUMBERS, DECISIONS, RoundMark
from shoe_daemon.floor.table import TABLE_NAME
from shoe_daemon.game import IrregularityKind, Outcome
from shoe_daemon.table import moment_to_microseconds

VIEWS: Final = ("irregularities", "rounds")
MARKS: Final = tuple(mark.name.lower() for mark in RoundMark if mark.name)
KINDS: Final = (*(str(kind) for kind in IrregularityKind), *DECISIONS)

_MAX_CARDS: Final = 6
_MAX_NUMBER: Final = 1_000_000
_MAX_TEXT: Final = 80
_MAX_SEVERITY: Final = 5

_CARD: Final = re.compile(r"(10|[2-9AJQKT])([SHDC])")
_SUIT_SIGNS: Final = str.maketrans({"♠": "S", "♥": "H", "♦": "D", "♣": "C", "♤": "S", "♡": "H"})
_FILTER_FIELDS: Final = {"from": "since", "to": "until", "open": "open_only"}
"""Fields of `LogFilter` that have another name in addresses."""


class ParsedFilter(NamedTuple):
    """
    A search as its address names it.

    Attributes:
        view: One of `VIEWS`.
        cursor: The page begins behind it; None for the first page.
        values: The given texts by the names of the fields.
        errors: Names of fields whose text is invalid.
    """

    view: str
    wanted: LogFilter
    cursor: Cursor | None
    values: dict[str, str]
    errors: list[str]


def parse_filter(given: Mapping[str, str], zone: tzinfo | None) -> ParsedFilter:
    """
    Parse a search of an address, with its times in `zone` or that of the computer; an invalid
    field is in `errors` and asks for nothing.
    """
    parsers: dict[str, Callable[[str], Any]] = {
        "table": lambda text: _checked(text, valid=bool(TABLE_NAME.fullmatch(text))),
        "shoe": _number,
        "round": _number,
        "from": lambda text: _moment(text, zone, last=False),
        "to": lambda text: _moment(text, zone, last=True),
        "kind": lambda text: _checked(text, valid=text in KINDS),
        "severity": lambda text: _number(text, _MAX_SEVERITY),
        "operator": lambda text: _checked(text, valid=len(text) <= _MAX_TEXT),
        "dealer": lambda text: _checked(text, valid=len(text) <= _MAX_TEXT),
        "open": lambda text: bool(_checked(text, valid=text == "1")),
        "outcome": lambda text: str(Outcome(text)),
        "mark": lambda text: RoundMark[_checked(text, valid=text in MARKS).upper()],
        "cards": _cards,
        "after": _cursor,
    }
    values: dict[str, str] = {}
    found: dict[str, Any] = {}
    errors: list[str] = []
    for name, parse in parsers.items():
        text = given.get(name, "").strip()[: 2 * _MAX_TEXT]
        if not text:
            continue
        values[name] = text
        try:
            found[_FILTER_FIELDS.get(name, name)] = parse(text)
        except (ValueError, OverflowError):
            errors.append(name)
    cursor = found.pop("after", None)
    values.pop("after", None)
    view = given.get("view", "")
    if view not in VIEWS:
        view = VIEWS[0]
    return ParsedFilter(view, LogFilter(**found), cursor, values, errors)


def _number(text: str, most: int = _MAX_NUMBER) -> int:
    number = int(text) if text.isascii() and text.isdigit() else 0
    if not 1 <= number <= most:
        raise ValueError(text)
    return number


def _checked(text: str, *, valid: bool) -> str:
    if not valid:
        raise ValueError(text)
    return text


def _moment(text: str, zone: tzinfo | None, *, last: bool) -> int:
    """Return a time in microseconds; `last` is the end of the day, minute or second named."""
    if len(text) == len("2026-11-21"):
        moment = datetime.combine(date.fromisoformat(text), clock())
        span = timedelta(days=1)
    else:
        moment = datetime.fromisoformat(text)
        seconds = moment.second or text.count(":") > 1
        span = timedelta(seconds=1) if seconds else timedelta(minutes=1)
    if moment.tzinfo is None:
        moment = moment.astimezone() if zone is None else moment.replace(tzinfo=zone)
    if last:
        moment += span
    return moment_to_microseconds(moment) - (1 if last else 0)


def _cards(text: str) -> tuple[str, ...]:
    plain = text.upper().translate(_SUIT_SIGNS)
    found = [rank + suit for rank, suit in _CARD.findall(plain)]
    found = ["10" + card[1:] if card.startswith("T") else card for card in found]
    rest = re.sub(r"[\s,;+]+", "", _CARD.sub("", plain))
    if rest or not 0 < len(found) <= _MAX_CARDS or not set(found) <= CARD_NUMBERS.keys():
        raise ValueError(text)
    return tuple(found)


def _cursor(text: str) -> Cursor:
    at, _, key = text.partition(".")
    return Cursor(int(at), int(key))
