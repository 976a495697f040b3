"""`shoe-daemon rules`: show houses, odds, and rulings on irregularities."""

from __future__ import annotations

from typing import Any

import click

from shoe_daemon.cli.rules import house_text, policy_command
from shoe_daemon.cli.rules.text_width import as_json, print_json
from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    HOUSE_IDS,
    NATURAL,
    WAGER_CATALOGUE,
    Wager,
    banker_draws,
    find_house,
    house_to_mapping,
    load_house,
    player_draws,
)
from shoe_daemon.game.exact_odds import count_odds

USUAL_DECKS = 8
USUAL_COMMISSION = "1/20"


@click.group(name="rules")
def command() -> None:
    """The houses' rules, their exact odds, and the rulings on irregularities."""


command.add_command(policy_command.command)


@command.command(name="list")
@as_json
def list_houses(*, json: bool) -> None:
    """Lists the houses that come with the project."""
    houses = [load_house(house) for house in HOUSE_IDS]
    if json:
        print_json([{"id": each.id, "name": each.name, "sheet": each.sheet} for each in houses])
    else:
        click.echo(house_text.house_list(houses))


@command.command()
@click.argument("house")
@as_json
def show(house: str, *, json: bool) -> None:
    """Shows the rules of HOUSE: one that `list` names, or a file ending in .toml."""
    rules = find_house(house)
    if json:
        print_json(
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
@as_json
def odds(house: str | None, decks: str | None, *, json: bool) -> None:
    """Counts all draws of six cards from a full shoe: exact odds of every wager."""
    rules = find_house(house) if house is not None else None
    wagers = rules.offered if rules else _usual_wagers()
    usual = rules.decks if rules else USUAL_DECKS
    counted = count_odds(wagers, usual if decks is None else _whole_number("--decks", decks))
    if json:
        print_json(counted.to_mapping())
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
        Wager.priced(known, known.usual, USUAL_COMMISSION) for known in WAGER_CATALOGUE.values()
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
