"""
Load a configuration: one TOML file, converted to types, and the files that it names; all errors
are found at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import ParamSpec, TypeVar

from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.settings.files import MissingCredentialError
from shoe_daemon.settings.toml import convert_toml, read_toml

T = TypeVar("T")
U = TypeVar("U")
P = ParamSpec("P")


class Loader:
    """
    Collects what is wrong with a configuration and with the files that it names.

    Args:
        folder: The configuration's paths are relative to it.
        inspecting: A person inspects the configuration outside the service.
        serving: The program starts.

    Attributes:
        notes: Missing credentials that only the service has, while a person inspects.
        faults: Faults of files without which the program still starts, while it starts.
    """

    def __init__(self, folder: Path, *, inspecting: bool = False, serving: bool = False) -> None:
        self.folder = folder
        self.inspecting = inspecting
        self.serving = serving
        self.notes: list[str] = []
        self.faults: list[str] = []
        self._errors: list[str] = []

    def check(self) -> AbstractContextManager[None]:
        """Keep an error for `error`."""
        return _noted(UserError, self._errors, active=True)

    def attempt(self) -> AbstractContextManager[None]:
        """Note a missing credential of the service, while a person inspects."""
        return _noted(MissingCredentialError, self.notes, active=self.inspecting)

    def tolerate(self) -> AbstractContextManager[None]:
        """Note a fault, while the program starts."""
        return _noted(UserError, self.faults, active=self.serving)

    def take(self, make: Callable[P, T], *args: P.args, **more: P.kwargs) -> T | None:
        """Return what a function returns; None after an error, which is kept for `error`."""
        try:
            return make(*args, **more)
        except UserError as error:
            self._errors.append(str(error))
            return None

    @property
    def error(self) -> UserError | None:
        """All errors, each on a line; None if there are none."""
        return UserError("\n".join(dict.fromkeys(self._errors))) if self._errors else None


@contextmanager
def _noted(kind: type[UserError], messages: list[str], *, active: bool) -> Iterator[None]:
    """Add an error to messages; if not `active` it remains an error."""
    try:
        yield
    except kind as error:
        if not active:
            raise
        messages.append(str(error))


def has_section(path: Path, name: str) -> bool:
    """Return whether a file has a section; False for an unreadable file."""
    try:
        return name in read_toml(path, "a configuration")
    except UserError:
        return False


def load_config_file(path: Path, what: str, kind: type[T], set_up: Callable[[T], U]) -> U:
    """
    Read a file, convert it to a type, and return what `set_up` makes of it.

    Raises:
        UserError: All errors of the file, or all of `set_up`, each on a line after the path.
    """
    config = convert_toml(kind, read_toml(path, what), str(path))
    with errors_at(str(path)):
        return set_up(config)
