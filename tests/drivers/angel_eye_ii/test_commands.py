"""
Commands are written in both forms of the checksum, read in either, and given
only to who has allowed them.
"""

from __future__ import annotations

import pytest

from drivers.angel_eye_ii import AngelEyeII, AngelOptions
from drivers.angel_eye_ii.codec import ShoeCommand
from shoe_daemon.errors import UserError

EXAMPLE = bytes.fromhex("02 4F 50 4C 4B 30 32 03 31 42")
LOCK = ShoeCommand("LK", 2)
OTHERS = [ShoeCommand("LK", 1), ShoeCommand("GP", 0), ShoeCommand("EC", 7), ShoeCommand("EC", 99)]


def test_the_example_of_the_specification() -> None:
    assert LOCK.to_bytes() == EXAMPLE
    assert LOCK.to_bytes(bcc_with_start=False) == EXAMPLE[:-2] + b"19"


@pytest.mark.parametrize("command", [LOCK, *OTHERS])
@pytest.mark.parametrize("with_start", [True, False])
def test_commands_are_read_as_written(command: ShoeCommand, *, with_start: bool) -> None:
    assert ShoeCommand.from_bytes(command.to_bytes(bcc_with_start=with_start)) == command


@pytest.mark.parametrize(
    "frame", [b"", EXAMPLE[:-1], EXAMPLE[:-1] + b"C", EXAMPLE.replace(b"O", b"Q"), EXAMPLE * 2]
)
def test_anything_else_is_no_command(frame: bytes) -> None:
    assert ShoeCommand.from_bytes(frame) is None


def test_a_driver_is_read_only_unless_told_otherwise() -> None:
    with pytest.raises(UserError, match="allow_commands"):
        AngelEyeII().command(LOCK)
    allowed = AngelEyeII(AngelOptions(allow_commands=True))
    assert allowed.command(LOCK) == EXAMPLE
    either = AngelEyeII(AngelOptions(allow_commands=True, bcc_with_start=False))
    assert either.command(LOCK)[-2:] == b"19"
