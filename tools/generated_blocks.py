"""
Write what documents and pages list of houses, wagers and irregularities.

Each list is a block between two comments, ``generated: NAME`` and ``/generated: NAME``. Run it
after a change: `make generate`; `make check` calls it with ``--check``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from shoe_daemon.game import (
    HOUSE_IDS,
    IRREGULARITIES,
    SITUATION_NAMES,
    WAGER_CATALOGUE,
    Action,
    House,
    IrregularityKind,
    load_house,
)
from shoe_daemon.game.irregularities import Requirement
from shoe_daemon.game.wagers import WagerDefinition
from shoe_daemon.install.questions import house_choices
from tools.generate import ROOT, TABLE, write

DOCS: Final = ROOT / "docs"
SCRIPT: Final = ROOT / "shoe_daemon" / "display" / "static" / "alert_details.js"
USUAL_WAGERS: Final = ("player", "banker", "tie")
BUTTONS: Final = {Action.RESCAN, Action.MANUAL_ENTRY}
"""The actions that have a button of their own on the page."""


def files() -> dict[Path, str]:
    """
    Return the content of each file with a block.

    Raises:
        ValueError: A file has no such block, or a module no section for its kind.
    """
    blocks = {
        DOCS / "houses.md": {"houses": _houses(), "wagers": _wagers()},
        DOCS / "misdeals.md": {"kinds": _kinds(), "reportable": _reportable()},
        DOCS / "policies.md": {"situations": _situations()},
        SCRIPT: {"rulings": _rulings()},
    }
    found = {path: _replaced(path, texts) for path, texts in blocks.items()}
    return {**found, DOCS / "install.md": _with_choices(DOCS / "install.md")}


def _replaced(path: Path, blocks: dict[str, str]) -> str:
    text = path.read_text(encoding="utf-8")
    for name, block in blocks.items():
        found = re.fullmatch(
            rf"(.*\n[^\n]* generated: {name}\b[^\n]*\n).*?([^\n]* /generated: {name}\b.*)",
            text,
            re.DOTALL,
        )
        if found is None:
            raise ValueError(f"{path}: no block; expected `generated: {name}`")
        text = found[1] + block + found[2]
    return text


def _with_choices(path: Path) -> str:
    """Return the page with the houses in the list that `init` prints."""
    choices = house_choices()
    width = max(map(len, choices))
    lines = "".join(
        f"  {number}  {name:<{width}}  {text}\n"
        for number, (name, text) in enumerate(choices.items(), 1)
    )
    text = path.read_text(encoding="utf-8")
    before, question, rest = text.partition("House (its rules):\n")
    return f"{before}{question}{lines}{rest[rest.index('Number [') :]}"


# Tables of Markdown


def _table(head: str, rows: Iterable[tuple[str, ...]]) -> str:
    columns = head.count("|") + 1
    lines = [f"| {head} |", "|---" * columns + "|"]
    lines += [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    return "\n" + "\n".join(lines) + "\n\n"


def _code(names: Iterable[object]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _houses() -> str:
    head = "id | decks | shuffled | dealing style | burn | cut card | drawn by | further wagers"
    return _table(head, (_house(name, load_house(name)) for name in HOUSE_IDS))


def _house(name: str, house: House) -> tuple[str, ...]:
    return (
        f"`{name}`",
        str(house.decks),
        f"`{house.reshuffle}`",
        f"`{house.dealing_style}`",
        f"`{house.burn.mode}`",
        f"`{house.cut_card.mode}`",
        "a player" if house.curator.on else "the dealer",
        _code(each.id for each in house.offered if each.id not in USUAL_WAGERS),
    )


def _wagers() -> str:
    rows = (row for known in WAGER_CATALOGUE.values() for row in _prizes(known))
    return _table("wager | prize | won by | usual", rows)


def _prizes(known: WagerDefinition) -> Iterator[tuple[str, ...]]:
    for number, prize in enumerate(known.prizes):
        usual = f"`{prize.usual}`" if prize.usual else "not usual"
        yield ("" if number else f"`{known.id}`", f"`{prize.id}`", prize.text, usual)


def _situations() -> str:
    return _table(
        "situation | irregularities | name",
        (
            (
                f"`{situation}`",
                _code(
                    kind for kind, facts in IRREGULARITIES.items() if situation in facts.situations
                ),
                name.text,
            )
            for situation, name in SITUATION_NAMES.items()
        ),
    )


# Irregularities


def _kinds() -> str:
    return "\n" + "\n".join(map(_section, IRREGULARITIES)) + "\n"


def _section(kind: IrregularityKind) -> str:
    path = TABLE / "checks" / f"{kind}.py"
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, _, section = docstring.partition("\n\n")
    if not all(part in section for part in ("**Sees**", "**Says**", "**You**")):
        raise ValueError(
            f"{path}: docstring; expected a second paragraph with **Sees**, **Says** and **You**"
        )
    return f"### `{kind}` · severity {IRREGULARITIES[kind].severity}\n{section}\n"


def _reportable() -> str:
    only: list[str] = []
    also: list[str] = []
    for kind, facts in IRREGULARITIES.items():
        if facts.reportable:
            (only if Requirement.PERSON in facts.requires else also).append(kind)
    return (
        f"\nOnly a person sees {_code(only)};\n"
        f"where no reader reports them, also {_code(also)}.\n\n"
    )


def _rulings() -> str:
    """Return the rulings that a page offers without a proposal, besides its buttons."""
    offered = {
        kind: [action for action in facts.actions if action not in BUTTONS]
        for kind, facts in IRREGULARITIES.items()
    }
    # A literal of JSON is one of JavaScript.
    rows = [
        f"  {kind}: {msgspec.json.encode(actions).decode()}".replace('","', '", "')
        for kind, actions in offered.items()
        if actions
    ]
    return "const RULINGS = {\n" + ",\n".join(rows) + "\n};\n"


def main(arguments: list[str]) -> int:
    """Write the blocks, or with ``--check`` name outdated files; return the exit status."""
    try:
        found = files()
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return write(found, check=arguments == ["--check"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
