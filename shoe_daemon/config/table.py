"""Loads the configuration of a table: one TOML file, checked by types."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from drivers import (
    Driver,
    ForwardTarget,
    LineSettings,
    check_url,
    find_driver,
    make_driver,
)
from shoe_daemon.config.sections import (
    Config,
    DatabaseSettings,
    JournalSettings,
    MetricsSettings,
    ReaderSettings,
    TableSettings,
    check_seats,
    check_sections,
)
from shoe_daemon.errors import UserError, errors_at
from shoe_daemon.game import DEFAULT_HOUSE, House, Policy, find_policy, load_house, load_house_file
from shoe_daemon.journal.signatures import Signer
from shoe_daemon.lamps.config import check_installed
from shoe_daemon.operators import Operators
from shoe_daemon.postgres import check_database
from shoe_daemon.settings.files import find_credential
from shoe_daemon.settings.loader import Loader, has_section, load_config_file
from shoe_daemon.settings.toml import convert_toml
from shoe_daemon.table import Options, RoundEnd, Signal, automatic_round_end
from shoe_daemon.witness.config import check_video_installed

SERVICE_CONFIGS: Final = Path("/etc/shoe-daemon")
"""Configurations of ``shoe-daemon@.service``."""

SERVICE_STATE: Final = Path("/var/lib/shoe-daemon")
"""Its ``StateDirectory``, with the journals."""

SERVICE_RUNTIME: Final = Path("/run/shoe-daemon")
"""Its ``RuntimeDirectory``: files that everybody may read, while it runs."""

_JOURNAL_NAME: Final = "journal.db"

Signals = Collection[Signal]


class Reading(Struct, frozen=True):
    """A reader of a checked configuration, and where it is copied to, if it is."""

    id: str
    port: str
    driver: Driver
    line: LineSettings
    forward: ForwardTarget | None = None


class Setup(Struct, frozen=True):
    """
    A checked configuration, and everything that it names.

    Attributes:
        notes: Missing credentials that only the service has, while a person inspects.
        service: The unit instance of the journal; None for this process.
        signer: The key that signs the journal; None without one.
        faults: Files that cannot be used, and without which the table is still read.
        beside: The folder to which the configuration's paths are relative.
    """

    config: Config
    house: House
    policy: Policy
    journal: Path
    readers: tuple[Reading, ...]
    operators: Operators | None = None
    notes: tuple[str, ...] = ()
    service: str | None = None
    signer: Signer | None = None
    faults: tuple[str, ...] = ()
    beside: Path = Path()

    @property
    def refuses_pins(self) -> bool:
        """True if PINs would come over a network without TLS, and that is not allowed."""
        mqtt = self.config.mqtt
        return mqtt is not None and mqtt.is_plain and not self.config.orders.allow_plain_pins

    @property
    def options(self) -> Options:
        """The options of the table, as in its `session` observations."""
        table = self.config.table
        options = {name: getattr(table, name) for name in Options.__struct_fields__}
        readers = {reader.id: reader.driver.signals for reader in self.readers}
        others = table.signals or ()
        options["hold_from"] = table.hold_from or None
        options["reveal_after"] = table.reveal_after if table.reveal_on == "time" else None
        options["signals"] = tuple(sorted(set(others).union(*readers.values())))
        if table.round_end is RoundEnd.AUTO and readers:
            options["round_end"] = round_end_of(readers, others, table.checkers)
        return Options(**options)


def round_end_of(
    readers: Mapping[str, Signals], others: Signals, checkers: Collection[str]
) -> RoundEnd:
    """
    Return the mode that ``auto`` stands for with these readers.

    Only a reader that deals the cards makes it `device`; a checker does not deal, nor
    does a camera that confirms cards of another reader. `others` are the signals of the
    table's other equipment.
    """
    main = [signals for name, signals in readers.items() if name not in checkers]
    dealing = [signals for signals in main if not _only_places(signals)]
    slots = any(Signal.SLOTS in signals for signals in (*dealing, others))
    placed = not dealing and any(_only_places(signals) for signals in main)
    results = any(Signal.RESULTS in signals for signals in (*readers.values(), others))
    return automatic_round_end(slots=slots or placed, results=results)


def _only_places(signals: Signals) -> bool:
    return Signal.PLACEMENT in signals and Signal.SLOTS not in signals


def load_config(path: Path, *, inspecting: bool = False, serving: bool = False) -> Setup:
    """
    Read and check a configuration, and everything that it names.

    Args:
        path: The file.
        inspecting: A person inspects it, outside the service: a missing credential is
            a note, and the journal's path is the service's.
        serving: The daemon starts: a fault of the key that signs the journal, of the
            broker's files or of `[metrics]` is one of `Setup.faults`, and one of the operators
            file is in `Setup.operators`, so that the table is still read.

    Raises:
        UserError: All errors, each on a line: file, key, value, what is expected.
    """
    service = service_of(path) if inspecting else None
    loaded = partial(
        set_up, beside=path.parent, inspecting=inspecting, serving=serving, service=service
    )
    return load_config_file(path, "a table's configuration", Config, loaded)


def set_up(
    config: Config,
    beside: Path,
    *,
    inspecting: bool = False,
    serving: bool = False,
    service: str | None = None,
) -> Setup:
    """
    Check houses, drivers and files, and load them.

    The configuration's paths are relative to `beside`; `service` is the unit instance of the
    journal, None for this process. The others are those of `load_config`.

    Raises:
        UserError: All errors, each on a line: key, value, what is expected.
    """
    loader = Loader(beside, inspecting=inspecting, serving=serving)
    tolerate, attempt = loader.tolerate, loader.attempt
    with loader.check():
        if config.mqtt is not None:
            config = replace(config, mqtt=config.mqtt.checked(beside, tolerate, attempt))
    check_sections(config, loader)
    check_installed(config.lamp, loader)
    check_video_installed(config.witness, loader)
    config = replace(config, metrics=_metrics(config.metrics, service, loader))
    house = loader.take(_house, config.table, beside)
    if house is not None:
        loader.take(check_seats, config.table, house)
    policy = loader.take(_policy, config.table, beside)
    journal = loader.take(_journal, config.journal, beside, service)
    operators, file = None, config.orders.operators_file
    if file is not None:
        operators = Operators(file, beside, table=config.table.id)
        # While serving, the fault stays in `operators`: it may end.
        noted = suppress(UserError) if serving else loader.check()
        with noted, attempt(), errors_at("orders.operators_file"):
            operators.load()
    signer = None
    with loader.check(), tolerate(), attempt(), errors_at("journal.key_file"):
        if config.journal.key_file is not None:
            signer = _signer(find_credential(config.journal.key_file, beside))
    files = beside, journal or beside
    readers = [loader.take(_reading, each, files, loader) for each in config.reader]
    if loader.error or house is None or policy is None or journal is None:
        raise loader.error or UserError("no configuration")
    setup = Setup(
        config,
        house,
        policy,
        journal,
        tuple(filter(None, readers)),
        operators,
        tuple(loader.notes),
        service,
        signer,
        tuple(loader.faults),
        beside,
    )
    _check_choice(setup)
    return setup


class JournalToForward(Struct, frozen=True):
    """A table whose journal is copied to a database; `folder` is that of its configuration."""

    site: str
    table: str
    journal: Path
    settings: DatabaseSettings
    folder: Path


def load_forwards(paths: Sequence[Path]) -> list[JournalToForward]:
    """
    Read the configurations of tables whose journals are copied; of a folder, those of its files
    ``*.toml`` that have a section ``[forward]``.

    Only what the copy needs is checked: another fault does not stop it.

    Raises:
        UserError: A file has an error or no such section, or a folder has no such file.
    """
    return [_load_forward(path) for path in _forward_files(paths)]


def _forward_files(paths: Sequence[Path]) -> Iterator[Path]:
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        files = [each for each in sorted(path.glob("*.toml")) if has_section(each, "forward")]
        if not files:
            raise UserError(f"{path}: has no configuration of a table with a section [forward]")
        yield from files


def _load_forward(path: Path) -> JournalToForward:
    def make(config: Config) -> JournalToForward:
        if config.forward is None:
            raise UserError('[forward]: missing; expected database = "…"')
        check_database(config.forward.database, "forward")
        journal = _journal(config.journal, path.parent, service_of(path))
        return JournalToForward(config.site, config.table.id, journal, config.forward, path.parent)

    return load_config_file(path, "a table's configuration", Config, make)


def _check_choice(setup: Setup) -> None:
    """
    Check that the equipment shows what a Player who may choose has chosen.

    Without slots, the fifth card may be of either hand; without a declared end, a Player who
    stands cannot be distinguished from one who is still thinking.

    Raises:
        UserError: It does not.
    """
    table, readers = setup.config.table, {each.id: each.driver.signals for each in setup.readers}
    if not setup.house.player_chooses or not readers:
        return
    has_slots = round_end_of(readers, table.signals or (), table.checkers) is RoundEnd.DEVICE
    if not has_slots or setup.options.round_end not in {RoundEnd.DEVICE, RoundEnd.BUTTON}:
        key = "house" if table.house_file is None else "house_file"
        raise UserError(
            f"table.{key}: player_on_5 'chooses'; expected a reader that reports slots, and "
            "round_end device or button: else it is unknown what the Player chose"
        )


def _metrics(metrics: MetricsSettings, service: str | None, loader: Loader) -> MetricsSettings:
    """Return the settings with absolute paths, without a file that cannot be written."""
    usable: dict[str, str] = {}
    for key, name in asdict(metrics).items():
        with loader.check(), loader.tolerate(), errors_at(f"metrics.{key}"):
            if name is not None:
                usable[key] = str(_metrics_path(key, name, loader.folder, service))
    return MetricsSettings(**usable)


def _metrics_path(key: str, name: str, beside: Path, service: str | None) -> Path:
    path = beside / name
    if key == "textfile":
        if path.suffix != ".prom":
            raise UserError(f"{name!r}; expected a name that ends in .prom")
        if find_spec("prometheus_client") is None:
            raise UserError("needs prometheus-client: pip install 'shoe-daemon[metrics]'")
    # systemd creates the service's folder when it starts.
    if not path.parent.is_dir() and (service is None or path.parent != SERVICE_RUNTIME / service):
        raise UserError(f"{name!r}; expected a folder that exists: {path.parent}")
    if path.is_dir():
        raise UserError(f"{name!r}; expected a file's name")
    return path.absolute()


def _signer(path: Path) -> Signer:
    try:
        from shoe_daemon.journal.keys import load_signing_key  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UserError("needs cryptography: pip install 'shoe-daemon[keys]'") from error
    return load_signing_key(path)


def _house(table: TableSettings, beside: Path) -> House:
    if table.house_file is not None and table.house is not None:
        raise UserError("table.house: given beside table.house_file; expected one of them")
    if table.house_file is not None:
        with errors_at("table.house_file"):
            return load_house_file(beside / table.house_file)
    with errors_at("table.house"):
        return DEFAULT_HOUSE if table.house is None else load_house(table.house)


def _policy(table: TableSettings, beside: Path) -> Policy:
    named = table.policy
    with errors_at("table.policy"):
        return find_policy(str(beside / named) if named.endswith(".toml") else named)


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


def _reading(reader: ReaderSettings, files: tuple[Path, Path], loader: Loader) -> Reading:
    place = f"reader {reader.id!r}"
    with errors_at(f"{place}: driver"):
        kind = find_driver(reader.driver)
    options = loader.take(convert_toml, kind.options_type, reader.options, f"{place}: options")
    about = f"{place}: driver {reader.driver!r}"
    driver = make_driver(kind, options or kind.options_type(), about, files)
    with loader.check() if options else suppress(UserError), loader.attempt(), errors_at(place):
        (driver.check_url if driver.opens_line else check_url)(reader.port)
    line = convert_toml(LineSettings, asdict(driver.line) | reader.line, f"{place}: line")
    forward = None
    if reader.forward is not None:
        changed = asdict(line) | reader.forward.line
        settings = convert_toml(LineSettings, changed, f"{place}: forward.line")
        forward = ForwardTarget(reader.forward.to, settings)
    return Reading(reader.id, reader.port, driver, line, forward)
