"""The table that a start of the daemon continues with."""

from __future__ import annotations

from shoe_daemon.errors import UserError
from shoe_daemon.journal.journal_reader import JournalReader
from shoe_daemon.table import Table


def fold_table(reader: JournalReader, *, before: int | None = None) -> Table:
    """
    Fold the table from the last checkpoint, or from nothing if this version cannot read it.

    `before` stops before that observation: the table with which a start continued then.
    """
    source = reader.fold_source(before=before)
    try:
        table = Table.restore(source.checkpoint) if source.checkpoint else Table()
    except UserError:
        source, table = reader.fold_source(from_nothing=True, before=before), Table()
    for observation in source.observations:
        table.apply(observation)
    return table
