"""Settings and fixtures of all tests."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from ctypes.util import find_library
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.volume import volume

if TYPE_CHECKING:
    from tests.fakes.postgres import Server

if find_library("pq") is None:
    # psycopg cannot be imported without PostgreSQL's client library: apt-get install postgresql.
    collect_ignore = ["forward", "display/test_log_database.py"]

# An exception ends a daemon here, in this process and in those that it starts: see `guard`.
os.environ["SHOE_DAEMON_GUARD"] = "off"

# The time of an example depends on the load of the machine: no deadline. In CI the examples
# are the same for the same code; elsewhere each run draws new ones.
settings.register_profile(
    "tests",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=volume(25, 100),
    derandomize=bool(os.environ.get("CI")),
)
settings.load_profile("tests")


# Thousands of tests are collected by each worker and stay until the end: the garbage collector
# need not look through them again and again.
gc.disable()


def pytest_collection_finish() -> None:
    """Collect garbage from here on, and only what the tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A running PostgreSQL."""
    if find_library("pq") is None:
        pytest.skip("libpq is missing: apt-get install libpq5")
    from tests.fakes.postgres import find_programs, temporary_server  # needs libpq

    if find_programs() is None:
        pytest.skip("PostgreSQL is missing: apt-get install postgresql-15")
    with temporary_server() as running:
        yield running


class _Stdout:
    """
    The descriptor of stdout, without the text stream of Python.

    pytest reads that stream between the steps of a test; if a thread of a daemon logs to it at
    this moment, Python 3.11 crashes.
    """

    def write(self, text: str) -> int:
        return os.write(1, text.encode())

    def flush(self) -> None:
        pass


def pytest_configure() -> None:
    """Log to stdout, as structlog does without a configuration."""
    _log_to_stdout()


@pytest.fixture(autouse=True)
def _logs_as_they_come() -> Iterator[None]:
    """A command that was run in this process leaves no trace in the logs of the next test."""
    yield
    _log_to_stdout()


def _log_to_stdout() -> None:
    structlog.reset_defaults()
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(_Stdout()),  # type: ignore[arg-type]
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let `pytest --regen` write expected files anew, to be looked at before a commit."""
    parser.addoption(
        "--regen", action="store_true", help="write the expected files of captures anew"
    )


@pytest.fixture(scope="session")
def regen(request: pytest.FixtureRequest) -> bool:
    """Tell whether expected files are to be written anew."""
    return bool(request.config.getoption("--regen"))
