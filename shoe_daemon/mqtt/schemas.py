"""
JSON Schema (2020-12) of every message, made from the types, and examples of them.

A schema has the name of its topic: ``event/card_dealt``, ``state``; every
reader's health is ``device``, a command ``cmd``, its answer ``reply``, a line of the
observation log ``observation``, the state of `shoe-daemon notify` ``notifier``.
Fields that are not in a schema may come with a later version: a reader ignores
what it does not know.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from shoe_daemon.mqtt.commands import OrderMessage, Reply
from shoe_daemon.mqtt.documents import DOCUMENTS, NotifierStatus
from shoe_daemon.mqtt.topics import staff
from shoe_daemon.table import EVENT_TYPES, SCHEMA, AnyObservation, Event, EventData, is_staff

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_OBSERVATION: Final = "observation"
_RECEIVED: Final[dict[str, Any]] = {"cmd": OrderMessage, _OBSERVATION: AnyObservation}
"""Messages of others: fields with a default may be missing."""

_ATTRIBUTES: Final = "Attributes:\n"
_ATTRIBUTE: Final = re.compile(r"^    (\w+):\s", re.MULTILINE)

# Facts that a type cannot express.
_FIELD_FACTS: Final[dict[str, dict[str, Any]]] = {
    "at": {"format": "date-time"},
    "expires_at": {"format": "date-time"},
    "published": {"format": "date-time"},
    "schema": {"const": SCHEMA},
    "seq": {"minimum": 0},
}

TABLE_MESSAGES: Final = dict(sorted({**DOCUMENTS, "reply": Reply}.items()))
"""Every message of a table that is not an event, by its topic."""

_OTHERS: Final[dict[str, Any]] = {**TABLE_MESSAGES, **_RECEIVED, "notifier": NotifierStatus}
"""Every message that is no event, by the name of its schema."""

EVENTS: Final[dict[str, type[EventData]]] = {
    staff(f"event/{name}") if is_staff(name) else f"event/{name}": kind
    for name, kind in EVENT_TYPES.items()
}
"""Every type of event by the name of its schema, which is its topic's end."""


def load_examples() -> dict[str, list[dict[str, Any]]]:
    """
    Return examples of every message, by the names of their schemas: each with its
    `payload` and, where the type is not clear enough, a `summary`.
    """
    text = Path(__file__).with_name("examples.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, list[dict[str, Any]]])


def names() -> list[str]:
    """Return the name of every schema, in alphabetical order."""
    return sorted([*EVENTS, *_OTHERS])


def schema_of(name: str) -> dict[str, Any]:
    """
    Return the schema of this name.

    Raises:
        KeyError: There is none.
    """
    (reference,), parts = _described([name], "#/$defs/{name}")
    top = parts.pop(reference["$ref"].rpartition("/")[2]) if "$ref" in reference else reference
    about = {"$schema": _DIALECT, "$id": f"urn:shoe-daemon:{SCHEMA}:{name.replace('/', ':')}"}
    return _plain({**about, **top, "title": name, **({"$defs": parts} if parts else {})})


def shared_schemas(
    wanted: Sequence[str], template: str
) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """
    Return a reference to the schema of each name, and the parts that they share, by their names.

    `template` is how a part is referred to, with ``{name}`` in it.

    Raises:
        KeyError: There is none of a name.
    """
    references, parts = _described(wanted, template)
    return dict(zip(wanted, references, strict=True)), _plain(parts)


def _described(
    wanted: Sequence[str], template: str
) -> tuple[tuple[dict[str, Any], ...], dict[str, Any]]:
    """Return references and parts, with all that the types cannot say by themselves."""
    types = [_type_of(name) for name in wanted]
    references, parts = msgspec.json.schema_components(types, ref_template=template)
    _, received = msgspec.json.schema_components(
        [_RECEIVED[each] for each in wanted if each in _RECEIVED]
    )
    for name, part in parts.items():
        _explain(part)
        if name not in received:
            _complete(part)
    for reference in references:
        top = parts.get(reference.get("$ref", "").rpartition("/")[2], {})
        for field, facts in _FIELD_FACTS.items():
            if field in top.get("properties", {}):
                top["properties"][field] |= facts
    return references, parts


def _type_of(name: str) -> Any:  # noqa: ANN401 - a struct, or several
    return _OTHERS[name] if name in _OTHERS else _enveloped(EVENTS[name])


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    # As in JSON: a default that is a tuple becomes a list.
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(schema))
    return plain


def _enveloped(kind: type[EventData]) -> type[Struct]:
    """Return the type of a whole event whose data is of this kind."""
    special: dict[str, Any] = {"data": kind, "type": Literal[kind.type]}
    fields = [
        (field.name, special.get(field.name, field.type))
        for field in msgspec.structs.fields(Event)
    ]
    # The summary is the data's, the attributes are the envelope's.
    _, attributes = _split(Event.__doc__ or "")
    doc = f"{_split(kind.__doc__ or '')[0]}\n\n{_ATTRIBUTES}{attributes}"
    return msgspec.defstruct(f"{kind.__name__}Event", fields, namespace={"__doc__": doc})


def _explain(part: dict[str, Any]) -> None:
    """Move the description of an attribute from the docstring to the property."""
    text, attributes = _split(part.get("description", ""))
    if text:
        part["description"] = text
    properties = part.get("properties", {})
    pieces = _ATTRIBUTE.split(attributes)[1:]
    for name, sentence in zip(pieces[::2], pieces[1::2], strict=True):
        if name in properties:
            description = {"description": " ".join(sentence.split())}
            properties[name] = {**description, **properties[name]}


def _complete(part: dict[str, Any]) -> None:
    """Require every field but those that may be unset: our own messages have them all."""
    if part.get("type") == "object" and "properties" in part:
        fields = part["properties"].items()
        has_default = {name for name, field in fields if field.pop("default", part) is not part}
        part["required"] = sorted(has_default.union(part.get("required", ())))


def _split(doc: str) -> tuple[str, str]:
    """Return the text of a docstring, and its section of attributes."""
    for here, there in (("None", "null"), ("``", "`")):
        doc = doc.replace(here, there)
    text, _, attributes = inspect.cleandoc(doc).partition(_ATTRIBUTES)
    return text.strip(), attributes
