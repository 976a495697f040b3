"""
Subsets free fonts to the characters used by the pages.

    python -m tools.make_fonts     shoe_daemon/display/static/fonts/ and fonts.css anew
    python -m tools.make_fonts --missing    the same, if a character of a language is missing

A kiosk has no Chinese font, so the pages include one. Latin is complete (Latin-1 and symbols).
Chinese is limited to the characters of its language file, in three parts: for players, for staff
only, and for the report on a shift only. The originals are downloaded from npm once, into
build/fonts, and verified by hash; the same originals and texts give the same bytes.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

from fontTools import subset
from fontTools.ttLib import TTFont
from fontTools.ttLib.scaleUpem import scale_upem

from shoe_daemon.display.languages import Language, languages

ROOT: Final = Path(__file__).resolve().parent.parent
BUILD: Final = ROOT / "build" / "fonts"
STATIC: Final = ROOT / "shoe_daemon" / "display" / "static"
FONTS: Final = STATIC / "fonts"


class Original(NamedTuple):
    """An original font, its npm package, and its hash."""

    package: str
    path: str
    sha256: str


_INTER: Final = "@expo-google-fonts/inter@0.4.2"
REGULAR: Final = Original(
    _INTER,
    "400Regular/Inter_400Regular.ttf",
    "a414b48aa577ef2c62ebb135341ddeef33ee26a4f5dc9f787f93c1aab08ebb50",
)
BOLD: Final = Original(
    _INTER,
    "700Bold/Inter_700Bold.ttf",
    "fbe825cbfc749317f57a1433d3905aa9d3f388732fd29b8e8a36f34845e3bc3e",
)
HONG_KONG: Final = Original(
    "@expo-google-fonts/noto-sans-hk@0.4.3",
    "600SemiBold/NotoSansHK_600SemiBold.ttf",
    "31568a963cd521b5f3f6c7c2f1cd1c78e6d672f0eb62cecf7b9c3df8e2f66fde",
)
SIMPLIFIED: Final = Original(
    "@expo-google-fonts/noto-sans-sc@0.4.3",
    "600SemiBold/NotoSansSC_600SemiBold.ttf",
    "b5eb7510dff58e0626c72c0861d83a3ed2be1d03047cf90a623682b8667bc5ff",
)

# Languages with more than Latin characters: the original font, and system fonts for characters
# outside the language file, such as table names.
SCRIPTS: Final[dict[str, Original]] = {"zh-hant": HONG_KONG, "zh-hans": SIMPLIFIED}
OWN: Final[dict[str, str]] = {
    "zh-hant": '"Noto Sans CJK HK", "PingFang HK", "Microsoft JhengHei"',
    "zh-hans": '"Noto Sans CJK SC", "PingFang SC", "Microsoft YaHei"',
}

_SIGNS: Final = "–—‘’“”•…−→←▲▼●○✓⚠"  # noqa: RUF001 - they are the signs that are meant
LATIN: Final = "".join(map(chr, (*range(0x20, 0x7F), *range(0xA0, 0x100)))) + _SIGNS
SUITS: Final = "♠♥♦♣"
_SUIT: Final = 0.82
_COARSE: Final = 500
"""Resolution of Chinese outlines: units per character height."""
_LATIN_RANGE: Final = "U+20-2E7F"
_CHINESE_RANGE: Final = "U+2E80-9FFF, U+FF00-FFEF"
_FIRST_CHINESE: Final = 0x2E80
_DIGITS: Final = {
    0x30 + number: f"{name}.tf"
    for number, name in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    )
}


def main(arguments: list[str]) -> str | None:
    """Create all fonts and their style sheet; return an error message for `sys.exit`."""
    if arguments == ["--missing"] and not any(map(_missing, languages().values())):
        return None
    if shutil.which("npm") is None:
        return "the original fonts come from npm: run: sudo apt-get install npm"
    shutil.rmtree(FONTS, ignore_errors=True)
    FONTS.mkdir(parents=True)
    rules = [_latin(), _signs()]
    rules += [_language(language) for language in languages().values()]
    _style_sheet(rules)
    _licences()
    for font in sorted(FONTS.glob("*.woff2")):
        print(f"{font.stat().st_size:7,}  {font.name}")
    return None


def _missing(language: Language) -> set[str]:
    """Return the characters of a language that its fonts lack, or have in a later one only."""
    at_hand = set(SUITS) | _characters("board-regular") | _characters("signs")
    missing = set()
    for name, texts in _parts(language):
        at_hand |= _characters(name)
        missing |= set("".join(texts)) - at_hand
    return missing


def _parts(language: Language) -> list[tuple[str, list[str]]]:
    """Return the fonts of a language and what each is for; a page loads those that it needs."""
    # Every page contains the names of all languages.
    names = [each.name for each in languages().values()]
    return [
        (language.code, [*language.for_players().texts, *names]),
        (f"{language.code}-staff", language.texts),
        (f"{language.code}-report", list(language.report.values())),
    ]


def _characters(name: str) -> set[str]:
    path = FONTS / f"{name}.woff2"
    return set(map(chr, TTFont(path).getBestCmap())) if path.exists() else set()


def _latin() -> str:
    """Subset both weights of Latin, with tabular digits."""
    every = "".join(text for each in languages().values() for text in each.texts)
    letters = set(LATIN) | (set(every) - _beyond_latin(every))
    _cut(REGULAR, letters, "board-regular", "Board")
    _cut(BOLD, letters, "board-bold", "Board")
    return _face("Board", "board-regular", (400,), _LATIN_RANGE) + _face(
        "Board", "board-bold", (700,), _LATIN_RANGE
    )


def _signs() -> str:
    """Subset the symbols used by all languages: discs, suits, language names."""
    every = languages().values()
    signs = {sign for each in every for sign in _beyond_latin(_discs(each) + each.name)}
    signs |= set(SUITS)
    _cut(SIMPLIFIED, signs, "signs", "Board Signs")
    return _face("Board Signs", "signs", (400, 700), _ranges(signs))


def _language(language: Language) -> str:
    """Subset a language's own characters; empty if Latin covers the language."""
    if language.code not in SCRIPTS:
        return ""
    rule = f"html:lang({language.lang}) {{ font-family: {_families(language.code)}; }}\n"
    original, family = SCRIPTS[language.code], f"Board {language.code}"
    done: set[str] = set()
    faces = []
    for name, texts in _parts(language):
        signs = _beyond_latin("".join(texts)) - done
        _cut(original, signs, name, family)
        faces.append(_face(family, name, (400, 700), _ranges(signs) if done else _CHINESE_RANGE))
        done |= signs
    return "".join(faces) + rule


def _families(code: str) -> str:
    own = f'"Board {code}", "Board Signs", {OWN[code]}' if code in SCRIPTS else '"Board Signs"'
    return f'"Board", {own}, sans-serif'


def _discs(language: Language) -> str:
    return "".join(text for key, text in language.words.items() if key.startswith("glyph_"))


def _beyond_latin(text: str) -> set[str]:
    return {sign for sign in text if ord(sign) >= _FIRST_CHINESE}


def _face(family: str, file: str, weights: Iterable[int], unicode_range: str) -> str:
    return "".join(
        f'@font-face {{ font-family: "{family}"; font-weight: {weight}; font-style: normal; '
        f'font-display: block;\n  src: url("{_address(file)}") format("woff2");\n'
        f"  unicode-range: {unicode_range}; }}\n"
        for weight in weights
    )


def _address(file: str) -> str:
    """Return the font's URL with a version, so that browsers cache it."""
    version = hashlib.sha256((FONTS / f"{file}.woff2").read_bytes()).hexdigest()[:12]
    return f"fonts/{file}.woff2?v={version}"


def _ranges(signs: Iterable[str]) -> str:
    return ", ".join(f"U+{ord(sign):X}" for sign in sorted(signs))


def _style_sheet(rules: list[str]) -> None:
    head = (
        "/* Made by `make fonts` from the languages' files. The fonts are renamed cuts of Inter\n"
        " * and Noto Sans HK and SC, under the licence beside them. */\n"
        f"html {{ font-family: {_families('')}; }}\n"
    )
    (STATIC / "fonts.css").write_text(head + "".join(rules), encoding="utf-8")


def _cut(original: Original, signs: Iterable[str], name: str, family: str) -> None:
    """Write a font with these characters, under its own name."""
    options = subset.Options(
        flavor="woff2",
        hinting=False,
        layout_features=[] if original in SCRIPTS.values() else ["kern"],
        name_IDs=[0, 1, 2, 3, 4, 5, 6, 13, 14],
        notdef_outline=True,
        recalc_timestamp=False,
    )
    options.drop_tables += ["vhea", "vmtx", "VORG", "BASE", "STAT"]
    font = TTFont(_original(original), recalcTimestamp=False)
    _widen_digits(font)
    if ord(SUITS[0]) in font.getBestCmap():
        _lessen_suits(font)
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=[ord(sign) for sign in signs])
    cutter.subset(font)
    if original in SCRIPTS.values():
        scale_upem(font, _COARSE)
    _rename(font, family, name)
    font.flavor = "woff2"
    font.save(FONTS / f"{name}.woff2")


def _widen_digits(font: TTFont) -> None:
    """Replace the digits by the tabular ones, so that changing numbers do not shift the text."""
    glyphs = set(font.getGlyphOrder())
    for table in font["cmap"].tables:
        for code, glyph in _DIGITS.items():
            if glyph in glyphs and code in table.cmap:
                table.cmap[code] = glyph


def _lessen_suits(font: TTFont) -> None:
    """Scale the suits to the height of letters; in a Chinese font they fill the square."""
    glyf, widths, names = font["glyf"], font["hmtx"], font.getBestCmap()
    for name in (names[ord(suit)] for suit in SUITS):
        glyph = glyf[name]
        glyph.coordinates.scale((_SUIT, _SUIT))
        glyph.coordinates.toInt()
        glyph.recalcBounds(glyf)
        width, _ = widths[name]
        widths[name] = (round(width * _SUIT), glyph.xMin)


def _rename(font: TTFont, family: str, name: str) -> None:
    """Remove the reserved font name; copyright and licence stay."""
    plain = family.replace(" ", "")
    texts = {1: family, 3: f"{plain}-{name}", 4: f"{family} {name}", 6: f"{plain}-{name}"}
    for record in font["name"].names:
        if record.nameID in texts:
            record.string = texts[record.nameID]


def _original(original: Original) -> Path:
    """Return the path of the original; download it if missing."""
    folder = _package(original.package)
    path = folder / original.path
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != original.sha256:
        sys.exit(f"{path}: not the font that was looked at; expected sha256 {original.sha256}")
    return path


def _package(package: str) -> Path:
    folder = BUILD / package.strip("@").replace("/", "-").replace("@", "-")
    if not folder.is_dir():
        BUILD.mkdir(parents=True, exist_ok=True)
        packed = subprocess.run(
            ["npm", "pack", "--silent", package],
            cwd=BUILD,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        with tarfile.open(BUILD / packed) as archive:
            archive.extractall(folder, filter="data")
        (BUILD / packed).unlink()
    return folder / "package"


def _licences() -> None:
    for name, original in {"Inter": REGULAR, "NotoSans": HONG_KONG}.items():
        text = (_package(original.package) / "LICENSE_FONT").read_text(encoding="utf-8")
        (FONTS / f"OFL-{name}.txt").write_text(text.strip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
