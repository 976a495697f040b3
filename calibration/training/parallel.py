"""Parallel work in several processes."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from threading import Thread
from typing import Any, Final, TypeVar

import click

from shoe_daemon.errors import UserError

Made = TypeVar("Made")

_PROGRESS_INTERVAL_S: Final = 15.0


def together(
    work: Callable[..., Made], parts: Iterable[tuple[Any, ...]], workers: int
) -> list[Made]:
    """
    Process all parts in parallel; return the results in order.

    Long work prints its progress on stderr.

    Raises:
        UserError: A process was killed.
    """
    # multiprocessing.Pool waits for ever if one of its processes is killed.
    context = multiprocessing.get_context("spawn")
    given = list(parts)
    try:
        with ProcessPoolExecutor(workers, context, _tie) as pool:
            made = pool.map(work, *zip(*given, strict=True))
            return list(_with_progress(made, len(given), workers))
    except BrokenProcessPool as error:
        raise UserError("training: a process was killed: is there memory enough?") from error


def _with_progress(made: Iterable[Made], whole: int, workers: int) -> Iterator[Made]:
    """Print the progress when each worker has done the same number of parts."""
    began = told = time.monotonic()
    for number, each in enumerate(made, 1):
        yield each
        now = time.monotonic()
        if number % workers == 0 and now - told >= _PROGRESS_INTERVAL_S:
            told, left = now, (now - began) / number * (whole - number) / 60
            click.echo(f"{number} of {whole} parts, {left:.0f} min left", err=True)


def _tie() -> None:
    """End this process when its parent ends."""
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
