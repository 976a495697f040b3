"""`shoe-daemon rules`: show houses, odds, and rulings on irregularities."""

from __future__ import annotations

from typing import Any, Final

import click
import msgspec

from shoe_daemon.cli.rules import house_text, policy_text
from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    HOUSE_IDS,
    NATURAL,
    PLAYER_CHOICE,
    POLICY_IDS,
    WAGER_CATALOGUE,
    House,
    Policy,
    Situation,
    Wager,
    banker_draws,
    find_house,
    find_policy,
    house_to_mapping,
    load_house,
    load_policy,
    player_draws,
    policy_to_mapping,
)
from shoe_daemon.game.exact_odds import count_odds

_USUAL_DECKS: Final = 8
_USUAL_COMMISSION: Final = "1/20"

_as_json = click.option("--json", "json", is_flag=True, help="As JSON, for programs.")


@click.group(name="rules")
def command() -> None:
    """The houses' rules, their exact odds, and the rulings on irregularities."""


@command.command(name="list")
@_as_json
def list_houses(*, json: bool) -> None:
    """Lists the houses that come with the project."""
    houses = [load_house(house) for house in HOUSE_IDS]
    short = [{"id": each.id, "name": each.name, "sheet": each.sheet} for each in houses]
    _print(house_text.house_list(houses), short, json=json)


@command.command()
@click.argument("house")
@_as_json
def show(house: str, *, json: bool) -> None:
    """Shows the rules of HOUSE: one that `list` names, or a file ending in .toml."""
    rules = find_house(house)
    mapping = {
        "house": house_to_mapping(rules),
        # After commission.
        "pays": {
            wager.id: {line.prize.id: line.pays for line in wager.lines} for wager in rules.offered
        },
        "tableau": _tableau(rules),
    }
    _print(house_text.rule_sheet(rules), mapping, json=json)


@command.command()
@click.option("--house", help="Its wagers and decks; without it every known wager, 8 decks.")
@click.option("--decks", help="1 to 12, whatever the house has.")
@_as_json
def odds(house: str | None, decks: str | None, *, json: bool) -> None:
    """Counts all draws of six cards from a full shoe: exact odds of every wager."""
    rules = find_house(house) if house is not None else None
    wagers = rules.offered if rules else _usual_wagers()
    usual = rules.decks if rules else _USUAL_DECKS
    counted = count_odds(wagers, usual if decks is None else _whole_number("--decks", decks))
    text = house_text.odds_table(counted, wagers)
    if rules is not None and rules.player_chooses:
        text += f"\nThe Player may choose on {PLAYER_CHOICE}; "
        text += "these are the odds if the Player always draws."
    _print(text, counted.to_mapping(), json=json)


def _whole_number(option: str, text: str) -> int:
    """Parse a whole number; click's own error would take three lines."""
    try:
        return int(text)
    except ValueError as error:
        raise UserError(f"{option}: {text!r}; expected a whole number") from error


def _usual_wagers() -> tuple[Wager, ...]:
    return tuple(
        Wager.priced(known, known.usual, _USUAL_COMMISSION) for known in WAGER_CATALOGUE.values()
    )


def _tableau(house: House) -> dict[str, Any]:
    """
    Return the Player totals that draw, and by Banker total, the Player's third cards against which
    the Banker draws.
    """
    totals = range(NATURAL)
    chosen = [PLAYER_CHOICE] if house.player_chooses else []
    return {
        "player_draws": [total for total in totals if player_draws(total) and total not in chosen],
        **({"player_may_draw": chosen} if chosen else {}),
        "banker_draws_against": {
            str(total): [third for third in range(10) if banker_draws(total, third)]
            for total in totals
        },
        "banker_draws_if_player_stood": [total for total in totals if banker_draws(total, None)],
    }


@command.command(name="policy")
@click.argument("policy", required=False)
@click.option("--list", "listed", is_flag=True, help="The policies that come with the project.")
@click.option("--diff", nargs=2, metavar="A B", help="Where two of them differ.")
@_as_json
def show_policy(
    policy: str | None, *, listed: bool, diff: tuple[str, str] | None, json: bool
) -> None:
    """Shows the rulings of POLICY: one that `--list` names, or a file ending in .toml."""
    if sum((policy is not None, listed, diff is not None)) != 1:
        raise UserError("rules policy: expected one of POLICY, --list and --diff A B")
    if policy is not None:
        found = find_policy(policy)
        _print(policy_text.policy_sheet(found), policy_to_mapping(found), json=json)
    elif diff is not None:
        both = find_policy(diff[0]), find_policy(diff[1])
        _print(policy_text.difference_table(*both), _differences(*both), json=json)
    else:
        policies = [load_policy(each) for each in POLICY_IDS]
        _print(policy_text.policy_list(policies), list(map(_in_short, policies)), json=json)


def _in_short(policy: Policy) -> dict[str, object]:
    rulings = policy.all_rulings
    return {
        "id": policy.id,
        "name": policy.name,
        "name_zh": policy.name_zh,
        "rulings": len(rulings),
        "verified": sum(ruling.verified for ruling in rulings),
    }


def _differences(one: Policy, other: Policy) -> dict[str, object]:
    """Return the differences, the first policy's value before the second's."""
    both = (one, other)
    return {
        "policies": [each.id for each in both],
        "rulings": {
            situation: [_actions(each, situation) for each in both]
            for situation in policy_text.differing_situations(one, other)
        },
        "severity": {
            kind: [each.severity(kind) for each in both]
            for kind in policy_text.differing_severities(one, other)
        },
        "false_draw_passes_shoe": {
            kind: [each.passes_shoe(kind) for each in both]
            for kind in policy_text.differing_false_draws(one, other)
        },
    }


def _actions(policy: Policy, situation: Situation) -> list[dict[str, object]]:
    return [
        {"action": ruling.action, "verified": ruling.verified}
        for ruling in policy.by_situation.get(situation, ())
    ]


def _print(text: str, value: object, *, json: bool) -> None:
    """Print a text, or with `json` a value as indented JSON with sorted keys."""
    if json:
        click.echo(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2))
    else:
        click.echo(text)
