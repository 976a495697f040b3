"""Fixtures of the tests of reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from shoe_daemon.table.options import RoundEnd
from tests.report.report_shoes import Writer


@pytest.fixture
def by_hand(tmp_path: Path) -> Iterator[Writer]:
    """A table in the middle of a shoe, at which the test deals."""
    with Writer(tmp_path / "journal") as writer:
        writer.session("seven-feathers", round_end=RoundEnd.RULES)
        writer.order("new_shoe")
        yield writer
