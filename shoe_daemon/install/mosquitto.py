"""Accounts at a mosquitto on this computer: passwords, and their hashes in the password file."""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
from collections.abc import Collection, Iterable, Mapping
from typing import Final

from shoe_daemon.mqtt.topics import ID

_SALT_BYTES: Final = 12
_ITERATIONS: Final = 101
"""As mosquitto_passwd 2.0; the passwords are random, so that more would protect nothing."""


def new_password() -> str:
    """Return a random password of 128 bits, in hexadecimal digits."""
    return secrets.token_hex(16)


def add_accounts(password_file: str, accounts: Mapping[str, str]) -> str:
    """Return the content of a password file with the passwords of accounts; other lines stay."""
    lines = dict(line.partition(":")[::2] for line in password_file.splitlines() if line)
    for name, password in accounts.items():
        if not _fits(lines.get(name, ""), password):
            lines[name] = _hash(password, secrets.token_bytes(_SALT_BYTES))
    return "".join(f"{name}:{entry}\n" for name, entry in lines.items())


def without_accounts(password_file: str, names: Collection[str]) -> str:
    """Return the content of a password file without some accounts; other lines stay."""
    lines = password_file.splitlines(keepends=True)
    return "".join(line for line in lines if line.partition(":")[0] not in names)


def account_names(password_file: str) -> list[str]:
    """Return the names of all accounts in a password file."""
    return [line.partition(":")[0] for line in password_file.splitlines() if line]


def _fits(entry: str, password: str) -> bool:
    parts = entry.split("$")
    if parts[:3] != ["", "7", str(_ITERATIONS)]:
        return False
    return _hash(password, base64.b64decode(parts[3])) == entry


def _hash(password: str, salt: bytes) -> str:
    digest = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, _ITERATIONS)
    encoded = (base64.b64encode(part).decode() for part in (salt, digest))
    return "$".join(("", "7", str(_ITERATIONS), *encoded))


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


def without_tables(acl: str, accounts: Collection[str]) -> str:
    """Return an ACL file without the blocks of accounts, up to an empty line; other lines stay."""
    kept: list[str] = []
    is_removed = False
    for line in acl.splitlines(keepends=True):
        if found := _USER.match(line):
            is_removed = found[1] in accounts
            if is_removed and kept and not kept[-1].strip():
                kept.pop()
        elif not line.strip():
            is_removed = False
        if not is_removed:
            kept.append(line)
    return "".join(kept)


def users(acl: str) -> list[str]:
    """Return the accounts that have a block, in their order."""
    return _USER.findall(acl)
