"""A PostgreSQL for the tests of a worker, and a database for each test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from shoe_daemon.forward.database import schema
from tests.fakes.postgres import Server, find_programs, temporary_server
from tests.forward.tables import Floor

_numbers = count(1)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running server."""
    if find_programs() is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql-15")
    with temporary_server() as running:
        yield running


@pytest.fixture
def floor(server: Server, tmp_path: Path) -> Floor:
    """Tables, and a new database with the schema."""
    name = f"shoe{next(_numbers)}"
    server.make_database(schema(), name)
    return Floor(tmp_path, server, name)
