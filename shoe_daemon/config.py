"""
The configuration of one table: one TOML file, checked by types.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict, replace

from drivers import Driver, LineSettings, OpensLine, check_url, find_driver, make_driver
from shoe_daemon.config_checks import (
    check_checkers,
    check_prefix,
    check_readers,
    check_seats,
    check_table,
)
from shoe_daemon.credential_files import note_missing_credential
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.game import (
    DEFAULT_HOUSE,
    DEFAULT_POLICY,
    House,
    Policy,
    find_policy,
    load_house,
    load_house_file,
)
from shoe_daemon.mqtt.mqtt_settings import MqttSettings
from shoe_daemon.operators import Operators, load_operators
from shoe_daemon.round_end_mode import all_signals, round_end_of
from shoe_daemon.table import Options, RoundEnd
from shoe_daemon.toml_validation import in_plain_words, read_as

Name = Annotated[str, Meta(pattern="^[a-z0-9-]+$", max_length=40)]

SERVICE_CONFIGS: Final = Path("/etc/shoe-daemon")
"""Where ``shoe-daemon@.service`` reads its configurations."""

SERVICE_STATE: Final = Path("/var/lib/shoe-daemon")
"""Where it keeps its journals: its ``StateDirectory``."""

_JOURNAL: Final = "journal.db"


class TableSettings(Options, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[table]``: the table, and every option of `Options`.

    Attributes:
        id: In topics and events.
        house: One of `rules list`; None for no house.
        house_file: A house of one's own, in the form of the built-in ones.
        policy: Whose rulings are proposed: one of `rules policy --list`, or a
            file of one's own, ``….toml``.
        hold_from: The severity from which an open irregularity holds the result
            back until a person has acknowledged it; 0 never does.
        reveal_on: ``time``, `reveal_after` seconds after the fourth card, or
            ``signal``, where the table has one.
    """

    id: Name = "table"
    house: str | None = None
    house_file: str | None = None
    policy: str = DEFAULT_POLICY
    # TOML has no null, and at a table there is a person to acknowledge.
    hold_from: Annotated[int, Meta(ge=0, le=5)] = 3
    reveal_on: Literal["time", "signal"] = "time"


class JournalSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[journal]``.

    Attributes:
        path: None for ``journal.db`` in the state directory that systemd gives,
            or beside the configuration.
    """

    path: str | None = None


class OrdersSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[orders]``: who may give orders.

    Attributes:
        operators_file: Operators, their roles and PINs; None asks nobody for one.
            Without a leading slash, among the unit's credentials first.
        operator_in_topic: An order to ``cmd/<verb>/<operator>`` is by that operator:
            the broker must let everybody write their own name only.
    """

    operators_file: str | None = None
    operator_in_topic: bool = False


class ReaderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[reader]]``.

    Attributes:
        id: In topics and in `source`.
        driver: The profile, such as ``angel-eye-ii``.
        port: A device, ``socket://host:port``, ``rfc2217://`` or ``file:``; for a
            camera ``camera:…``.
        line: What differs from the driver's usual serial settings.
        options: The driver's own.
    """

    driver: str
    port: str
    id: Name = "shoe"
    line: dict[str, Any] = {}
    options: dict[str, Any] = {}


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The whole file.

    Attributes:
        site: Where the table stands, in topics and events.
        table: The table.
        journal: What it remembers by.
        mqtt: The broker; None publishes nothing.
        orders: Who may give orders.
        reader: Its readers.
    """

    site: Name
    table: TableSettings = TableSettings()
    journal: JournalSettings = JournalSettings()
    mqtt: MqttSettings | None = None
    orders: OrdersSettings = OrdersSettings()
    reader: tuple[ReaderSettings, ...] = ()


class Reading(Struct, frozen=True):
    """
    A reader, ready to be opened.
    """

    id: str
    port: str
    driver: Driver
    line: LineSettings


class Setup(Struct, frozen=True):
    """
    A configuration that has been checked, and all that it names.

    Attributes:
        notes: Credentials that only the service has, where a person checks.
        service: The instance of the unit that keeps the journal; None for this process.
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
        """
        The options of the table, as its sessions carry them.
        """
        table = self.config.table
        told = {name: getattr(table, name) for name in Options.__struct_fields__}
        readers = {reader.id: reader.driver.signals for reader in self.readers}
        others = table.signals or ()
        told["hold_from"] = table.hold_from or None
        told["reveal_after"] = table.reveal_after if table.reveal_on == "time" else None
        told["signals"] = all_signals(readers, others)
        if table.round_end is RoundEnd.AUTO and readers:
            told["round_end"] = round_end_of(readers, others, table.checkers)
        return Options(**told)


def load_config(path: Path, *, inspecting: bool = False) -> Setup:
    """
    Read and check a configuration, and everything that it names.

    Args:
        path: The file.
        inspecting: A person checks it, outside the service: a credential that only the
            service has is a note, and the journal's path is the service's.

    Raises:
        UserError: The first thing wrong: file, key, what is, what is expected.
    """
    try:
        # Some editors put a mark before the first letter; it says nothing.
        mapping = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {one_line(error)}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is no UTF-8; expected TOML") from error
    except ValueError as error:  # what tomllib raises
        raise UserError(f"{path}: {error}; expected TOML") from error
    service = service_of(path) if inspecting else None
    try:
        config = read_as(Config, mapping, str(path))
        return set_up(config, path.parent, inspecting=inspecting, service=service)
    except UserError as error:
        told = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {_in_plain_words(told)}") from error


def _in_plain_words(told: str) -> str:
    """
    Say a reader's place, and types, in a person's words.
    """
    told = re.sub(r"^reader\.(\d+)[.:] ?", lambda found: f"reader {int(found[1]) + 1}: ", told)
    return in_plain_words(told)


def set_up(
    config: Config, beside: Path, *, inspecting: bool = False, service: str | None = None
) -> Setup:
    """
    Check what a type cannot: houses, drivers, files.

    Args:
        config: The configuration.
        beside: The folder from which the paths in it start.
        inspecting: A credential that only the service has is a note, no error.
        service: The instance of the unit whose journal this is; None for this process.

    Raises:
        UserError: Key, what is wrong, what is expected.
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
    Return the instance of the unit that runs with a configuration: ``table-7`` for
    ``/etc/shoe-daemon/table-7.toml``; None for a file elsewhere.
    """
    is_unit = path.absolute().parent == SERVICE_CONFIGS and path.suffix == ".toml"
    return path.stem if is_unit else None


def _journal(journal: JournalSettings, beside: Path, service: str | None) -> Path:
    # systemd gives several folders with colons between them; ours is the first.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    if not state and service is not None:
        state = str(SERVICE_STATE / service)
    if journal.path is None:
        return (Path(state) if state else beside) / _JOURNAL
    path = beside / journal.path
    # os.path, as a folder of the service may be closed to the person who checks.
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
    options = read_as(kind.options_type, reader.options, f"{place}: options")
    about = f"{place}: driver {reader.driver!r}"
    driver = make_driver(kind, options, about, (beside, journal))
    try:
        with attempt(place=f"{place}: "):
            (driver.check_url if isinstance(driver, OpensLine) else check_url)(reader.port)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    line = read_as(LineSettings, asdict(driver.line) | reader.line, f"{place}: line")
    return Reading(reader.id, reader.port, driver, line)
