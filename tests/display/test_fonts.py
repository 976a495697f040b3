"""
The fonts of the pages contain every character that the pages use, and stay small enough for slow
lines.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

from shoe_daemon.display import languages as room
from shoe_daemon.display.languages import languages
from shoe_daemon.display.pages import FileCache

STATIC = Path(room.__file__).parent / "static"
FONTS = STATIC / "fonts"
MAKE = "run: make generate"
LATIN = ("board-regular", "board-bold")
CHINESE = ("zh-hant", "zh-hans")
# Bytes, for one page: Latin in both weights, the signs, and one language's own.
BUDGET = {"latin": 26_000, "signs": 4_000, "players": 36_000, "staff": 90_000}


@cache
def characters(font: str) -> frozenset[str]:
    return frozenset(map(chr, TTFont(FONTS / f"{font}.woff2").getBestCmap()))


def size(*fonts: str) -> int:
    return sum((FONTS / f"{font}.woff2").stat().st_size for font in fonts)


def address(path: Path) -> str:
    """Return where browsers find a font, with the version under which they may keep it."""
    file = FileCache(STATIC).get(f"fonts/{path.name}")
    assert file is not None
    return f"fonts/{path.name}?v={file.version}"


def at_hand(code: str, *more: str) -> frozenset[str]:
    """Return what a page in this language can write without the computer's own fonts."""
    own = [name for name in (code, *more) if (FONTS / f"{name}.woff2").exists()]
    return characters(LATIN[0]).union(*map(characters, (*own, "signs")))


@pytest.mark.parametrize("code", list(languages()))
def test_every_character_that_a_page_may_write_is_in_its_fonts(code: str) -> None:
    language = languages()[code]
    assert set("".join(language.for_players().texts)) <= at_hand(code), MAKE
    assert set("".join(language.texts)) <= at_hand(code, f"{code}-staff"), MAKE
    report = at_hand(code, f"{code}-staff", f"{code}-report")
    assert set("".join(language.report.values())) <= report, MAKE
    discs = "".join(text for key, text in language.words.items() if key.startswith("glyph_"))
    assert set(discs + language.name + "♠♥♦♣") <= at_hand("en"), "every page may write these"


def test_digits_are_as_wide_as_one_another() -> None:
    """A number that changes keeps its width."""
    assert characters(LATIN[0]) == characters(LATIN[1])
    for name in LATIN:
        font = TTFont(FONTS / f"{name}.woff2")
        widths = {font["hmtx"][font.getBestCmap()[ord(digit)]][0] for digit in "0123456789"}
        assert len(widths) == 1, name


@pytest.mark.parametrize("code", CHINESE)
def test_the_fonts_of_a_page_are_within_their_budget(code: str) -> None:
    assert size(*LATIN) <= BUDGET["latin"]
    assert size("signs") <= BUDGET["signs"]
    assert size(code) <= BUDGET["players"]
    assert size(code, f"{code}-staff") <= BUDGET["staff"]


def test_the_style_sheet_names_the_fonts_that_are_there_and_none_besides() -> None:
    css = (STATIC / "fonts.css").read_text(encoding="utf-8")
    named = set(re.findall(r'url\("(?P<address>[^"]+)"\)', css))
    assert named == {address(path) for path in FONTS.glob("*.woff2")}, MAKE
    for code in CHINESE:
        assert f"html:lang({languages()[code].lang})" in css, MAKE


def test_the_fonts_bear_names_of_their_own_and_their_licence() -> None:
    """
    The licence asks for both: a changed font does not bear the reserved name of the original.
    """
    for path in FONTS.glob("*.woff2"):
        names = {record.nameID: str(record) for record in TTFont(path)["name"].names}
        assert names[1].startswith("Board"), path.name
        assert not re.search("Inter|Noto|Source", names[1] + names[4] + names[6]), path.name
        assert "Open Font License" in names[13], path.name
    for licence in ("OFL-Inter.txt", "OFL-NotoSans.txt"):
        text = (FONTS / licence).read_text(encoding="utf-8")
        assert "Copyright" in text.splitlines()[0]
        assert "SIL OPEN FONT LICENSE" in text
