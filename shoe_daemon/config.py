"""
The configuration of one table: one TOML file, checked by types.
"""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import asdict

from drivers.contract import Driver, LineSettings, OpensLine
from drivers.interface import make_driver
from drivers.registry import find_driver
from drivers.transport import check_url
from shoe_daemon.equipment import all_signals, round_end_of
from shoe_daemon.errors import UserError
from shoe_daemon.game.house import DEFAULT_HOUSE, House, load_house, load_house_file
from shoe_daemon.game.reading import in_plain_words, read_as
from shoe_daemon.game.rulings import DEFAULT_POLICY, Policy, find_policy
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.mqtt.topics import Topics
from shoe_daemon.operators import Operators, load_operators
from shoe_daemon.table.options import Options, RoundEnd

Name = Annotated[str, Meta(pattern="^[a-z0-9-]+$", max_length=40)]

_JOURNAL: Final = "journal.db"
_MOST_TEXT: Final = 100


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
    """

    config: Config
    house: House
    policy: Policy
    journal: Path
    readers: tuple[Reading, ...]
    operators: Operators | None = None

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


def load_config(path: Path) -> Setup:
    """
    Read and check a configuration, and everything that it names.

    Raises:
        UserError: The first thing wrong: file, key, what is, what is expected.
    """
    try:
        # Some editors put a mark before the first letter; it says nothing.
        mapping = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: byte {error.start} is no UTF-8; expected TOML") from error
    except ValueError as error:  # what tomllib raises
        raise UserError(f"{path}: {error}; expected TOML") from error
    try:
        return set_up(read_as(Config, mapping, str(path)), path.parent)
    except UserError as error:
        told = str(error).removeprefix(f"{path}: ")
        raise UserError(f"{path}: {_in_plain_words(told)}") from error


def _in_plain_words(told: str) -> str:
    """
    Say a reader's place, and types, in a person's words.
    """
    told = re.sub(r"^reader\.(\d+)[.:] ?", lambda found: f"reader {int(found[1]) + 1}: ", told)
    return in_plain_words(told)


def set_up(config: Config, beside: Path) -> Setup:
    """
    Check what a type cannot: houses, drivers, files.

    Args:
        config: The configuration.
        beside: The folder from which the paths in it start.

    Raises:
        UserError: Key, what is wrong, what is expected.
    """
    if config.mqtt is not None:
        config.mqtt.check()
        _check_prefix(config, config.mqtt.prefix)
    _check_table(config.table)
    _check_readers(config.reader)
    journal = _journal(config.journal, beside)
    return Setup(
        config,
        _house(config.table, beside),
        _policy(config.table, beside),
        journal,
        tuple(_reading(each, beside, journal) for each in config.reader),
        _operators(config.orders, beside),
    )


def _check_prefix(config: Config, prefix: str) -> None:
    try:
        Topics(config.site, config.table.id, prefix)
    except UserError as error:
        raise UserError(f"mqtt.prefix: {str(error).removeprefix('mqtt prefix ')}") from error


def _check_table(table: TableSettings) -> None:
    # What stands in `state` must leave room for the table itself.
    if table.timeless:
        raise UserError("table.timeless: true; expected nothing: it is for logs, not for tables")
    texts = [("table.name", table.name or "")]
    texts += [(f"table.limits.{key}", key + text) for key, text in table.limits.items()]
    for key, text in texts:
        if len(text) > _MOST_TEXT:
            raise UserError(f"{key}: {len(text)} characters; expected at most {_MOST_TEXT}")
    if len(table.limits) > 20:  # noqa: PLR2004 - there are fewer wagers
        raise UserError(f"table.limits: {len(table.limits)} entries; expected at most 20")


def _check_readers(readers: tuple[ReaderSettings, ...]) -> None:
    seen: set[str] = set()
    for number, reader in enumerate(readers, start=1):
        if reader.id in seen:
            raise UserError(
                f"reader {number}: id: {reader.id!r} is another reader's; expected each id once"
            )
        seen.add(reader.id)


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
        raise UserError(f"orders.operators_file: {error}") from error


def _journal(journal: JournalSettings, beside: Path) -> Path:
    if journal.path is not None:
        path = beside / journal.path
        if not journal.path or path.is_dir():
            raise UserError(f"journal.path: {journal.path!r}; expected a file's name")
        if not path.parent.is_dir():
            raise UserError(
                f"journal.path: {journal.path!r}; expected a folder that exists: {path.parent}"
            )
        return path
    # systemd gives several folders with colons between them; ours is the first.
    state = os.environ.get("STATE_DIRECTORY", "").partition(":")[0]
    return (Path(state) if state else beside) / _JOURNAL


def _reading(reader: ReaderSettings, beside: Path, journal: Path) -> Reading:
    place = f"reader {reader.id!r}"
    try:
        kind = find_driver(reader.driver)
    except UserError as error:
        raise UserError(f"{place}: driver: {error}") from error
    options = read_as(kind.options_type, reader.options, f"{place}: options")
    about = f"{place}: driver {reader.driver!r}"
    driver = make_driver(kind, options, about, (beside, journal))
    try:
        (driver.check_url if isinstance(driver, OpensLine) else check_url)(reader.port)
    except UserError as error:
        raise UserError(f"{place}: {error}") from error
    line = read_as(LineSettings, asdict(driver.line) | reader.line, f"{place}: line")
    return Reading(reader.id, reader.port, driver, line)
