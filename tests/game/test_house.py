"""A house is data: it is read strictly, written in full, and says where it comes from."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game import house_rules as houses
from shoe_daemon.game.house_rules import (
    HOUSE_IDS,
    find_house,
    house_from_mapping,
    house_to_mapping,
    load_house,
    load_house_file,
)

FILES = Path(houses.__file__).with_name("houses")
DOCS = Path(__file__).parents[2] / "docs" / "houses.md"


@pytest.mark.parametrize("house", HOUSE_IDS)
def test_a_house_survives_being_written_in_full(house: str) -> None:
    rules = load_house(house)
    mapping = house_to_mapping(rules)
    assert house_from_mapping(mapping) == rules
    # As a log writes it: JSON, its keys sorted.
    line = msgspec.json.encode(mapping, order="sorted")
    assert house_from_mapping(msgspec.json.decode(line)) == rules


@pytest.mark.parametrize("house", HOUSE_IDS)
def test_a_house_leaves_nothing_to_defaults(house: str) -> None:
    """A default of the code may change; a house's own file must not follow."""
    mapping = tomllib.loads((FILES / f"{house}.toml").read_text(encoding="utf-8"))
    assert mapping.keys() - {"names"} == house_to_mapping(load_house(house)).keys()


@pytest.mark.parametrize("house", HOUSE_IDS)
def test_what_no_sheet_says_is_resolved_beside_its_value(house: str) -> None:
    """In the file, the resolution stands right below the value that it is about."""
    rules = load_house(house)
    assert all(each.gap and each.resolved and each.authority for each in rules.resolutions)
    sections = (FILES / f"{house}.toml").read_text(encoding="utf-8").split("\n[")
    for key in ("burn", "cut_card"):
        at = next(n for n, section in enumerate(sections) if section.startswith(f"{key}]"))
        assert sections[at + 1].startswith(f'[resolutions]]\nabout = "{key}"\n')


def change(**changes: object) -> dict[str, Any]:
    """Write a good house with changes: keys in one level, None takes a key away."""
    mapping = house_to_mapping(load_house("curator"))
    for key, value in changes.items():
        if isinstance(value, dict):
            mapping[key] = {**mapping[key], **value}
        elif value is None:
            del mapping[key]
        else:
            mapping[key] = value
    return mapping


WRONG = {
    "player_on_5: 'stands'; expected one of chooses, draws": lambda: change(player_on_5="stands"),
    "decks: 13; expected a whole number of at most 12": lambda: change(decks=13),
    "decks: '8'; expected a whole number, got a text": lambda: change(decks="8"),
    "deks: unknown key; expected one of id, name, sheet, decks,": lambda: change(deks=8),
    "name: missing; expected a text": lambda: change(name=None),
    "wagers: missing; expected a table": lambda: change(wagers=None),
    "burn.mod: unknown key; expected one of mode, fixed,": lambda: change(burn={"mod": "none"}),
    "burn.mode: 'all'; expected one of first_card, fixed,": lambda: change(burn={"mode": "all"}),
    "cut_card.hands_after: 3; expected a whole number of at most 2": lambda: change(
        cut_card={"hands_after": 3}
    ),
    "dealing_style: 'open'; expected one of face_up, banker_tucked, squeeze": lambda: change(
        dealing_style="open"
    ),
    "commission: '5%' is no share; expected a fraction below 1": lambda: change(commission="5%"),
    "wagers.ties: no such wager; expected one of player,": lambda: change(wagers={"ties": {}}),
    "wagers.tie.wins: no such prize; expected win": lambda: change(
        wagers={"tie": {"wins": "8:1"}}
    ),
    "wagers.tie.win: '8' is no odds; expected to:for": lambda: change(
        wagers={"tie": {"win": "8"}}
    ),
    "wagers.tie.win: 8; expected a text, got a whole number": lambda: change(
        wagers={"tie": {"win": 8}}
    ),
    "wagers.tie.win: missing; expected its odds": lambda: change(wagers={"tie": {"win": "push"}}),
    "resolutions 1: about: 'x'; expected one of betting,": lambda: change(
        resolutions=[{"about": "x", "gap": "", "resolved": "", "authority": ""}]
    ),
    "resolutions 1: gap: missing; expected a text": lambda: change(
        resolutions=[{"about": "burn", "resolved": "", "authority": ""}]
    ),
}


@pytest.mark.parametrize("message", WRONG)
def test_a_wrong_house_is_refused_in_one_line_that_names_the_key(message: str) -> None:
    make: Callable[[], dict[str, Any]] = WRONG[message]
    with pytest.raises(UserError) as error:
        house_from_mapping(make(), "mine.toml")
    text = str(error.value)
    assert text.startswith(f"mine.toml: {message}")
    assert "\n" not in text
    assert error.value.exit_status == 2


def test_no_house_of_that_name() -> None:
    with pytest.raises(UserError, match=r"^monaco: no such house; expected one of .*chickasaw, "):
        load_house("monaco")


def test_a_house_may_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes((FILES / "curator.toml").read_bytes())
    assert load_house_file(path) == find_house(str(path)) == load_house("curator")


def test_the_names_of_a_house_are_no_rules(tmp_path: Path) -> None:
    """A log has the rules of its house: the words of a page would change them."""
    path = tmp_path / "mine.toml"
    text = (FILES / "single-deck.toml").read_text(encoding="utf-8").partition("[names]")[0]
    path.write_text(f'{text}[names]\npt = "Um baralho"\n', encoding="utf-8")
    assert load_house_file(path) == load_house("single-deck")
    assert "names" not in house_to_mapping(load_house("single-deck"))
    with pytest.raises(UserError, match="names: unknown key"):
        house_from_mapping({**house_to_mapping(load_house("single-deck")), "names": {}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot be read: No such file or directory; expected a house"),
        (b"decks = ", "Invalid value (at end of document); expected a house in TOML"),
        (b"name = '\xff'", "byte 8 is not UTF-8; expected a house in TOML"),
        (b"decks = 8\nid = 'x'\nsheet = 'x'\nwagers = {}", "name: missing; expected a text"),
        (b"name = 'x'\nsheet = 'x'\nwagers = {}\nnames = 'x'", "names: 'x'; expected a table"),
    ],
)
def test_a_file_that_is_no_house_is_named(
    tmp_path: Path, content: bytes | None, message: str
) -> None:
    path = tmp_path / "mine.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UserError) as error:
        load_house_file(path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


def test_the_house_in_the_documentation_is_one() -> None:
    _, _, rest = DOCS.read_text(encoding="utf-8").partition("```toml\n")
    example = tomllib.loads(rest.partition("```")[0])
    assert house_from_mapping(example, "docs/houses.md").offered


@pytest.mark.parametrize("mode", ["per_deck", "fixed"])
def test_the_first_burned_card_is_shown_where_the_others_lie_face_down(
    mode: str, tmp_path: Path
) -> None:
    text = (FILES / "curator.toml").read_text(encoding="utf-8")
    path = tmp_path / "mine.toml"
    path.write_text(text.replace('mode = "first_card"', f'mode = "{mode}"'), encoding="utf-8")
    shown = CliRunner().invoke(main, ["rules", "show", str(path)]).output
    assert "the first face up and the others face down" in " ".join(shown.split())


def test_the_bankers_without_commission_in_the_documentation_are_read() -> None:
    blocks = DOCS.read_text(encoding="utf-8").split("    [wagers.banker]\n")[1:]
    for block in blocks:
        lines = block.partition("\n\n")[0].splitlines()
        table = tomllib.loads("\n".join(line.strip() for line in lines))
        assert house_from_mapping(change(wagers={"banker": table}, commission="0/1")).offered
    assert len(blocks) == 2
