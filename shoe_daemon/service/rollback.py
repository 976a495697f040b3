"""
Finds out whether the journal went back: an older copy was put in its place, so that numbers of
events that were published would be used again.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import structlog

from shoe_daemon.journal.signatures import Signer, Statement, covers, own_statement
from shoe_daemon.mqtt.documents import SignatureLast
from shoe_daemon.mqtt.own_status import read_status
from shoe_daemon.mqtt.topics import SIGNATURE, STATUS
from shoe_daemon.service.core import Core
from shoe_daemon.table import Event, make_detail

if TYPE_CHECKING:
    from shoe_daemon.mqtt.publisher import Publisher

_log = structlog.get_logger(__name__)

MAX_JUMP: Final = 1_000_000
"""Numbers that are skipped at most; a higher one is not followed."""

UNSIGNED: Final = 10_000
"""More events than a table causes between two signatures."""

_decode = msgspec.json.Decoder(SignatureLast).decode


class _Proof(NamedTuple):
    """Events up to `published` were published, and those after `cursor` by another journal."""

    published: int
    cursor: int


class Rollback:
    """
    Compares the journal with what the broker had retained before this start: `compare` on the
    publisher's thread, everything else on the core's.

    Attributes:
        publisher: Waits after a proof; set before its start.
    """

    def __init__(self, core: Core, signer: Signer | None, cursor: int) -> None:
        """
        Args:
            core: Before it journals this start.
            signer: The journal's key; None without one.
            cursor: All events up to this one were published.
        """
        self.publisher: Publisher | None = None
        self._core, self._signer, self._cursor = core, signer, cursor
        self._seq = core.journal.head.seq
        self._proof: _Proof | None = None

    def compare(self, copies: Mapping[str, bytes]) -> bool:
        """Return whether to publish now; otherwise the publisher begins after `check`."""
        signed = self._signed(copies.get(SIGNATURE))
        status = read_status(copies.get(STATUS, b""))
        if signed is not None:
            if signed.seq - self._core.journal.head.seq <= MAX_JUMP:
                self._proof = _Proof(signed.seq, self._cursor)
                return False
            self._report(signed.seq)
        elif status is not None and status.seq > self._seq:
            self._report(status.seq)
        return True

    def check(self) -> list[Event]:
        """
        Journal a gap after a proof: the next event has a number that was not published.

        Raises:
            JournalUnwritable: To be called again.
        """
        proof = self._proof
        if proof is None:
            return []
        next_seq = max(proof.published + UNSIGNED, self._core.journal.head.seq) + 1
        events = self._core.skip_numbers(next_seq, published=proof.cursor)
        self._proof = None
        self._report(proof.published, next_seq)
        if self.publisher is not None:
            self.publisher.begin(next_seq - 1)
        return events

    def _signed(self, document: bytes | None) -> Statement | None:
        """Return a statement by the journal's own key that the journal does not fulfil."""
        if self._signer is None or document is None:
            return None
        identity = self._core.journal.identity
        try:
            last = _decode(document)
            signature = bytes.fromhex(last.signature)
        except (msgspec.DecodeError, ValueError):
            return None
        said = own_statement(self._signer, identity, last.signed.encode(), signature)
        if said is None:
            return None
        with self._core.journal.reader() as reader:
            return None if covers(reader.connection, said) else said

    def _report(self, published: int, next_seq: int | None = None) -> None:
        _log.critical("journal_went_back", seq=self._seq, published=published, next_seq=next_seq)
        self._core.notice = make_detail(
            "journal_went_back", seq=self._seq, published=published, next_seq=next_seq
        )
