"""One broker for all tests of this folder: every table has its own id."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

import pytest

from tests.brokers import Mosquitto, mosquitto
from tests.commands.command_table import Pit, open_pit

__all__ = ["OpenPit", "mosquitto"]


class OpenPit(Protocol):
    """Opens a table; `text` is more of its section ``[table]``, and further sections."""

    def __call__(self, text: str = "") -> Pit:
        """Open it."""


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mosquitto]:
    """A running broker where everybody may do everything."""
    with Mosquitto(tmp_path_factory.mktemp("mosquitto")) as broker:
        yield broker


@pytest.fixture
def tables(broker: Mosquitto, tmp_path: Path) -> Iterator[OpenPit]:
    """Open tables that are closed whatever happens."""
    with ExitStack() as stack:
        yield lambda text="": stack.enter_context(open_pit(tmp_path, broker.port, text))


@pytest.fixture
def pit(tables: OpenPit) -> Pit:
    """A table with no house, all cards face up, where results are held from severity 3."""
    return tables()
