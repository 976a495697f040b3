"""
Convert TOML written by people into types, with one line for each error: place, key, value and
what is expected.
"""

from __future__ import annotations

import json
import operator
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Final, NamedTuple, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct, inspect
from msgspec.structs import fields

from shoe_daemon.errors import UserError, one_line

T = TypeVar("T")

_NAME: Final = r"^[a-z0-9-]+$(?!\n)"
Name = Annotated[str, Meta(pattern=_NAME, max_length=40)]
"""The id of a site, a table or a device, as it stands in topics and file names."""

_WORDS: Final[dict[type, str]] = {
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "a table",
    NoneType: "null",
}
"""Types of values in plain words."""

_VALUE_TYPES: Final[dict[type[inspect.Type], type]] = {
    inspect.BoolType: bool,
    inspect.IntType: int,
    inspect.FloatType: float,
    inspect.VarTupleType: list,
    inspect.TupleType: list,
    inspect.ListType: list,
    inspect.DictType: dict,
    inspect.StructType: dict,
}
"""Types of the values of a type; of all others, texts."""


class _Place(NamedTuple):
    """A place in a file, and what divides it from the next key."""

    text: str = ""
    divider: str = ""

    def key(self, key: object) -> _Place:
        return _Place(f"{self.text}{self.divider}{key}", ".")

    def entry(self, number: int) -> _Place:
        """Return the place of an entry of a list; people count from 1."""
        return _Place(f"{self.text} {number + 1}".lstrip(), ": ")

    def fault(self, reason: str) -> str:
        return f"{self.text}: {reason}" if self.text else reason


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
    except UnicodeDecodeError as error:
        text = f"byte {error.start} is not UTF-8; expected {what} in TOML"
        raise UserError(f"{path}: {text}") from error
    except ValueError as error:  # tomllib's own
        raise UserError(f"{path}: {error}; expected {what} in TOML") from error


def convert_toml(kind: type[T], value: object, place: str) -> T:
    """
    Convert the content of a TOML or JSON file to a type made of msgspec structs.

    A check in `__post_init__` of a type raises a `ValueError` that begins with the key; `place`
    begins each line.

    Raises:
        UserError: A line for each error, such as
            ``x.toml: decks: 13; expected a whole number of at most 12``.
    """
    try:
        converted = msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        # A key may have two lines.
        found = [" ".join(each.splitlines()) for each in _faults(value, kind, _Place())]
        raise UserError("\n".join(f"{place}: {each}" for each in found)) from error
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


def did_you_mean(given: object, choices: Iterable[object]) -> str:
    """Return advice that ends an error: the choice that is most like what was given, if any is."""
    from difflib import get_close_matches  # noqa: PLC0415 - for an error alone

    found = get_close_matches(str(given), map(str, choices), 1)
    return f"; did you mean {found[0]}?" if found else ""


def _error_of(value: object, kind: Any) -> msgspec.ValidationError | None:  # noqa: ANN401 - a type
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        return error
    return None


def _faults(value: Any, kind: Any, place: _Place) -> Iterator[str]:  # noqa: ANN401 - of a file
    """Yield all errors of a value: those of its parts, or else its own."""
    error = _error_of(value, kind)
    if error is None:
        return
    parts = list(_part_faults(value, _bare(kind), place))
    if parts:
        yield from parts
    elif isinstance(error.__cause__, ValueError):  # of a `__post_init__`
        yield f"{place.text}{place.divider}{error.__cause__}"
    else:
        yield place.fault(f"{value!r}; {_expected(value, kind)}")


def _part_faults(value: Any, kind: Any, place: _Place) -> Iterator[str]:  # noqa: ANN401 - as above
    arguments = get_args(kind)
    if isinstance(value, dict) and isinstance(kind, type) and issubclass(kind, Struct):
        yield from _struct_faults(value, kind, place)
    elif isinstance(value, dict) and get_origin(kind) is dict:
        of_keys, of_values = arguments
        for key, each in value.items():
            if _error_of(key, of_keys) is None:
                yield from _faults(each, of_values, place.key(key))
            else:
                yield place.key(key).fault(f"unknown key; {_expected(key, of_keys)}")
    elif isinstance(value, list) and get_origin(kind) in {list, tuple}:
        is_fixed = get_origin(kind) is tuple and arguments[-1] is not ...
        kinds = arguments if is_fixed else arguments[:1] * len(value)
        for number, (each, of_entry) in enumerate(zip(value, kinds, strict=False)):
            at = place.entry(number) if isinstance(each, dict) else place.key(number)
            yield from _faults(each, of_entry, at)


def _struct_faults(value: dict[str, Any], kind: type[Struct], place: _Place) -> Iterator[str]:
    known = {field.encode_name: field for field in fields(kind)}
    for key, each in value.items():
        if key in known:
            yield from _faults(each, known[key].type, place.key(key))
        elif kind.__struct_config__.forbid_unknown_fields:
            yield place.key(key).fault(f"unknown key; {_one_of(known, key)}")
    for name, field in known.items():
        if field.required and name not in value:
            yield place.key(name).fault(f"missing; {_expected(None, field.type)}")


def _bare(kind: Any) -> Any:  # noqa: ANN401 - a type
    """Return a type without its metadata and without its optional None."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in {Union, UnionType}:
        others = [each for each in get_args(kind) if each is not NoneType]
        return _bare(others[0]) if len(others) == 1 else kind
    return kind


def _expected(value: object, kind: Any) -> str:  # noqa: ANN401 - a type
    """Return what is expected in place of a value; of one that is missing, None."""
    info = inspect.type_info(kind)
    while isinstance(info, inspect.Metadata):
        info = info.type
    types = info.types if isinstance(info, inspect.UnionType) else (info,)
    types = tuple(each for each in types if not isinstance(each, inspect.NoneType))
    match types:
        case (inspect.EnumType(cls=cls),):
            return _one_of((member.value for member in cls), value)
        case (inspect.LiteralType(values=values),):
            return _one_of(values, value)
        case (inspect.StructType(fields=parts),) if value is None:
            return _one_of((field.encode_name for field in parts), value)
    kinds = {_VALUE_TYPES.get(type(each), str): each for each in types}
    words = " or ".join(_WORDS[each] for each in kinds)
    if value is None:
        return f"expected {words}"
    of_value = float if type(value) is int and int not in kinds else type(value)
    if of_value not in kinds:
        return f"expected {words}, got {_WORDS.get(type(value), 'a date or a time')}"
    return f"expected {_limit(value, kinds[of_value]) or words}"


def _one_of(choices: Iterable[object], given: object) -> str:
    known = list(map(str, choices))
    advice = "" if given is None else did_you_mean(given, known)
    return f"expected one of {', '.join(known)}{advice}"


def _limit(value: Any, info: inspect.Type) -> str:  # noqa: ANN401 - of a file
    """Return the limit of a type that a value exceeds, in words; empty if it exceeds none."""
    match info:
        case inspect.IntType(gt, ge, lt, le) | inspect.FloatType(gt, ge, lt, le):
            limits = (
                (ge, operator.ge, "at least"),
                (gt, operator.gt, "more than"),
                (le, operator.le, "at most"),
                (lt, operator.lt, "less than"),
            )
            for limit, is_kept, words in limits:
                if limit is not None and not is_kept(value, limit):
                    shown = str(limit).removesuffix(".0")
                    return f"{_WORDS[_VALUE_TYPES[type(info)]]} of {words} {shown}"
        case inspect.TupleType(item_types=entries):
            return f"a list of {len(entries)}"
        case inspect.VarTupleType(_, least, most) | inspect.ListType(_, least, most):
            return f"a list of {_length(value, least, most)}"
        case inspect.StrType(least, most, pattern):
            if length := _length(value, least, most):
                return "some text" if length == "at least 1" else f"{length} characters"
            return "small letters, digits and hyphens" if pattern == _NAME else f"{pattern}"
    return ""


def _length(value: Any, least: int | None, most: int | None) -> str:  # noqa: ANN401 - of a file
    if least is not None and len(value) < least:
        return f"at least {least}"
    return f"at most {most}" if most is not None and len(value) > most else ""
