"""What is written from the declared irregularities is current, and a wrong one is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tools import generate, generated_blocks

WRONG = {
    "severity=9": "Expected `int` <= 5 - at `$.severity`",
    'evidence=("hearsay",)': "Invalid enum value 'hearsay' - at `$.evidence[0]`",
    'requires=("persn",)': "Invalid enum value 'persn' - at `$.requires[0]`",
    "reportble=True": "contains unknown field `reportble`",
    'raised_by=("nowhere",)': "raised_by: nowhere; expected a module of the table",
    'sentences={"bent": "Card {card"}': "expected '}' before end of string",
    'sentences={"bent": "Card {}."}': "sentences: bent: {}; expected the name of a value",
    'sentences={"nothing_burned": "Bent."}': "nothing_burned; expected a new code, burn_error.py",
    'sentences={"refused_expired": "Bent."}': "a new code, detail_texts.toml has this one",
    'actions=("fold",)': "actions: fold; expected one of continue,",
    'situations={"bent": ("Bent",)}': "situations: bent: [('Bent',)]; expected its names",
    'kind="bent"': "its kind is bent, not that of the file",
    "text=str(1)": "malformed node or string",
    "reportable=False": "nothing raises it; expected check, raised_by or reportable",
}
"""A field of a declaration, and a part of the message."""


@pytest.fixture
def checks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give a copy of the declarations."""
    shutil.copytree(generate.TABLE, tmp_path / "table")
    monkeypatch.setattr(generate, "TABLE", tmp_path / "table")
    return tmp_path / "table" / "checks"


def declare(checks: Path, kind: str, wrong: str = "") -> None:
    fields = {
        "kind": f'"{kind}"',
        "name": '"Bent card"',
        "severity": "2",
        "evidence": '("manual",)',
        "text": '"A card is bent."',
        "reportable": "True",
        **dict([wrong.split("=", 1)] if wrong else []),
    }
    declared = ", ".join(f"{name}={value}" for name, value in fields.items())
    text = f"IRREGULARITY: Final = Irregularity({declared})\n"
    (checks / f"{kind}.py").write_text(text, encoding="utf-8")


def test_the_written_files_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert generate.main(["--check"]) == 0, capsys.readouterr().err
    assert generated_blocks.main(["--check"]) == 0, capsys.readouterr().err


def test_a_block_is_written_between_its_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    docs = shutil.copytree(generated_blocks.DOCS, tmp_path / "docs")
    monkeypatch.setattr(generated_blocks, "DOCS", docs)
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    page, text = docs / "houses.md", (docs / "houses.md").read_text(encoding="utf-8")
    page.write_text(text.replace("| `curator` |", "| `other` |"), encoding="utf-8")
    assert generated_blocks.main(["--check"]) == 1
    assert generated_blocks.main([]) == 0
    assert page.read_text(encoding="utf-8") == text
    page.write_text(text.replace("/generated: houses", ""), encoding="utf-8")
    assert generated_blocks.main([]) == 2
    assert "no block; expected `generated: houses`" in capsys.readouterr().err


def test_a_kind_without_a_section_is_refused(
    checks: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generated_blocks, "TABLE", checks.parent)
    (checks / "wrong_hand.py").write_text('"""A card with the wrong hand."""\n', encoding="utf-8")
    assert generated_blocks.main(["--check"]) == 2
    assert "wrong_hand.py: docstring; expected a second paragraph" in capsys.readouterr().err


def test_new_kinds_are_the_last_by_name(checks: Path) -> None:
    before = [each.kind for each in generate.declared()]
    new = [f"card_{letter}" for letter in "abcdefgh"]
    for kind in new:
        declare(checks, kind)
    assert [each.kind for each in generate.declared()] == before + new


def test_a_written_kind_keeps_its_place(checks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declare(checks, "draw")  # a part of other names
    kinds = checks / "kinds.txt"
    kinds.write_text(generate.files(generate.declared())[generate.KINDS], encoding="utf-8")
    monkeypatch.setattr(generate, "KINDS", kinds)
    declare(checks, "made_up_kind")
    assert [each.kind for each in generate.declared()][-2:] == ["draw", "made_up_kind"]


@pytest.mark.parametrize("field", WRONG)
def test_a_wrong_declaration_is_refused(field: str, checks: Path) -> None:
    declare(checks, "made_up_kind", field)
    with pytest.raises(ValueError, match=r"made_up_kind\.py: |situations: ") as refused:
        generate.declared()
    assert WRONG[field] in str(refused.value)
