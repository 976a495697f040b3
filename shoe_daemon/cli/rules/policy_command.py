"""`shoe-daemon rules policy`: show the rulings of a policy, or the differences of two."""

from __future__ import annotations

import click

from shoe_daemon.cli.rules import policy_text
from shoe_daemon.cli.rules.text_width import as_json, print_json
from shoe_daemon.errors import UserError
from shoe_daemon.game import (
    POLICY_IDS,
    Policy,
    Situation,
    find_policy,
    load_policy,
    policy_to_mapping,
)


@click.command(name="policy")
@click.argument("policy", required=False)
@click.option("--list", "listed", is_flag=True, help="The policies that come with the project.")
@click.option("--diff", nargs=2, metavar="A B", help="Where two of them differ.")
@as_json
def command(policy: str | None, *, listed: bool, diff: tuple[str, str] | None, json: bool) -> None:
    """Shows the rulings of POLICY: one that `--list` names, or a file ending in .toml."""
    if sum((policy is not None, listed, diff is not None)) != 1:
        raise UserError("rules policy: expected one of POLICY, --list and --diff A B")
    if listed:
        _list(json=json)
    elif diff is not None:
        _diff(find_policy(diff[0]), find_policy(diff[1]), json=json)
    elif policy is not None:
        _show(find_policy(policy), json=json)


def _list(*, json: bool) -> None:
    policies = [load_policy(each) for each in POLICY_IDS]
    if json:
        print_json([_in_short(each) for each in policies])
    else:
        click.echo(policy_text.policy_list(policies))


def _diff(one: Policy, other: Policy, *, json: bool) -> None:
    if json:
        print_json(_differences(one, other))
    else:
        click.echo(policy_text.difference_table(one, other))


def _show(policy: Policy, *, json: bool) -> None:
    if json:
        print_json(policy_to_mapping(policy))
    else:
        click.echo(policy_text.policy_sheet(policy))


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
