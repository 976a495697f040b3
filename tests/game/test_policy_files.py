"""A policy is data: it is read strictly, written in full, and documented."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe_daemon.errors import UserError
from shoe_daemon.game.irregularity_kind import Situation
from shoe_daemon.game.rulings import (
    POLICY_IDS,
    Action,
    find_policy,
    load_policy,
    load_policy_file,
    policy_from_mapping,
    policy_to_mapping,
)
from tests.each_case import each_case
from tests.game.test_rulings import FILES, K, written


def test_the_policies_are_those_of_the_folder() -> None:
    assert sorted(path.stem for path in FILES.iterdir()) == sorted(POLICY_IDS)


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_a_policy_survives_being_written_in_full(policy: str) -> None:
    known = load_policy(policy)
    assert load_policy(policy) is known is find_policy(policy)
    mapping = policy_to_mapping(known)
    assert policy_from_mapping(mapping) == known
    # As a log writes it: JSON, its keys sorted.
    line = msgspec.json.encode(mapping, order="sorted")
    again = policy_from_mapping(msgspec.json.decode(line))
    assert again == known
    assert all(again.rulings(kind) == known.rulings(kind) for kind in K)


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_a_policy_may_be_a_file(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes((FILES / f"{policy}.toml").read_bytes())
    assert load_policy_file(path) == find_policy(str(path)) == load_policy(policy)


def test_no_policy_of_that_name() -> None:
    with pytest.raises(UserError, match=r"^nevada: no such policy; expected one of management, "):
        load_policy("nevada")


def spain() -> dict[str, Any]:
    return tomllib.loads((FILES / "es_melilla_2014.toml").read_text(encoding="utf-8"))


def change(**changes: object) -> dict[str, Any]:
    return {**spain(), **changes}


def severity(**severities: object) -> dict[str, Any]:
    return change(severity=severities)


def ruling(**changes: object) -> dict[str, Any]:
    """Change the second ruling on a missing draw; None takes a key away."""
    mapping = spain()
    changed = {**mapping["rulings"]["missing_draw"][1], **changes}
    mapping["rulings"]["missing_draw"][1] = {k: v for k, v in changed.items() if v is not None}
    return mapping


def situation(**changes: object) -> dict[str, Any]:
    return change(rulings={**spain()["rulings"], **changes})


def false_draw(**changes: object) -> dict[str, Any]:
    said = {"authority": "a", "section": "b", "verified": True, "text": "c", "text_zh": "d"}
    return change(false_draw_passes_shoe={**said, "kinds": ["excess_card"], **changes})


IN_RULING = "rulings.missing_draw 2:"
WRONG: dict[str, Callable[[], dict[str, Any]]] = {
    "rulings.excess: unknown key; expected one of ": lambda: situation(excess=[]),
    "rulings.missing_draw: {}; expected a list, got a table": lambda: situation(missing_draw={}),
    "rulings: []; expected a table, got a list": lambda: change(rulings=[]),
    f"{IN_RULING} action: 'burn'; expected one of continue,": lambda: ruling(action="burn"),
    f"{IN_RULING} action: missing; expected one of continue,": lambda: ruling(action=None),
    f"{IN_RULING} authority: missing; expected a text": lambda: ruling(authority=None),
    f"{IN_RULING} section: missing; expected a text": lambda: ruling(section=None),
    f"{IN_RULING} verified: missing; expected true or false": lambda: ruling(verified=None),
    f"{IN_RULING} verified: 'no'; expected true or false, got a text": lambda: ruling(
        verified="no"
    ),
    f"{IN_RULING} text: ''; expected some text": lambda: ruling(text=""),
    f"{IN_RULING} text_zh: missing; expected a text": lambda: ruling(text_zh=None),
    "rulings.missing_draw.1.note: missing; expected why it is not verified": lambda: ruling(
        note=None
    ),
    f"{IN_RULING} txt: unknown key; expected one of authority,": lambda: ruling(txt=""),
    "severity.excess: unknown key; expected one of ": lambda: severity(excess=4),
    "severity.excess_card: 6; expected a whole number of at most 5": lambda: severity(
        excess_card=6
    ),
    "severity.excess_card: 3; expected more than 3: a policy may": lambda: severity(excess_card=3),
    "severity.excess_card: 2; expected more than 3: a policy may": lambda: severity(excess_card=2),
    "severity.double_feed: '4'; expected a whole number, got a text": lambda: severity(
        double_feed="4"
    ),
    "severities: unknown key; expected one of id, name, name_zh, about, severity,": lambda: change(
        severities={}
    ),
    "id: 'A B'; expected ": lambda: change(id="A B"),
    "false_draw_passes_shoe.kinds.0: 'x'; expected one of ": lambda: false_draw(kinds=["x"]),
    "false_draw_passes_shoe.kinds: 'x'; expected a list, got a text": lambda: false_draw(
        kinds="x"
    ),
    "false_draw_passes_shoe.note: missing; expected why": lambda: false_draw(verified=False),
}


def test_the_policy_that_is_changed_is_right_before() -> None:
    for right in (change(), severity(excess_card=4), ruling(), situation(), false_draw()):
        assert policy_from_mapping(right).id == "es_melilla_2014"


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_policy_is_refused_in_one_line_that_names_the_key(message: str) -> None:
    with pytest.raises(UserError) as error:
        policy_from_mapping(WRONG[message](), "mine.toml")
    text = str(error.value)
    assert text.startswith(f"mine.toml: {message}")
    assert "\n" not in text
    assert error.value.exit_status == 2


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    with pytest.raises(UserError, match=r"mine\.toml: cannot be read: No such file or directory"):
        find_policy(str(path))
    path.write_text("id = ", encoding="utf-8")
    with pytest.raises(
        UserError, match=r"mine\.toml: Invalid value .*; expected a policy in TOML"
    ):
        find_policy(str(path))


DOCS = (Path(__file__).parents[2] / "docs" / "policies.md").read_text(encoding="utf-8")


def test_the_policy_in_the_documentation_is_one() -> None:
    example = tomllib.loads(DOCS.partition("```toml\n")[2].partition("```")[0])
    known = policy_from_mapping(example, "docs/policies.md")
    assert written(known, K.MISSING_DRAW) == "draw_now supervisor"
    assert known.passes_shoe(K.EXCESS_CARD)


@each_case("name", [*POLICY_IDS, *Situation, *Action])
def test_the_documentation_has_everything_that_is_named(name: str) -> None:
    assert f"`{name}`" in DOCS


@pytest.mark.parametrize("policy", POLICY_IDS)
def test_the_documentation_marks_what_is_unverified(policy: str) -> None:
    row = next(line for line in DOCS.splitlines() if line.startswith(f"| `{policy}` |"))
    doubtful = not all(each.verified for each in load_policy(policy).all_rulings)
    assert ("**unverified**" in row) == doubtful
