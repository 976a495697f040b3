"""Every language has every word of the pages; a further file adds a language."""

from __future__ import annotations

import ast
import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase

import pytest

from shoe_daemon.display.languages import (
    FOLDER,
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
# Latin letters that Chinese tables write too, and what one types; what else is Latin was
# forgotten.
TYPED = re.compile(r"\{\w+\}|--[a-z-]+|docs/\w+\.md|Ctrl\+C|\[display\.orders\]")
KEPT_LATIN = {
    "HTTPS",
    "JavaScript",
    "MQTT",
    "PIN",
    "NAME",
    "FILE",
    "A",
    "J",
    "Q",
    "K",
    "P",
    "B",
    "T",
}
# Names that rulings cite, and the letters of sections.
CITED_LATIN = {
    "new",
    "shoe",
    "GamingRebels",
    "LeoVegas",
    "BBIN",
    "III",
    "esball",
    *ascii_lowercase,
}
# How keys begin or end that scripts put together from what a table says.
PUT_TOGETHER = (
    *(
        "action_",
        "ask_",
        "cause_",
        "change_",
        "count_",
        "device_",
        "draw_",
        "effect_",
        "event_",
        "fresh_",
    ),
    *(
        "glyph_",
        "glyphs_",
        "give_",
        "house_",
        "irregularity_",
        "link_",
        "notices_",
        "notify_",
        "order_",
        "policy_",
    ),
    *(
        "log_failed_",
        "log_kind_",
        "log_mark_",
        "rank_",
        "reader_",
        "refused_",
        "severity_",
        "sheet_",
    ),
    *("slot_", "suit_", "wager_"),
)
ENDINGS = ("_hand", "_one", "_many")


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
    return sorted(set(re.findall(r"\{(\w+)\}", text)))


def write(folder: Path, code: str, words: str) -> None:
    text = f'name = "Tongue"\nlang = "{code}"\nglyphs = "letters"\n[words]\n{words}\n'
    (folder / f"{code}.toml").write_text(text, encoding="utf-8")


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
def test_no_sentence_was_left_in_english(code: str) -> None:
    named = declared_words(code)
    for key, text in languages()[code].words.items():
        latin = re.findall(r"[A-Za-z]+", TYPED.sub("", text))
        unnamed = key.startswith("house_") and key not in named
        assert unnamed or set(latin) <= KEPT_LATIN, key
    for key, text in languages()[code].sentences.items():
        latin = re.findall(r"[A-Za-z]+", TYPED.sub("", text))
        assert set(latin) <= CITED_LATIN, key


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
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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


def test_a_sentence_that_cannot_be_filled_in_is_shown_in_english(folder: Path) -> None:
    text = 'name = "T"\nlang = "pt"\nglyphs = "letters"\n[words]\nplayer = "J"\n[sentences]\n'
    more = 'player_draws = "{player} e {banker}"\nboth_complete = "Completo."'
    (folder / "pt.toml").write_text(text + more, encoding="utf-8")
    assert dict(load(folder)["pt"].sentences) == {"both_complete": "Completo."}
    told = "\n".join(language_faults(folder))
    assert "pt.toml: sentence player_draws has other placeholders than ['player']" in told
    assert "pt.toml: sentence natural is missing; it is shown in English" in told


def test_players_are_told_no_sentence_that_is_for_staff() -> None:
    for_players = languages()["zh-hans"].for_players()
    assert for_players.sentences.keys() == {
        "not_recorded",
        "cards_too_fast",
        "not_applied",
        "reader_flood",
    }
    assert "action_burn_card" not in for_players.words


def test_the_two_chinese_are_not_one_written_twice() -> None:
    """A character of the one does not slip into the other."""
    hant, hans = ("".join(languages()[code].words.values()) for code in CHINESE)
    assert not set("莊閒對龍點數當現發補開關與賭碼單雙銷讀") & set(hans) - {"莊", "閒"}
    assert not set("庄闲对龙点数现发补开关与赌单双销读") & set(hant)


def test_every_word_is_said_somewhere() -> None:
    """A sentence that no page says is in no language's file."""
    said = set(re.findall(r"\w+", sources()))
    unsaid = {
        key
        for key in languages()["en"].words
        if key not in said and not key.startswith(PUT_TOGETHER) and not key.endswith(ENDINGS)
    }
    assert unsaid == set()


def test_what_the_pages_say_has_a_word() -> None:
    asked = re.findall(r'(?:word|has|many)\("(\w+)"|data-(?:word|label)="(\w+)"', sources())
    keys = {key for found in asked for key in found if key and not key.endswith("_")}
    words = languages()["en"].words.keys()
    assert {key for key in keys if key not in words and f"{key}_one" not in words} == set()


def test_a_file_dropped_in_is_a_language(folder: Path) -> None:
    write(folder, "pt", 'player = "Jogador"\nround_number = "Jogada {number}"')
    found = load(folder)["pt"]
    assert (found.words["player"], found.words["round_number"]) == ("Jogador", "Jogada {number}")
    assert found.words["banker"] == "Banker", "what it lacks is said in English"
    assert found.words.keys() == languages()["en"].words.keys()


def test_a_sentence_with_other_placeholders_is_said_in_english(folder: Path) -> None:
    write(folder, "pt", 'round_number = "Jogada {numero}"\nextra = "?"')
    assert load(folder)["pt"].words["round_number"] == "Round {number}"
    assert "extra" not in load(folder)["pt"].words
    told = "\n".join(language_faults(folder))
    assert "pt.toml: round_number has other placeholders than ['number']" in told
    assert "pt.toml: player is missing; it is shown in English" in told
    assert "pt.toml: extra is not in en.toml; it is shown nowhere" in told


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
