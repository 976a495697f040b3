"""
The AsyncAPI 3.0 document of all topics, made from the types, from the daemon's point of
view: it sends documents and events, and receives commands.

Every topic is a channel, every type of event too: a topic determines the schema of its
payloads. Payloads are JSON Schema, AsyncAPI's default.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from shoe_daemon.mqtt.commands import VERBS, OrderId
from shoe_daemon.mqtt.schemas import EVENTS, TABLE_MESSAGES, shared_schemas
from shoe_daemon.mqtt.settings import SESSION_EXPIRY_S, STATE_EXPIRY_HEARTBEATS, MqttSettings
from shoe_daemon.mqtt.topics import DEFAULT_PREFIX, ID, STATE, STATUS, staff
from shoe_daemon.table import SCHEMA

Examples = Mapping[str, Sequence[Mapping[str, Any]]]
"""Examples by the name of their schema, each with `payload` and maybe `summary`."""

QOS: Final = 1
"""QoS of every message."""

_BINDING: Final = {"bindingVersion": "0.2.0"}
_HEARTBEAT: Final = MqttSettings().heartbeat
_FIXED: Final[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("asyncapi.toml").read_text(encoding="utf-8")
)


class _Channel(NamedTuple):
    """
    One channel: its name in the document, its topic below the table's with parameters in braces,
    and the name of its payload's schema. The broker drops its message after `expiry` seconds.
    """

    key: str
    suffix: str
    schema: str
    tags: tuple[str, ...]
    retain: bool = False
    expiry: int | None = None
    action: Literal["send", "receive"] = "send"

    @property
    def address(self) -> str:
        return f"{DEFAULT_PREFIX}/{{site}}/{{table}}/{self.suffix}"


def asyncapi(examples: Examples) -> dict[str, Any]:
    """Return the document, with examples of every message."""
    channels = list(_channels())
    names = list(dict.fromkeys(channel.schema for channel in channels))
    references, parts = shared_schemas(names, "#/components/schemas/{name}")
    document = _FIXED["document"]
    return {
        **document,
        "info": {**document["info"], "version": SCHEMA},
        "servers": _servers(examples),
        "channels": {each.key: _channel(each, parts, references) for each in channels},
        "operations": dict(map(_operation, channels)),
        "components": {
            "schemas": {name: _for_asyncapi(part) for name, part in parts.items()},
            "messages": {
                _camel(name): _message(name, references[name], parts, examples[name])
                for name in names
            },
            "parameters": _parameters(),
            "securitySchemes": _FIXED["securitySchemes"],
        },
    }


def _channels() -> Iterable[_Channel]:
    """Give every channel: documents, events, commands and replies."""
    for name in TABLE_MESSAGES:
        if name == "reply":
            yield _Channel(name, "reply/{id}", name, ("order",))
        else:
            suffix = "device/{reader}" if name == "device" else name
            expiry = STATE_EXPIRY_HEARTBEATS * _HEARTBEAT if name == STATE else None
            tags = ("document", "staff") if name.startswith(staff("")) else ("document",)
            yield _Channel(_camel(name), suffix, name, tags, retain=True, expiry=expiry)
    for name in EVENTS:
        tags = ("event", "staff") if name.startswith(staff("")) else ("event",)
        yield _Channel(_camel(name), name, name, tags)
    yield _Channel("order", "cmd/{verb}", "cmd", ("order",), action="receive")
    by_name = "cmd/{verb}/{operator}"
    yield _Channel("orderByOperator", by_name, "cmd", ("order",), action="receive")


def _camel(name: str) -> str:
    """Return a schema's name as a name in the document: ``cardDealt``, ``resultLast``."""
    if name == "cmd":
        return "order"
    short = name.removeprefix(staff("event/")).removeprefix("event/")
    first, *others = short.replace("/", "_").split("_")
    return first + "".join(map(str.capitalize, others))


def _channel(
    channel: _Channel, parts: Mapping[str, Any], references: Mapping[str, Any]
) -> dict[str, Any]:
    message = _camel(channel.schema)
    texts = [_text_of(references[channel.schema], parts)]
    texts += [
        text for key, text in _FIXED["rights"].items() if key in {*channel.tags, channel.action}
    ]
    parameters = [part[1:-1] for part in channel.address.split("/") if part.startswith("{")]
    return {
        "address": channel.address,
        "title": channel.suffix,
        "description": "\n\n".join(texts),
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
        "parameters": {name: {"$ref": f"#/components/parameters/{name}"} for name in parameters},
        "tags": [{"name": tag} for tag in channel.tags],
    }


def _operation(channel: _Channel) -> tuple[str, dict[str, Any]]:
    key = channel.action + channel.key[0].upper() + channel.key[1:]
    expiry = {} if channel.expiry is None else {"messageExpiryInterval": channel.expiry}
    operation: dict[str, Any] = {
        "action": channel.action,
        "channel": {"$ref": f"#/channels/{channel.key}"},
        "messages": [_message_of(channel.key, channel.schema)],
        "bindings": {"mqtt": {"qos": QOS, "retain": channel.retain, **expiry, **_BINDING}},
        "tags": [{"name": tag} for tag in channel.tags],
    }
    if channel.action == "receive":
        reply = {"channel": {"$ref": "#/channels/reply"}}
        operation["reply"] = {**reply, "messages": [_message_of("reply", "reply")]}
    return key, operation


def _message_of(channel: str, schema: str) -> dict[str, str]:
    return {"$ref": f"#/channels/{channel}/messages/{_camel(schema)}"}


def _message(
    name: str,
    reference: Mapping[str, Any],
    parts: Mapping[str, Any],
    examples: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    more: dict[str, Any] = {}
    if name in _FIXED["properties"]:
        more = {
            "correlationId": {"location": "$message.payload#/id"},
            "bindings": {"mqtt": {**_FIXED["properties"][name], **_BINDING}},
        }
    return {
        "name": name,
        "title": _title(reference),
        "summary": _text_of(reference, parts).partition("\n\n")[0],
        "contentType": "application/json",
        "payload": reference,
        "examples": [
            {"name": f"{_camel(name)}{number}", **example}
            for number, example in enumerate(examples, start=1)
        ],
        **more,
    }


def _title(reference: Mapping[str, Any]) -> str:
    return str(reference["$ref"]).rpartition("/")[2]


def _text_of(reference: Mapping[str, Any], parts: Mapping[str, Any]) -> str:
    text: str = parts[_title(reference)]["description"]
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def _parameters() -> dict[str, Any]:
    """Describe the parameters of topics."""
    an_id = {"x-pattern": f"^{ID.pattern}$"}
    patterns: dict[str, dict[str, Any]] = {
        "site": an_id,
        "table": an_id,
        "reader": an_id,
        "id": {"x-pattern": get_args(OrderId)[1].pattern},
        "verb": {"enum": list(VERBS)},
    }
    return {
        name: {**text, **patterns.get(name, {})} for name, text in _FIXED["parameters"].items()
    }


def _servers(examples: Examples) -> dict[str, Any]:
    """Describe the broker, for every protocol version, with and without TLS."""
    payloads = [example["payload"] for example in examples[STATUS]]
    will = next(each for each in payloads if each["state"] == "offline")
    return {
        f"mqtt{version[0]}{'tls' if tls else ''}": _server(version, will, tls=tls)
        for version in ("5", "3.1.1")
        for tls in (False, True)
    }


def _server(version: str, will: Mapping[str, Any], *, tls: bool) -> dict[str, Any]:
    settings, is_5 = MqttSettings(), version == "5"
    secure = "with TLS, version 1.2 or later" if tls else "on an open line"
    expiry = {"sessionExpiryInterval": SESSION_EXPIRY_S} if is_5 else {}
    schemes = ("password", "certificate") if tls else ("password",)
    return {
        "host": "{host}:{port}",
        "protocol": "secure-mqtt" if tls else "mqtt",
        "protocolVersion": version,
        "description": f"Your broker, MQTT {version}, {secure}.",
        "variables": {
            "host": {"default": settings.host, "description": "Its name or address."},
            "port": {"default": "8883" if tls else "1883"},
        },
        "security": [{"$ref": f"#/components/securitySchemes/{each}"} for each in schemes],
        "bindings": {
            "mqtt": {
                "clientId": "shoe-{site}-{table}-{machine}",
                "cleanSession": not is_5,
                "keepAlive": settings.keepalive,
                "lastWill": {
                    "topic": f"{DEFAULT_PREFIX}/{{site}}/{{table}}/{STATUS}",
                    "qos": QOS,
                    "retain": True,
                    "message": json.dumps(will, sort_keys=True, separators=(",", ":")),
                },
                **expiry,
                **_BINDING,
            }
        },
    }


def _for_asyncapi(schema: Any) -> Any:  # noqa: ANN401 - any part of a JSON document
    """
    Return a schema as AsyncAPI reads it: references without siblings, which it would ignore, and
    unions without a discriminator, which it takes for the name of a property.
    """
    if isinstance(schema, list):
        return [_for_asyncapi(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: _for_asyncapi(value) for key, value in schema.items()}
    if isinstance(inner.get("discriminator"), dict):
        del inner["discriminator"]
    if "$ref" in inner and len(inner) > 1:
        return {"allOf": [{"$ref": inner.pop("$ref")}], **inner}
    return inner
