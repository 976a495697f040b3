"""The TOML files of houses and of policies: those of the project, and those of a person."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Generic, TypeVar

from msgspec import Meta, Struct, to_builtins

from shoe_daemon.errors import UserError
from shoe_daemon.settings.toml import convert_toml, did_you_mean, read_toml

T = TypeVar("T", bound=Struct)


class _Names(Struct):
    names: dict[str, Annotated[str, Meta(min_length=1)]] = {}


class RuleFiles(Generic[T]):
    """
    The files of one type of rules; those of the project are named by their id in a folder here.

    `noun` is the word for the type in errors; `ids` is the order of the files, None for that of
    the alphabet. Where `named`, a file may have the name in other languages, under ``[names]``.
    """

    def __init__(
        self,
        kind: type[T],
        noun: str,
        folder: str,
        ids: tuple[str, ...] | None = None,
        *,
        named: bool = False,
    ) -> None:
        self._kind, self._noun, self._named = kind, noun, named
        self._folder = Path(__file__).parent / folder
        found = sorted(path.stem for path in self._folder.glob("*.toml"))
        self.ids: Final = tuple(found) if ids is None else ids
        self._loaded: dict[str, tuple[T, Mapping[str, str]]] = {}

    def load(self, name: str) -> T:
        """
        Return the rules with this id that come with the project.

        Raises:
            UserError: The id is unknown.
        """
        return self._load(name)[0]

    def names(self, name: str) -> Mapping[str, str]:
        """Return the names of rules of the project by the code of a language, without English."""
        return self._load(name)[1]

    def _load(self, name: str) -> tuple[T, Mapping[str, str]]:
        if name not in self.ids:
            expected = ", ".join(self.ids)
            advice = did_you_mean(name, self.ids)
            raise UserError(f"{name}: no such {self._noun}; expected one of {expected}{advice}")
        if name not in self._loaded:
            file = self._folder / f"{name}.toml"
            mapping = tomllib.loads(file.read_text(encoding="utf-8"))
            self._loaded[name] = self._from_file(mapping, file.name)
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
        return self._from_file(read_toml(path, f"a {self._noun}"), str(path))[0]

    def _from_file(self, mapping: Mapping[str, Any], place: str) -> tuple[T, Mapping[str, str]]:
        """Read the rules of a file, and their names, which are not rules: no log has them."""
        rules = dict(mapping)
        names = {"names": rules.pop("names")} if self._named and "names" in rules else {}
        return self.from_mapping(rules, place), convert_toml(_Names, names, place).names

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
