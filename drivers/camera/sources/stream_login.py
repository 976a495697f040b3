"""
Who a table is for a network camera: a name in the configuration, a password in a file.
"""

from __future__ import annotations

from pathlib import Path

from drivers.camera.sources.source_address import Address
from shoe_daemon.credential_files import find_file
from shoe_daemon.errors import UserError

__all__ = ["logged_in", "read_password"]

_WORD = "{password}"


def logged_in(
    address: Address, username: str | None, password_file: str | None, folder: Path
) -> Address:
    """
    Return the address with the name and the password that a configuration gives for it.

    Args:
        address: As the port has it.
        username: Of the options; None for nobody.
        password_file: Of the options; its first line is the password.
        folder: Where the configuration lies.

    Raises:
        UserError: They do not fit together, or there is no password in that file.
    """
    asks = _WORD in address.where
    if password_file is None:
        if asks and address.is_stream:
            raise UserError(f"port: {_WORD}; expected options.password_file, where it is")
        if username is None:
            return address
    elif username is None and not asks:
        raise UserError("options.password_file: a password needs options.username beside it")
    try:
        known = address.known_to(username or "", "")
    except UserError as error:
        key = "password_file" if username is None else "username"
        raise UserError(f"options.{key}: {error}") from error
    if password_file is None:
        return known
    return address.known_to(username or "", read_password(password_file, folder))


def read_password(name: str, folder: Path) -> str:
    """
    Read a password: from the unit's credentials, or beside the configuration.

    Raises:
        UserError: The file cannot be read or is empty.
    """
    path = find_file(name, folder, "options.password_file")
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None)
        why = reason.lower() if reason else "not UTF-8 text"
        raise UserError(f"options.password_file: {path}: {why}") from error
    if not lines or not lines[0]:
        raise UserError(f"options.password_file: {path}: its first line is empty")
    return lines[0]
