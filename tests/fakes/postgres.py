"""A real PostgreSQL of its own for tests and benches: a temporary cluster on a Unix socket."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg

PASSWORD = "for-tests"  # noqa: S105 - of a server that lives for a test
_START_S = 60.0
_ROLES = {"floor": "forward", "board": "log", "office": "reader", "staff": "staff"}


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs; None where it is missing."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


class Server:
    """
    A cluster below a folder, with the superuser `owner`, whose password is `PASSWORD`.

    PostgreSQL refuses to run as root: then it runs as the user `postgres`.
    """

    def __init__(self, folder: Path, port: int = 5432) -> None:
        self.folder, self.port = folder, port
        self.data = folder / "data"
        self._programs = find_programs() or Path()
        self._user: dict[str, Any] = {"user": "postgres"} if os.geteuid() == 0 else {}
        if self._user:
            shutil.chown(folder, "postgres", "postgres")
        self.process: subprocess.Popen[bytes] | None = None

    def create(self) -> None:
        """Make the cluster."""
        secret = self.folder / "secret"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        self.run("initdb", "-D", self.data, "-U", "owner", "--auth=scram-sha-256",
                 f"--pwfile={secret}", "--encoding=UTF8", "--no-locale", "--no-sync")  # fmt: skip

    def run(self, program: str, *arguments: object) -> None:
        """Run a program of PostgreSQL."""
        self._run([str(self._programs / program), *map(str, arguments)], **self._user)

    def shell(self, line: str, stdin: str = "") -> None:
        """Run a line of the shell, without a terminal; programs of PostgreSQL are the owner's."""
        line = f"set -o pipefail; {line}"
        self._run(["bash", "-c", line], input=stdin.encode(), start_new_session=True)

    def _run(self, command: list[str], **options: Any) -> None:  # noqa: ANN401
        path = f"{self._programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        owner = {"PGHOST": str(self.folder), "PGPORT": str(self.port), "PGUSER": "owner"}
        environment = {**os.environ, **owner, "PATH": path, "PGPASSWORD": PASSWORD}
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            cwd=self.folder,
            env=environment,
            **options,
        )

    def copy_to(self, folder: Path) -> Server:
        """Make a standby in a folder, which follows this server once it is started."""
        standby = Server(folder, self.port + 1)
        standby.run("pg_basebackup", "-h", self.folder, "-p", self.port, "-U", "owner", "-w",
                    "-D", standby.data, "-R", "-c", "fast", "--no-sync")  # fmt: skip
        signal_file = standby.data / "postgresql.auto.conf"
        line = signal_file.read_text().replace("user=owner", f"user=owner password={PASSWORD}")
        signal_file.write_text(line)
        return standby

    def start(self) -> None:
        """Start, and wait until it answers; the memory of a killed one goes away first."""
        give_up = time.monotonic() + _START_S
        while time.monotonic() < give_up:
            if self.process is None or self.process.poll() is not None:
                self.process = self._started()
            with suppress(psycopg.OperationalError):
                self.connect().close()
                return
            time.sleep(0.05)
        raise TimeoutError((self.folder / "log").read_text()[-2000:])

    def _started(self) -> subprocess.Popen[bytes]:
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=on",
                    f"port={self.port}", "wal_level=replica", "max_wal_senders=4")  # fmt: skip
        options = [word for each in settings for word in ("-c", each)]
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [self._programs / "postgres", "-D", self.data, *options],
                stdout=log, stderr=log, cwd=self.folder, **self._user,
            )  # fmt: skip

    def kill(self) -> None:
        """Kill it with SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """Stop it at once."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGQUIT)
            self.process.wait()

    def dsn(self, user: str = "owner", database: str = "shoe") -> str:
        """Return a connection string without the password."""
        return f"host={self.folder} port={self.port} dbname={database} user={user}"

    def connect(self, user: str = "owner", database: str = "postgres") -> psycopg.Connection[Any]:
        """Connect with the password."""
        return psycopg.connect(self.dsn(user, database), password=PASSWORD, autocommit=True)

    def make_database(self, schema: str, name: str = "shoe") -> None:
        """Make a database with the schema, and the accounts that have its roles."""
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        with self.connect(database=name) as connection:
            if schema:
                connection.execute(schema)
            for account, role in _ROLES.items():
                known = "SELECT 1 FROM pg_roles WHERE rolname = %s"
                if connection.execute(known, (account,)).fetchone() is None:
                    connection.execute(f"CREATE ROLE {account} LOGIN PASSWORD '{PASSWORD}'")
                if schema:
                    connection.execute(f"GRANT shoe_{role} TO {account}")

    def copy_log(self, path: Path, name: str = "shoe") -> None:
        """Copy the events of a display's log in a file to a database with the schema."""
        with closing(sqlite3.connect(path)) as log, self.connect(database=name) as target:
            months = "strftime('%Y-%m-01T00:00Z', at / 1000000, 'unixepoch')"
            for month in log.execute(f"SELECT DISTINCT {months} FROM event"):  # noqa: S608 - our own
                target.execute("SELECT shoe.add_month(%s)", month)
            insert = (
                "INSERT INTO shoe.journal (id, site, table_id, created, seq, at)"
                " OVERRIDING SYSTEM VALUE VALUES (%s, %s, %s, %s, %s, %s)"
            )
            for id_, *names, head, latest in log.execute("SELECT * FROM journal ORDER BY id"):
                target.execute(insert, (id_, *names, _moment(id_), head, _moment(latest)))
            query = (
                "SELECT id >> 40, id & (1 << 40) - 1, at, shoe, round & 65535, type, data"
                " FROM event ORDER BY id"
            )
            with target.cursor() as cursor, cursor.copy("COPY shoe.event FROM STDIN") as copy:
                for journal, seq, at, *others in log.execute(query):
                    copy.write_row((journal, seq, _moment(at), *others))


def _moment(at: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=at)


@contextmanager
def temporary_server() -> Iterator[Server]:
    """A running cluster, which is deleted at the end."""
    with tempfile.TemporaryDirectory(prefix="shoe-postgres-") as place:
        server = Server(Path(place))
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
