"""
`shoe-daemon simulate`: simulate a reader's shoe on a serial line, a table with a camera, or the
messages of a floor.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, Literal

import click
import msgspec
from msgspec.structs import replace

from drivers.simulators.shoe import DealtRound, Fault
from shoe_daemon.cli.options import (
    BROKER,
    COUNT,
    DECKS,
    DRIVER_OPTIONS,
    FILE,
    FOLDER,
    PATH,
    PROTOCOL,
    STATION,
    Number,
    config_option,
    import_structlog_alone,
    require_modules,
)
from shoe_daemon.errors import UserError, os_errors_at
from shoe_daemon.process import stop_on_signals

if TYPE_CHECKING:
    from drivers.simulators.angel_eye import Scene as DealtScene
    from drivers.simulators.angel_eye import Settings as ShoeSettings

    _Dealt = tuple[str, ShoeSettings, dict[str, Any], Iterator[DealtScene]]
    """A reader, what is dealt, the driver's options, and the scenes that follow from them."""

    from drivers.simulators.camera.scene import Shot
    from drivers.simulators.camera.settings import Settings as CameraSettings
    from drivers.simulators.lines import Line
    from drivers.simulators.simulator import Pace
    from shoe_daemon.demo.floor import Progress

_PORT_COUNT: Final = 65_536
_SILENCE_US: Final = 60_000_000
_FPS: Final = {"overhead": 25.0, "throat": 50.0}

_ROUNDS = click.option("--rounds", type=COUNT, help="Ends after so many.")
_SHOES = click.option("--shoes", type=COUNT, help="Ends after so many.")
_DECKS = click.option("--decks", type=DECKS, default=8)
_FAULT_RATE = click.option(
    "--fault-rate",
    type=Number(0, 1),
    default=0.1,
    help="The chance of each round that one of the faults happens.",
)


class _Simulators(click.Group):
    """A command for each driver that names a simulator, and one for cameras."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        from drivers.simulators.simulator import simulator_names

        return sorted({*super().list_commands(ctx), *simulator_names()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        from drivers import driver_names

        found = super().get_command(ctx, cmd_name)
        if found is None and cmd_name in driver_names():
            found = _reader_command(cmd_name)
        return found


@click.group(name="simulate", cls=_Simulators)
def command() -> None:
    """Deals simulated shoes: on a serial line, before a camera, or as messages of many tables."""


def _reader_command(name: str) -> click.Command:
    """Return the command of a reader on a line, with the modes and faults that it has."""
    from drivers.simulators.simulator import find_simulator

    kind = find_simulator(name)
    modes, faults = [mode.value for mode in kind.modes], [fault.value for fault in kind.faults]
    mode = click.Option(
        ["--mode"],
        type=click.Choice(modes),
        default=modes[0],
        help="Faces with the result, or at each draw.",
    )
    fault = click.Option(
        ["--fault", "faults"], multiple=True, type=click.Choice(faults), help="Repeatable."
    )
    callback = partial(_simulate, name)
    params = list(_reader.params)
    if len(modes) > 1:
        params.insert(params.index(next(p for p in params if p.name == "decks")), mode)
    params.insert(params.index(next(p for p in params if p.name == "fault_rate")), fault)
    if kind.ends_in_silence:
        params = [p for p in params if p.name != "warm_up"]
    if not hasattr(kind, "scanned_decks"):
        params = [p for p in params if p.name != "scan_decks"]
    begin = "as soon as somebody opens the line"
    if hasattr(kind, "open_line"):
        params = [_PORT, *(p for p in params if p.name not in {"link", "listen"})]
        begin = "at once"
    about = f"Simulates {kind.about}.\n\n{_ABOUT.format(begin)}"
    return click.Command(name, params=params, callback=callback, help=about)


_ABOUT: Final = """
It deals by the rules from shuffled shoes with burned cards and a cut card, at
about 28 seconds a round, and begins {}.
"""

_PORT: Final = click.Option(
    ["--port"],
    metavar="URL",
    help="Where it publishes, as `port` in a configuration: mqtt://HOST:PORT/TOPIC.",
)


@click.command
@click.option("--link", type=PATH, help="A stable path to the serial line.")
@click.option("--listen", metavar="HOST:PORT", help="A TCP port instead; port 0 takes a free one.")
@click.option(
    "--capture",
    type=FILE,
    help="No line: writes what would be sent to this file (.cap is text with times, .hex without; "
    "anything else bytes).",
)
@click.option(
    "--speed",
    type=Number(min=0),
    default=1.0,
    help="Multiple of real time; 0 is as fast as the other side reads.",
)
@click.option(
    "--warm-up",
    type=click.IntRange(min=0),
    default=0,
    metavar="ROUNDS",
    help="So many rounds are dealt at once and without faults, before the real pace.",
)
@_ROUNDS
@_SHOES
@_DECKS
@click.option(
    "--scan-decks",
    type=DECKS,
    help="Deals nothing: scans so many decks card by card, for `calibrate deck`.",
)
@click.option("--seed", type=int, help="The same seed deals the same; by chance where not given.")
@_FAULT_RATE
@click.option("--once", is_flag=True, help="Sends nothing twice; an Angel Eye sends three times.")
@DRIVER_OPTIONS
@click.option(
    "--truth", type=FILE, help="Writes what was really dealt to this file, a JSON object a round."
)
def _reader(**_options: object) -> None:
    """Carries the options that all readers have."""


def _simulate(  # noqa: PLR0913 - one for each option
    name: str,
    *,
    link: Path | None = None,
    listen: str | None = None,
    port: str | None = None,
    capture: Path | None,
    speed: float,
    once: bool,
    truth: Path | None,
    driver_options: dict[str, Any],
    scan_decks: int | None = None,
    **settings: Any,  # noqa: ANN401 - settings, by name
) -> None:
    from drivers import create_driver
    from drivers.simulators.simulator import Pace, find_simulator

    if sum(where is not None for where in (link, listen, capture)) > 1:
        raise UserError("--link, --listen and --capture exclude one another")
    wanted = _shoe_settings(settings)
    copies = 1 if once else 3
    simulator: Any = find_simulator(name)(create_driver(name, driver_options))
    if hasattr(simulator, "open_line") and (port is None) == (capture is None):
        raise UserError("expected either --port URL or --capture FILE")
    if scan_decks is None:
        scenes = simulator.scenes(wanted, once=once)
    else:
        wanted, scenes = replace(wanted, shoes=1), simulator.scanned_decks(scan_decks)
    what = (name, wanted, driver_options, scenes)
    with _dealt_log(truth) as ledger:
        if capture:
            _write_capture(capture, what, copies, ledger)
        else:
            open_line = (
                partial(_line, link, listen, wanted)
                if port is None
                else partial(simulator.open_line, port)
            )
            _play_line(open_line, what, Pace(speed, copies, wanted.warm_up), ledger)


def _shoe_settings(options: dict[str, Any]) -> ShoeSettings:
    from drivers.simulators.angel_eye import Mode, Settings

    if options["seed"] is None:
        options["seed"] = random.randrange(1_000_000)
    faults = tuple(Fault(fault) for fault in options.pop("faults"))
    return Settings(faults=faults, mode=Mode(options.pop("mode", Mode.OPEN)), **options)


def _line(link: Path | None, listen: str | None, settings: ShoeSettings) -> Line:
    from drivers.simulators.lines import PtyLine, TcpLine

    if listen is None:
        if link is None and "unplug" in settings.faults:
            raise UserError("--fault unplug needs --link: each new terminal has another path")
        return PtyLine(link)
    host, colon, port = listen.rpartition(":")
    if not (colon and port.isdecimal() and int(port) < _PORT_COUNT):
        raise UserError(f"--listen {listen}: expected HOST:PORT, such as 127.0.0.1:4001")
    return TcpLine(host.strip("[]") or "127.0.0.1", int(port))


def _play_line(
    open_line: Callable[[], Line],
    what: _Dealt,
    pace: Pace,
    ledger: _DealtLog,
) -> None:
    from drivers.simulators.simulator import play

    name, settings, _, scenes = what
    with stop_on_signals() as stopping, contextlib.closing(open_line()) as line:
        click.echo(f"port: {line.address}")
        click.echo(f"{name}, {settings.mode} mode, seed {settings.seed}; Ctrl-C ends it")
        for scene in play(scenes, line, pace, stopping):
            ledger.note(scene, aloud=True)
        ledger.sum_up()


def _write_capture(path: Path, what: _Dealt, copies: int, ledger: _DealtLog) -> None:
    from drivers import CAPTURE_SUFFIX, HEX_SUFFIX, CaptureLine, Mark, write_capture, write_hex

    name, settings, options, scenes = what
    if settings.rounds is None and settings.shoes is None:
        raise UserError("--capture needs an end: --rounds or --shoes")
    pieces: list[tuple[float, bytes]] = []
    for scene in scenes:
        ledger.note(scene, aloud=False)
        for step in scene.steps:
            pieces += step.writes(copies)
    header = {
        "name": path.stem,
        "driver": name,
        "origin": f"simulated, {settings.mode} mode, seed {settings.seed}",
    }
    if options:
        header["options"] = msgspec.json.encode(options).decode()
    with os_errors_at(path):
        if path.suffix == CAPTURE_SUFFIX:
            # As on a line: what takes longer than the time to the next card holds that up.
            times = accumulate((round(at * 1e6) for at, _ in pieces), max)
            timed = [CaptureLine(data, at) for at, (_, data) in zip(times, pieces, strict=True)]
            # Silence ends the last round of a reader without results.
            last_us = timed[-1].at_us or 0 if timed else 0
            end = CaptureLine(at_us=last_us + _SILENCE_US, mark=Mark.END)
            write_capture(path, header, [*timed, end])
        elif path.suffix == HEX_SUFFIX:
            write_hex(path, header, [(data, f"{at:.2f} s") for at, data in pieces])
        else:
            path.write_bytes(b"".join(data for _, data in pieces))
    ledger.sum_up()


class _DealtLog:
    """Prints the rounds dealt and writes them to the truth file."""

    def __init__(self, file: IO[str] | None) -> None:
        self._file = file
        self._faults: Counter[str] = Counter()
        self._shoes: set[int] = set()
        self._rounds = 0

    def note(self, scene: DealtScene, *, aloud: bool) -> None:
        dealt = scene.round
        if dealt is None:
            return
        self._rounds += 1
        self._shoes.add(dealt.shoe)
        self._faults.update([dealt.fault] if dealt.fault else [])
        if aloud:
            click.echo(_round_text(dealt, dealt.fault))
        if self._file:
            self._file.write(f"{msgspec.json.encode(dealt).decode()}\n")
            self._file.flush()

    def sum_up(self) -> None:
        dealt = f"{_plural(self._rounds, 'round')} in {_plural(len(self._shoes), 'shoe')}"
        click.echo(f"{dealt}; {_faults_text(self._faults)}")


@contextlib.contextmanager
def _dealt_log(truth: Path | None) -> Iterator[_DealtLog]:
    with os_errors_at(truth):
        opened = truth.open("w", encoding="utf-8") if truth else contextlib.nullcontext()
    with opened as file:
        yield _DealtLog(file)


_MAX_TABLES: Final = 2_000
"""As many as one display shows."""


@command.command(name="floor")
@click.option("--tables", type=click.IntRange(1, _MAX_TABLES), required=True, help="How many.")
@click.option(
    "--minutes", type=Number(0.01, 1440), default=10.0, help="Ends after so long; so does Ctrl-C."
)
@click.option(
    "--site", metavar="ID", default="simulated", help="Of the tables table-0001, table-0002, ..."
)
@click.option("--processes", type=COUNT, help="By default one for each processor.")
@BROKER
@config_option("The broker's: of a display or a table, or only its section [mqtt].")
@PROTOCOL
def floor(  # noqa: PLR0913 - one for each option
    *,
    tables: int,
    minutes: float,
    site: str,
    processes: int | None,
    file: Path | None,
    broker: str | None,
    protocol: Literal["5", "3.1.1"] | None,
) -> None:
    """
    Publishes the MQTT messages of many tables, for sizing.

    Each table has a connection of its own, and deals about 146 rounds an hour, marked as
    simulated. No reader, no daemon and no journal runs. At the end the retained messages are
    removed. The account at the broker needs the rights of a table for all topics of the site.
    """
    import_structlog_alone()
    from shoe_daemon.cli.display import configured_broker
    from shoe_daemon.demo.floor import Floor, simulate_floor

    mqtt = configured_broker(file, broker, protocol)[0].mqtt
    processes = min(processes or len(os.sched_getaffinity(0)), tables)
    where, on_terminal = f"at {mqtt.name}, site {site}", sys.stdout.isatty()
    click.echo(f"{_plural(tables, 'table')} {where}; Ctrl-C ends it")

    def show(done: Progress, left_s: float) -> None:
        if on_terminal:
            minutes, seconds = divmod(int(left_s), 60)
            line = f"{_floor_text(done)}, {minutes}:{seconds:02} left"
            click.echo(f"\r{line[: shutil.get_terminal_size().columns]}\x1b[K", nl=False)

    try:
        done = simulate_floor(Floor(mqtt, site, tables, minutes, processes), show)
    finally:
        if on_terminal:
            click.echo("\r\x1b[K", nl=False)
    click.echo(f"{_floor_text(done)}; retained messages removed")


def _floor_text(done: Progress) -> str:
    error = "" if done.error is None else f" ({done.error})"
    return f"{done.connected} connected{error}, {done.events:,} events"


@command.command(name="camera")
@STATION
@click.option("--out", type=FILE, help="Writes a video: .avi, .mkv or .mp4.")
@click.option(
    "--live",
    metavar="ADDRESS",
    help="Plays as it happens instead: raw:PATH, or HOST:PORT for a stream over HTTP.",
)
@click.option(
    "--truth",
    type=FILE,
    help="With --out: writes what is really there to this file, a JSON object a picture and a "
    "round.",
)
@click.option(
    "--profile", type=FOLDER, help="Writes the profile of a perfect calibration into this folder."
)
@click.option(
    "--size",
    type=click.Choice(["1280x720", "1280x800", "1920x1080", "640x480"]),
    default="1280x720",
)
@click.option("--fps", type=Number(1, 240), help="Pictures a second.")
@_ROUNDS
@_SHOES
@_DECKS
@click.option("--seed", type=int, help="The same seed shows the same; by chance where not given.")
@click.option("--deck", type=click.IntRange(min=0), help="Which deck; else one of the seed.")
@click.option(
    "--pause",
    type=Number(0, 10),
    default=1.0,
    help="How long people wait between actions: 1 as at a real table.",
)
@click.option("--fault", "faults", metavar="F", multiple=True, help="Repeatable; `all` for all.")
@_FAULT_RATE
def camera(
    *,
    out: Path | None,
    live: str | None,
    truth: Path | None,
    profile: Path | None,
    **wishes: Any,  # noqa: ANN401 - settings, by name
) -> None:
    """
    Simulates a camera above a table, or at a shoe's throat.

    Cards are dealt from the same shoes as on the simulated lines: they slide, are
    turned over and squeezed by hands, and collected. With faults, people, lamps and the
    camera go wrong.
    """
    require_modules(
        ("cv2", "numpy"), "simulated cameras need {}: pip install 'shoe-daemon[camera]'"
    )
    settings = _camera_settings(wishes)
    if (out is None) == (live is None) and not (profile and out is None):
        raise UserError("expected either --out FILE or --live ADDRESS")
    if truth is not None and out is None:
        raise UserError("--truth: expected only with --out")
    if truth is not None and out is not None and truth.resolve() == out.resolve():
        raise UserError(f"--truth {truth}: that is --out; expected another name")
    if profile is not None:
        _write_profile(settings, profile)
    if out is not None:
        _film(settings, out, truth)
    elif live is not None:
        _play_live(settings, live)


def _camera_settings(wishes: dict[str, Any]) -> CameraSettings:
    from drivers.simulators.camera.settings import Settings, Station

    station = Station(wishes.pop("station"))
    width, height = wishes.pop("size").split("x")
    if wishes["seed"] is None:
        wishes["seed"] = random.randrange(1_000_000)
    return Settings(
        station=station,
        width=int(width),
        height=int(height),
        fps=wishes.pop("fps") or _FPS[station.value],
        faults=_faults_named(station.value, wishes.pop("faults")),
        fault_rate=wishes.pop("fault_rate"),
        **wishes,
    )


def _faults_named(station: str, named: Iterable[str]) -> tuple[Any, ...]:
    from drivers.simulators.camera.settings import OVERHEAD_FAULTS, THROAT_FAULTS

    possible = OVERHEAD_FAULTS if station == "overhead" else THROAT_FAULTS
    if "all" in named:
        return possible
    known = {each.value: each for each in possible}
    for name in named:
        if name not in known:
            raise UserError(f"--fault {name}: expected all, or one of {', '.join(known)}")
    return tuple(known[name] for name in named)


def _write_profile(settings: CameraSettings, folder: Path) -> None:
    from drivers.simulators.camera.files import write_simulated_profile

    with os_errors_at(folder):
        click.echo(f"profile: {write_simulated_profile(settings, folder)}")


def _film(settings: CameraSettings, path: Path, truth: Path | None) -> None:
    from drivers.simulators.camera.files import write_video
    from drivers.simulators.camera.scene import Scene

    if settings.rounds is None and settings.shoes is None:
        raise UserError("--out needs an end: --rounds or --shoes")
    scene = Scene(settings)
    with stop_on_signals() as stopping:
        _print_rounds(write_video(scene, path, truth, stopping))
    click.echo(f"video: {path}, seed {settings.seed}")


def _play_live(settings: CameraSettings, where: str) -> None:
    from drivers.simulators.camera.live import open_sender, play_live
    from drivers.simulators.camera.scene import Scene

    with stop_on_signals() as stopping, contextlib.closing(open_sender(where)) as sender:
        click.echo(f"port: {sender.address}")
        click.echo(f"{settings.station} camera, seed {settings.seed}; Ctrl-C ends it")
        _print_rounds(play_live(Scene(settings), sender, stopping))


def _print_rounds(shots: Iterator[Shot]) -> None:
    """Print each finished round, and their number."""
    faults: Counter[str] = Counter()
    rounds = 0
    for shot in shots:
        dealt, trouble = shot.truth.finished, shot.truth.trouble
        if dealt is None:
            continue
        rounds += 1
        faults.update([trouble] if trouble else [])
        click.echo(_round_text(dealt, trouble))
    click.echo(f"{_plural(rounds, 'round')}; {_faults_text(faults)}")


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _faults_text(faults: Counter[str]) -> str:
    counts = ", ".join(f"{count} {fault}" for fault, count in sorted(faults.items()))
    return f"faults: {counts or 'none'}"


def _round_text(dealt: DealtRound, trouble: str | None) -> str:
    cards = " ".join(f"{slot}:{card}" for slot, card in dealt.cards)
    result = "aborted" if dealt.aborted else str(dealt.coup.outcome)
    fault = f"  [{trouble}]" if trouble else ""
    return f"shoe {dealt.shoe} round {dealt.number}: {cards} {result}{fault}"
