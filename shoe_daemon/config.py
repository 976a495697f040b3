"""Loads the configuration of a table: one TOML file, checked by types."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from drivers import Driver, LineSettings, OpensLine, check_url, find_driver, make_driver
from shoe_daemon.config_sections import (
    Config,
    JournalSettings,
    OrdersSettings,
    ReaderSettings,
    TableSettings,
    check_checkers,
    check_prefix,
    check_readers,
    check_seats,
    check_table,
)
from shoe_daemon.configured_files import note_missing_credential
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import DEFAULT_HOUSE, House, Policy, find_policy, load_house, load_house_file
from shoe_daemon.operators import Operators, load_operators
from shoe_daemon.round_end_mode import all_signals, round_end_of
from shoe_daemon.table import Options, RoundEnd
from shoe_daemon.toml_validation import convert_toml, plain_error

__all__ = [
    "SERVICE_CONFIGS",
    "SERVICE_STATE",
    "Config",
    "JournalSettings",
    "OrdersSettings",
    "ReaderSettings",
    "Reading",
    "Setup",
    "TableSettings",
    "load_config",
    "service_of",
    "set_up",
]

SERVICE_CONFIGS: Final = Path("/etc/shoe-daemon")
"""Configurations of ``shoe-daemon@.service``."""

SERVICE_STATE: Final = Path("/var/lib/shoe-daemon")
"""Its ``StateDirectory``, with the journals."""

_JOURNAL_NAME: Final = "journal.db"


class Reading(Struct, frozen=True):
    """A reader of a checked configuration."""

    id: str
    port: str
    driver: Driver
    line: LineSettings


class Setup(Struct, frozen=True):
    """
    A checked configuration, and everything that it names.

    Attributes:
        notes: Missing credentials that only the service has, while a person inspects.
        service: The unit instance of the journal; None for this process.
    """

    config: Config
    house: House
    policy: Policy
    journal: Path
    readers: tuple[Reading, ...]
    operators: Operators | None = None
    notes: tuple[str, ...] = ()
    service: str | None = None

    @property
    def options(self) -> Options:
        """The options of the table, as in its `session` observations."""
        table = self.config.table
        options = {name: getattr(table, name) for name in Options.__struct_fields__}
        readers = {reader.id: reader.driver.signals for reader in self.readers}
        others = table.signals or ()
        options["hold_from"] = table.hold_from or None
        options["reveal_after"] = table.reveal_after if table.reveal_on == "time" else None
        options["signals"] = all_signals(readers, others)
        if table.round_end is RoundEnd.AUTO and readers:
            options["round_end"] = round_end_of(readers, others, table.checkers)
        return Options(**options)


def load_config(path: Path, *, inspecting: bool = False) -> Setup:
    """
    Read and check a configuration, and everything that it names.

    Args:
        path: The file.
        inspecting: A person inspects it, outside the service: a missing credential is
            a note, and the journal's path is the service's.

    Raises:
        UserError: The first fault: file, key, value, what is expected.
    """
    try:
        # Some editors write a byte order mark.
        mapping = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {one_line(error)}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is no UTF-8; expected TOML") from error
    except ValueError as error:  # what tomllib raises
        raise UserError(f"{path}: {error}; expected TOML") from error
    service = service_of(path) if inspecting else None
    try:
        config = convert_toml(Config, mapping, str(path))
        return set_up(config, path.parent, inspecting=inspecting, service=service)
    except UserError as error:
        fault = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {_in_plain_words(fault)}") from error


def _in_plain_words(fault: str) -> str:
    """Replace a reader's index and the names of types by plain words."""
    fault = re.sub(r"^reader\.(\d+)[.:] ?", lambda found: f"reader {int(found[1]) + 1}: ", fault)
    return plain_error(fault)


def set_up(
    config: Config, beside: Path, *, inspecting: bool = False, service: str | None = None
) -> Setup:
    """
    Check houses, drivers and files, and load them.

    Args:
        config: The configuration.
        beside: The folder to which its paths are relative.
        inspecting: A missing credential that only the service has is a note, no error.
        service: The unit instance of the journal; None for this process.

    Raises:
        UserError: The first fault: key, value, what is expected.
    """
    notes: list[str] = []
    attempt = partial(note_missing_credential, notes, inspecting=inspecting)
    if config.mqtt is not None:
        with attempt():
            config.mqtt.password(beside)
        with attempt():
            config.mqtt.tls_context(beside)
        check_prefix(config, config.mqtt.prefix)
        config = replace(config, mqtt=config.mqtt.beside(beside))
    check_table(config.table)
    check_readers(config.reader)
    check_checkers(config.table, config.reader)
    house = _house(config.table, beside)
    check_seats(config.table, house)
    journal = _journal(config.journal, beside, service)
    operators = None
    with attempt():
        operators = _operators(config.orders, beside)
    return Setup(
        config,
        house,
        _policy(config.table, beside),
        journal,
        tuple(_reading(each, beside, journal, attempt) for each in config.reader),
        operators,
        tuple(notes),
        service,
    )


def _house(table: TableSettings, beside: Path) -> House:
    if table.house_file is not None and table.house is not None:
        raise UserError("table.house: given beside table.house_file; expected one of them")
    key = "house" if table.house_file is None else "house_file"
    try:
        if table.house_file is not None:
            return load_house_file(beside / table.house_file)
        return DEFAULT_HOUSE if table.house is None else load_house(table.house)
    except UserError as error:
        raise UserError(f"table.{key}: {error}") from error


def _policy(table: TableSettings, beside: Path) -> Policy:
    named = table.policy
    try:
        return find_policy(str(beside / named) if named.endswith(".toml") else named)
    except UserError as error:
        raise UserError(f"table.policy: {error}") from error


def _operators(orders: OrdersSettings, beside: Path) -> Operators | None:
    if orders.operators_file is None:
        return None
    try:
        return load_operators(orders.operators_file, beside)
    except UserError as error:
        raise error.at("orders.operators_file") from error


def service_of(path: Path) -> str | None:
    """
    Return the unit instance of a configuration: ``table-7`` for
    ``/etc/shoe-daemon/table-7.toml``; None for a file elsewhere.
    """
    is_unit = path.absolute().parent == SERVICE_CONFIGS and path.suffix == ".toml"
    return path.stem if is_unit else None


def _journal(journal: JournalSettings, beside: Path, service: str | None) -> Path:
    # systemd separates several folders by colons; ours is the first.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if not state and service is not None:
        state = str(SERVICE_STATE / service)
    if journal.path is None:
        return (Path(state) if state else beside) / _JOURNAL_NAME
    path = beside / journal.path
    # os.path, as the person may not be allowed to read a folder of the service.
    if not journal.path or os.path.isdir(path):  # noqa: PTH112
        raise UserError(f"journal.path: {journal.path!r}; expected a file's name")
    # systemd creates the service's folder when it starts.
    if not os.path.isdir(path.parent) and str(path.parent) != state:  # noqa: PTH112
        raise UserError(
            f"journal.path: {journal.path!r}; expected a folder that exists: {path.parent}"
        )
    return path


def _reading(
    reader: ReaderSettings,
    beside: Path,
    journal: Path,
    attempt: Callable[..., AbstractContextManager[None]],
) -> Reading:
    place = f"reader {reader.id!r}"
    try:
        kind = find_driver(reader.driver)
    except UserError as error:
        raise UserError(f"{place}: driver: {error}") from error
    options = convert_toml(kind.options_type, reader.options, f"{place}: options")
    about = f"{place}: driver {reader.driver!r}"
    driver = make_driver(kind, options, about, (beside, journal))
    try:
        with attempt(place=f"{place}: "):
            (driver.check_url if isinstance(driver, OpensLine) else check_url)(reader.port)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    line = convert_toml(LineSettings, asdict(driver.line) | reader.line, f"{place}: line")
    return Reading(reader.id, reader.port, driver, line)
