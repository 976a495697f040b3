"""
What the shoes of a journal tell of how they were shuffled: long sequences that
come again, and runs that lie as in a new deck.

Only shoes that are over are looked at. Detectors that stop a game while it is
dealt are patented (US 11,596,856 B2 is one); this is none, and is not to
become one by being run in a loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from shoe_daemon.game import CARDS_PER_DECK
from shoe_daemon.journal.journal_reader import JournalReader
from shoe_daemon.journal.read_only import looking_at
from shoe_daemon.report.card_order import CARD_EVENTS, CardFold
from shoe_daemon.report.integrity_model import Integrity, Skipped
from shoe_daemon.report.integrity_search import LIMIT, Shuffled, look_for_order, look_for_repeats
from shoe_daemon.report.shoe_composition import reshuffles
from shoe_daemon.report.shoe_events import Span, said_in, spans
from shoe_daemon.report.shuffle_probability import FACES, RANKS_ONLY
from shoe_daemon.table import ShoeFinished, ShoeStarted


def read_integrity(path: Path) -> Integrity:
    """
    Look over all shoes of a journal that are over.

    Raises:
        UserError: FILE is no journal.
    """
    skipped: list[Skipped] = []
    with looking_at(path) as reader:
        shoes = list(_shoes(reader, skipped))
        identity = reader.identity
    return search(identity.site, identity.table, shoes, skipped)


def search(
    site: str, table: str, shoes: Sequence[Shuffled], skipped: Sequence[Skipped] = ()
) -> Integrity:
    """Look over these shoes."""
    faces, known = look_for_repeats(shoes, FACES)
    ranks, _ = look_for_repeats(shoes, RANKS_ONLY, known)
    return Integrity(
        site=site,
        table=table,
        shoes=len(shoes),
        first_shoe=shoes[0].shoe if shoes else None,
        last_shoe=shoes[-1].shoe if shoes else None,
        cards=sum(len(shoe.cards) for shoe in shoes),
        skipped=tuple(skipped),
        limit=str(LIMIT),
        faces=faces,
        ranks=ranks,
        factory=look_for_order(shoes),
    )


def _shoes(reader: JournalReader, skipped: list[Skipped]) -> Iterator[Shuffled]:
    for span in spans(reader):
        shoe, house, finished = _read(reader, span)
        if span.end is None and not finished:
            skipped.append(Skipped(span.shoe, "it is still under way"))
        elif reshuffles(house) or len(shoe.cards) > shoe.decks * CARDS_PER_DECK:
            skipped.append(Skipped(span.shoe, "cards went back into it"))
        elif shoe.cards:
            yield shoe


def _read(reader: JournalReader, span: Span) -> tuple[Shuffled, str | None, bool]:
    fold, finished = CardFold(), False
    started = ShoeStarted(1, None, "")
    for said in said_in(reader, span, (*CARD_EVENTS, ShoeStarted.type, ShoeFinished.type)):
        fold.take(said)
        if isinstance(said.event.data, ShoeStarted):
            started = said.event.data
        finished = finished or isinstance(said.event.data, ShoeFinished)
    cards = [card for card in fold.finish() if not card.again]
    return Shuffled(span.shoe, started.decks, cards), started.house, finished
