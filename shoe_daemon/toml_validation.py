"""
Convert TOML written by people into types, with one-line errors: place, key, value, expected
value.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import msgspec
from msgspec import Meta, inspect

from shoe_daemon.errors import UserError, one_line

T = TypeVar("T")
U = TypeVar("U")

Name = Annotated[str, Meta(pattern=r"^[a-z0-9-]+$(?!\n)", max_length=40)]
"""The id of a site, a table or a device, as it stands in topics and file names."""

# The path in an error of msgspec: " - at `$.burn.mode`"; an entry of a table is "[...]",
# and " - at `key` in `$.rulings`" for an invalid key of a table.
_ERROR_PATTERN: Final = re.compile(
    r"(?P<what>.*?)(?: - at (?P<key>`key` in )?`\$\.?(?P<path>[^`]*)`)?", re.DOTALL
)
_PATH_STEP: Final = re.compile(r"\.\.\.|[^.\[\]]+")
_ANY_KEY: Final = "..."
_UNKNOWN_FIELD: Final = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_MISSING_FIELD: Final = re.compile(r"Object missing required field `(.*)`")
_INVALID_CHOICE: Final = re.compile(r"Invalid enum value .*", re.DOTALL)
_TYPE_NAMES: Final[dict[type[inspect.Type], str]] = {
    inspect.BoolType: "true or false",
    inspect.DictType: "a table",
    inspect.IntType: "a whole number",
    inspect.VarTupleType: "a list",
}

_PLAIN_TYPES: Final = (
    (r"str matching regex '\^\[a-z0-9-\]\+\$.*'", "small letters, digits and hyphens"),
    (r"\bstr of length >= 1\b", "some text"),
    (r"\bstr of length <= (\d+)\b", r"at most \1 characters"),
    (r"\b(int|float) (<=|>=) (\d+)(\.0)?", r"\1, \2 \3"),
    (r" \| null\b", ""),
    (r"\bobject\b", "a table"),
    (r"\barray\b", "a list"),
    (r"\bbool\b", "true or false"),
    (r"\bfloat\b", "a number"),
    (r"\bint\b", "a whole number"),
    (r"\bstr\b", "a text"),
    (", <=", " of at most"),
    (", >=", " of at least"),
)
"""Types as msgspec names them, and in plain words."""


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """
    Read a TOML file written by a person; `what` is the expected content, such as ``a house``.

    Raises:
        UserError: The file cannot be read or is not TOML; one line.
    """
    try:
        # Some editors write a byte order mark.
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {one_line(error)}; expected {what}") from error
    except RecursionError as error:
        raise UserError(f"{path}: nested too deeply; expected {what} in TOML") from error
    except ValueError as error:  # tomllib's own error and broken UTF-8 are ValueErrors
        raise UserError(f"{path}: {error}; expected {what} in TOML") from error


def convert_toml(kind: type[T], value: object, place: str) -> T:
    """
    Convert the content of a TOML or JSON file to a type made of msgspec structs.

    A check in `__post_init__` of the type begins its error with the key; `place` begins all
    errors.

    Raises:
        UserError: One line, such as ``x.toml: decks: 13; expected int <= 12``.
    """
    try:
        converted = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        reason = " ".join(_error_line(str(error), kind, value).splitlines())  # a key may have two
        raise UserError(f"{place}: {reason}") from error
    if _contains_nul(value):
        raise UserError(f"{place}: a text contains the character \\u0000; expected none")
    return converted


def _contains_nul(value: object) -> bool:
    """Return whether a text of a file contains the character that no path may contain."""
    if isinstance(value, dict):
        return any(map(_contains_nul, (*value, *value.values())))
    if isinstance(value, list):
        return any(map(_contains_nul, value))
    return isinstance(value, str) and "\0" in value


def toml_value(value: object) -> str:
    """Return a text, a number, true or false, or a list of these, as TOML."""
    # JSON is TOML, but for characters that JSON may escape in two parts, and DEL.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def load_config_file(path: Path, what: str, kind: type[T], set_up: Callable[[T], U]) -> U:
    """
    Read a file, convert it to a type, and return what `set_up` makes of it.

    Raises:
        UserError: The first error of the file or of `set_up`, after the path, in plain words.
    """
    mapping = read_toml(path, what)
    try:
        return set_up(convert_toml(kind, mapping, str(path)))
    except UserError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {plain_error(reason)}") from error


def plain_error(error: str) -> str:
    """Return an error of `convert_toml` with its types in plain words."""
    what, semicolon, expected = error.rpartition("; expected ")
    for pattern, words in _PLAIN_TYPES:
        expected = re.sub(pattern, words, expected)
    return what + semicolon + expected


def _error_line(text: str, kind: type, value: object) -> str:
    found = _ERROR_PATTERN.fullmatch(text)
    what, path = (found["what"], found["path"] or "") if found else (text, "")
    steps = _PATH_STEP.findall(path)
    if found and found["key"]:
        *steps, key = _named_steps([*steps, _ANY_KEY], text, kind, deepcopy(value))
        return f"{'.'.join([*steps, key])}: unknown key; {_expected_key(kind, steps)}"
    steps = _named_steps(steps, text, kind, deepcopy(value))
    if unknown := _UNKNOWN_FIELD.fullmatch(what):
        return f"{'.'.join([*steps, unknown[1]])}: unknown key; {_expected_at(kind, steps)}"
    if missing := _MISSING_FIELD.fullmatch(what):
        steps.append(missing[1])
        return f"{'.'.join(steps)}: missing; {_expected_at(kind, steps)}"
    if not steps:
        return what.replace("`", "")
    expected = _expected_at(kind, steps)
    if not _INVALID_CHOICE.fullmatch(what):
        expected = what[:1].lower() + what[1:].replace("`", "")
    return f"{'.'.join(steps)}: {_value_at(value, steps)!r}; {expected}"


def _named_steps(steps: list[str], text: str, kind: type, value: object) -> list[str]:
    """
    Return the path with each ``...`` replaced by the table's key that it stands for; `value` is
    used up.
    """
    named: list[str] = []
    for step in steps:
        if step == _ANY_KEY:
            table = _value_at(value, named)
            for key in list(table):
                held = table.pop(key)
                if _conversion_error(value, kind) != text:
                    table[key] = held
            named.extend(table)
        else:
            named.append(step)
    return named


def _conversion_error(value: object, kind: type) -> str:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _value_at(value: Any, steps: list[str]) -> Any:  # noqa: ANN401 - anything that TOML can hold
    for step in steps:
        value = value[int(step) if isinstance(value, list | tuple) else step]
    return value


def _expected_at(kind: type, steps: list[str]) -> str:
    """Return the values permitted at a path of a type, for an error."""
    here = _type_at(kind, steps)
    match here:
        case inspect.StructType(fields=fields):
            return _choices(field.encode_name for field in fields)
        case inspect.EnumType(cls=cls):
            return _choices(member.value for member in cls)
        case inspect.LiteralType(values=values):
            return _choices(values)
    return f"expected {_TYPE_NAMES.get(type(here), 'a text')}"


def _expected_key(kind: type, steps: list[str]) -> str:
    """Return the keys permitted in the table at a path, for an error."""
    match _type_at(kind, steps):
        case inspect.DictType(key_type=inspect.EnumType(cls=cls)):
            return _choices(member.value for member in cls)
    return "expected a text"


def _choices(choices: Iterable[object]) -> str:
    return f"expected one of {', '.join(map(str, choices))}"


def _type_at(kind: type, steps: list[str]) -> inspect.Type:
    here = inspect.type_info(kind)
    for step in steps:
        here = _type_below(_bare_type(here), step)
    return _bare_type(here)


def _bare_type(here: inspect.Type) -> inspect.Type:
    """Return a type without metadata and without its optional None."""
    while isinstance(here, inspect.Metadata):
        here = here.type
    if isinstance(here, inspect.UnionType):
        return next(_bare_type(t) for t in here.types if not isinstance(t, inspect.NoneType))
    return here


def _type_below(here: inspect.Type, step: str) -> inspect.Type:
    match here:
        case inspect.StructType(fields=fields):
            return next(field.type for field in fields if field.encode_name == step)
        case inspect.DictType(value_type=below) | inspect.VarTupleType(item_type=below):
            return below
    return inspect.AnyType()
