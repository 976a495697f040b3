"""The declaration of an irregularity, in the module of its name."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated

from msgspec import Meta, Struct


class Irregularity(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The fixed properties of an irregularity; `make generate` writes what follows from it.

    Every value is a literal: `tools/generate.py` reads it without importing the module. The fields
    between `kind` and `sentences` are those of `game.IrregularityFacts`. The docstring of the
    module, from its second paragraph on, is the section of the kind in ``docs/misdeals.md``.

    Attributes:
        kind: Its name on the wire, and that of its module.
        sentences: The English sentences of its `detail` by their code, as in `detail_texts`.
        raised_by: The modules of the table that raise it, besides its own check.
    """

    kind: str
    name: str
    severity: Annotated[int, Meta(ge=1, le=5)]
    evidence: tuple[str, ...]
    text: str
    requires: tuple[str, ...] = ()
    reportable: bool = False
    situations: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    actions: tuple[str, ...] = ()
    sentences: Mapping[str, str] = MappingProxyType({})
    raised_by: tuple[str, ...] = ()
