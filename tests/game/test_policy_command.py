"""
`shoe-daemon rules policy` shows what an authority says, where two differ, and
wherever a ruling stands, whether it is verified.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from unicodedata import east_asian_width

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.cli.terminal import indented_zh
from shoe_daemon.game.irregularity_kind import Situation
from shoe_daemon.game.rulings import POLICY_IDS, load_policy, policy_from_mapping
from tests.each_case import each_case
from tests.game.test_rulings import FILES, UNVERIFIED

Policy = Callable[..., str]
PAIRS = list(combinations(POLICY_IDS, 2))


def in_file(name: str) -> dict[str, str]:
    """Read the rulings of a policy past the code: its actions, ? where it is not verified."""
    mapping = tomllib.loads((FILES / f"{name}.toml").read_text(encoding="utf-8"))
    return {
        situation: " ".join(each["action"] + "?" * (not each["verified"]) for each in rulings)
        for situation, rulings in mapping.get("rulings", {}).items()
    }


RULED = {name: in_file(name) for name in POLICY_IDS}


@pytest.fixture
def policy() -> Policy:
    """Run `rules policy` with these words; the answer is what it prints."""

    def run(*words: str, status: int = 0) -> str:
        result = CliRunner().invoke(main, ["rules", "policy", *words])
        assert result.exit_code == status, result.output
        return result.stdout if status == 0 else result.stderr

    return run


def ruled(name: str) -> tuple[int, int]:
    """Return how many rulings a policy has, and how many of them are verified."""
    actions = " ".join(RULED[name].values()).split()
    return len(actions), sum(not action.endswith("?") for action in actions)


def squeezed(text: str) -> str:
    """Take out line ends and indents, so that a sentence is found wherever it was wrapped."""
    return re.sub(r"\s+", " ", text)


@each_case(
    "words",
    [
        ("--list",),
        *((each,) for each in POLICY_IDS),
        *(("--diff", one, other) for one, other in PAIRS),
    ],
)
def test_a_person_needs_eighty_columns(policy: Policy, words: tuple[str, ...]) -> None:
    for line in policy(*words).splitlines():
        assert sum(2 if east_asian_width(sign) in "WF" else 1 for sign in line) <= 80
        assert line == line.rstrip()


def test_list_names_every_policy_and_how_much_of_it_is_verified(policy: Policy) -> None:
    rows = {line.split()[0]: line for line in policy("--list").splitlines()}
    rulings, verified = ruled("live_studio")
    assert list(rows) == list(POLICY_IDS)
    assert rows["management"].endswith("  no ruling")
    assert rows["fr_2007"].endswith(f"  {ruled('fr_2007')[0]}, verified")
    assert rows["live_studio"].endswith(f"  {rulings}, {verified} verified")
    assert {name for name, row in rows.items() if row.endswith(", UNVERIFIED")} == set(UNVERIFIED)
    short = {each["id"]: each for each in json.loads(policy("--list", "--json"))}
    assert short["live_studio"] == {
        "id": "live_studio",
        "name": "Live studios",
        "name_zh": load_policy("live_studio").name_zh,
        "rulings": rulings,
        "verified": verified,
    }


@pytest.mark.parametrize("name", POLICY_IDS)
def test_a_policy_is_printed_whole(policy: Policy, name: str) -> None:
    known, text = load_policy(name), squeezed(policy(name))
    assert known.about in text
    for _, provision in known.provisions():
        for said in (provision.text, provision.text_zh, provision.note or ""):
            assert said in text
        assert f"{provision.authority}, {provision.section}" in text
    for situation in Situation:
        assert re.search(rf"\b{situation}\b", text) or name == "management"


@pytest.mark.parametrize("name", POLICY_IDS)
def test_every_ruling_that_is_not_verified_is_marked_where_it_stands(
    policy: Policy, name: str
) -> None:
    rows = re.findall(r"^  \d  .*$", policy(name), re.MULTILINE)
    assert [row.split()[-1] + ("?" if "UNVERIFIED" in row else "") for row in rows] == [
        action for situation in Situation for action in RULED[name].get(situation, "").split()
    ]


def test_the_head_says_how_much_is_not_verified(policy: Policy) -> None:
    for name in UNVERIFIED:
        assert "UNVERIFIED: none of the rulings below is verified;" in squeezed(policy(name))
    rulings, verified = ruled("live_studio")
    said = f"UNVERIFIED: {rulings - verified} of the {rulings} rulings below are not verified;"
    assert said in squeezed(policy("live_studio"))
    for name in ("fr_2007", "la_lac42", "nsw_star", "management"):
        assert "UNVERIFIED" not in policy(name)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("fr_2007", "it may not be used for the next coup"),
        ("fr_2007", "A holder of the shoe who makes a false draw must pass it."),
        ("fr_2007", "false draws: player_third_unauthorised, excess_card, double_feed"),
        ("fr_2007", "NO RULING: NOT IN THE TEXT, OR THE TEXT COULD NOT BE OBTAINED "),
        ("es_melilla_2014", "SEVERITY double_feed 4, elsewhere 3"),
        ("management", "NO RULING IN ANY SITUATION"),
        ("us_nj_pa", "not verified: Recalled with confidence; not read."),
    ],
)
def test_what_is_said(policy: Policy, name: str, said: str) -> None:
    assert said in squeezed(policy(name))


@pytest.mark.parametrize("name", POLICY_IDS)
def test_a_program_reads_the_policy_back(policy: Policy, name: str) -> None:
    assert policy_from_mapping(json.loads(policy(name, "--json"))) == load_policy(name)


def test_a_policy_may_be_a_file(policy: Policy) -> None:
    assert policy(str(FILES / "fr_2007.toml")) == policy("fr_2007")


def actions(name: str, situation: str) -> list[str]:
    return RULED[name].get(situation, "").replace("?", "").split()


@each_case("one, other", PAIRS)
def test_diff_shows_where_two_differ_and_nothing_else(
    policy: Policy, one: str, other: str
) -> None:
    rows = policy("--diff", one, other).split("\n\n")[1].splitlines()
    differing = [s for s in Situation if actions(one, s) != actions(other, s)]
    assert [row.split()[0] for row in rows if row[0] != " "] == differing
    text = "\n".join(rows) + "\n"
    for situation in differing:
        block = re.search(rf"^{situation} .*\n(?: .*\n)*", text, re.MULTILINE)
        assert block is not None
        for name, begin, end in ((one, 28, 54), (other, 54, 80)):
            cells = [line[begin:end].strip() for line in block[0].splitlines()]
            said = " ".join(filter(None, cells)).replace(" *", "?")
            assert said == RULED[name].get(situation, "no ruling")


@each_case("one, other", PAIRS)
def test_diff_says_it_to_programs(policy: Policy, one: str, other: str) -> None:
    found = json.loads(policy("--diff", one, other, "--json"))
    assert found["policies"] == [one, other]
    assert found["rulings"] == {
        situation: [
            [
                {"action": action.rstrip("?"), "verified": "?" not in action}
                for action in RULED[name].get(situation, "").split()
            ]
            for name in (one, other)
        ]
        for situation in Situation
        if actions(one, situation) != actions(other, situation)
    }
    assert ("double_feed" in found["severity"]) == ("es_melilla_2014" in (one, other))
    assert ("excess_card" in found["false_draw_passes_shoe"]) == ("fr_2007" in (one, other))


def test_where_two_agree_and_weigh_it_differently(policy: Policy) -> None:
    text = policy("--diff", "es_melilla_2014", "la_lac42")
    assert "The same in both: excess_unexposed, excess_exposed, face_up_in_shoe" in text
    assert "SEVERITY\n  double_feed               4                         3\n" in text


def test_a_policy_does_not_differ_from_itself(policy: Policy) -> None:
    found = json.loads(policy("--diff", "fr_2007", str(FILES / "fr_2007.toml"), "--json"))
    assert found["rulings"] == found["severity"] == found["false_draw_passes_shoe"] == {}
    text = policy("--diff", "fr_2007", "fr_2007")
    assert text.split("\n\n")[1].startswith("They do not differ.")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nevada",), "nevada: no such policy; expected one of management, fr_2007, "),
        (("--diff", "fr_2007", "nevada"), "nevada: no such policy; expected one of management,"),
        (("/no/such.toml",), "/no/such.toml: cannot be read: No such file or directory;"),
        ((), "rules policy: expected one of POLICY, --list and --diff A B"),
        (("fr_2007", "--list"), "rules policy: expected one of POLICY, --list and --diff A B"),
    ],
)
def test_bad_usage_is_told_in_one_line(policy: Policy, words: tuple[str, ...], said: str) -> None:
    text = policy(*words, status=2)
    assert text.startswith(f"shoe-daemon: {said}")
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ('[[rulings.excess]]\naction = "continue"', "rulings.excess: unknown key; expected one"),
        ("[severity]\nexcess = 4", "severity.excess: unknown key; expected one of "),
        ("[severity]\nexcess_card = 1", "severity.excess_card: 1; expected more than 3: a policy"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(
    policy: Policy, tmp_path: Path, bad: str, said: str
) -> None:
    path = tmp_path / "mine.toml"
    head = 'id = "mine"\nname = "Mine"\nname_zh = "我"\nabout = "Mine."\n'
    path.write_text(f"{head}{bad}\n", encoding="utf-8")
    text = policy(str(path), status=2)
    assert text.startswith(f"shoe-daemon: {path}: {said}")
    assert text.count("\n") == 1


def test_chinese_is_wrapped_by_its_width_and_no_line_begins_with_a_stop() -> None:
    text = "牌" * 36 + "。" + "局" * 40
    lines = list(indented_zh(text, 7))
    assert "".join(line.strip() for line in lines) == text
    assert [len(line.strip()) for line in lines] == [35, 36, 6]
    assert lines[1].strip().startswith("牌。")
