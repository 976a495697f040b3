"""
The pictures of the documents: ``python -m shoe_daemon.demo.picture FOLDER`` draws them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

from shoe_daemon.demo.sample import showpiece
from shoe_daemon.demo.view import draw
from shoe_daemon.display.terminal.svg import to_svg

_SIZE: Final = (100, 38)
"""Columns and rows of the README's picture."""


def main(folder: Path) -> None:
    """
    Draw every picture into a folder.
    """
    (folder / "demo.svg").write_text(to_svg(draw(showpiece(), *_SIZE)), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
