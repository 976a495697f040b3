"""The sections of a table's configuration, and checks that types cannot express."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from msgspec import Meta, Struct

from drivers import ForwardTarget
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.game import DEFAULT_POLICY, House
from shoe_daemon.lamps.config import LampSettings, check_lamps
from shoe_daemon.mqtt.settings import MqttSettings
from shoe_daemon.settings.loader import Loader
from shoe_daemon.settings.toml import Name
from shoe_daemon.table import Options
from shoe_daemon.witness.config import WitnessSettings, check_witnesses

_MAX_TEXT: Final = 100
_MAX_LIMITS: Final = 20


class TableSettings(Options, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[table]``: the table, and every option of `Options`.

    Attributes:
        id: The table's id in topics and events.
        house: A house of `rules list`; None for the default rules.
        house_file: A house in a file, in the form of the built-in ones.
        policy: The policy whose rulings are proposed: one of `rules policy --list`,
            or a file ``….toml``.
        hold_from: The severity from which an open irregularity holds the result
            until a person has acknowledged it; 0 for never.
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
        path: None for ``journal.db`` in systemd's state directory, or in the
            configuration's folder.
        key_file: The private key of `journal keygen`, with which the journal is
            signed; None to sign nothing. Looked up as `operators_file`.
        days: Shoes that ended more than so many days ago are removed; None keeps all.
    """

    path: str | None = None
    key_file: str | None = None
    days: Annotated[int, Meta(ge=1, le=36_500)] | None = None


class OrdersSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[orders]``: who may give commands.

    Attributes:
        operators_file: Operators, their roles and PINs; None for no PINs. Without a
            leading slash, it is looked up among the unit's credentials first.
        operator_in_topic: A command to ``cmd/<verb>/<operator>`` is by that operator:
            the broker must let everybody publish under their own name only.
        allow_plain_pins: PINs are taken over a network without TLS, where others can read
            them: for laboratories.
    """

    operators_file: str | None = None
    operator_in_topic: bool = False
    allow_plain_pins: bool = False


class MetricsSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[metrics]``: files about the daemon, written again every ten seconds.

    Attributes:
        textfile: Figures for Prometheus, by node_exporter's textfile collector; None for none.
            Its name ends in ``.prom``. Needs the extra `metrics`.
        health_file: The state of the daemon as JSON; None for none.
    """

    textfile: str | None = None
    health_file: str | None = None


class ForwardSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[reader.forward]``: a copy of what the reader sends, one way.

    Attributes:
        to: A serial port's path, or ``tcp://HOST:PORT``, at which this computer listens.
        open_to_network: Whether the address may be one that other computers reach: they then
            see cards before the players do.
        line: Changes to the serial settings, which are those of the reader.
    """

    to: str
    open_to_network: bool = False
    line: dict[str, Any] = {}


class DatabaseSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    Section ``[forward]``: where `shoe-daemon forward` copies the journal.

    Attributes:
        database: A connection string of libpq, without a password; several hosts are tried in
            their order.
        every: Seconds between two looks for new events.
        password_file: Its first line is the password; looked up as `operators_file`.
        textfile: Figures for Prometheus, as `MetricsSettings.textfile`; None for none.
    """

    database: Annotated[str, Meta(min_length=1)]
    every: Annotated[int, Meta(ge=1, le=30)] = 5
    password_file: str | None = None
    textfile: str | None = None


class ReaderSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    One ``[[reader]]``.

    Attributes:
        id: The reader's id in topics and in `source`.
        driver: The driver's name, such as ``angel-eye-ii``.
        port: A device, ``socket://host:port``, ``rfc2217://`` or ``file:``; for a
            camera ``camera:…``.
        line: Changes to the driver's serial settings.
        options: Options of the driver.
        forward: A copy of what the reader sends; None for none.
    """

    driver: str
    port: str
    id: Name = "shoe"
    line: dict[str, Any] = {}
    options: dict[str, Any] = {}
    forward: ForwardSettings | None = None


class Config(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """
    The whole file.

    Attributes:
        site: The site's id in topics and events.
        table: The table.
        journal: The journal.
        mqtt: The broker; None to publish nothing.
        orders: The operators.
        metrics: Files for monitoring.
        forward: The database of the back office; None for none.
        reader: The readers.
        lamp: The lamps that show open irregularities.
        witness: The cameras whose video is kept when something is disputed.
    """

    site: Name
    table: TableSettings = TableSettings()
    journal: JournalSettings = JournalSettings()
    mqtt: MqttSettings | None = None
    orders: OrdersSettings = OrdersSettings()
    metrics: MetricsSettings = MetricsSettings()
    forward: DatabaseSettings | None = None
    reader: tuple[ReaderSettings, ...] = ()
    lamp: tuple[LampSettings, ...] = ()
    witness: tuple[WitnessSettings, ...] = ()


def check_sections(config: Config, loader: Loader) -> None:
    """
    Check the prefix of topics, the table's texts, the readers' ids and ports, their copies, the
    checkers, the lamps and the witnesses.
    """
    mqtt, owners = config.mqtt, dict[str, str]()
    if mqtt is not None:
        loader.take(mqtt.check_prefix)
    _check_texts(config.table, loader)
    _check_readers(config.reader, owners, loader)
    for number, reader in enumerate(config.reader, start=1):
        with loader.check(), errors_at(f"reader {number}"):
            _check_forward(reader, owners)
    loader.take(_check_checkers, config.table, config.reader)
    check_lamps(config.lamp, mqtt, loader)
    for number, lamp in enumerate(config.lamp, start=1):
        if lamp.relay is not None:
            with loader.check(), errors_at(f"lamp {number}: relay"):
                # Two lamps on one line are found already.
                _claim_line(dict(owners), lamp.relay, f"lamp {lamp.id!r}")
    readers = [(reader.id, reader.driver, reader.port) for reader in config.reader]
    check_witnesses(config.witness, readers, loader)


def _check_texts(table: TableSettings, loader: Loader) -> None:
    """Check the length of a table's texts, which must fit into `state`."""
    texts = [("table.name", table.name or "")]
    texts += [(f"table.limits.{key}", key + text) for key, text in table.limits.items()]
    for key, text in texts:
        with loader.check():
            if len(text) > _MAX_TEXT:
                raise UserError(f"{key}: {len(text)} characters; expected at most {_MAX_TEXT}")
    with loader.check():
        if len(table.limits) > _MAX_LIMITS:
            raise UserError(
                f"table.limits: {len(table.limits)} entries; expected at most {_MAX_LIMITS}"
            )
    with loader.check():
        if table.timeless:
            raise UserError(
                "table.timeless: true; expected nothing: it is for logs, not for tables"
            )


def _check_readers(
    readers: Sequence[ReaderSettings], owners: dict[str, str], loader: Loader
) -> None:
    """Check that each reader has an id and a port of its own."""
    seen: set[str] = set()
    for number, reader in enumerate(readers, start=1):
        with loader.check(), errors_at(f"reader {number}"):
            if reader.id in seen:
                raise UserError(f"id: {reader.id!r} is another reader's; expected each id once")
            seen.add(reader.id)
            with errors_at("port"):
                _claim_line(owners, reader.port, f"reader {reader.id!r}")


def _check_forward(reader: ReaderSettings, owners: dict[str, str]) -> None:
    """Check where a reader is copied to: a line of its own, and the network only on demand."""
    if reader.forward is None:
        return
    to = reader.forward.to
    target = ForwardTarget(to)
    with errors_at("forward.to"):
        target.check()
        if target.is_open_to_network and not reader.forward.open_to_network:
            raise UserError(
                f"{to!r}: other computers would see cards before the players do; "
                "expected tcp://127.0.0.1:PORT, or open_to_network = true"
            )
        if not (target.is_tcp and reader.forward.line):
            _claim_line(owners, to, f"the copy of reader {reader.id!r}")
            return
    raise UserError(f"forward.line: given with {to!r}; expected it with a serial port only")


def _claim_line(owners: dict[str, str], port: str, owner: str) -> None:
    """Note the owner of a line; a line has one reader, one copy of a reader, or one lamp."""
    other = owners.setdefault(_line(port), owner)
    if other != owner:
        raise UserError(f"{port!r} is the line of {other} too; expected each line once")


def _line(port: str) -> str:
    # Two paths of one device are one line; other urls stay as they are.
    scheme, colon, path = port.rpartition(":") if ":/" in port else ("", "", port)
    return f"{scheme}{colon}{os.path.realpath(path)}" if path[:1] == "/" != path[1:2] else port


def _check_checkers(table: TableSettings, readers: Sequence[ReaderSettings]) -> None:
    """Check that every checker is a reader, and that another reader deals the cards."""
    names = [reader.id for reader in readers]
    for checker in table.checkers:
        if checker not in names:
            known = ", ".join(names) or "none"
            raise UserError(f"table.checkers: {checker!r}; expected ids of readers: {known}")
    if table.checkers and not set(names) - set(table.checkers):
        raise UserError("table.checkers: all readers; expected at least one that deals the cards")


def check_seats(table: TableSettings, house: House) -> None:
    """
    Check that seats are configured only where players draw the cards.

    Raises:
        UserError: The house has no curator.
    """
    if table.seats and not house.curator.on:
        raise UserError(
            f"table.seats: {list(table.seats)}; expected none: in the house {house.name!r} "
            "players do not draw the cards (no curator)"
        )
