"""
Write what follows from the irregularities declared in `shoe_daemon/table/checks`.

The kinds, their situations and their properties for `game`, their sentences, and the map of
`table`. Run it after a change there: `make generate`; `make check` calls it with ``--check``.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from string import Formatter
from typing import Any, Final

import msgspec

from shoe_daemon.game.irregularities import IrregularityFacts
from shoe_daemon.game.rulings import Action
from shoe_daemon.table.checks.irregularity import Irregularity

ROOT: Final = Path(__file__).parents[1]
GAME: Final = ROOT / "shoe_daemon" / "game"
TABLE: Final = ROOT / "shoe_daemon" / "table"
KINDS: Final = GAME / "irregularity_kind.py"
NOTE: Final = "written by `make generate` from `table/checks`"


def declared() -> list[Irregularity]:
    """
    Return the irregularities in their order; new ones are the last, by name.

    Raises:
        ValueError: A declaration is wrong; the message names its file.
    """
    found = {}
    others = msgspec.toml.decode(
        (TABLE / "detail_texts.toml").read_bytes(), type=dict[str, dict[str, str]]
    )
    owners = {code: "detail_texts.toml" for texts in others.values() for code in texts}
    for path in sorted((TABLE / "checks").glob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "IRREGULARITY":
                found[path.stem] = _declaration(path, node.value, owners)
                owners |= dict.fromkeys(found[path.stem].sentences, path.name)
    _check_situations(found.values())
    return [found[name] for name in _in_order(found, "IrregularityKind")]


def _in_order(names: Iterable[str], enum: str) -> list[str]:
    """Return names as the enum in the written module has them, and then new ones."""
    _, _, members = KINDS.read_text(encoding="utf-8").partition(f"class {enum}(")
    known = re.findall(r'= "(\w+)"', members.partition("\nclass ")[0])
    return [name for name in known if name in names] + sorted(set(names) - set(known))


def _check_situations(found: Iterable[Irregularity]) -> None:
    names: dict[str, list[tuple[str, ...]]] = {}
    for each in found:
        for situation, name in each.situations.items():
            names.setdefault(situation, []).extend([name] if name else [])
    for situation, given in names.items():
        if len(given) != 1 or len(given[0]) != len(("English", "Traditional Chinese")):
            raise ValueError(
                f"situations: {situation}: {given}; expected its names in English and in "
                "Traditional Chinese, in one of the modules that have it"
            )


def _declaration(path: Path, value: ast.expr | None, owners: Mapping[str, str]) -> Irregularity:
    keywords = value.keywords if isinstance(value, ast.Call) else []
    try:
        fields = {str(each.arg): ast.literal_eval(each.value) for each in keywords}
        irregularity = msgspec.convert(fields, Irregularity)
        _check(irregularity, owners)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if irregularity.kind != path.stem:
        raise ValueError(f"{path}: its kind is {irregularity.kind}, not that of the file")
    if not (irregularity.raised_by or irregularity.reportable or _has_check(irregularity)):
        raise ValueError(f"{path}: nothing raises it; expected check, raised_by or reportable")
    return irregularity


def _check(each: Irregularity, owners: Mapping[str, str]) -> None:
    """Check what the package would fail on at its import; `owners` has the file of each code."""
    known = {**_properties(each), "situations": {}}  # the situations are written from here
    msgspec.convert(known, IrregularityFacts)
    for action in each.actions:
        if action not in set(Action):
            raise ValueError(f"actions: {action}; expected one of {', '.join(Action)}")
    for module in each.raised_by:
        if not (TABLE / f"{module.replace('.', '/')}.py").exists():
            raise ValueError(f"raised_by: {module}; expected a module of the table")
    for code, text in each.sentences.items():
        if code in owners:
            raise ValueError(
                f"sentences: {code}; expected a new code, {owners[code]} has this one"
            )
        for _, name, _, _ in Formatter().parse(text):
            if name is not None and not name.isidentifier():
                raise ValueError(f"sentences: {code}: {{{name}}}; expected the name of a value")


def files(found: list[Irregularity]) -> dict[Path, str]:
    """Return the content of each file that is written."""
    map_ = TABLE / "__init__.py"
    return {
        KINDS: _kinds(found),
        GAME / "irregularities.toml": f"# The properties of each irregularity, {NOTE}.\n"
        + "".join(_facts(each) for each in found),
        TABLE / "irregularity_texts.toml": f"# The sentences of each irregularity, {NOTE}.\n"
        + "".join(map(_sentences, found)),
        TABLE / "checks" / "of_cards.py": _checks(found),
        map_: _with_rows(map_.read_text(encoding="utf-8"), found),
    }


def _kinds(found: list[Irregularity]) -> str:
    situations = dict.fromkeys(name for each in found for name in each.situations)
    return f'''"""The kinds of irregularities, {NOTE}."""

from __future__ import annotations

from enum import StrEnum


class IrregularityKind(StrEnum):
    """The closed list, in the order of its table."""

{_members(each.kind for each in found)}

class Situation(StrEnum):
    """The closed list of what a policy may rule upon, in the order in which it is printed."""

{_members(_in_order(situations, "Situation"))}'''


def _members(names: Iterable[str]) -> str:
    return "".join(f'    {name.upper()} = "{name}"\n' for name in names)


def _checks(found: list[Irregularity]) -> str:
    names = sorted(each.kind for each in found if _has_check(each))
    calls = "".join(f"    {name}.check,\n" for name in names)
    imports = "".join(f"    {name},\n" for name in names)
    return f'''"""The checks of the cards of a round, {NOTE}."""

from __future__ import annotations

from typing import Final

from shoe_daemon.table.checks import (
{imports})

CHECKS: Final = (
{calls})
"""Each finds its irregularity among the cards that were not drawn or laid as due."""
'''


def _properties(each: Irregularity) -> dict[str, Any]:
    return {
        "name": each.name,
        "severity": each.severity,
        "evidence": each.evidence,
        "text": each.text,
        "requires": each.requires,
        "reportable": each.reportable,
        "actions": each.actions,
        "situations": dict(each.situations),
    }


def _facts(each: Irregularity) -> str:
    fields = {name: value for name, value in _properties(each).items() if value}
    situations = fields.pop("situations", {})
    below = f"[{each.kind}.situations]\n{_toml(situations)}" if situations else ""
    return f"\n[{each.kind}]\n{_toml(fields)}{below}"


def _sentences(each: Irregularity) -> str:
    return f"\n# {each.kind}\n{_toml(dict(each.sentences))}" if each.sentences else ""


def _toml(values: dict[str, Any]) -> str:
    # A literal of JSON is one of TOML.
    return "".join(
        f"{name} = {_spaced(msgspec.json.encode(value).decode())}\n"
        for name, value in values.items()
    )


def _spaced(literal: str) -> str:
    return literal.replace('","', '", "') if literal.startswith("[") else literal


def _with_rows(text: str, found: list[Irregularity]) -> str:
    head = "| irregularity | raised by |\n|---|---|\n"
    before, _, after = text.partition(head)
    rows = "".join(f"| {each.kind} | {', '.join(_modules(each))} |\n" for each in found)
    return before + head + rows + after[after.index("\n\n") + 1 :]


def _modules(each: Irregularity) -> list[str]:
    return [
        *([f"checks.{each.kind}"] if _has_check(each) else []),
        *each.raised_by,
        *(["commands.dispatch"] if each.reportable else []),
    ]


def _has_check(each: Irregularity) -> bool:
    return "\ndef check(" in (TABLE / "checks" / f"{each.kind}.py").read_text("utf-8")


def main(arguments: list[str]) -> int:
    """Write the files, or with ``--check`` name outdated ones; return the exit status."""
    try:
        found = files(declared())
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return write(found, check=arguments == ["--check"])


def write(found: Mapping[Path, str], *, check: bool) -> int:
    """Write the files that differ, or name them; return the exit status."""
    outdated = [
        path
        for path, text in found.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in outdated:
        if check:
            print(f"{path.relative_to(ROOT)}: outdated; run `make generate`", file=sys.stderr)
        else:
            path.write_text(found[path], encoding="utf-8")
            print(path.relative_to(ROOT))
    return int(bool(outdated) and check)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
