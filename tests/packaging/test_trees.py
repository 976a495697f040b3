"""
The packages deal a round onto a board on each system and processor: `make test-trees`.

A tree is made from the distribution's archive; a processor that is not this machine's is emulated.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import cv2
import pytest

from drivers.simulators.card_artwork import face
from shoe_daemon.game.cards import DECK
from tests.camera.rendered_photos import DECKS, photo
from tests.packaging.conftest import ROOT
from tests.packaging.debian_tree import DebianTree, make_debian

pytestmark = [
    pytest.mark.skipif(
        not os.environ.get("TEST_TREES"), reason="an hour at most: make test-trees"
    ),
    pytest.mark.timeout(3600),
]

SYSTEMS = [
    ("bookworm", "amd64"),
    ("trixie", "amd64"),
    ("forky", "amd64"),
    ("noble", "amd64"),
    ("resolute", "amd64"),
    ("trixie", "arm64"),
]

TABLE = """site = "casino"
[table]
id = "table-1"
house = "seven-feathers"
[[reader]]
id = "shoe"
driver = "angel-eye-ii"
port = "socket://127.0.0.1:18831"
[journal]
path = "journal.db"
[mqtt]
host = "127.0.0.1"
port = 18830
"""
DISPLAY = """[mqtt]
host = "127.0.0.1"
port = 18830
[display]
listen = "127.0.0.1:18832"
"""
DEAL = """
trap 'kill $broker $shoe $display $daemon || true' EXIT
mosquitto -p 18830 2>broker.log & broker=$!
until mosquitto_pub -h 127.0.0.1 -p 18830 -t ready -n 2>errors.log; do sleep 0.1; done
shoe-daemon simulate angel-eye-ii --listen 127.0.0.1:18831 --mode open --speed 4 >shoe.log 2>&1 &
shoe=$!
shoe-daemon run --config table.toml 2>daemon.log & daemon=$!
shoe-daemon display --config display.toml 2>display.log & display=$!
mosquitto_sub -h 127.0.0.1 -p 18830 -t shoe/v1/casino/table-1/event/round_finished -C 2 -W 600
python3 - <<'END'
import time, urllib.request
for attempt in range(600):
    try:
        print(urllib.request.urlopen("http://127.0.0.1:18832/table/casino.table-1").status)
        break
    except OSError:
        time.sleep(0.5)
END
kill $daemon; wait $daemon
shoe-daemon journal verify --refold journal.db
"""
READ = """
/opt/shoe-daemon/bin/python - <<'END'
import json, cv2, numpy
from drivers.camera.recognition.recogniser import Recogniser
recogniser = Recogniser()
for quad in json.load(open("quads.json")):
    image = cv2.imread(quad["file"])
    print(quad["card"], recogniser.read(image, numpy.array(quad["corners"])).card)
END
"""


@pytest.fixture
def tree(suite: str, processor: str, tmp_path: Path) -> DebianTree:
    """A tree with the packages in /root."""
    made = make_debian(suite, processor)
    build = [sys.executable, "-m", "tools.build_deb", str(tmp_path), processor]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    for package in tmp_path.glob("*.deb"):
        shutil.copy(package, made.path("/root"))
    return made


@pytest.mark.parametrize(("suite", "processor"), SYSTEMS)
def test_two_commands_lead_to_a_round_on_a_board(
    tree: DebianTree, suite: str, processor: str
) -> None:
    begin = time.monotonic()
    tree.run("dpkg --install /root/*.deb")
    installed = time.monotonic()
    tree.path("/root/table.toml").write_text(TABLE)
    tree.path("/root/display.toml").write_text(DISPLAY)
    told = tree.run(DEAL).splitlines()
    rounds = [json.loads(line) for line in told if line.startswith("{")]
    assert [each["data"]["outcome"] for each in rounds]
    assert "200" in told
    assert any("are the same, byte for byte" in line for line in told)
    dealt = time.monotonic()

    quads = []
    for number, card in enumerate(DECK[::5]):
        image, quad = photo(face(card, DECKS[0], 160), DECKS[0], number)
        cv2.imwrite(str(tree.path(f"/root/{card}.png")), image)
        quads.append({"file": f"{card}.png", "card": str(card), "corners": quad.tolist()})
    tree.path("/root/quads.json").write_text(json.dumps(quads))
    read = [line.split() for line in tree.run(READ).splitlines()]
    assert len(read) == len(quads)
    assert all(found in {card, "None"} for card, found in read)
    assert sum(card == found for card, found in read) >= 0.8 * len(quads)
    steps = (installed - begin, dealt - installed, time.monotonic() - dealt)
    sys.stderr.write(f"{suite} {processor}: seconds to install, deal, read photographs: {steps}\n")
    tree.remove()
