"""The `user` blocks of tables in mosquitto's ACL file, made of its `#table` lines."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from shoe_daemon.mqtt.topics import ID

_TEMPLATE: Final = re.compile(r"^#table (.*\n)", re.MULTILINE)
_USER: Final = re.compile(r"^user +(.+?) *$", re.MULTILINE)


def add_tables(acl: str, accounts: Iterable[str]) -> str:
    """
    Return an ACL file in which each account that has no `user` block has that of a table, as
    make-accounts.sh writes it; other lines stay. A file without `#table` lines stays as it is.
    """
    template = "".join(_TEMPLATE.findall(acl))
    known = set(users(acl))
    for name in dict.fromkeys(accounts):
        if template and name not in known and ID.fullmatch(name):
            acl += f"\nuser {name}\n" + template.replace("TABLE", name)
    return acl


def users(acl: str) -> list[str]:
    """Return the accounts that have a block, in their order."""
    return _USER.findall(acl)
