"""Options of the Angel Eye driver."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

__all__ = ["AngelOptions"]


class AngelOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The options of the driver ``angel-eye-ii``.

    Attributes:
        repeat_interval:
            Seconds within which a second boot is a copy of the first. Two real
            boots that close, with nothing between them, mean the same as one.
        allow_commands:
            Whether commands may be sent to the shoe. Off: it is only listened to.
        bcc_with_start:
            Whether a command's BCC covers its STX. The specification's example
            has it in, its text leaves it out.
    """

    repeat_interval: Annotated[float, Meta(ge=0)] = 5.0
    allow_commands: bool = False
    bcc_with_start: bool = True
