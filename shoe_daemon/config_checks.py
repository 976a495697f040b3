"""
Checks of a table's configuration that its types cannot make.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shoe_daemon.errors import UserError
from shoe_daemon.mqtt.topics import Topics

if TYPE_CHECKING:
    from shoe_daemon.config import Config, ReaderSettings, TableSettings
    from shoe_daemon.game import House

__all__ = ["check_checkers", "check_prefix", "check_readers", "check_seats", "check_table"]

_MAX_TEXT: Final = 100
_MAX_LIMITS: Final = 20


def check_prefix(config: Config, prefix: str) -> None:
    """
    Check the prefix of all topics.

    Raises:
        UserError: What is wrong.
    """
    try:
        Topics(config.site, config.table.id, prefix)
    except UserError as error:
        raise UserError(f"mqtt.prefix: {str(error).removeprefix('mqtt prefix ')}") from error


def check_table(table: TableSettings) -> None:
    """
    Check the texts of a table, which must leave room in `state` for the table itself.

    Raises:
        UserError: What is wrong.
    """
    if table.timeless:
        raise UserError("table.timeless: true; expected nothing: it is for logs, not for tables")
    texts = [("table.name", table.name or "")]
    texts += [(f"table.limits.{key}", key + text) for key, text in table.limits.items()]
    for key, text in texts:
        if len(text) > _MAX_TEXT:
            raise UserError(f"{key}: {len(text)} characters; expected at most {_MAX_TEXT}")
    if len(table.limits) > _MAX_LIMITS:
        raise UserError(
            f"table.limits: {len(table.limits)} entries; expected at most {_MAX_LIMITS}"
        )


def check_readers(readers: Sequence[ReaderSettings]) -> None:
    """
    Check that each reader has an id and a port of its own.

    Raises:
        UserError: What two of them share.
    """
    seen: set[str] = set()
    by_line: dict[str, str] = {}
    for number, reader in enumerate(readers, start=1):
        place = f"reader {number}"
        if reader.id in seen:
            raise UserError(
                f"{place}: id: {reader.id!r} is another reader's; expected each id once"
            )
        seen.add(reader.id)
        other = by_line.setdefault(_line(reader.port), reader.id)
        if other != reader.id:
            raise UserError(
                f"{place}: port: {reader.port!r} is the line of reader {other!r} too; "
                "expected each line once"
            )


def _line(port: str) -> str:
    # Two names of one device are one line; what is no path stays as it is.
    scheme, colon, path = port.rpartition(":") if ":/" in port else ("", "", port)
    return f"{scheme}{colon}{os.path.realpath(path)}" if path[:1] == "/" != path[1:2] else port


def check_checkers(table: TableSettings, readers: Sequence[ReaderSettings]) -> None:
    """
    Check that every checker is a reader, and that a reader is left to deal.

    Raises:
        UserError: What is wrong.
    """
    names = [reader.id for reader in readers]
    for checker in table.checkers:
        if checker not in names:
            known = ", ".join(names) or "none"
            raise UserError(f"table.checkers: {checker!r}; expected ids of readers: {known}")
    if table.checkers and not set(names) - set(table.checkers):
        raise UserError("table.checkers: all readers; expected at least one that deals the cards")


def check_seats(table: TableSettings, house: House) -> None:
    """
    Check that seats are given only where players draw the cards.

    Raises:
        UserError: This house has no curator.
    """
    if table.seats and not house.curator.on:
        raise UserError(
            f"table.seats: {list(table.seats)}; expected none: in the house {house.name!r} "
            "players do not draw the cards (no curator)"
        )
