"""`shoe-daemon simulate`: simulate a reader's shoe on a serial line, or a table with a camera."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click
import msgspec

from shoe_daemon.cli.number_option import Number
from shoe_daemon.cli.simulate_camera import camera
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.shutdown_signals import stop_on_signals

if TYPE_CHECKING:
    from drivers.simulators.angel_eye_dealing import Scene, Settings
    from drivers.simulators.serial_servers import Line
    from drivers.simulators.simulated_shoe import DealtRound

__all__ = ["command"]

_PORT_COUNT: Final = 65536
_FAULTS: Final = (
    "overdraw",
    "missed-draw",
    "misread",
    "unreadable",
    "reset",
    "lost-frame",
    "noise",
    "unplug",
)


@click.group(name="simulate")
def command() -> None:
    """Deals simulated shoes, on a serial line or before a camera."""


command.add_command(camera)


@command.command(name="angel-eye-ii")
@click.option("--link", type=click.Path(path_type=Path), help="A stable path to the serial line.")
@click.option("--listen", metavar="HOST:PORT", help="A TCP port instead; port 0 takes a free one.")
@click.option(
    "--capture",
    type=click.Path(path_type=Path, dir_okay=False),
    help="No line: writes what would be sent to this file (.hex is text, anything else bytes).",
)
@click.option(
    "--speed",
    type=Number(min=0),
    default=1.0,
    show_default=True,
    help="Multiple of real time; 0 is as fast as the other side reads.",
)
@click.option("--rounds", type=click.IntRange(min=1), help="Ends after so many.")
@click.option("--shoes", type=click.IntRange(min=1), help="Ends after so many.")
@click.option(
    "--mode",
    type=click.Choice(["hidden", "open"]),
    default="hidden",
    show_default=True,
    help="Faces with the result, or at each draw.",
)
@click.option("--decks", type=click.IntRange(1, 12), default=8, show_default=True)
@click.option("--seed", type=int, help="The same seed deals the same; by chance where not given.")
@click.option("--fault", "faults", multiple=True, type=click.Choice(_FAULTS), help="Repeatable.")
@click.option(
    "--fault-rate",
    type=Number(0, 1),
    default=0.1,
    show_default=True,
    help="The chance of each round that one of the faults happens.",
)
@click.option("--once", is_flag=True, help="Sends each report once, not three times.")
@click.option(
    "--truth",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Writes what was really dealt to this file, a JSON object a round.",
)
def angel_eye_ii(  # noqa: PLR0913 - one for each option
    *,
    link: Path | None,
    listen: str | None,
    capture: Path | None,
    speed: float,
    once: bool,
    truth: Path | None,
    **settings: Any,  # noqa: ANN401 - settings, by name
) -> None:
    """
    Simulates an Angel Eye II shoe.

    It deals by the rules from shuffled shoes with burned cards and a cut card, at
    about 28 seconds a round, and begins as soon as somebody opens the line.
    """
    if sum(where is not None for where in (link, listen, capture)) > 1:
        raise UserError("--link, --listen and --capture exclude one another")
    wanted = _settings(settings)
    copies = 1 if once else 3
    with _dealt_log(truth) as ledger:
        if capture:
            _write_capture(capture, wanted, copies, ledger)
        else:
            _play((link, listen), wanted, (speed, copies), ledger)


def _settings(options: dict[str, Any]) -> Settings:
    from drivers.simulators.angel_eye_dealing import Mode, Settings
    from drivers.simulators.simulated_shoe import Fault

    if options["seed"] is None:
        options["seed"] = random.randrange(1_000_000)
    faults = tuple(Fault(fault) for fault in options.pop("faults"))
    return Settings(faults=faults, mode=Mode(options.pop("mode")), **options)


def _line(link: Path | None, listen: str | None, settings: Settings) -> Line:
    from drivers.simulators.serial_servers import PtyLine, TcpLine

    if listen is None:
        if link is None and "unplug" in settings.faults:
            raise UserError("--fault unplug needs --link: each new terminal has another path")
        return PtyLine(link)
    host, colon, port = listen.rpartition(":")
    if not (colon and port.isdecimal() and int(port) < _PORT_COUNT):
        raise UserError(f"--listen {listen}: expected HOST:PORT, such as 127.0.0.1:4001")
    return TcpLine(host.strip("[]") or "127.0.0.1", int(port))


def _play(
    where: tuple[Path | None, str | None],
    settings: Settings,
    pace: tuple[float, int],
    ledger: _DealtLog,
) -> None:
    from drivers.simulators.angel_eye_dealing import scenes
    from drivers.simulators.scenario_playback import Pace, play

    with stop_on_signals() as stopping, contextlib.closing(_line(*where, settings)) as line:
        click.echo(f"port: {line.address}")
        click.echo(f"angel-eye-ii, {settings.mode} mode, seed {settings.seed}; Ctrl-C ends it")
        for scene in play(scenes(settings), line, Pace(*pace), stopping):
            ledger.note(scene, aloud=True)
        ledger.sum_up()


def _write_capture(path: Path, settings: Settings, copies: int, ledger: _DealtLog) -> None:
    from drivers import HEX_SUFFIX, write_hex
    from drivers.simulators.angel_eye_dealing import scenes

    if settings.rounds is None and settings.shoes is None:
        raise UserError("--capture needs an end: --rounds or --shoes")
    pieces: list[tuple[bytes, str]] = []
    for scene in scenes(settings):
        ledger.note(scene, aloud=False)
        for step in scene.steps:
            pieces += [(data, f"{at:.2f} s") for at, data in step.writes(copies)]
    header = {
        "name": path.stem,
        "driver": "angel-eye-ii",
        "origin": f"simulated, {settings.mode} mode, seed {settings.seed}",
    }
    try:
        if path.suffix == HEX_SUFFIX:
            write_hex(path, header, pieces)
        else:
            path.write_bytes(b"".join(data for data, _ in pieces))
    except OSError as error:
        raise UserError(f"{path}: {one_line(error)}") from error
    ledger.sum_up()


class _DealtLog:
    """Prints the rounds dealt and writes them to the truth file."""

    def __init__(self, file: IO[str] | None) -> None:
        self._file = file
        self._faults: Counter[str] = Counter()
        self._shoes: set[int] = set()
        self._rounds = 0

    def note(self, scene: Scene, *, aloud: bool) -> None:
        dealt = scene.round
        if dealt is None:
            return
        self._rounds += 1
        self._shoes.add(dealt.shoe)
        self._faults.update([dealt.fault] if dealt.fault else [])
        if aloud:
            click.echo(_round_text(dealt))
        if self._file:
            self._file.write(f"{msgspec.json.encode(dealt).decode()}\n")
            self._file.flush()

    def sum_up(self) -> None:
        faults = ", ".join(f"{count} {fault}" for fault, count in sorted(self._faults.items()))
        dealt = f"{_plural(self._rounds, 'round')} in {_plural(len(self._shoes), 'shoe')}"
        click.echo(f"{dealt}; faults: {faults or 'none'}")


@contextlib.contextmanager
def _dealt_log(truth: Path | None) -> Iterator[_DealtLog]:
    if truth is None:
        yield _DealtLog(None)
        return
    try:
        file = truth.open("w", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{truth}: {one_line(error)}") from error
    with file:
        yield _DealtLog(file)


def _plural(number: int, thing: str) -> str:
    return f"{number} {thing}{'' if number == 1 else 's'}"


def _round_text(dealt: DealtRound) -> str:
    cards = " ".join(f"{slot}:{card}" for slot, card in dealt.cards)
    result = "aborted" if dealt.aborted else str(dealt.coup.outcome)
    fault = f"  [{dealt.fault}]" if dealt.fault else ""
    return f"shoe {dealt.shoe} round {dealt.number}: {cards} {result}{fault}"
