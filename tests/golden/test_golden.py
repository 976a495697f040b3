"""
The product makes the same bytes of the golden corpus as before.

After a deliberate change: `make golden-write`, and review the difference before the commit.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import zip_longest
from pathlib import Path

import pytest

from tests.golden import corpus
from tests.golden.parts import read_parts, write_parts

CASES = corpus.cases()
DOCS = corpus.TESTS.parent / "docs"

expected_parts = cache(read_parts)

CONTEXT = 80
"""Characters that are shown before and behind the first difference in a line."""


def difference(expected: str, made: str) -> str:
    """Describe the first difference of two texts, and where in the corpus it lies."""
    place: list[str] = []
    lines = zip_longest(expected.split("\n"), made.split("\n"), fillvalue="(the end of the text)")
    for number, (old, new) in enumerate(lines, 1):
        if old != new:
            column = first_difference(old, new)
            start = max(0, column - CONTEXT)
            shown = [each[start : column + CONTEXT] for each in (old, new)]
            where = " > ".join(place)
            return f"line {number}, column {column + 1}: {where}\n- {shown[0]}\n+ {shown[1]}"
        if old.startswith(("# ", "$ ")):
            place = [old]
        elif re.match(r"\d+ [a-z_]+", old):
            place = [*place[:1], old]
        elif re.fullmatch(r"  [a-z/]+", old):
            place = [*place[:2], old.strip()]
    return "no difference"


def first_difference(old: str, new: str) -> int:
    pairs = enumerate(zip_longest(old, new))
    return next(place for place, (one, other) in pairs if one != other)


@pytest.mark.parametrize("name", CASES)
def test_the_output_is_unchanged(name: str, *, regen: bool) -> None:
    path, part = corpus.part_of(name)
    made = CASES[name]()
    if regen:
        write_parts(path, read_parts(path) | {part: made})
        expected_parts.cache_clear()
    expected = expected_parts(path).get(part, "")
    if made != expected:
        place = f"{path.relative_to(corpus.TESTS.parent)}, {part}"
        pytest.fail(f"{place}, {difference(expected, made)}")


def test_an_earlier_journal_stays_good() -> None:
    for name, text in read_parts(corpus.EXPECTED / "journals.txt").items():
        assert "BROKEN" not in text, f"{name}: other events than then"


def test_every_expected_text_has_a_case(*, regen: bool) -> None:
    wanted = set(map(corpus.part_of, CASES))
    for path in corpus.EXPECTED.glob("*.txt"):
        parts = read_parts(path)
        kept = {name: text for name, text in parts.items() if (path, name) in wanted}
        if regen and kept:
            write_parts(path, kept)
        elif regen:
            path.unlink()
        else:
            assert kept == parts, path.name


def test_the_schemas_in_the_docs_are_unchanged(tmp_path: Path) -> None:
    corpus.run_command(f"schema --out {tmp_path}/schema")
    assert files_in(tmp_path / "schema") == files_in(DOCS / "schema")


def test_the_asyncapi_document_in_the_docs_is_unchanged(tmp_path: Path) -> None:
    corpus.run_command(f"schema --asyncapi --out {tmp_path}/asyncapi.json")
    made, expected = tmp_path / "asyncapi.json", DOCS / "asyncapi.json"
    assert made.read_bytes() == expected.read_bytes()


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*.json"))
    }


def test_a_difference_is_shown_where_it_lies() -> None:
    expected = '# a tie\n1 card\n  event/card_dealt {"at":1}\n2 card\n  state\n    seq 7\n'
    made = expected.replace("seq 7", "seq 8")
    shown = "line 6, column 9: # a tie > 2 card > state\n-     seq 7\n+     seq 8"
    assert difference(expected, made) == shown
