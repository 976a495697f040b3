"""The TOML files of houses and of policies: those of the project, and those of a person."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from msgspec import Struct, to_builtins

from shoe_daemon.errors import UserError
from shoe_daemon.settings.toml import convert_toml, did_you_mean, read_toml

T = TypeVar("T", bound=Struct)


class RuleFiles(Generic[T]):
    """
    The files of one type of rules; those of the project are named by their id in a folder here.

    `noun` is the word for the type in errors.
    """

    def __init__(self, kind: type[T], noun: str, folder: str, ids: tuple[str, ...]) -> None:
        self._kind, self._noun, self._folder, self._ids = kind, noun, folder, ids
        self._loaded: dict[str, T] = {}

    def load(self, name: str) -> T:
        """
        Return the rules with this id that come with the project.

        Raises:
            UserError: The id is unknown.
        """
        if name not in self._ids:
            expected = ", ".join(self._ids)
            advice = did_you_mean(name, self._ids)
            raise UserError(f"{name}: no such {self._noun}; expected one of {expected}{advice}")
        if name not in self._loaded:
            file = Path(__file__).parent / self._folder / f"{name}.toml"
            mapping = tomllib.loads(file.read_text(encoding="utf-8"))
            self._loaded[name] = self.from_mapping(mapping, file.name)
        return self._loaded[name]

    def find(self, name: str) -> T:
        """
        Return rules by their id, or from a file ``….toml``.

        Raises:
            UserError: The id is unknown, or the file is invalid.
        """
        return self.load_file(Path(name)) if name.endswith(".toml") else self.load(name)

    def load_file(self, path: Path) -> T:
        """
        Read rules from a TOML file.

        Raises:
            UserError: The file is invalid; one line with the reason.
        """
        return self.from_mapping(read_toml(path, f"a {self._noun}"), str(path))

    def from_mapping(self, mapping: Mapping[str, Any], place: str | None = None) -> T:
        """
        Read rules given in full, as `to_mapping` writes them.

        `place` is the name of their origin, which begins the error; None for the noun.

        Raises:
            UserError: One line with place, key, value and expected value.
        """
        return convert_toml(self._kind, mapping, place or self._noun)

    @staticmethod
    def to_mapping(rules: T) -> dict[str, Any]:
        """Return rules in full, defaults included, as plain data."""
        mapping: dict[str, Any] = to_builtins(rules)
        return mapping
