"""The commands and queries of docs/floor.md work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from bench.year_journal import write
from tests.fakes.postgres import Server
from tests.forward.tables import Floor

_PAGE: Final = Path(__file__).resolve().parents[2] / "docs/floor.md"
_EMPTY: Final = {
    "shoe = 3 AND e.round = 12",
    "WHERE changed",
    "closed_at IS NULL",
    "seconds_open",
    "operator = 'Maria'",
    "an_hour",
    "last_event",
}
"""What a table without people, dealers and errors has no answer to."""


def queries() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_the_back_office_can_ask_each_query(floor: Floor) -> None:
    config = floor.config("table")
    folder = floor.folder / "casino"
    folder.mkdir()
    write(folder / "journal.db", 100)
    config.write_text(config.read_text().replace("table.db", "casino/journal.db"))
    assert floor.forward(config).exit_code == 0
    assert len(queries()) == 10
    for query in queries():
        rows = floor.rows(query.replace("%", "%%"), user="office")
        assert rows or any(part in query for part in _EMPTY), query
    (rounds,) = floor.rows("SELECT count(*), count(outcome) FROM shoe.rounds", user="office")
    assert rounds == (100, 100)


def test_the_owner_can_make_the_database_with_psql(server: Server, tmp_path: Path) -> None:
    from shoe_daemon.forward.database import schema

    server.run("createdb", "-h", server.folder, "-U", "owner", "-w", "by_psql")
    file = server.folder / "schema.sql"
    file.write_text(schema())
    server.run("psql", "-h", server.folder, "-U", "owner", "-w", "-v", "ON_ERROR_STOP=1",
               "-f", file, "by_psql")  # fmt: skip
    with server.connect(database="by_psql") as connection:
        assert connection.execute("SELECT version FROM shoe.version").fetchone() == (1,)
