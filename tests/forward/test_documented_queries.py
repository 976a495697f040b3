"""The commands and queries of docs/floor.md work."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import psycopg

from bench.year_journal import write
from tests.fakes.postgres import PASSWORD, temporary_server
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


def test_the_owner_makes_the_database_with_the_commands_of_the_page() -> None:
    blocks = re.findall(r"```sh\n(.*?)```", _PAGE.read_text(encoding="utf-8"), re.DOTALL)
    lines = "".join(blocks).splitlines()
    owners = [line for line in lines if "runuser -u postgres -- " in line]
    assert len(owners) == 8
    with temporary_server() as server:
        for line in owners:
            # Without a terminal, the new password is read twice from the input.
            typed = f"{PASSWORD}\n{PASSWORD}\n" if "--pwprompt" in line else ""
            server.shell(line.replace("runuser -u postgres -- ", ""), typed)
        for user, role in (("floor", "forward"), ("office", "reader"), ("board", "log")):
            question = "SELECT pg_has_role(%s, 'member')"
            with psycopg.connect(server.dsn(user), password=PASSWORD) as connection:
                assert connection.execute(question, (f"shoe_{role}",)).fetchone() == (True,)
