"""docs/misdeals.md agrees with the code: kinds, severities, sentences, commands, runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.cli.cmd import command
from shoe_daemon.game.irregularities import (
    IRREGULARITIES,
    REPORTABLE_KINDS,
    SEVERITY,
    Requirement,
)
from shoe_daemon.game.irregularity_kind import IrregularityKind
from shoe_daemon.game.rulings import Action
from shoe_daemon.mqtt.commands import VERBS
from shoe_daemon.table import Irregularity
from shoe_daemon.table.table import Table
from tests.each_case import each_case
from tests.misdeals.irregularity_logs import LOGS, IrregularityLog

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "misdeals.md").read_text(encoding="utf-8")
KINDS = dict(re.findall(r"^### `(\w+)` · severity (\d)\n(?=\S)", PAGE, re.MULTILINE))
RUNS = re.findall(r"```jsonl\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def section(kind: str) -> str:
    return " ".join(PAGE.split(f"### `{kind}` ")[1].split("\n#")[0].split())


def test_every_kind_is_there_in_its_order_with_its_severity() -> None:
    assert list(KINDS) == [kind.value for kind in IrregularityKind]
    assert {kind.value: str(severity) for kind, severity in SEVERITY.items()} == KINDS
    for kind in KINDS:
        for part in ("**Sees**", "**Says**", "**You**"):
            assert part in section(kind), kind


def test_every_kind_states_its_requirements() -> None:
    for kind, facts in IRREGULARITIES.items():
        only_person = "[only a person does]" in section(kind)
        assert only_person is (Requirement.PERSON in facts.requires), kind
        if facts.requires and not only_person:
            assert "*It needs*" in section(kind), kind


@each_case("kind", KINDS)
def test_it_quotes_what_is_said(kind: str) -> None:
    said = [sentence for log in LOGS if log.kind == kind for sentence in sentences(log)]
    assert any(sentence in section(kind) for sentence in said), said


def sentences(log: IrregularityLog) -> Iterator[str]:
    table = Table()
    for observation in log.observations("management"):
        for event in table.apply(observation):
            if isinstance(event.data, Irregularity):
                yield event.data.detail


def test_actions_and_verbs_are_those_that_there_are() -> None:
    actions = set(re.findall(r"--action (\w+)", PAGE))
    assert actions <= set(Action)
    assert set(re.findall(r"--kind (\w+)", PAGE)) <= REPORTABLE_KINDS
    told = PAGE.split("**What a ruling does.**")[1].split("\n\n")[0]
    assert set(re.findall(r"`(\w+)`", told)) == set(Action)
    rows = PAGE.split("## What you can order")[1].split("```")[0]
    verbs = {each.split()[0] for each in re.findall(r"`([a-z-]+(?: --[^`]*)?)`", rows)}
    assert verbs <= VERBS.keys()


def test_every_command_can_be_given() -> None:
    known = {option for each in command.params for option in each.opts}
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert len(lines) > 3
    for line in lines:
        words = shlex.split(line)
        assert words[:2] == ["shoe-daemon", "cmd"]
        assert words[2] in VERBS
        assert {word for word in words[3:] if word.startswith("--")} <= known


@pytest.mark.parametrize(("log", "said"), RUNS)
def test_a_run_says_what_is_printed(log: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(log, encoding="utf-8")
    done = CliRunner().invoke(main, ["replay", str(path)])
    assert (done.exit_code, done.output) == (0, said)


def test_links_lead_somewhere() -> None:
    for name, anchor in re.findall(r"\]\(([\w.-]*)(?:#([\w-]+))?\)", PAGE):
        text = PAGE if not name else (DOCS / name).read_text(encoding="utf-8")
        headings = {
            re.sub(r"[^\w -]", "", line.lstrip("# ")).strip().lower().replace(" ", "-")
            for line in text.splitlines()
            if line.startswith("#")
        }
        assert not anchor or anchor in headings, (name, anchor)
