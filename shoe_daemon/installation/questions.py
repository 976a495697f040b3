"""Asks the technician for what the options of `shoe-daemon init` leave open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Final, cast

import click
from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import HOUSE_IDS, load_house
from shoe_daemon.installation.answers import (
    SIMULATED,
    Answers,
    DisplayKind,
    check_broker,
    check_id,
    check_operator,
    check_reader,
    default_name,
)
from shoe_daemon.installation.reader_search import FoundReader, only_reader

SEARCH: Final = "search"
"""The only serial adapter or camera of this computer."""

_DISPLAYS: Final = {
    "local": "boards for browsers on this computer",
    "kiosk": "this computer's own screen shows the board",
    "network": "boards for all computers, the pit with a password",
    "none": "no boards from this computer",
}
_OTHER_ADDRESS: Final = "another address"


class Given(Struct, kw_only=True):
    """
    The options of the command; None for one that is asked for.

    Attributes:
        questions: Whether questions may be asked; otherwise the default is taken.
    """

    site: str | None = None
    table: str | None = None
    name: str | None = None
    house: str | None = None
    reader: str | None = None
    broker: str | None = None
    tls_names: tuple[str, ...] = ()
    ca_file: str | None = None
    display: str | None = None
    language: str | None = None
    operators: tuple[str, ...] | None = None
    witness: str | None = None
    questions: bool = True


def ask_answers(given: Given, earlier: Answers | None, found: Sequence[FoundReader]) -> Answers:
    """
    Return all answers: the given ones, otherwise asked for, otherwise the default: that of the
    earlier answers on this computer. The found devices may be the reader.
    """
    ask = _Asker(given, earlier)
    site = ask.text("site", "Site (in all topics)", "casino", lambda text: check_id("site", text))
    table = ask.text("table", "Table id", "table-1", lambda text: check_id("table", text))
    return Answers(
        site=site,
        table=table,
        name=given.name or _kept_name(earlier, table),
        house=ask.choice("house", "House (its rules)", _houses()),
        reader=_reader(ask, given, found),
        broker=(broker := ask.text("broker", "Broker: here, or HOST:PORT", "here", check_broker)),
        tls_names=_tls_names(given, earlier, broker),
        ca_file=given.ca_file or (earlier.ca_file if earlier else None),
        display=cast("DisplayKind", ask.choice("display", "Boards", _DISPLAYS)),
        language=given.language or (earlier.language if earlier else "en"),
        operators=_operators(given, earlier),
        witness=_witness(given, earlier, table),
    )


def _tls_names(given: Given, earlier: Answers | None, broker: str) -> tuple[str, ...]:
    if given.tls_names:
        return () if given.tls_names == ("none",) else given.tls_names
    return earlier.tls_names if earlier and broker == "here" else ()


def _witness(given: Given, earlier: Answers | None, table: str) -> str | None:
    if given.witness is not None:
        return None if given.witness in {"", "none"} else given.witness
    return earlier.witness if earlier and earlier.table == table else None


class _Asker:
    """Returns an option, the answer to its question, or its default."""

    def __init__(self, given: Given, earlier: Answers | None) -> None:
        self._given = given
        self._earlier = earlier

    def default(self, field: str, otherwise: str) -> str:
        return str(getattr(self._earlier, field, None) or otherwise)

    def text(self, field: str, question: str, otherwise: str, check: Callable[[str], str]) -> str:
        given = getattr(self._given, field)
        if given is not None:
            return check(given)
        default = self.default(field, otherwise)
        if not self._given.questions:
            return check(default)
        answer: str = click.prompt(question, default=default, value_proc=_proc(check))
        return answer

    def choice(self, field: str, question: str, choices: dict[str, str]) -> str:
        given = getattr(self._given, field)
        default = self.default(field, next(iter(choices)))
        if given is None and self._given.questions:
            return _choose(question, choices, default)
        value: str = given or default
        if value not in choices:
            raise UserError(f"{field}: {value!r}; expected one of {', '.join(choices)}")
        return value


def _choose(question: str, choices: dict[str, str], default: str) -> str:
    """Show numbered choices, and return the chosen one: by number or by name."""
    names = list(choices)
    width = max(len(name) for name in names)
    click.echo(f"{question}:")
    for number, name in enumerate(names, start=1):
        click.echo(f"  {number}  {name:<{width}}  {choices[name]}")

    def check(text: str) -> str:
        if text.isdecimal() and 0 < int(text) <= len(names):
            return names[int(text) - 1]
        if text in names:
            return text
        raise UserError(f"{text!r}; expected a number from 1 to {len(names)}")

    index = names.index(default) + 1 if default in names else 1
    answer: str = click.prompt("Number", default=str(index), value_proc=_proc(check))
    return answer


def _proc(check: Callable[[str], str]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        try:
            return check(text.strip())
        except UserError as error:
            raise click.BadParameter(str(error)) from error

    return convert


def _houses() -> dict[str, str]:
    houses = [load_house(each) for each in HOUSE_IDS]
    return {
        str(each.id): f"{each.name}, {each.decks} deck{'s' if each.decks != 1 else ''}"
        for each in houses
    }


def _kept_name(earlier: Answers | None, table: str) -> str:
    return earlier.name if earlier and earlier.table == table else default_name(table)


def _reader(ask: _Asker, given: Given, found: Sequence[FoundReader]) -> str:
    if given.reader is not None and given.reader != SEARCH:
        return check_reader(given.reader)
    earlier = ask.default("reader", "")
    if not given.questions or given.reader == SEARCH:
        return earlier or only_reader(found)
    choices = {each.address: each.description for each in found}
    if earlier and earlier != SIMULATED:
        choices.setdefault(earlier, "as before")
    choices[SIMULATED] = "a simulated shoe, to try the installation"
    choices[_OTHER_ADDRESS] = "socket://HOST:PORT, rfc2217://HOST:PORT or camera:…"
    answer = ask.choice("reader", "Reader", choices)
    if answer != _OTHER_ADDRESS:
        return answer
    address: str = click.prompt("Address of the reader", value_proc=_proc(check_reader))
    return address


def _operators(given: Given, earlier: Answers | None) -> tuple[str, ...]:
    if given.operators is not None:
        return tuple(check_operator(name) for name in given.operators)
    known = earlier.operators if earlier else ()
    if not given.questions or known:
        return known
    name: str = click.prompt(
        "Supervisor who gives orders with a PIN (empty: nobody)", default="", show_default=False
    )
    return (check_operator(name.strip()),) if name.strip() else ()


def ask_secret(question: str, check: Callable[[str], str]) -> str:
    """
    Return a password or PIN: typed twice without echo, or a line of standard input in a script;
    `check` returns it in the form to keep, or raises a UserError.
    """
    if not sys.stdin.isatty():
        return check(sys.stdin.readline().rstrip("\r\n"))
    secret: str = click.prompt(
        question, hide_input=True, confirmation_prompt=True, value_proc=_proc(check)
    )
    return secret
