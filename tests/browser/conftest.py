"""
One browser, one broker and one display for all tests of a worker: every table has an id of its
own, and leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.brokers import Listener
from tests.browser.chrome import SharedPage, Watched, browse, watch
from tests.browser.live_tables import Stage, Table, set_stage
from tests.browser.published_table import FoldedTable

_numbers = count(1)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A running browser. Its event loop runs on, so it ends before the tests of other folders."""
    with browse() as browser:
        yield browser


@pytest.fixture(scope="package")
def shared_page(browser: Browser) -> Iterator[SharedPage]:
    """A page for one test after the other."""
    shared_page = SharedPage(browser)
    yield shared_page
    shared_page.close()


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """A running broker and a running display, which no test may kill; its pit is for staff."""
    staff = "[display.pit]\nbehind_proxy = true\nstaff_alerts = true"
    with set_stage(tmp_path_factory.mktemp("stage"), staff) as stage:
        yield stage


@pytest.fixture
def table(stage: Stage) -> Iterator[Table]:
    """A table with no house, all cards face up, where results are held from severity 3."""
    with stage.table() as table:
        yield table


@pytest.fixture
def folded(stage: Stage) -> Iterator[Callable[..., FoldedTable]]:
    """Opens a table without a daemon; its documents are cleared in the end."""
    tables: list[FoldedTable] = []
    with Listener(stage.broker.port, "nothing") as listener:

        def opened(**options: Any) -> FoldedTable:  # noqa: ANN401 - of a table
            tables.append(FoldedTable(listener, f"folded-{next(_numbers)}", **options))
            return tables[-1]

        yield opened
        for each in tables:
            each.clear()


@pytest.fixture
def kiosk(shared_page: SharedPage) -> Iterator[Watched]:
    """An empty page of 1920x1080."""
    with shared_page.use() as watched:
        yield watched


@pytest.fixture
def own_kiosk(browser: Browser) -> Iterator[Watched]:
    """The same in a context of its own, for scripts and clocks of a test, and without a cache."""
    with watch(browser) as watched:
        yield watched
