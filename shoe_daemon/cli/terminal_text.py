"""Rows of names and values, and progress, on the command line."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import click

__all__ = ["progress_of", "table_lines"]


def table_lines(rows: Iterable[tuple[str, str]], indent: str = "  ") -> Iterator[str]:
    """Yield names and values, the values below one another."""
    rows = list(rows)
    width = max(len(name) for name, _ in rows)
    yield from (f"{indent}{name:<{width}}  {value}" for name, value in rows)


@contextmanager
def progress_of(what: str) -> Iterator[Callable[[int, int], None]]:
    """Give a function that shows how much is done, where stderr is a terminal."""
    shown = sys.stderr.isatty()

    def show(done: int, total: int) -> None:
        if shown:
            share = 100 * done // max(total, 1)
            click.echo(f"\r{what}: {share:>3} %, {done:,} of {total:,}\x1b[K", nl=False, err=True)

    try:
        yield show
    finally:
        if shown:
            click.echo("\r\x1b[K", nl=False, err=True)
