"""docs/misdeals.md agrees with the code: kinds, severities, sentences, commands, runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from shoe_daemon.cli import main
from shoe_daemon.game.irregularities import (
    SEVERITY,
)
from shoe_daemon.game.irregularity_kind import IrregularityKind
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


@pytest.mark.parametrize(("log", "said"), RUNS)
def test_a_run_says_what_is_printed(log: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(log, encoding="utf-8")
    done = CliRunner().invoke(main, ["replay", str(path)])
    assert (done.exit_code, done.output) == (0, said)
