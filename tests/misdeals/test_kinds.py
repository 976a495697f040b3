"""
Every kind of irregularity, from a log to what the table says of it, under every policy.

What a policy says is read from its file here, past the code that the table uses.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any

from shoe_daemon.game.irregularities import IRREGULARITIES
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.game.rulings import POLICY_IDS
from shoe_daemon.table import Event
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.golden.parts import read_parts
from tests.misdeals.irregularity_logs import GOLDEN, LOGS, IrregularityLog, golden_parts
from tests.table.dealer import of_type, one

SAID = ("action", "authority", "section", "text", "verified")
EACH_LOG = each_case("log", LOGS)
EACH_POLICY = each_case("policy", POLICY_IDS)


@cache
def file_of(policy: str) -> dict[str, Any]:
    """Read a policy as it is written."""
    place = resources.files("shoe_daemon.game").joinpath("policies", f"{policy}.toml")
    return tomllib.loads(place.read_text(encoding="utf-8"))


def told(log: IrregularityLog, policy: str) -> list[Event]:
    """Tell a table a log."""
    table = Table()
    return [event for seen in log.observations(policy) for event in table.apply(seen)]


def test_every_kind_has_a_log() -> None:
    assert {log.kind for log in LOGS} == set(IrregularityKind)
    assert len(POLICY_IDS) == 9


@EACH_POLICY
@EACH_LOG
def test_what_is_said_of_it(log: IrregularityLog, policy: str) -> None:
    found = one(told(log, policy), "irregularity")
    assert (found.kind, found.slot, found.card) == (log.kind, log.slot, log.card)
    raised = file_of(policy).get("severity", {})
    assert found.severity == raised.get(
        log.kind, IRREGULARITIES[IrregularityKind(log.kind)].severity
    )
    rulings = file_of(policy).get("rulings", {})
    expected = [
        {name: ruling[name] for name in SAID}
        for head in log.heads
        for ruling in rulings.get(head, [])
    ]
    said = [{name: getattr(each, name) for name in SAID} for each in found.proposals]
    assert said == [each for n, each in enumerate(expected) if each not in expected[:n]]
    assert found.detail.endswith(".")


@EACH_POLICY
def test_every_head_of_a_policy_is_one_that_some_log_falls_under(policy: str) -> None:
    heads = {head for log in LOGS for head in log.heads}
    assert set(file_of(policy).get("rulings", {})) <= heads


@EACH_LOG
def test_it_is_on_the_board_until_it_is_closed(log: IrregularityLog) -> None:
    table = Table()
    events = [event for seen in log.observations("management") for event in table.apply(seen)]
    closed = {each.id for each in of_type(events, "irregularity_closed")}
    alerts = [each for each in of_type(events, "irregularity") if each.id not in closed]
    assert [each.data for each in table.public().alerts] == alerts
    assert bool(alerts) == (log.kind != "manual_void")


def test_the_golden_corpus_has_the_logs_of_each_kind() -> None:
    assert golden_parts() == read_parts(GOLDEN)
