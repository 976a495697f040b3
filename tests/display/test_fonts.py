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
MAKE = "run: make fonts"
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


def has_own(code: str) -> bool:
    return (FONTS / f"{code}.woff2").exists()


def at_hand(code: str, *more: str) -> frozenset[str]:
    """Return what a page in this language can write without the computer's own fonts."""
    own = (code, *more) if has_own(code) else ()
    return characters(LATIN[0]).union(*map(characters, (*own, "signs")))


@pytest.mark.parametrize("code", list(languages()))
def test_every_character_that_players_read_is_in_the_fonts(code: str) -> None:
    text = "".join(languages()[code].for_players().texts)
    assert set(text) <= at_hand(code), MAKE


@pytest.mark.parametrize("code", list(languages()))
def test_every_character_that_staff_read_is_in_the_fonts(code: str) -> None:
    text = "".join(languages()[code].texts)
    assert set(text) <= at_hand(code, f"{code}-staff"), MAKE


def test_both_weights_of_latin_hold_the_same() -> None:
    assert characters(LATIN[0]) == characters(LATIN[1])


def test_every_page_can_name_every_language_and_draw_every_disc() -> None:
    discs = {
        text
        for language in languages().values()
        for key, text in language.words.items()
        if key.startswith("glyph_")
    }
    names = {language.name for language in languages().values()}
    assert set("".join(discs | names) + "♠♥♦♣") <= at_hand("en"), MAKE


def test_digits_are_as_wide_as_one_another() -> None:
    """A number that changes moves nothing beside it."""
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
    for language in languages().values():
        assert f"html:lang({language.lang})" in css, MAKE


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
