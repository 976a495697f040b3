"""
What is told to a person in one line, without a traceback.
"""

from __future__ import annotations

from typing import Self

__all__ = ["UserError"]


class UserError(Exception):
    """
    Something that a person can put right: one line naming the place and what is wrong.

    The command line prints it as `shoe-daemon: …` and ends with `exit_status`
    (2 = bad usage, configuration or input; 1 = the work itself found a fault).
    """

    def __init__(self, message: str, *, exit_status: int = 2) -> None:
        super().__init__(message)
        self.exit_status = exit_status

    def at(self, place: str) -> Self:
        """
        Return the same error with a place before its message.
        """
        return type(self)(f"{place}: {self}", exit_status=self.exit_status)
