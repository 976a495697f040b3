"""`shoe-daemon rules`: show houses, odds, and rulings on irregularities."""

from __future__ import annotations

from typing import Any, Final

import click
import msgspec

from shoe_daemon.cli import house_text, policy_text_and_differences
from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    HOUSE_IDS,
    NATURAL,
    POLICY_IDS,
    WAGER_CATALOGUE,
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
    if json:
        _print_json([{"id": each.id, "name": each.name, "sheet": each.sheet} for each in houses])
    else:
        click.echo(house_text.house_list(houses))


@command.command()
@click.argument("house")
@_as_json
def show(house: str, *, json: bool) -> None:
    """Shows the rules of HOUSE: one that `list` names, or a file ending in .toml."""
    rules = find_house(house)
    if json:
        _print_json(
            {
                "house": house_to_mapping(rules),
                "pays": _pays(rules.offered),
                "tableau": _tableau(),
            }
        )
    else:
        click.echo(house_text.rule_sheet(rules))


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
    if json:
        _print_json(counted.to_mapping())
    else:
        click.echo(house_text.odds_table(counted, wagers))


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


def _pays(wagers: tuple[Wager, ...]) -> dict[str, dict[str, str]]:
    """Return the pay tables after commission."""
    return {wager.id: {line.prize.id: line.pays for line in wager.lines} for wager in wagers}


def _tableau() -> dict[str, Any]:
    """
    Return the Player totals that draw, and by Banker total, the Player's third cards against which
    the Banker draws.
    """
    totals = range(NATURAL)
    return {
        "player_draws": [total for total in totals if player_draws(total)],
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
        _print_policy(find_policy(policy), json=json)
    elif diff is not None:
        _print_differences(find_policy(diff[0]), find_policy(diff[1]), json=json)
    else:
        _print_policies([load_policy(each) for each in POLICY_IDS], json=json)


def _print_policy(policy: Policy, *, json: bool) -> None:
    if json:
        _print_json(policy_to_mapping(policy))
    else:
        click.echo(policy_text_and_differences.policy_sheet(policy))


def _print_differences(one: Policy, other: Policy, *, json: bool) -> None:
    if json:
        _print_json(_differences(one, other))
    else:
        click.echo(policy_text_and_differences.difference_table(one, other))


def _print_policies(policies: list[Policy], *, json: bool) -> None:
    if json:
        _print_json([_in_short(each) for each in policies])
    else:
        click.echo(policy_text_and_differences.policy_list(policies))


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
            for situation in policy_text_and_differences.differing_situations(one, other)
        },
        "severity": {
            kind: [each.severity(kind) for each in both]
            for kind in policy_text_and_differences.differing_severities(one, other)
        },
        "false_draw_passes_shoe": {
            kind: [each.passes_shoe(kind) for each in both]
            for kind in policy_text_and_differences.differing_false_draws(one, other)
        },
    }


def _actions(policy: Policy, situation: Situation) -> list[dict[str, object]]:
    return [
        {"action": ruling.action, "verified": ruling.verified}
        for ruling in policy.by_situation.get(situation, ())
    ]


def _print_json(value: object) -> None:
    """Print a value as indented JSON with sorted keys."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=2))
