"""A database for each test."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from shoe_daemon.forward.database import schema
from tests.fakes.postgres import Server
from tests.forward.tables import Floor

_numbers = count(1)


@pytest.fixture
def floor(server: Server, tmp_path: Path) -> Floor:
    """Tables, and a new database with the schema."""
    name = f"shoe{next(_numbers)}"
    server.make_database(schema(), name)
    return Floor(tmp_path, server, name)
