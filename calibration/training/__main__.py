"""`python -m calibration.training`: from packages to weights and their figures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

import click
import msgspec

from calibration.training.faces import Source
from drivers.camera.recognition.recogniser import WEIGHTS_FILE
from shoe_daemon.errors import UserError

_SEEDS: Final = (2, 0, 1)
"""Of the three networks; the first two read every card. Chosen with strange decks."""


@click.group()
def main() -> None:
    """Trains the recogniser and measures weights. Needs the dependency group `training`."""


_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("build/training"),
    show_default=True,
    help="Where decks, lessons and results are kept.",
)
_SHARDS = click.option(
    "--shards", default=128, show_default=True, help="Lessons, of 5,000 patches each."
)
_SAMPLES = click.option(
    "--samples",
    default=2_000_000,
    show_default=True,
    help="Patches of the first cycle; a second has half as many.",
)
_CARDS = click.option(
    "--cards",
    default=30_000,
    show_default=True,
    help="To state with; three times as many to choose with.",
)


@main.command()
@_FOLDER
def fetch(folder: Path) -> None:
    """Makes the pictures of the decks from their package."""
    from calibration.training import deck_packages

    deck_packages.fetch(folder / "decks")


@main.command()
@_FOLDER
@_SHARDS
@click.option("--workers", default=2, show_default=True)
def generate(folder: Path, shards: int, workers: int) -> None:
    """Renders the lessons, and one shard of unseen decks to watch the training with."""
    from calibration.training import patches

    unseen, taught = (Source(decks=folder / "decks", held_out=held) for held in (True, False))
    patches.generate(folder / "watched", unseen, 1, workers=1)
    patches.generate(folder / "lessons", taught, shards, workers=workers)


@main.command()
@_FOLDER
@_SAMPLES
@click.option("--seed", default=0, show_default=True)
@click.option("--workers", default=2, show_default=True)
def train(folder: Path, samples: int, seed: int, workers: int) -> None:
    """Trains a network on the lessons and writes FOLDER/network-SEED-SAMPLES.onnx."""
    weights = _network(folder, seed, samples)
    if weights.exists():
        click.echo(f"{weights}: kept; delete it to train it again")
        return
    from calibration.training.train import Plan
    from calibration.training.train import train as trained

    plan = Plan(samples=samples, seed=seed, workers=workers)
    trained(folder, weights, plan)


def _network(folder: Path, seed: int, samples: int) -> Path:
    return folder / f"network-{seed}-{samples}.onnx"


@main.command()
@_FOLDER
@_SAMPLES
def pack(folder: Path, samples: int) -> None:
    """Writes the three networks of FOLDER into FOLDER/networks.zip."""
    from calibration.training import network

    paths = [_network(folder, seed, samples) for seed in _SEEDS]
    network.pack(paths, folder / WEIGHTS_FILE.name)


@main.command()
@_FOLDER
@_CARDS
@click.option("--workers", default=2, show_default=True)
def test(folder: Path, cards: int, workers: int) -> None:
    """
    Photographs two sets of cards, of decks that training never saw: to choose with, to state.
    """
    from calibration.training import rendered_test

    for name, seeds in (("choice", rendered_test.CHOICE), ("test", rendered_test.TEST)):
        decks = folder / "decks"
        rendered_test.make(folder / name, decks, cards=cards, seeds=seeds, workers=workers)


@main.command()
@_FOLDER
@click.option("--weights", type=click.Path(exists=True, path_type=Path), help="Any weights.")
@click.option("--threshold", type=click.FloatRange(0, 1), help="Instead of the one that fits.")
@click.option("--ship", is_flag=True, help="Also write what lies beside the weights.")
@click.option("--workers", default=2, show_default=True)
def score(
    folder: Path,
    weights: Path | None,
    threshold: float | None,
    ship: bool,  # noqa: FBT001 - click passes every option by its name
    workers: int,
) -> None:
    """Reads both sets of cards with weights and prints what those are worth."""
    from calibration.training import figures, rendered_test

    chosen = weights or folder / WEIGHTS_FILE.name
    choice, test = (
        rendered_test.score(folder / name, chosen, workers) for name in ("choice", "test")
    )
    if ship:
        measured = figures.ship(choice, test, chosen)
    else:
        measured = figures.measure(choice, test, threshold)
    click.echo(json.dumps(msgspec.to_builtins(measured), indent=2))


@main.command()
@_FOLDER
def publish(folder: Path) -> None:
    """Puts what `all` made into the package: weights, figures, curve."""
    from calibration.training import figures

    figures.publish(folder, WEIGHTS_FILE.parent)


@main.command(name="all")
@_FOLDER
@_SHARDS
@_SAMPLES
@_CARDS
@click.option("--workers", default=2, show_default=True)
@click.pass_context
def everything(  # noqa: PLR0913, PLR0917 - click passes every option
    context: click.Context, folder: Path, shards: int, samples: int, cards: int, workers: int
) -> None:
    """
    From packages to figures: fetch, generate, train three networks, pack, test, score.

    All of it lies in FOLDER then. After an interruption the finished parts are kept.
    """
    context.invoke(fetch, folder=folder)
    context.invoke(generate, folder=folder, shards=shards, workers=workers)
    for seed in _SEEDS:
        context.invoke(train, folder=folder, samples=samples, seed=seed, workers=workers)
    context.invoke(pack, folder=folder, samples=samples)
    context.invoke(test, folder=folder, cards=cards, workers=workers)
    context.invoke(score, folder=folder, workers=workers, ship=True)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from error
