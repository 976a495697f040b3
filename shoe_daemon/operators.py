"""
The operators of a table, their roles and PINs.

The file is optional. It has argon2 hashes of the PINs; argon2-cffi (the extra `pins`)
is imported only where there is such a file.
"""

from __future__ import annotations

import secrets
import stat
import time
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Hashable
from contextlib import suppress
from functools import cache
from math import ceil
from pathlib import Path
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shoe_daemon.errors import UserError
from shoe_daemon.settings.files import find_credential
from shoe_daemon.settings.toml import convert_toml, read_toml
from shoe_daemon.table import make_detail


class WrongAttempts:
    """
    The wait after wrong passwords: of each key at most `limit` in any `window_s` seconds.

    A wait is never longer than `window_s`. A right password does not end it: otherwise each
    log-in of the operator would give somebody else as many guesses again. Keys are forgotten after
    their window, so that the number of checks, which take a tenth of a second each, bounds theirs.
    """

    def __init__(
        self, limit: int, window_s: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._limit = limit
        self._window_s = window_s
        self._monotonic = monotonic
        self._wrong_at: OrderedDict[Hashable, list[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._wrong_at)

    def wait_s(self, key: Hashable) -> float:
        """Return the seconds until the next attempt is allowed; 0 for now."""
        times = self._wrong_at.get(key)
        if times is None or len(times) < self._limit:
            return 0.0
        return max(0.0, times[0] + self._window_s - self._monotonic())

    def failed(self, key: Hashable) -> None:
        """Count a wrong password."""
        now = self._monotonic()
        times = self._wrong_at.setdefault(key, [])
        times.append(now)
        del times[: -self._limit]
        self._wrong_at.move_to_end(key)
        while next(iter(self._wrong_at.values()))[-1] <= now - self._window_s:
            self._wrong_at.popitem(last=False)


def require_argon2(message: str) -> None:
    """
    Check that argon2-cffi is installed.

    Raises:
        UserError: It is not; with this message.
    """
    try:
        import argon2  # noqa: F401, PLC0415 - an extra
    except ImportError as error:
        raise UserError(message) from error


def hash_password(password: str) -> str:
    """Return the hash of a password."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra

    return PasswordHasher().hash(password)


def verify_password(password_hash: str, password: str | bytes) -> bool:
    """Return whether a password is the one of a hash; takes a tenth of a second."""
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra
    from argon2.exceptions import VerificationError  # noqa: PLC0415 - an extra

    try:
        return PasswordHasher().verify(password_hash, password)
    except VerificationError:
        return False


def is_hash(text: str) -> bool:
    """Return whether a text is an argon2 hash."""
    from argon2 import extract_parameters  # noqa: PLC0415 - an extra

    try:
        return extract_parameters(text).hash_len > 0
    except ValueError:
        return False


MAX_WRONG_PINS: Final = 6
"""Wrong PINs of a name in `WRONG_PINS_WINDOW_S` seconds, after which its PIN has to wait."""

WRONG_PINS_WINDOW_S: Final = 60.0
_MIN_PIN_LENGTH: Final = 6
MAX_PIN_LENGTH: Final = 64
_NO_ARGON2: Final = (
    "PINs need argon2-cffi, which is not installed: pip install 'shoe-daemon[pins]'"
)


class Operator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[operator]]``.

    Attributes:
        name: As in the field `operator` of commands.
        roles: A ``supervisor`` gives every command, a ``dealer`` the unprivileged ones.
        pin: The hash that `cmd --hash-pin` prints; None for an operator without a PIN.
        tables: Ids of the only tables that take this operator's commands; empty for all.
    """

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    roles: tuple[Literal["supervisor", "dealer"], ...] = ("supervisor",)
    pin: str | None = None
    tables: tuple[str, ...] = ()

    def may_command(self, table: str, *, privileged: bool) -> bool:
        """Return whether a table takes such commands from this operator."""
        is_here = not self.tables or table in self.tables
        return is_here and (not privileged or "supervisor" in self.roles)


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    operator: Annotated[tuple[Operator, ...], Meta(min_length=1)]


class AuthenticationError(Exception):
    """The operator may not give this command: the reason, as a sentence with its code."""

    def __init__(self, code: str, **values: str | int) -> None:
        self.reason = make_detail(code, **values)
        super().__init__(self.reason.text)


class Operators:
    """
    The operators of a table, or of all tables, as their file has them; for one thread.

    Attributes:
        fault: Reason for which the file cannot be used and no command is accepted; None if it can.
        is_open: Every user can read the file, so short PINs can be guessed from it.
    """

    def __init__(
        self,
        name: str,
        beside: Path,
        *,
        table: str | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Args:
            name: As it is in the configuration. Without a leading slash it is looked up among
                the unit's credentials first (``LoadCredential=`` of systemd).
            beside: The configuration's folder.
            table: Only operators whose commands this table takes; None for all of the file.
            monotonic: Seconds.
        """
        self.fault: str | None = "it was not read yet"
        self.is_open = False
        self._name = name
        self._beside = beside
        self._table = table
        self._state: tuple[int, ...] | None = None
        self._by_name: dict[str, Operator] = {}
        self._wrong = WrongAttempts(MAX_WRONG_PINS, WRONG_PINS_WINDOW_S, monotonic)

    @property
    def alert(self) -> str | None:
        """One sentence if no command is accepted, or every user can read the file."""
        if (fault := self.fault) is not None:
            return f"no order is accepted: orders.operators_file: {fault}"
        if self.is_open:
            return (
                f"orders.operators_file: {self._name}: every user can read it; expected mode 0600"
            )
        return None

    def load(self) -> None:
        """
        Read the file.

        Raises:
            UserError: It is missing or invalid, or the extra is missing.
        """
        self._state = self._file_state()
        try:
            path = find_credential(self._name, self._beside)
            self._by_name = {
                each.name: each
                for each in _read(path)
                if self._table is None or each.may_command(self._table, privileged=False)
            }
        except UserError as error:
            self.fault = str(error)
            raise
        self.is_open = bool(path.stat().st_mode & stat.S_IROTH)
        self.fault = None

    def load_if_changed(self) -> None:
        """Read the file again if it has changed; a fault of it is in `fault`."""
        if self._file_state() != self._state:
            with suppress(UserError):
                self.load()

    def _file_state(self) -> tuple[int, ...] | None:
        try:
            found = find_credential(self._name, self._beside).stat()
        except (OSError, UserError):
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def find(self, name: str) -> Operator | None:
        """Return the operator of a name; None if there is none, or if the file cannot be used."""
        return self._by_name.get(name) if self.fault is None else None

    def is_supervisor(self, name: str) -> bool:
        """Return whether a name is that of a supervisor."""
        operator = self.find(name)
        return operator is not None and "supervisor" in operator.roles

    def names(self) -> list[str]:
        """Return the names of the operators who have a PIN, in the order of the file."""
        found = () if self.fault is not None else self._by_name.values()
        return [each.name for each in found if each.pin is not None]

    def is_right(self, name: str, pin: str) -> bool:
        """
        Return whether a PIN is that of a name; takes a tenth of a second, for unknown names too.

        It counts no wrong PINs: a display, which sees addresses, does that.
        """
        # Made before it is known whether the name exists: the first time takes longer.
        nobody, operator = _hash_of_nobody(), self.find(name)
        stored = operator.pin if operator is not None else None
        return verify_password(stored or nobody, pin) and stored is not None

    def authenticate(
        self, name: str, pin: str | None, *, privileged: bool, preview: bool = False
    ) -> bool:
        """
        Check whether an operator may give a command; a privileged one needs a PIN, its preview
        does not. What else needs one depends on the table's state: see `Needs`.

        A PIN is always checked if there is one; that takes a tenth of a second. After six wrong
        PINs of a name within a minute, that name's PIN waits for the end of this minute.

        Returns:
            Whether the PIN was checked, and right.

        Raises:
            AuthenticationError: The operator may not.
        """
        if self.fault is not None:
            # Without the file's own words: everybody who may read replies reads this.
            raise AuthenticationError("refused_no_operators")
        operator = self._by_name.get(name)
        if operator is None:
            raise AuthenticationError("refused_unknown_operator", operator=_printable(name))
        if privileged and "supervisor" not in operator.roles:
            raise AuthenticationError("refused_needs_supervisor")
        if pin is None:
            if privileged and not preview:
                raise AuthenticationError("refused_needs_pin")
            return False
        if operator.pin is None:
            raise AuthenticationError("refused_has_no_pin")
        self._check_pin(operator.name, operator.pin, pin)
        return True

    def _check_pin(self, name: str, pin_hash: str, pin: str) -> None:
        if (wait_s := self._wrong.wait_s(name)) > 0:
            raise AuthenticationError("refused_too_many_pins", seconds=ceil(wait_s))
        if not verify_password(pin_hash, pin):
            self._wrong.failed(name)
            raise AuthenticationError("refused_wrong_pin")


def _printable(name: str) -> str:
    """Replace the characters of a name that could steer a terminal."""
    return "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in name)


@cache
def _hash_of_nobody() -> str:
    """Return the hash of an unknown PIN: it takes as long to check as a real one."""
    return hash_password(secrets.token_urlsafe())


def _read(path: Path) -> tuple[Operator, ...]:
    operators = convert_toml(_File, read_toml(path, "operators"), str(path)).operator
    require_argon2(_NO_ARGON2)
    names: dict[str, str] = {}
    for number, each in enumerate(operators):
        place = f"{path}: operator.{number}"
        _check_name(each.name, place)
        other = names.get(look := _look(each.name))
        if other is not None:
            same = "is there twice" if other == each.name else f"looks like {other!r}"
            raise UserError(f"{place}.name: {each.name!r} {same}; expected each once")
        names[look] = each.name
        if each.pin is not None and not is_hash(each.pin):
            raise UserError(f"{place}.pin: no argon2 hash; expected what `cmd --hash-pin` prints")
    return operators


_ALIKE: Final = ("LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC")
"""Alphabets with letters that look like those of another one."""

_LOOKS: Final = str.maketrans(
    "авекмнорстухіјѕԁԛԝһӏαβεηικμνορτυχıi01|",  # noqa: RUF001 - they look alike
    "abekmhopctyxljsdqwhlabenlkmvoptuxlloll",
)
"""
Lower-case Cyrillic and Greek letters, and digits, by the Latin letter that they look like; all
that look like a capital I or a small l are one.
"""

_BLANK: Final = ("FILLER", "VARIATION SELECTOR", "GRAPHEME JOINER", "PATTERN BLANK")
"""Words in the names of characters that Unicode calls printable and that show nothing."""


def _check_name(name: str, place: str) -> None:
    """Refuse a name that people could take for another one."""
    called = " ".join(unicodedata.name(each, "") for each in name)
    if name != name.strip() or not name.isprintable() or any(each in called for each in _BLANK):
        raise UserError(
            f"{place}.name: {name!a}; expected no space around it, and no invisible character"
        )
    scripts = {unicodedata.name(each, "").partition(" ")[0] for each in name if each.isalpha()}
    mixed = [each.capitalize() for each in _ALIKE if each in scripts]
    if len(mixed) > 1:
        raise UserError(
            f"{place}.name: {name!a} mixes {' and '.join(mixed)} letters; expected one alphabet"
        )


def _look(name: str) -> str:
    """Return how a name looks: without width, case and space, in Latin letters where they do."""
    return "".join(unicodedata.normalize("NFKC", name).casefold().split()).translate(_LOOKS)


def operator_names(path: Path) -> frozenset[str]:
    """
    Return the names in an operators file, of operators with and without a PIN.

    Raises:
        UserError: It is invalid, or the extra is missing.
    """
    return frozenset(each.name for each in _read(path))


def hash_pin(pin: str) -> str:
    """
    Return the hash of a PIN for an operators file.

    Raises:
        UserError: The PIN is too short or too long, or the extra is missing.
    """
    if not _MIN_PIN_LENGTH <= len(pin) <= MAX_PIN_LENGTH:
        raise UserError(f"a PIN has {_MIN_PIN_LENGTH} to {MAX_PIN_LENGTH} characters")
    require_argon2(_NO_ARGON2)
    return hash_password(pin)
