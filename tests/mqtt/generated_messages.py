"""Messages generated from their types: one with the smallest content, one with every field."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect


def least(kind: Any) -> Any:  # noqa: ANN401 - any type, and any value of it
    """Return an example in JSON's own types: null where it may be, empty lists."""
    return _example(inspect.type_info(kind), full=False)


def most(kind: Any) -> Any:  # noqa: ANN401 - any type, and any value of it
    """Return an example in JSON's own types: never null, one of everything."""
    return _example(inspect.type_info(kind), full=True)


def required(kind: type[msgspec.Struct]) -> dict[str, Any]:
    """Return an example of the fields that must be there, and of the tag."""
    info = inspect.type_info(kind)
    assert isinstance(info, inspect.StructType)
    fields = {
        each.encode_name: _example(each.type, full=True) for each in info.fields if each.required
    }
    return {**fields, **({info.tag_field: info.tag} if info.tag_field else {})}


def _example(kind: inspect.Type, *, full: bool) -> Any:  # noqa: ANN401 - one line a type
    value: Any
    match kind:
        case inspect.StructType(fields=fields, tag_field=tag_field, tag=tag):
            value = {each.encode_name: _example(each.type, full=full) for each in fields}
            value |= {tag_field: tag} if tag_field else {}
        case inspect.UnionType(types=types):
            ordered = sorted(types, key=lambda each: isinstance(each, inspect.NoneType) is full)
            value = _example(ordered[0], full=full)
        case inspect.LiteralType(values=values):
            value = values[0]
        case inspect.EnumType(cls=cls):
            value = next(iter(cls)).value
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            value = [_example(item, full=True)] if full else []
        case inspect.DictType(key_type=key, value_type=item):
            value = {_example(key, full=True): _example(item, full=True)} if full else {}
        case inspect.IntType() | inspect.StrType() | inspect.BoolType() | inspect.NoneType():
            value = _LEAVES[type(kind)]
        case _:
            raise AssertionError(kind)
    return value


_LEAVES: dict[type[inspect.Type], Any] = {
    inspect.IntType: 1,
    inspect.StrType: "1970-01-01T00:00:00Z",
    inspect.BoolType: True,
    inspect.NoneType: None,
}


def structs(kind: Any) -> Iterator[type[msgspec.Struct]]:  # noqa: ANN401 - any type
    """Give every struct in a type, itself included. Floats are an error."""
    yield from _structs(inspect.type_info(kind))


def _structs(kind: inspect.Type) -> Iterator[type[msgspec.Struct]]:
    match kind:
        case inspect.StructType(cls=cls, fields=fields):
            yield cls
            for each in fields:
                yield from _structs(each.type)
        case inspect.UnionType(types=types):
            for one in types:
                yield from _structs(one)
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            yield from _structs(item)
        case inspect.DictType(value_type=value):
            yield from _structs(value)
        case inspect.FloatType() | inspect.AnyType():
            raise AssertionError(f"{kind} is no whole number and no word")
