"""
The tree of topics: ``<prefix>/<site>/<table>/…``, the prefix being ``shoe/v1``.

A topic is written here and nowhere else.
"""

from __future__ import annotations

import re
from typing import Final

from shoe_daemon.errors import UserError
from shoe_daemon.table import is_staff

__all__ = [
    "ALERTS",
    "DEFAULT_PREFIX",
    "HISTORY",
    "ID",
    "RESULT",
    "ROADS",
    "STAFF_ALERTS",
    "STATE",
    "STATUS",
    "Topics",
    "device",
    "staff",
]

DEFAULT_PREFIX: Final = "shoe/v1"

# The retained documents, below `<prefix>/<site>/<table>/`.
STATUS: Final = "status"
STATE: Final = "state"
RESULT: Final = "result/last"
ALERTS: Final = "alert/active"
STAFF_ALERTS: Final = "staff/alert/active"
ROADS: Final = "roads"
HISTORY: Final = "history"

ID: Final = re.compile(r"[a-z0-9-]+")
"""A site, a table or a reader."""

_ANY: Final = re.compile(r"[^+#$\x00-\x1f\x7f][^+#\x00-\x1f\x7f]{0,249}")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")


def device(reader: str) -> str:
    """
    Return where one reader's health is told.

    Raises:
        UserError: The reader's id is none.
    """
    return f"device/{_checked(reader, 'reader')}"


def staff(suffix: str) -> str:
    """
    Return where the same is told for staff only.
    """
    return f"staff/{suffix}"


class Topics:
    """
    The topics of one table.

    Attributes:
        root: What all of them begin with, without a slash at its end.
        commands: The filter that takes every operator's order.
    """

    def __init__(self, site: str, table: str, prefix: str = DEFAULT_PREFIX) -> None:
        """
        Raises:
            UserError: An id is not made of ``a-z``, ``0-9`` and ``-``.
        """
        if not _PREFIX.fullmatch(prefix):
            raise UserError(
                f"mqtt prefix {prefix!r}: expected levels of letters, digits, - and _, "
                f"such as {DEFAULT_PREFIX!r}"
            )
        self.root: Final = f"{prefix}/{_checked(site, 'site')}/{_checked(table, 'table')}"
        self.commands: Final = f"{self.root}/cmd/#"
        self._prefix: Final = f"{prefix}/"
        self._events: dict[str, str] = {}

    def event(self, event_type: str) -> str:
        """
        Return where events of this type go: what is for staff goes below ``staff/``.
        """
        topic = self._events.get(event_type)
        if topic is None:
            suffix = f"event/{event_type}"
            topic = self.retained(staff(suffix) if is_staff(event_type) else suffix)
            self._events[event_type] = topic
        return topic

    def retained(self, suffix: str) -> str:
        """
        Return where a retained document goes, such as ``state`` or ``device/shoe``.
        """
        return f"{self.root}/{suffix}"

    def verb(self, topic: str) -> str | None:
        """
        Return the order's verb, or None where the topic is no order to this table.
        """
        start = f"{self.root}/cmd/"
        return topic[len(start) :] if topic.startswith(start) else None

    def order(self, verb: str, operator: str | None = None) -> str:
        """
        Return where an order goes, with its operator where the broker vouches for them.

        Raises:
            UserError: The operator's name cannot stand in a topic.
        """
        topic = f"{self.root}/cmd/{verb}"
        if operator is None:
            return topic
        if not _ANY.fullmatch(operator) or "/" in operator:
            raise UserError(f"operator {operator!r}: a topic cannot hold this name")
        return f"{topic}/{operator}"

    def reply(self, order: str) -> str:
        """
        Return where an order of this id is answered.
        """
        return f"{self.root}/reply/{order}"

    def may_answer(self, topic: str) -> bool:
        """
        Tell whether an answer may go where its asker wants it.

        Never among what tables say: whoever may give an order could otherwise
        make a table speak in the name of another, or overwrite its own words.
        """
        if not _ANY.fullmatch(topic):
            return False
        return topic.startswith(self.reply("")) or not topic.startswith(self._prefix)


def _checked(name: str, what: str) -> str:
    if not ID.fullmatch(name):
        raise UserError(f"{what} {name!r}: expected an id of a-z, 0-9 and -, such as 'table-7'")
    return name
