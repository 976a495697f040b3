"""Takes a table away: all that `init` wrote for it, and after the last table what they shared."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from shoe_daemon.errors import UserError
from shoe_daemon.install.answers import Answers, default_answers
from shoe_daemon.install.changes import ACCOUNTS, RIGHTS, account_names_of, read_text
from shoe_daemon.install.files import Change, Record, compare, heading, removals, write
from shoe_daemon.install.mosquitto import account_names, without_accounts, without_tables
from shoe_daemon.install.plan import (
    CONFIGS,
    EVIDENCE,
    MOSQUITTO,
    UNITS,
    PlannedFile,
    kiosk_file,
)
from shoe_daemon.journal.signatures import KEY_NAME, PUBLIC_NAME
from shoe_daemon.settings.files import ENCRYPTED_SUFFIX

_KEPT: Final = tuple(f"{CONFIGS}/{name}" for name in (KEY_NAME, PUBLIC_NAME))
"""The journals stay, and what signs and verifies them."""


class Removal(Struct, frozen=True):
    """
    Everything that is about to be removed.

    Attributes:
        answers: The last answers for the table.
        root: The root folder of the computer.
        changes: All files, those that stay too.
        kept: What stays, and where a person has to remove the table, a line each.
        is_last: It is the last table of this computer.
    """

    answers: Answers
    root: Path
    changes: list[Change]
    kept: list[str]
    is_last: bool

    def description(self) -> Iterator[str]:
        """Yield the lines that name all changes."""
        yield from map(heading, self.changes)
        yield from self.kept

    @property
    def units(self) -> list[str]:
        """The units that are stopped, as far as they run."""
        table = self.answers.table
        kinds = ("daemon", "simulator", "forward")
        units = [f"shoe-{kind}@{table}.service" for kind in kinds]
        return [*units, "shoe-kiosk.service", "shoe-display.service"] if self.is_last else units

    @property
    def outdated(self) -> list[str]:
        """The units that read what has changed, and run on."""
        changed = {each.file.path for each in self.changes if each.action != "kept"}
        units = ["mosquitto.service"] if ACCOUNTS in changed else []
        if any("shoe-kiosk" in path for path in changed) and not self.is_last:
            units.append("shoe-kiosk.service")
        return units

    def write(self, record: Record) -> None:
        """
        Remove and change all files, and write the record of them.

        Raises:
            UserError: A file cannot be removed or written.
        """
        settings = _answers_after(record, self.answers.table)
        record.answers.pop(self.answers.table)
        if settings is not None:
            record.answers[settings.table] = settings
        write(self.root, self.changes, record)


def prepare_removal(table: str | None, root: Path, record: Record) -> Removal:
    """
    Return all changes that take a table away. Nothing is written.

    Raises:
        UserError: There is no such table, or an existing file cannot be read.
    """
    answers = record.answers.get(table or "")
    if answers is None:
        known = ", ".join(record.answers) or "none"
        raise UserError(
            f"table: {table!r}; expected --table with one that init installed: {known}"
        )
    is_last = len(record.answers) == 1
    accounts = _accounts(answers, root, is_last=is_last)
    paths = [path for path in record.hashes if _is_own(path, answers.table)]
    if is_last:
        paths += [path for path in record.hashes if _is_shared(path, accounts)]
    paths += [f"{CONFIGS}/{name}.password{ENCRYPTED_SUFFIX}" for name in accounts]
    changes = list(removals(root, dict.fromkeys(paths), record))
    removed = {each.file.path for each in changes}
    if answers.has_broker and ACCOUNTS not in removed:
        changes += _broker_changes(root, record, accounts, answers.table)
    settings = _answers_after(record, answers.table)
    if settings is not None and (file := kiosk_file(settings)) is not None:
        changes += compare(root, [file], record)
    kept = [*_kept(answers, root), *_places(answers, root, removed)]
    return Removal(answers, root, changes, kept, is_last)


def _is_own(path: str, table: str) -> bool:
    """Return whether a file belongs to one table alone."""
    units = tuple(f"{UNITS}/shoe-{kind}@{table}.service.d/" for kind in ("daemon", "simulator"))
    names = (f"{CONFIGS}/{table}.toml", f"{CONFIGS}/{table}.password")
    return path in names or path.startswith(units)


def _is_shared(path: str, accounts: Collection[str]) -> bool:
    """Return whether a file of all tables goes with the last one and with these accounts."""
    if path.startswith(f"{MOSQUITTO}/"):
        return "board" in accounts or "pit" in accounts
    name = Path(path).name
    return path not in _KEPT and (
        not name.endswith(".password") or name.removesuffix(".password") in accounts
    )


def _accounts(answers: Answers, root: Path, *, is_last: bool) -> list[str]:
    """
    Return the accounts that end: that of the table, and after the last table all that `init`
    made, unless the broker has accounts of others, who may read by these.
    """
    if not is_last:
        return [answers.table]
    all_of_init = account_names_of(answers)
    others = set(account_names(read_text(root, ACCOUNTS) or "")) - set(all_of_init)
    return [answers.table] if others else all_of_init


def _broker_changes(
    root: Path, record: Record, accounts: Collection[str], table: str
) -> Iterator[Change]:
    """Yield the changes that take accounts and the table's rights from a broker that stays."""
    if (before := read_text(root, ACCOUNTS)) is not None:
        text = without_accounts(before, accounts)
        file = PlannedFile(ACCOUNTS, text, 0o640, "mosquitto", secret=True)
        yield Change(file, "unchanged" if text == before else "changed", before)
    if (before := read_text(root, RIGHTS)) is not None:
        file = PlannedFile(RIGHTS, without_tables(before, [table]))
        (change,) = compare(root, [file], record)
        yield change if change.action != "edited" else Change(file, "amended", before)


def _answers_after(record: Record, table: str) -> Answers | None:
    """Return the last answers without a table: the boards stay as they are; None without any."""
    others = [each for each in record.answers if each != table]
    return default_answers(others[-1], record.answers) if others else None


def _kept(answers: Answers, root: Path) -> Iterator[str]:
    """Yield what stays: the journal, its keys, and what calibration and cameras have made."""
    journal = f"/var/lib/shoe-daemon/{answers.table}"
    own = [
        f"{CONFIGS}/{answers.table}-camera.toml",
        f"{EVIDENCE}/{answers.site}.{answers.table}",
    ]
    for path in (journal, *(each for each in own if (root / each.lstrip("/")).exists())):
        yield f"stays     {path}{'/journal.db' if path == journal else ''}"


def _places(answers: Answers, root: Path, removed: Collection[str]) -> Iterator[str]:
    """Yield the files of a person that name the table in another configuration."""
    name = re.compile(rf"""["'](?:{answers.site}\.)?{answers.table}["']""")
    for file in ("display.toml", "notify.toml"):
        path = f"{CONFIGS}/{file}"
        if path not in removed and name.search(read_text(root, path) or ""):
            yield f"stays     {path}: it names {answers.table}; remove that by hand"
