"""An event with the observation that caused it: the input of all reports."""

from __future__ import annotations

from typing import NamedTuple

from shoe_daemon.table import Command, Event


class CausedEvent(NamedTuple):
    """
    An event and its cause.

    Attributes:
        event: As stored in the journal.
        observation: The id of the observation that caused it.
        cause: The type of that observation.
        order: That observation, if it is a command.
    """

    event: Event
    observation: int
    cause: str
    order: Command | None
