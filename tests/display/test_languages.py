"""Every language has every word of the pages; a further file adds a language."""

from __future__ import annotations

import ast
import re
import shutil
import tomllib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

from shoe_daemon.display.languages import (
    FOLDER,
    PLAYER_SENTENCES,
    declared_sentences,
    declared_words,
    language,
    languages,
    load,
)
from shoe_daemon.errors import UserError
from shoe_daemon.game.coup import Slot
from shoe_daemon.game.rulings import Action, Ruling, load_policy
from shoe_daemon.table import DETAIL_VALUES, EVENT_TYPES, is_staff
from shoe_daemon.table.detail_texts import DETAIL_TEMPLATES
from shoe_daemon.table.rounds import results

CHINESE = ("zh-hant", "zh-hans")
POLICIES = FOLDER.parents[1] / "game" / "policies"
# Two Latin words in a row were left in English; names and abbreviations are one.
LEFT_IN_ENGLISH = re.compile(r"[A-Za-z]{2,}[ ,]+[A-Za-z]{2,}")
PLACEHOLDER = re.compile(r"\{(\w+)\}")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FOLDER, tmp_path / "languages"))


def language_faults(folder: Path) -> list[str]:
    """Return one line for each missing, superfluous or wrong text of the language files."""
    files = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in folder.glob("*.toml")}
    base = {key: placeholders(text) for key, text in load(folder)["en"].words.items()}
    faults: list[str] = []
    for code, file in files.items():
        words = {**declared_words(code), **file["words"]}
        unnamed = {key for key in base if key.startswith("house_")} - words.keys()
        wanted_words = {key: names for key, names in base.items() if key not in unnamed}
        faults += differences(f"{code}.toml: ", words, wanted_words)
        if code != "en":
            wanted = {key: sorted(names) for key, names in DETAIL_VALUES.items()}
            sentences = {**declared_sentences(code), **file.get("sentences", {})}
            others = {key: wanted.get(key, []) for key in sentences}
            faults += differences(f"{code}.toml: sentence ", sentences, others | wanted)
            faults += [
                f"{code}.toml: {phrase} has other placeholders"
                for phrase, text in file.get("report", {}).items()
                if not {*placeholders(text)} <= {*placeholders(phrase), "number"}
            ]
    return faults


def differences(start: str, texts: dict[str, str], wanted: dict[str, list[str]]) -> Iterator[str]:
    for key, names in wanted.items():
        if key not in texts:
            yield f"{start}{key} is missing; it is shown in English"
        elif placeholders(texts[key]) != names:
            yield f"{start}{key} has other placeholders than {names}; it is shown in English"
    for key in texts.keys() - wanted.keys():
        yield f"{start}{key} is not in en.toml; it is shown nowhere"


def placeholders(text: str) -> list[str]:
    return sorted(set(PLACEHOLDER.findall(text)))


def sources() -> str:
    """Return all that the pages are made of."""
    here = FOLDER.parent
    files = [*here.glob("static/*.js"), *here.glob("pages/*.html")]
    return "".join(path.read_text(encoding="utf-8") for path in files)


def test_all_languages_say_everything_with_the_same_placeholders() -> None:
    assert language_faults(FOLDER) == []


def test_english_comes_first_and_the_chinese_are_there() -> None:
    assert next(iter(languages())) == "en"
    assert set(CHINESE) < set(languages())


@pytest.mark.parametrize("code", list(languages()))
def test_everything_that_a_page_may_have_to_name_has_a_word(code: str) -> None:
    wanted = {
        *(f"action_{action}" for action in Action),
        *(f"slot_{slot}" for slot in Slot),
        *(f"event_{kind}" for kind in EVENT_TYPES if not is_staff(kind)),
        *(f"severity_{severity}" for severity in range(1, 6)),
    }
    assert wanted <= languages()[code].words.keys()


@pytest.mark.parametrize("code", CHINESE)
def test_no_text_was_left_in_english(code: str) -> None:
    """Only the name of a house may be."""
    english, found = languages()["en"].words, languages()[code]
    same = {key for key, text in found.words.items() if text == english[key]}
    for key, text in [*found.words.items(), *found.sentences.items(), *found.report.items()]:
        if key in same and key.startswith("house_"):
            continue
        latin = PLACEHOLDER.sub("", text).replace("shoe-daemon report shift", "")
        assert not LEFT_IN_ENGLISH.search(latin), key
        assert key not in same or not re.search("[a-z]{2}", latin), key


def proposals() -> Iterator[tuple[str, Ruling]]:
    """Give every ruling of the policies that come with the project, with its code."""
    for path in sorted(POLICIES.glob("*.toml")):
        policy = load_policy(path.stem)
        for situation, found in policy.by_situation.items():
            for ruling in found:
                yield f"{policy.id}.{situation}.{ruling.action}", ruling


def reasons() -> set[str]:
    """Return the reasons that the table itself gives for closing or holding something."""
    told = {results._ON_HOLD_REASON, results._IRREGULARITY_REASON}  # noqa: SLF001 - what it gives
    for path in Path(results.__file__).parents[1].rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for call in ast.walk(ast.parse(text)) if "close_alert(" in text else ():
            if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("close_alert"):
                texts = (
                    each for each in ast.walk(call.args[-1]) if isinstance(each, ast.Constant)
                )
                told |= {each.value for each in texts if isinstance(each.value, str)}
    return told


@pytest.mark.parametrize("code", CHINESE)
def test_every_sentence_of_a_table_is_translated(code: str) -> None:
    """The sentences with a code, the rulings and where they stand, and the table's own reasons."""
    sentences = languages()[code].sentences
    assert DETAIL_TEMPLATES.keys() <= sentences.keys()
    for each, ruling in proposals():
        assert {each, ruling.authority, ruling.section} <= sentences.keys()
    # A reason that is put together has the beginning of whole ones.
    assert [
        each for each in reasons() if not any(known.startswith(each) for known in sentences)
    ] == []


def test_policies_have_the_names_that_their_files_give_them() -> None:
    words = languages()["en"].words
    for path in POLICIES.glob("*.toml"):
        assert words[f"policy_{path.stem}"] == load_policy(path.stem).name


def test_players_are_told_no_sentence_that_is_for_staff() -> None:
    for_players = languages()["zh-hans"].for_players()
    assert for_players.sentences.keys() == set(PLAYER_SENTENCES)
    assert "action_burn_card" not in for_players.words


def test_the_two_chinese_are_not_one_written_twice() -> None:
    """A character of the one does not slip into the other."""
    hant, hans = ("".join(languages()[code].words.values()) for code in CHINESE)
    assert not set("莊閒對龍點數當現發補開關與賭碼單雙銷讀") & set(hans) - {"莊", "閒"}
    assert not set("庄闲对龙点数现发补开关与赌单双销读") & set(hant)


def test_every_word_is_said_somewhere() -> None:
    """A script says a word by its key, or by a key that it puts together from two parts."""
    said = sources()
    pairs = re.findall(r'"([a-z_]+_|_[a-z]+)"|`([a-z_]+_)\$\{|\}(_[a-z]+)`', said)
    parts = "|".join({*filter(None, chain.from_iterable(pairs)), "notify_"})  # a notifier's code
    put_together = re.compile(rf"(?:{parts})\w+|\w+(?:{parts})")
    keys = languages()["en"].words.keys() - set(re.findall(r"\w+", said))
    assert [key for key in keys if not put_together.fullmatch(key)] == []


def test_what_the_pages_say_has_a_word() -> None:
    asked = re.findall(r'(?:word|has|many)\("(\w+)"|data-(?:word|label)="(\w+)"', sources())
    keys = {key for found in asked for key in found if key and not key.endswith("_")}
    words = languages()["en"].words.keys()
    assert {key for key in keys if key not in words and f"{key}_one" not in words} == set()


def test_a_file_dropped_in_is_a_language_and_what_it_lacks_is_english(folder: Path) -> None:
    texts = 'player = "Jogador"\nround_number = "Jogada {numero}"\nextra = "?"\n[sentences]\n'
    sentences = 'player_draws = "{player} e {banker}"\nboth_complete = "Completo."'
    head = 'name = "Português"\nlang = "pt"\nglyphs = "letters"\n[words]\n'
    (folder / "pt.toml").write_text(head + texts + sentences, encoding="utf-8")
    found, english = load(folder)["pt"], languages()["en"]
    assert found.words == {**english.words, "player": "Jogador"}
    assert found.sentences == {"both_complete": "Completo."}
    faults = "\n".join(language_faults(folder))
    assert "pt.toml: round_number has other placeholders than ['number']" in faults
    assert "pt.toml: banker is missing; it is shown in English" in faults
    assert "pt.toml: extra is not in en.toml; it is shown nowhere" in faults
    assert "pt.toml: sentence player_draws has other placeholders than ['player']" in faults
    assert "pt.toml: sentence natural is missing; it is shown in English" in faults


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("pt.toml", "name = ", "expected the words of a language in TOML"),
        ("pt.toml", 'name = "x"\nlang = "pt"\nglyphs = "runes"\n[words]', "glyphs"),
        ("pt.toml", 'name = "x"\nlang = "pt"\nglyphs = "letters"\nwords = 1', "words"),
        ("Português.toml", 'name = "x"', "expected the name of a language"),
    ],
)
def test_a_file_that_is_no_language_is_refused_in_one_line(
    folder: Path, name: str, text: str, told: str
) -> None:
    (folder / name).write_text(text, encoding="utf-8")
    with pytest.raises(UserError) as refused:
        load(folder)
    assert told in str(refused.value)
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_without_english_there_is_nothing_to_rest_upon(folder: Path) -> None:
    (folder / "en.toml").unlink()
    with pytest.raises(UserError, match=r"en\.toml is missing"):
        load(folder)


def test_an_unknown_language_is_answered_with_the_one_that_is_configured() -> None:
    assert language("zh-hans").lang == "zh-Hans"
    assert language("<script>", "zh-hant").code == "zh-hant"
    assert language(None, "xx").code == "en"
