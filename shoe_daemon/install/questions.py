"""Asks the technician for what the options of `shoe-daemon init` leave open."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, cast

import click
from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.game import HOUSE_IDS, POLICY_IDS, load_house, load_policy
from shoe_daemon.install.answers import (
    SEARCH,
    SIMULATED,
    Answers,
    DisplayKind,
    check_broker,
    check_id,
    check_operator,
    check_reader,
    default_answers,
)
from shoe_daemon.install.plan import simulator_port
from shoe_daemon.install.readers import (
    check_free,
    find_readers,
    is_free,
    only_reader,
    used_ports,
)

_DISPLAYS: Final = {
    "local": "boards for browsers on this computer",
    "kiosk": "this computer's own screen shows the board",
    "network": "boards for all computers, the pit with a password",
    "none": "no boards from this computer",
}


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
    policy: str | None = None
    reader: str | None = None
    broker: str | None = None
    tls_names: tuple[str, ...] = ()
    ca_file: str | None = None
    display: str | None = None
    language: str | None = None
    operators: tuple[str, ...] | None = None
    witness: str | None = None
    questions: bool = True


def ask_answers(given: Given, earlier: Mapping[str, Answers], configs: Path) -> Answers:
    """
    Return all answers: the given ones, otherwise asked for, otherwise the default.

    Args:
        given: The options of the command.
        earlier: The earlier answers for each table of this computer, in the order of the runs.
        configs: The folder with the tables' configurations.
    """
    ask = _Asker(given, default_answers(given.table, earlier))
    table = ask.text("table", "Table id", lambda text: check_id("table", text))
    known = default_answers(table, earlier)
    ask, used = _Asker(given, known), used_ports(configs, table)
    return Answers(
        table=table,
        site=ask.text("site", "Site (in all topics)", lambda text: check_id("site", text)),
        name=given.name or known.name,
        house=ask.choice("house", "House (its rules)", house_choices()),
        policy=ask.choice("policy", "Policy (whose rulings are proposed)", _policies()),
        reader=_reader(given, known, used),
        broker=(broker := check_broker(known.broker if given.broker is None else given.broker)),
        tls_names=_tls_names(given, known, broker),
        ca_file=given.ca_file or known.ca_file,
        display=cast("DisplayKind", ask.choice("display", "Boards", _DISPLAYS)),
        language=given.language or known.language,
        operators=_operators(given, known),
        witness=_witness(given, known, used),
    )


def _tls_names(given: Given, known: Answers, broker: str) -> tuple[str, ...]:
    if given.tls_names:
        return () if given.tls_names == ("none",) else given.tls_names
    return known.tls_names if broker == "here" else ()


def _witness(given: Given, known: Answers, used: Mapping[str, str]) -> str | None:
    witness = known.witness if given.witness is None else given.witness
    return None if witness in {None, "", "none"} else check_free("witness", witness, used)


class _Asker:
    """Returns an option, the answer to its question, or its default."""

    def __init__(self, given: Given, known: Answers) -> None:
        self._given = given
        self._known = known

    def text(self, field: str, question: str, check: Callable[[str], str]) -> str:
        given, default = getattr(self._given, field), getattr(self._known, field)
        if given is not None or not self._given.questions:
            return check(default if given is None else given)
        answer: str = click.prompt(question, default=default, value_proc=_proc(check))
        return answer

    def choice(self, field: str, question: str, choices: dict[str, str]) -> str:
        given = getattr(self._given, field)
        default = getattr(self._known, field) or next(iter(choices))
        if given is None and self._given.questions:
            return _choose(question, choices, default)
        value: str = default if given is None else given
        if value not in choices:
            raise UserError(f"{field}: {value!r}; expected one of {', '.join(choices)}")
        return value


def _choose(
    question: str,
    choices: dict[str, str],
    default: str,
    check: Callable[[str], str] | None = None,
) -> str:
    """
    Show numbered choices, and return the chosen one: by number or by name. With `check`, another
    text can be answered too; the choice or text is checked.
    """
    names = list(choices)
    width = max(len(name) for name in names)
    click.echo(f"{question}:")
    for number, name in enumerate(names, start=1):
        click.echo(f"  {number}  {name:<{width}}  {choices[name]}")

    def convert(text: str) -> str:
        if text.isdecimal() and 0 < int(text) <= len(names):
            text = names[int(text) - 1]
        elif check is None and text not in names:
            raise UserError(f"{text!r}; expected a number from 1 to {len(names)}")
        return text if check is None else check(text)

    index = names.index(default) + 1 if default in names else 1
    what = "Number" if check is None else "Number or address"
    answer: str = click.prompt(what, default=str(index), value_proc=_proc(convert))
    return answer


def _proc(check: Callable[[str], str]) -> Callable[[str], str]:
    def convert(text: str) -> str:
        try:
            return check(text.strip())
        except UserError as error:
            raise click.BadParameter(str(error)) from error

    return convert


def house_choices() -> dict[str, str]:
    """Return a line for each house that comes with the project, by its id."""
    houses = [load_house(each) for each in HOUSE_IDS]
    return {
        str(each.id): f"{each.name}, {each.decks} deck{'s' if each.decks != 1 else ''}"
        for each in houses
    }


def _policies() -> dict[str, str]:
    texts = {}
    for policy in map(load_policy, POLICY_IDS):
        count = len(policy.all_rulings)
        verified = sum(ruling.verified for ruling in policy.all_rulings)
        trust = "all" if verified == count else verified or "none"
        what = f"{count} ruling{'s' * (count > 1)}, {trust} verified" if count else "no ruling"
        texts[policy.id] = f"{policy.name}: proposes {what}"
    return texts


def _reader(given: Given, known: Answers, used: Mapping[str, str]) -> str:
    def check(text: str) -> str:
        if text == SIMULATED:
            port = f"socket://127.0.0.1:{simulator_port(known.table)}"
            check_free("simulated, on a port by the number in the table's id", port, used)
        return text if text == SEARCH else check_free("reader", check_reader(text), used)

    wanted = known.reader if given.reader is None else given.reader
    if given.reader is not None or not given.questions:
        if wanted != SEARCH:
            return check(wanted)
        try:
            return only_reader(find_readers(), used, known.reader)
        except UserError as error:
            if not given.questions:
                raise
            click.echo(str(error))
    while (answer := _ask_reader(known, used, check)) == SEARCH:
        pass
    return answer


def _ask_reader(known: Answers, used: Mapping[str, str], check: Callable[[str], str]) -> str:
    """Return the answer to the question about the reader; ``search`` to search again."""
    found = [each for each in find_readers() if is_free(each.address, used)]
    choices = {each.address: each.description for each in found}
    default = next((each.address for each in found if not each.is_keyboard), SEARCH)
    if known.reader != SEARCH and is_free(known.reader, used):
        choices.setdefault(default := known.reader, "as before")
    if default == SEARCH:
        click.echo("No free serial adapter or camera was found: plug it in, or name the reader.")
    choices[SEARCH] = "search again, after it was plugged in"
    choices[SIMULATED] = "a simulated shoe, to try the installation"
    return _choose("Reader, or its address such as socket://HOST:PORT", choices, default, check)


def _operators(given: Given, known: Answers) -> tuple[str, ...]:
    if given.operators is not None:
        return tuple(check_operator(name) for name in given.operators)
    if not given.questions or known.operators:
        return known.operators
    name: str = click.prompt(
        "Supervisor who gives orders with a PIN (empty: nobody)", default="", show_default=False
    )
    return (check_operator(name.strip()),) if name.strip() else ()


def ask_consent(question: str, show: Callable[[], None]) -> bool:
    """Ask whether to go on; the answer ``show`` calls `show`, and the question is asked again."""

    def check(text: str) -> str:
        for word in ("yes", "no", "show"):
            if text and word.startswith(text.lower()):
                return word
        raise UserError(f"{text!r}; expected yes, no or show")

    text = f"{question} yes, no, or show (their contents)"
    while (answer := click.prompt(text, default="yes", value_proc=_proc(check))) == "show":
        show()
    return bool(answer == "yes")


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
