"""
One browser, one broker and one display for each module: every table has an id of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from tests.browser.chrome import Watched, browse, watch
from tests.browser.stage import Stage, Table, set_stage


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """
    A running browser.
    """
    with browse() as browser:
        yield browser


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """
    A running broker and a running display, which no test may kill.
    """
    with set_stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest.fixture
def table(stage: Stage) -> Iterator[Table]:
    """
    A table with no house, all cards face up, where results are held from severity 3.
    """
    with stage.table() as table:
        yield table


@pytest.fixture
def kiosk(browser: Browser) -> Iterator[Watched]:
    """
    An empty page of 1920x1080.
    """
    with watch(browser) as watched:
        yield watched
