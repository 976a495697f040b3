"""`shoe-daemon simulate camera`: simulate a table with a camera."""

from __future__ import annotations

import contextlib
import importlib
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoe_daemon.cli.number_option import Number
from shoe_daemon.errors import UserError, one_line
from shoe_daemon.shutdown_signals import stop_on_signals

if TYPE_CHECKING:
    from threading import Event

    from drivers.simulators.camera.scene_renderer import Scene, Shot
    from drivers.simulators.camera.scene_settings import Settings

__all__ = ["camera"]

_EXTRAS: Final = ("cv2", "numpy")
_FPS: Final = {"overhead": 25.0, "throat": 50.0}


@click.command(name="camera")
@click.option(
    "--station",
    type=click.Choice(["overhead", "throat"]),
    default="overhead",
    show_default=True,
    help="Above the table, or at the shoe's mouth.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Writes a video: .avi, .mkv or .mp4.",
)
@click.option(
    "--live",
    metavar="ADDRESS",
    help="Plays as it happens instead: raw:PATH, or HOST:PORT for a stream over HTTP.",
)
@click.option(
    "--truth",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --out: writes what is really there to this file, a JSON object a picture and a "
    "round.",
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path, file_okay=False),
    help="Writes the profile of a perfect calibration into this folder.",
)
@click.option(
    "--size",
    type=click.Choice(["1280x720", "1280x800", "1920x1080", "640x480"]),
    default="1280x720",
    show_default=True,
)
@click.option("--fps", type=Number(1, 240), help="Pictures a second.")
@click.option("--rounds", type=click.IntRange(min=1), help="Ends after so many.")
@click.option("--shoes", type=click.IntRange(min=1), help="Ends after so many.")
@click.option("--decks", type=click.IntRange(1, 12), default=8, show_default=True)
@click.option("--seed", type=int, help="The same seed shows the same; by chance where not given.")
@click.option("--deck", type=click.IntRange(min=0), help="Which deck; else one of the seed.")
@click.option(
    "--pause",
    type=Number(0, 10),
    default=1.0,
    show_default=True,
    help="How long people wait between actions: 1 as at a real table.",
)
@click.option("--fault", "faults", metavar="F", multiple=True, help="Repeatable; `all` for all.")
@click.option(
    "--fault-rate",
    type=Number(0, 1),
    default=0.1,
    show_default=True,
    help="The chance of each round that one of the faults happens.",
)
def camera(
    *,
    out: Path | None,
    live: str | None,
    truth: Path | None,
    profile: Path | None,
    **wishes: Any,  # noqa: ANN401 - settings, by name
) -> None:
    """
    Simulates a camera above a table, or at a shoe's mouth.

    Cards are dealt from the same shoes as on the simulated lines: they slide, are
    turned over and squeezed by hands, and collected. With faults, people, lamps and the
    camera go wrong.
    """
    for extra in _EXTRAS:
        try:
            importlib.import_module(extra)
        except ImportError as error:
            raise UserError(
                f"simulated cameras need {extra}: pip install 'shoe-daemon[camera]'"
            ) from error
    settings = _settings(wishes)
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
        _play(settings, live)


def _settings(wishes: dict[str, Any]) -> Settings:
    from drivers.simulators.camera.scene_settings import Settings, Station

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
    from drivers.simulators.camera.scene_settings import OVERHEAD_FAULTS, THROAT_FAULTS

    possible = OVERHEAD_FAULTS if station == "overhead" else THROAT_FAULTS
    if "all" in named:
        return possible
    known = {each.value: each for each in possible}
    for name in named:
        if name not in known:
            raise UserError(f"--fault {name}: expected all, or one of {', '.join(known)}")
    return tuple(known[name] for name in named)


def _write_profile(settings: Settings, folder: Path) -> None:
    from drivers.simulators.camera.ideal_profile import write_simulated_profile

    try:
        click.echo(f"profile: {write_simulated_profile(settings, folder)}")
    except OSError as error:
        raise UserError(f"{folder}: {one_line(error)}") from error


def _film(settings: Settings, path: Path, truth: Path | None) -> None:
    from drivers.simulators.camera.scene_renderer import Scene
    from drivers.simulators.camera.video_writer import write_video

    if settings.rounds is None and settings.shoes is None:
        raise UserError("--out needs an end: --rounds or --shoes")
    scene = Scene(settings)
    with stop_on_signals() as stopping:
        _print_rounds(write_video(scene, path, truth, stopping))
    click.echo(f"video: {path}, seed {settings.seed}")


def _play(settings: Settings, where: str) -> None:
    from drivers.simulators.camera.live_sender import open_sender

    with stop_on_signals() as stopping, contextlib.closing(open_sender(where)) as sender:
        click.echo(f"port: {sender.address}")
        click.echo(f"{settings.station} camera, seed {settings.seed}; Ctrl-C ends it")
        _print_rounds(_shots(settings, sender, stopping))


def _shots(settings: Settings, sender: Any, stopping: Event) -> Iterator[Shot]:  # noqa: ANN401 - a `Sender`
    from drivers.simulators.camera.live_sender import play_live
    from drivers.simulators.camera.scene_renderer import Scene

    scene: Scene = Scene(settings)
    return play_live(scene, sender, stopping)


def _print_rounds(shots: Iterator[Shot]) -> None:
    """Print each finished round."""
    faults: Counter[str] = Counter()
    rounds = 0
    for shot in shots:
        dealt = shot.truth.finished
        if dealt is None:
            continue
        rounds += 1
        wrong = shot.truth.trouble
        faults.update([wrong.value] if wrong else [])
        cards = " ".join(f"{slot}:{card}" for slot, card in dealt.cards)
        result = "aborted" if dealt.aborted else str(dealt.coup.outcome)
        fault = f"  [{wrong}]" if wrong else ""
        click.echo(f"shoe {dealt.shoe} round {dealt.number}: {cards} {result}{fault}")
    fault_counts = ", ".join(f"{count} {fault}" for fault, count in sorted(faults.items()))
    click.echo(f"{rounds} round{'' if rounds == 1 else 's'}; faults: {fault_counts or 'none'}")
