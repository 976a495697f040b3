"""Replays an observation log: lines in, observations or events out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import decode_observation
from shoe_daemon.table.table import Table
from shoe_daemon.table.timestamp_conversion import to_microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from shoe_daemon.table.events import Event
    from shoe_daemon.table.observations import Observation


def decode_log(lines: Iterable[bytes | str]) -> Iterator[Observation]:
    """
    Yield the observations of a log; empty lines are skipped.

    Raises:
        UserError: A line is not a valid observation, or its `at` is earlier than the `at` of
            the line above. The message names the line by its number.
    """
    latest = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            observation = decode_observation(line)
        except UserError as error:
            raise UserError(f"line {number}: {error}") from error
        now = to_microseconds(observation.at)
        if now < latest:
            raise UserError(
                f"line {number}: `at` goes back: {observation.at} is before the line above"
            )
        latest = now
        yield observation


def replay(lines: Iterable[bytes | str], table: Table | None = None) -> Iterator[Event]:
    """
    Yield the events that the observations of a log cause, in order.

    Args:
        lines: One JSON object a line, as in `docs/observations.md`.
        table: Applies the observations; a new table with default options if None. Pass a table
            to choose its options, or to read its state afterwards.

    Raises:
        UserError: As `decode_log`.
    """
    table = table or Table()
    for observation in decode_log(lines):
        yield from table.apply(observation)
