"""
The parsers that read what others wrote: each takes bytes, and may reject them only as documented.

A parser returns its outcome in words; another exception than its own is a fault.
"""

from __future__ import annotations

import sqlite3
import tomllib
from collections.abc import Callable, Mapping
from contextlib import closing
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from unittest.mock import patch

import msgspec
from msgspec.structs import replace

from drivers import Anonymiser, create_driver, find_driver, load_capture, observations_of
from shoe_daemon.config.sections import Config, check_sections
from shoe_daemon.display.views import JsonViews
from shoe_daemon.errors import UserError
from shoe_daemon.floor.floor import Floor
from shoe_daemon.floor.table import Message
from shoe_daemon.game import Card
from shoe_daemon.journal import database
from shoe_daemon.journal.reader import fold_table, open_read_only
from shoe_daemon.journal.signatures import check_signatures
from shoe_daemon.journal.summary import summarise
from shoe_daemon.journal.verify import verify
from shoe_daemon.mqtt.certificates import not_after
from shoe_daemon.mqtt.commands import parse_command
from shoe_daemon.mqtt.connection import MessageReceived
from shoe_daemon.settings.loader import Loader
from shoe_daemon.settings.toml import convert_toml
from shoe_daemon.table.table import Table, replay
from shoe_daemon.table.times import from_microseconds
from tests.floor.table_messages import at
from tests.journal.journal_entries import SITE, TABLE, fill
from tests.journal.signing_keys import signing_key

Parser = Callable[[bytes], str]

CORPUS: Final = Path(__file__).with_name("corpus")

_MAX_EVENTS: Final = 2000
_PATCH: Final = 4


def _serial(data: bytes) -> str:
    """The decoder of the Angel Eye, and a table behind it."""
    return _decoded("angel-eye-ii", data)


def _camera_line(data: bytes) -> str:
    """The messages of a camera's line."""
    return _decoded("camera", data)


def _bee_tek(data: bytes) -> str:
    """The tokens of a Bee-Tek."""
    return _decoded("bee-tek", data)


def _line_scanner(data: bytes) -> str:
    """The frames of a scanner; the first line is its options, in JSON."""
    options, _, stream = data.partition(b"\n")
    try:
        chosen = msgspec.json.decode(options, type=dict)
    except (msgspec.DecodeError, ValueError) as error:
        return type(error).__name__
    chosen.pop("cards_file", None)  # no files are opened
    return _decoded("line-scanner", stream, chosen)


def _json_lines(data: bytes) -> str:
    """The lines of a reader that sends JSON."""
    return _decoded("json-lines", data, {"cards": {"04A2B3C4": "AS"}, "buttons": True})


def _mqtt_camera(data: bytes) -> str:
    """The messages of a recogniser on a broker."""
    return _decoded("mqtt-camera", data)


def _capture(data: bytes) -> str:
    """A capture file, the observations of its bytes, and the same with other cards."""
    with TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "a.cap"
        path.write_bytes(data)
        try:
            capture = load_capture(path)
        except UserError as error:
            raise UserError(str(error).replace(folder, "")) from error
    driver = create_driver("angel-eye-ii", capture.options)
    seen = list(observations_of(driver, capture))
    anonymiser = Anonymiser(driver, {card: card for card in Card})
    shown = [new for line in capture.lines for new in anonymiser.take(line)] + anonymiser.finish()
    assert len(shown) == len(capture.lines)
    kinds = [type(each).__name__ for each in seen]
    return f"{capture.has_times} {bool(capture.note)} {' '.join(kinds[:9])}"


def _decoded(driver: str, data: bytes, options: Mapping[str, Any] | None = None) -> str:
    decoder, table = create_driver(driver, options).decoder(), Table()
    kinds = []
    for number, start in enumerate(range(0, len(data), 16)):
        moment = number / 10
        for frame in decoder.feed(data[start : start + 16], moment):
            kinds.append(str(frame.kind))
            for each in frame.observations:
                stamp = from_microseconds(int(moment * 1_000_000))
                found = table.apply(replace(each, at=stamp, source="shoe"))
                kinds += [type(each).__name__, *(event.type for event in found)]
    return " ".join(sorted(set(kinds)))


def _config(data: bytes) -> str:
    """The configuration of a table; files that it names are not opened."""
    try:
        mapping = tomllib.loads(data.decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError) as error:
        return type(error).__name__
    config = convert_toml(Config, mapping, "table.toml")
    loader = Loader(Path())
    check_sections(config, loader)
    if loader.error is not None:
        raise loader.error
    for reader in config.reader:
        convert_toml(find_driver(reader.driver).options_type, reader.options, "options")
    return f"valid, {len(config.reader)} readers"


def _command(data: bytes) -> str:
    """A command: the verb on the first line, and its payload."""
    verb, _, payload = data.partition(b"\n")
    whole, message = verb.decode(errors="replace"), MessageReceived("", payload)
    name, _, operator = whole.partition("/")
    parsed = [parse_command(whole, message), parse_command(name, message, operator=operator)]
    refusals = [each.refusal or Table().refusal(each.command) for each in parsed]
    return " ".join(str(each and each.text) for each in refusals)


def _log(data: bytes) -> str:
    """An observation log, replayed."""
    types = set()
    for count, event in enumerate(replay(data.split(b"\n"))):
        types.add(event.type)
        if count > _MAX_EVENTS:
            break
    return " ".join(sorted(types))


def _journal(data: bytes) -> str:
    """
    The bytes of a journal: each four bytes of the input change one byte of a valid one.

    Three bytes are the place, the fourth is the new byte.
    """
    content = bytearray(_valid_journal())
    for start in range(0, len(data) - _PATCH + 1, _PATCH):
        place = int.from_bytes(data[start : start + 3], "big") % len(content)
        content[place] = data[start + 3]
    with TemporaryDirectory(prefix="fuzz-") as folder:
        path = Path(folder) / "journal.db"
        path.write_bytes(content)
        with open_read_only(path) as reader:
            database.check_integrity(reader.connection, path, thorough=True)
            verdict = verify(reader)
            if verdict.broken:
                return verdict.broken.what
            signed = check_signatures(reader.connection, reader.identity, None)
            summarise(reader)
            fold_table(reader)
            return signed.fault or "good"


@cache
def _valid_journal() -> bytes:
    from shoe_daemon.journal import Journal, chain, writer

    with (
        TemporaryDirectory() as folder,
        patch.object(writer, "_now", lambda: "2027-01-15T08:00:00.000Z"),
        patch.object(chain, "new_salt", lambda: bytes(16)),
    ):
        path = Path(folder) / "journal.db"
        with Journal.open(path, SITE, TABLE, signer=signing_key()) as journal:
            fill(journal, 45)
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA journal_mode = DELETE")
        return path.read_bytes()


def _display(data: bytes) -> str:
    """Messages into the display: topic, payload, topic, payload …, one a line."""
    model = Floor(staff_alerts=True, notifier_status=True)
    views, lines = JsonViews(model), data.split(b"\n")
    for number, (topic, payload) in enumerate(zip(lines[::2], lines[1::2], strict=False)):
        model.receive(Message(topic.decode(errors="replace"), payload), at(number))
    views.pit()
    for table in model:
        for view in ("alerts", "board", "events", "history", "roads", "row"):
            views.table(view, table)
    model.advance_time(at(1000).monotonic)
    faults = " ".join(sorted({record.what for record in model.faults.last}))
    return f"{len(model)} tables {faults}"


def _certificate(data: bytes) -> str:
    """A certificate (DER)."""
    return str(not_after(data))[:4]


PARSERS: Final[Mapping[str, Parser]] = {
    "serial": _serial,
    "capture": _capture,
    "camera_line": _camera_line,
    "bee_tek": _bee_tek,
    "line_scanner": _line_scanner,
    "json_lines": _json_lines,
    "mqtt_camera": _mqtt_camera,
    "config": _config,
    "command": _command,
    "observation_log": _log,
    "journal": _journal,
    "display": _display,
    "certificate": _certificate,
}


def read_corpus(name: str) -> list[bytes]:
    """Return the inputs of a parser: one a line, with escapes as in Python."""
    lines = (CORPUS / f"{name}.txt").read_text(encoding="ascii").split("\n")[:-1]
    return [line.encode().decode("unicode_escape").encode("latin-1") for line in lines]


def add_to_corpus(name: str, data: bytes) -> None:
    """Add an input of a parser."""
    with (CORPUS / f"{name}.txt").open("ab") as corpus:
        corpus.write(data.decode("latin-1").encode("unicode_escape") + b"\n")


def outcome(name: str, data: bytes) -> str:
    """Return what a parser made of an input; other exceptions than its own are raised."""
    try:
        return PARSERS[name](data)
    except UserError as error:
        text = str(error)
    lines = text.split("\n")
    # A configuration's errors are a line each, after the place.
    assert len(lines) == 1 or all(": " in line for line in lines), "an error is one line"
    return f"rejected: {text}"
