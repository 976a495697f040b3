"""Errors that a person can put right, and the text of any error on one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


class UserError(Exception):
    """
    An error that a person can put right: one line with the place and the fault. All errors of a
    configuration are a line each.

    The command line prints it as `shoe-daemon: …` and ends with `exit_status`
    (2 = invalid usage, configuration or input; 1 = the command found a fault).
    """

    def __init__(self, message: str, *, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status


@contextmanager
def errors_at(place: str) -> Iterator[None]:
    """Put a place before the message of a `UserError`."""
    try:
        yield
    except UserError as error:
        text = f"{place}: {error}".replace("\n", f"\n{place}: ")
        raise type(error)(text, exit_status=error.exit_status) from error


@contextmanager
def os_errors_at(place: object, *, exit_status: int = 2) -> Iterator[None]:
    """Raise an `OSError` as a `UserError` that begins with a place."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{place}: {one_line(error)}", exit_status=exit_status) from error


def one_line(error: BaseException) -> str:
    """
    Return the reason of an error on one line, without the number and the path that
    an `OSError` adds.
    """
    reason = getattr(error, "strerror", None) or str(error)
    return " ".join(reason.split()) or type(error).__name__


def describe_exception(error: BaseException) -> str:
    """Return the type and the message of an unexpected error."""
    return f"{type(error).__name__}: {error}"
