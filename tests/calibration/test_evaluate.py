"""
`calibrate evaluate`: labels of all kinds, photos that are missing, columns that nobody asked for.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from drivers.simulators.cards import face
from shoe_daemon.cli import main
from shoe_daemon.game.cards import Card
from tests.camera.photos import DECKS, photo

_HEAD = "id,file,kind,rank,suit,x0,y0,x1,y1,x2,y2,x3,y3,tags,source_repo,mood"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """
    Make a folder with two photos and labels of each kind.
    """
    rows = [_HEAD]
    for number, name in enumerate(("9H", "KS")):
        card, deck = Card(name), DECKS[number + 4]
        image, quad = photo(face(card, deck, 160), deck, number, width=130)
        cv2.imwrite(str(tmp_path / f"{number}.png"), image)
        low, high = quad.min(0), quad.max(0)
        who = f"{card.rank},{card.suit.lower()}"
        corners = ",".join(f"{v:.1f}" for v in quad.ravel())
        box = ",".join(f"{v:.1f}" for v in (*low, *high))
        rank, pip = (_inside(quad, 0.1, y) for y in (0.1, 0.21))
        index = ",".join(f"{v:.1f}" for v in (*rank, *pip))
        rows += [
            f'1,{number}.png,quad,{who},{corners},"felt,easy",made-up,good',
            f"2,{number}.png,bbox,{who},{box},,,,,felt,made-up,good",
            f"3,{number}.png,corner,{who},{index},,,,,,elsewhere,bad",
        ]
    rows.append("4,gone.png,quad,A,s,0,0,1,0,1,1,0,1,felt,made-up,sad")
    (tmp_path / "labels.csv").write_text("\n".join(rows) + "\n")
    return tmp_path


def _inside(
    quad: np.ndarray[tuple[int, ...], np.dtype[np.float32]], x: float, y: float
) -> list[float]:
    top = quad[0] * (1 - x) + quad[1] * x
    bottom = quad[3] * (1 - x) + quad[2] * x
    return [float(v) for v in top * (1 - y) + bottom * y]


def _run(folder: Path, *more: str) -> tuple[int, str]:
    labels = ["--labels", str(folder / "labels.csv"), "--photos", str(folder)]
    result = CliRunner().invoke(main, ["calibrate", "evaluate", *labels, *more])
    return result.exit_code, result.output


def test_every_kind_is_read_and_counted(photos: Path) -> None:
    status, output = _run(photos, "--json")
    report = json.loads(output)
    assert status == 0
    assert report["cards"] == 6
    assert report["missing"] == 1
    assert report["wrong_accepted"] == 0
    assert report["right"] >= 4
    assert report["ms_per_card"] > 0
    assert set(report["by_kind"]) == {"quad", "bbox", "corner"}
    assert report["by_kind"]["quad"]["right"] == 2
    assert report["by_kind"]["quad"]["missing"] == 1
    assert report["by_source"]["elsewhere"]["cards"] == 2
    assert report["by_tag"]["felt"]["cards"] == 4
    assert report["by_tag"]["easy"]["cards"] == 2


def test_a_person_gets_a_table(photos: Path) -> None:
    _, output = _run(photos)
    lines = [line.split() for line in output.splitlines()]
    assert lines[0][:3] == ["cards", "right", "accepted"]
    assert ["quad", "2", "100.0%"] in [line[:3] for line in lines]


def test_what_was_not_read_is_named(photos: Path) -> None:
    _, output = _run(photos, "--errors", "--threshold", "1")
    assert "0.png" in output
    assert "not accepted" in output


def test_a_neighbours_index_in_a_box_names_no_card(tmp_path: Path) -> None:
    # On white, no outline is found. The one index in the box is that of the card beside.
    neighbour = cv2.resize(face(Card("8D"), DECKS[4], 320), (160, 224))
    desk = np.full((400, 400, 3), 238, np.uint8)
    desk[200:312, 100:260] = neighbour[112:]
    cv2.imwrite(str(tmp_path / "white.png"), desk)
    row = "1,white.png,bbox,7,d,100,88,260,312,,,,,,,"
    (tmp_path / "labels.csv").write_text(f"{_HEAD}\n{row}\n")
    status, output = _run(tmp_path, "--json")
    assert (status, json.loads(output)["accepted"]) == (0, 0)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,0.png,shape,9,h,0,0,1,1,,,,,,,", "labels.csv:2: 'shape' is not a valid Kind"),
        ("1,0.png,quad,11,h,0,0,1,1,1,1,1,1,,,", "labels.csv:2: '11H' is not a valid Card"),
        ("1,0.png,quad,9,h,0,0,1,1,x,1,1,1,,,", "labels.csv:2: could not convert"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    (tmp_path / "labels.csv").write_text(f"{_HEAD}\n{row}\n")
    status, output = _run(tmp_path)
    assert status == 2
    assert said in output


def test_a_file_without_the_columns_is_told(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("file,kind\n")
    status, output = _run(tmp_path)
    assert status == 2
    assert "no column rank, suit, x0, y0, x1, y1" in output
