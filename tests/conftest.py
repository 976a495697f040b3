"""
What the tests of all rooms share.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# How long an example takes says how busy the machine is, and nothing about the code.
settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# Where a change is judged, the same change is judged alike every time; at home
# the examples are other ones with every run.
settings.register_profile("ci", settings.get_profile("home"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(autouse=True)
def _logs_as_they_come() -> Iterator[None]:
    """
    A command that was run in this process leaves no trace in the logs of the next test.
    """
    yield
    structlog.reset_defaults()


def pytest_addoption(parser: pytest.Parser) -> None:
    """
    Let `pytest --regen` write expected files anew, to be looked at before a commit.
    """
    parser.addoption(
        "--regen", action="store_true", help="write the expected files of captures anew"
    )


@pytest.fixture(scope="session")
def regen(request: pytest.FixtureRequest) -> bool:
    """
    Tell whether expected files are to be written anew.
    """
    return bool(request.config.getoption("--regen"))
