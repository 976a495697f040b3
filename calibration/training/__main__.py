"""
`python -m calibration.training`: from packages to weights, and what the weights are worth.
"""

from __future__ import annotations

from pathlib import Path

import click

from calibration.training.faces import Source
from shoe_daemon.errors import UserError


@click.group()
def main() -> None:
    """
    Trains the recogniser and measures weights. Needs the extra `training`.
    """


_FOLDER = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("build/training"),
    show_default=True,
    help="Where decks, lessons and results are kept.",
)


@main.command()
@_FOLDER
def fetch(folder: Path) -> None:
    """
    Makes the pictures of the decks from their package.
    """
    from calibration.training import artwork

    artwork.fetch(folder / "decks")


@main.command()
@_FOLDER
@click.option("--shards", default=36, show_default=True, help="Of 5,000 patches each.")
@click.option("--seed", default=0, show_default=True)
@click.option("--workers", default=2, show_default=True)
def generate(folder: Path, shards: int, seed: int, workers: int) -> None:
    """
    Renders the lessons, and one shard of unseen decks to watch the training with.
    """
    from calibration.training import shards as lessons

    decks = folder / "decks"
    unseen = Source(decks=decks, held_out=True)
    lessons.generate(folder / "watched", unseen, 1, seed=seed, workers=1)
    lessons.generate(
        folder / "lessons", Source(decks=decks, held_out=False), shards, seed=seed, workers=workers
    )


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        raise SystemExit(str(error)) from error
