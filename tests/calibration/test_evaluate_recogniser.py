"""
`calibrate evaluate`: labels of all kinds, photos that are missing, columns that nobody asked for.
"""

from __future__ import annotations

import csv
import io
import json
import os
import re
import struct
import zlib
from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from click.testing import CliRunner

from calibration.photo_labels import read_labels
from drivers.simulators.card_artwork import face
from shoe_daemon.cli import main
from shoe_daemon.errors import UserError
from shoe_daemon.game.cards import Card
from tests.camera.rendered_photos import DECKS, photo
from tests.each_case import each_case

_HEAD = "id,file,kind,rank,suit,x0,y0,x1,y1,x2,y2,x3,y3,tags,source_repo,mood"
_LABELS = f"""{_HEAD}
1,0.png,quad,9,h,10.5,20,110.5,20,110.5,160,10.5,160,"felt,easy",made-up,good
2,1.png,bbox,K,s,1,2,3,4,,,,,felt,made-up,good
"""


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Make a folder with two photos and labels of each kind."""
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


def test_a_person_gets_a_table_and_what_was_not_read(photos: Path) -> None:
    _, output = _run(photos, "--errors", "--threshold", "1")
    lines = [line.split() for line in output.splitlines()]
    assert ["cards", "right", "accepted"] in [line[:3] for line in lines]
    assert ["quad", "2", "100.0%"] in [line[:3] for line in lines]
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


@each_case(
    "row, said",
    [
        ("1,0.png,shape,9,h,0,0,1,1,,,,,,,", "kind: 'shape'; expected quad, bbox or corner"),
        ("1,0.png,quad,11,h,0,0,1,1,1,1,1,1,,,", "rank and suit: '11H'; expected a card"),
        ("1,0.png,quad,,,0,0,1,1,1,1,1,1,,,", "rank and suit: ''; expected a card"),
        ("1,0.png,quad,9,h,0,0,1,1,x,1,1,1,,,", "x2: 'x'; expected pixels of the photo"),
        ("1,0.png,quad,9,h,0,0,1,1,,,,,,,", "x2: ''; expected pixels of the photo"),
        ("1,0.png,corner,9,h,nan,0,1,1,,,,,,,", "x0: 'nan'; expected pixels of the photo"),
        ("1,0.png,bbox,9,h,0,-inf,1,1,,,,,,,", "y0: '-inf'; expected pixels of the photo"),
        ("1,0.png,quad,9,h,0,0,1,1,1,1e30,1,1,,,", "y2: '1e30'; expected pixels of the photo"),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: str, said: str) -> None:
    file = tmp_path / "labels.csv"
    file.write_text(f"{_HEAD}\n{row}\n")
    with pytest.raises(UserError, match=re.escape(f"labels.csv:2: {said}")) as caught:
        list(read_labels(file))
    assert "\n" not in str(caught.value)


def _semicolons(text: str) -> bytes:
    # What a spreadsheet writes where a comma is the decimal point.
    rows = csv.reader(io.StringIO(text))
    written = io.StringIO()
    kept = csv.writer(written, delimiter=";", lineterminator="\r\n")
    for number, row in enumerate(rows):
        points = [each.replace(".", ",") for each in row[5:13]] if number else row[5:13]
        kept.writerow([*row[:5], *points, *row[13:]])
    return written.getvalue().encode("utf-8-sig")


def _quoted(text: str) -> bytes:
    written = io.StringIO()
    kept = csv.writer(written, quoting=csv.QUOTE_ALL)
    kept.writerows(csv.reader(io.StringIO(text)))
    return written.getvalue().encode()


@each_case(
    "form",
    [
        _semicolons,
        lambda text: b"sep=;\r\n" + _semicolons(text)[3:],  # a line for Excel
        lambda text: _tabbed(text).encode("utf-16"),
        _quoted,
        lambda text: text.replace("\n", "\r").encode(),  # an old Mac's lines
        lambda text: text.upper().replace(".PNG", ".png").encode(),
        lambda text: text.replace(",", " , ", 4).encode(),
        lambda text: text.replace("1,0.png", '1, "0.png"').encode(),
        lambda text: f"\n\n{text},,,,,,,,,,,\n  \n\n".encode(),
    ],
)
def test_labels_are_read_as_people_make_them(form: Callable[[str], bytes], tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(form(_LABELS))
    read = [(each.file, each.kind, each.card, each.points) for each in read_labels(file)]
    nine, king = (
        ((10.5, 20.0), (110.5, 20.0), (110.5, 160.0), (10.5, 160.0)),
        ((1.0, 2.0), (3.0, 4.0)),
    )
    assert read == [("0.png", "quad", Card("9H"), nine), ("1.png", "bbox", Card("KS"), king)]


def _tabbed(text: str) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter="\t").writerows(csv.reader(io.StringIO(text)))
    return written.getvalue()


def test_corners_the_other_way_round_are_the_same_card(photos: Path) -> None:
    # No card is seen from behind: they were only listed so.
    file = photos / "labels.csv"
    rows = list(csv.reader(io.StringIO(file.read_text())))
    quads = [row[:7] + row[11:13] + row[9:11] + row[7:9] for row in rows if row[2] == "quad"]
    file.write_text("\n".join([_HEAD, *(",".join(row) for row in quads)]) + "\n")
    _, output = _run(photos, "--json")
    assert json.loads(output)["by_kind"]["quad"]["right"] == 2


def test_a_photo_that_cannot_be_opened_is_missing_and_named(tmp_path: Path) -> None:
    head = b"\x89PNG\r\n\x1a\n" + _chunk(
        b"IHDR", struct.pack("!IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0)
    )
    (tmp_path / "vast.png").write_bytes(head + _chunk(b"IDAT", b"") + _chunk(b"IEND", b""))
    (tmp_path / "page.jpg").write_text("<html>")
    (tmp_path / "folder.png").mkdir()
    os.mkfifo(tmp_path / "pipe.png")
    files = [
        "vast.png",
        "page.jpg",
        "folder.png",
        "pipe.png",
        f"{'long' * 99}.png",
        "",
        "gone.png",
    ]
    rows = [f"1,{file},bbox,7,d,100,88,260,312,,,,,,," for file in files]
    (tmp_path / "labels.csv").write_text("\n".join([_HEAD, *rows]) + "\n")
    status, output = _run(tmp_path, "--json", "--errors")
    report = json.loads(output.splitlines()[-1])
    assert (status, report["cards"], report["missing"]) == (0, 0, len(files))
    assert "vast.png 100,88 260,312: 7D missing: no such photo, or none that can be read" in output


def _chunk(kind: bytes, data: bytes) -> bytes:
    check = struct.pack("!I", zlib.crc32(kind + data))
    return struct.pack("!I", len(data)) + kind + data + check


@each_case(
    "data, said",
    [
        (b"file,kind,rank,suit,x0,y0,x1,y1\n\xe4.png,bbox,9,h,1,1,2,2\n", "expected a CSV file"),
        (b"\x00\x01\x02\xff\xfe", "expected a CSV file"),
        (b'[{"file": "a.png"}]', "no column file, kind, rank"),
        (b"", "no column file, kind, rank"),
        (b"file,kind\n", "no column rank, suit, x0, y0, x1, y1"),
    ],
)
def test_labels_that_are_no_text_are_told_in_one_line(
    data: bytes, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "labels.csv"
    file.write_bytes(data)
    with pytest.raises(UserError, match=said) as caught:
        list(read_labels(file))
    assert "\n" not in str(caught.value)
