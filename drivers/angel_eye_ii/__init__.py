"""
Angel Eye II and II-EX: a shoe that reads each card as it is drawn, over RS-232.

In hidden mode it reports slots at once and faces at the end of the round, in open mode
both at once; the driver handles either without an option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from msgspec import Struct

from drivers.angel_eye_ii.codec import Shape, ShoeCommand, blank_reply, parse_report, split
from drivers.angel_eye_ii.decoder import AngelDecoder, AngelOptions, with_other_cards
from drivers.driver import Decoder, Driver, LineSettings, Maturity
from shoe_daemon.errors import UserError
from shoe_daemon.game import Card
from shoe_daemon.table.observations import Signal

__all__ = ["AngelEyeII", "AngelOptions"]


class AngelEyeII(Driver):
    """The driver ``angel-eye-ii``."""

    name: ClassVar[str] = "angel-eye-ii"
    line: ClassVar[LineSettings] = LineSettings(baudrate=4800)
    signals: ClassVar[tuple[Signal, ...]] = (
        Signal.SLOTS,
        Signal.RESULTS,
        Signal.FAULTS,
        Signal.CUT_CARD,
    )
    maturity: ClassVar[Maturity] = Maturity.PROVEN
    simulator: ClassVar[str] = "drivers.simulators.angel_eye:SimulatedAngelEye"
    options_type: ClassVar[type[Struct]] = AngelOptions
    options: AngelOptions

    def decoder(self) -> Decoder:
        """Return a new decoder."""
        return AngelDecoder(self.options)

    def anonymised(self, raw: bytes, permutation: Mapping[Card, Card]) -> bytes:
        """
        Return a frame with other cards: the face byte and the BCC change, hidden stays hidden.

        Noise may be a part of a frame, so nothing of it is shown: its checksum alone could tell
        the card.
        """
        piece = split(raw, answers=self.options.allow_commands)
        shape = piece.shape if piece and piece.length == len(raw) else Shape.NOISE
        match shape:
            case Shape.REPORT:
                return with_other_cards(parse_report(raw), permutation).to_bytes()
            case Shape.REPLY:
                return blank_reply(raw)
            case Shape.ACK:
                return raw
            case Shape.NAK:
                return raw[:1] + b"?"
        return b"?" * len(raw)

    def command(self, command: ShoeCommand) -> bytes:
        """Return the bytes of a command; a `UserError` if the options do not allow commands."""
        if not self.options.allow_commands:
            raise UserError("the shoe is only listened to: allow_commands is not set")
        return command.to_bytes(bcc_with_start=self.options.bcc_with_start)
