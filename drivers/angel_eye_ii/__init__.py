"""
Angel Eye II and II-EX: a shoe that reads each card as it is drawn, over RS-232.

In hidden mode it reports slots at once and faces at the end of the round, in open mode
both at once; the driver handles either without an option.
"""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from drivers.angel_eye_ii.decoder import AngelDecoder, AngelOptions
from drivers.angel_eye_ii.frame_codec import ShoeCommand
from drivers.driver_interface import Decoder, LineSettings
from shoe_daemon.errors import UserError
from shoe_daemon.table.observations import Signal

__all__ = ["AngelEyeII", "AngelOptions"]


class AngelEyeII:
    """The driver ``angel-eye-ii``."""

    name: ClassVar[str] = "angel-eye-ii"
    line: ClassVar[LineSettings] = LineSettings(baudrate=4800)
    signals: ClassVar[tuple[Signal, ...]] = (
        Signal.SLOTS,
        Signal.RESULTS,
        Signal.FAULTS,
        Signal.CUT_CARD,
    )
    options_type: ClassVar[type[Struct]] = AngelOptions

    def __init__(self, options: Struct | None = None) -> None:
        options = AngelOptions() if options is None else options
        if not isinstance(options, AngelOptions):
            raise TypeError(f"options of {type(options).__name__}, not of AngelOptions")
        self._options = options

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        return AngelDecoder(self._options)

    def command(self, command: ShoeCommand) -> bytes:
        """
        Return the bytes of a command.

        Raises:
            UserError: The options do not allow commands.
        """
        if not self._options.allow_commands:
            raise UserError("the shoe is only listened to: allow_commands is not set")
        return command.to_bytes(bcc_with_start=self._options.bcc_with_start)
