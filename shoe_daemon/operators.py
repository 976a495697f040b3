"""
Who may give orders at a table, and the PINs that they prove it with.

The file is optional. PINs are kept as argon2 hashes and checked with argon2-cffi
(the extra `pins`), which is imported only where there is such a file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple, Protocol

from msgspec import Meta, Struct

from shoe_daemon.credential_files import find_file
from shoe_daemon.errors import UserError
from shoe_daemon.toml_validation import read_as, read_toml

__all__ = ["Operators", "Vouched", "hash_pin", "load_operators"]

_FREE_TRIES: Final = 3
_FIRST_WAIT: Final = 30.0
_LONGEST_WAIT: Final = 3600.0
_SHORTEST: Final = 4
_LONGEST: Final = 64


class Operator(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[operator]]``.

    Attributes:
        name: As it stands in orders.
        roles: A ``supervisor`` gives every order, a ``dealer`` those that change
            nothing that was said.
        pin: The hash that `cmd --hash-pin` prints; None cannot prove anything.
    """

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    roles: tuple[Literal["supervisor", "dealer"], ...] = ("supervisor",)
    pin: str | None = None


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    operator: Annotated[tuple[Operator, ...], Meta(min_length=1)]


class Vouched(NamedTuple):
    """
    What is known of who gives an order.

    Attributes:
        refused: Why the order is refused; None where it is not.
        proven: The PIN was right.
    """

    refused: str | None = None
    proven: bool = False


class _Hasher(Protocol):
    def verify(self, hash: str, password: str) -> bool: ...  # noqa: A002 - argon2's name


class Operators:
    """
    The operators of one table; for one thread.
    """

    def __init__(
        self,
        operators: tuple[Operator, ...],
        hasher: _Hasher,
        *,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._by_name = {each.name: each for each in operators}
        self._hasher = hasher
        self._monotonic = monotonic
        self._wrong: dict[str, int] = {}
        self._locked_until: dict[str, float] = {}

    def vouch(self, name: str, pin: str | None, *, weighty: bool) -> Vouched:
        """
        Say whether somebody may give an order, which takes a PIN where it is weighty.

        A PIN that is given is always checked; that takes a tenth of a second.
        After three wrong ones in a row there is a wait, which doubles with each more.
        """
        known = self._by_name.get(name)
        if known is None:
            return Vouched(f"operator {name!r} is not among those of this table")
        if weighty and "supervisor" not in known.roles:
            return Vouched("this order takes a supervisor")
        if pin is None:
            return Vouched("this order takes the operator's PIN" if weighty else None)
        if known.pin is None:
            return Vouched("this operator has no PIN")
        return self._check(known.name, known.pin, pin)

    def _check(self, name: str, pin_hash: str, pin: str) -> Vouched:
        wait = self._locked_until.get(name, 0.0) - self._monotonic()
        if wait > 0:
            return Vouched(f"too many wrong PINs: wait {int(wait) + 1} s")
        if self._is_right(pin_hash, pin):
            self._wrong.pop(name, None)
            return Vouched(proven=True)
        wrong = self._wrong[name] = self._wrong.get(name, 0) + 1
        if wrong >= _FREE_TRIES:
            doubled = _FIRST_WAIT * 2.0 ** min(wrong - _FREE_TRIES, 16)
            self._locked_until[name] = self._monotonic() + min(doubled, _LONGEST_WAIT)
        return Vouched("wrong PIN")

    def _is_right(self, pin_hash: str, pin: str) -> bool:
        from argon2.exceptions import VerificationError  # noqa: PLC0415 - an extra

        try:
            return self._hasher.verify(pin_hash, pin)
        except VerificationError:
            return False


def load_operators(name: str, beside: Path) -> Operators:
    """
    Read an operators file.

    Without a leading slash it is looked for among the unit's credentials first
    (``LoadCredential=`` of systemd): short PINs are guessed from their hashes.

    Raises:
        UserError: What is wrong with it, in one line, or the extra is missing.
    """
    path = find_file(name, beside)
    operators = read_as(_File, read_toml(path, "operators"), str(path)).operator
    hasher = _hasher()
    names: set[str] = set()
    for number, each in enumerate(operators):
        place = f"{path}: operator.{number}"
        if each.name in names:
            raise UserError(f"{place}.name: {each.name!r} is there twice; expected each once")
        names.add(each.name)
        if each.pin is not None and not _is_hash(each.pin):
            raise UserError(f"{place}.pin: no argon2 hash; expected what `cmd --hash-pin` prints")
    return Operators(operators, hasher)


def hash_pin(pin: str) -> str:
    """
    Return what an operators file keeps of a PIN.

    Raises:
        UserError: It is too short or too long, or the extra is missing.
    """
    if not _SHORTEST <= len(pin) <= _LONGEST:
        raise UserError(f"a PIN has {_SHORTEST} to {_LONGEST} characters")
    _hasher()
    from argon2 import PasswordHasher  # noqa: PLC0415 - an extra

    return PasswordHasher().hash(pin)


def _hasher() -> _Hasher:
    try:
        from argon2 import PasswordHasher  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError(
            "PINs need argon2-cffi, which is not installed: pip install 'shoe-daemon[pins]'"
        ) from error
    return PasswordHasher()


def _is_hash(text: str) -> bool:
    from argon2 import extract_parameters  # noqa: PLC0415 - an extra

    try:
        return extract_parameters(text).hash_len > 0
    except ValueError:
        return False
