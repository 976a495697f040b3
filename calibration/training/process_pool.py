"""Parallel work in several processes."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any, TypeVar

from shoe_daemon.errors import UserError

__all__ = ["together"]

Made = TypeVar("Made")


def together(
    work: Callable[..., Made], parts: Iterable[tuple[Any, ...]], workers: int
) -> list[Made]:
    """
    Process all parts in parallel; return the results in order.

    Raises:
        UserError: A process was killed.
    """
    # multiprocessing.Pool waits for ever if one of its processes is killed.
    context = multiprocessing.get_context("spawn")
    try:
        with ProcessPoolExecutor(workers, context, _tie) as pool:
            return list(pool.map(work, *zip(*parts, strict=True)))
    except BrokenProcessPool as error:
        raise UserError("training: a process was killed: is there memory enough?") from error


def _tie() -> None:
    """End this process when its parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
