"""Topics of a table, ``<prefix>/<site>/<table>/…``, and its client id at the broker."""

from __future__ import annotations

import hashlib
import re
import secrets
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.table import is_staff

DEFAULT_PREFIX: Final = "shoe/v1"
_MACHINE_ID: Final = Path("/etc/machine-id")

# The retained documents, below `<prefix>/<site>/<table>/`.
STATUS: Final = "status"
STATE: Final = "state"
RESULT: Final = "result/last"
ALERTS: Final = "alert/active"
STAFF_ALERTS: Final = "staff/alert/active"
ROADS: Final = "roads"
HISTORY: Final = "history"
SIGNATURE: Final = "signature"

RETAINED: Final = (STATUS, STATE, RESULT, ALERTS, STAFF_ALERTS, ROADS, HISTORY, SIGNATURE)
"""All of them but those of readers and of Home Assistant."""

HOME_ASSISTANT_PREFIX: Final = "homeassistant"
"""The first level of the topics from which Home Assistant learns of devices."""

HOME_ASSISTANT: Final = "home-assistant"
"""Name of Home Assistant's discovery document, which has a topic of its own."""

ID: Final = re.compile(r"[a-z0-9-]+")
"""The id of a site, a table or a reader."""

_TOPIC: Final = re.compile(r"[^+#$\x00-\x1f\x7f][^+#\x00-\x1f\x7f]{0,249}")
_PREFIX: Final = re.compile(r"[A-Za-z0-9_-]+(/[A-Za-z0-9_-]+)*")


def device(reader: str) -> str:
    """
    Return the suffix of a reader's health.

    Raises:
        UserError: The reader's id is invalid.
    """
    return f"device/{_checked(reader, 'reader')}"


def notifiers(prefix: str = DEFAULT_PREFIX) -> str:
    """
    Return the topic below which notifiers publish, ``shoe-notify/v1`` for ``shoe/v1``: no filter
    of tables' topics matches it, not even ``shoe/#``.
    """
    first, slash, rest = prefix.partition("/")
    return f"{first}-notify{slash}{rest}"


def staff(suffix: str) -> str:
    """Return the suffix of the same document or event for staff only."""
    return f"staff/{suffix}"


class Topics:
    """
    The topics of one table.

    Attributes:
        root: The prefix of all of them, without a slash at its end.
        commands: The topic filter of all commands.
    """

    def __init__(
        self, site: str, table: str, prefix: str = DEFAULT_PREFIX, *, lamps: Iterable[str] = ()
    ) -> None:
        """
        `lamps` are the topics of the table's lamps, outside the prefix.

        Raises:
            UserError: An id has other characters than ``a-z``, ``0-9`` and ``-``.
        """
        if not _PREFIX.fullmatch(prefix):
            raise UserError(
                f"mqtt prefix {prefix!r}: expected levels of letters, digits, - and _, "
                f"such as {DEFAULT_PREFIX!r}"
            )
        self.root: Final = f"{prefix}/{_checked(site, 'site')}/{_checked(table, 'table')}"
        self.commands: Final = f"{self.root}/cmd/#"
        self._discovery: Final = f"{HOME_ASSISTANT_PREFIX}/device/shoe_{site}_{table}/config"
        self._no_replies: Final = tuple(
            f"{each}/" for each in (prefix, notifiers(prefix), HOME_ASSISTANT_PREFIX, *lamps)
        )

    def event(self, event_type: str) -> str:
        """Return the topic of events of this type; those for staff are below ``staff/``."""
        suffix = f"event/{event_type}"
        return self.retained(staff(suffix) if is_staff(event_type) else suffix)

    def retained(self, suffix: str) -> str:
        """Return the topic of a retained document, such as ``state`` or ``device/shoe``."""
        if suffix == HOME_ASSISTANT:
            return self._discovery
        return f"{self.root}/{suffix}"

    def verb(self, topic: str) -> str | None:
        """Return the verb of a command to this table; None for other topics."""
        start = f"{self.root}/cmd/"
        return topic[len(start) :] if topic.startswith(start) else None

    def command(self, verb: str, operator: str | None = None) -> str:
        """
        Return the topic of a command; with its operator where the broker authenticates them.

        Raises:
            UserError: The operator's name is invalid in a topic.
        """
        topic = f"{self.root}/cmd/{verb}"
        if operator is None:
            return topic
        if not _TOPIC.fullmatch(operator) or "/" in operator:
            raise UserError(f"operator {operator!r}: a topic cannot hold this name")
        return f"{topic}/{operator}"

    def reply(self, command_id: str) -> str:
        """Return the topic of the reply to a command."""
        return f"{self.root}/reply/{command_id}"

    def may_reply_to(self, topic: str) -> bool:
        """
        Return whether a reply may be published to a response topic.

        Never to a topic on which tables, notifiers or lamps publish, or from which Home Assistant
        learns of devices: a sender of commands could otherwise make a table publish in the name
        of another, or replace its own documents.
        """
        if not _TOPIC.fullmatch(topic):
            return False
        is_reply = topic.startswith(self.reply(""))
        return is_reply or not f"{topic}/".startswith(self._no_replies)


def _checked(name: str, what: str) -> str:
    if not ID.fullmatch(name):
        raise UserError(f"{what} {name!r}: expected an id of a-z, 0-9 and -, such as 'table-7'")
    return name


class TableIdentity(Struct, frozen=True):
    """
    A table, and one start of its daemon.

    Attributes:
        site: The site's id.
        table: The table's id.
        session: New at every start of the daemon.
        name: The table's name for people; None if it has none.
    """

    site: str
    table: str
    session: str
    name: str | None = None

    def client_id(self) -> str:
        """
        Return the MQTT client id: different for every table and machine, the same
        after a restart.
        """
        return f"shoe-{self.site}-{self.table}-{_machine_id()[:8]}"

    def probe_id(self) -> str:
        """
        Return a client id of the same form and length that no daemon uses: a broker
        with rules for client ids treats it alike, and ends no other connection.
        """
        return f"{self.client_id()[:-8]}{secrets.token_hex(4)}"


def _machine_id() -> str:
    """Return the id of this machine; a hash of its name where it has none."""
    try:
        text = _MACHINE_ID.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        text = ""
    return text or hashlib.sha256(socket.gethostname().encode()).hexdigest()
